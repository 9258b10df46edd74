"""
Overlap ratio, overlap coefficient and error
============================================

The paper's first figure shows two classes that overlap, their ellipsoids and that of the overlap. From these it takes
the overlap ratio (OVR) and expects errors where it is large. How do the OVR, the overlapping coefficient (OVL) and the
errors of a classifier go together when two normal distributions move apart? For readers who want to use such a number
as a warning.
"""

# %%
# Two classes and their overlap
# -----------------------------
# :func:`~sepc.landscape` has all of the figure: the ellipsoids of the classes, and in ``overlaps`` the ellipsoid
# around the records that lie in both.

from math import erfc, sqrt

import matplotlib.pyplot as plt
import numpy as np

import sepc


def two_classes(n, apart, seed):
    """Return n records of each of two normal distributions, and their labels."""
    X = np.random.default_rng(seed).normal(size=(2 * n, 2))
    X[n:, 0] += apart
    return X, np.repeat(["L+1", "L-1"], n)


X, y = two_classes(100, 2.5, seed=0)
view = sepc.landscape(X, y)
print(view)
clf = sepc.SEPClassifier(n_imp=2, trust="paper", standardize=False).fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
for label, ellipsoid, colour, marker in zip(clf.classes_, view.ellipsoids, ("#0072B2", "#D55E00"), "os", strict=True):
    left.scatter(*X[y == label].T, s=9, color=colour, marker=marker, label=label)
    left.plot(*ellipsoid.boundary().T, color=colour)
pair = view.overlaps[0]
left.plot(*pair.by_points.boundary().T, color="black", label="overlap, by its records")
left.plot(*pair.by_intersection.boundary().T, color="black", ls=":", label="overlap, all that both hold")
left.set(title="classes and their overlap", xlabel="x0", ylabel="x1", ylim=(-4, 5.5))
left.legend(fontsize="small", ncols=2, loc="upper center")
sepc.plot.PartitionDisplay.from_estimator(clf, n_names=0, ax=right)
right.set(title="partition")
plt.show()

# %%
# Three numbers over the distance
# -------------------------------
# The classes move apart, in standard deviations. The best rule for these distributions errs with a known probability;
# half of the OVL estimates the same from the two ellipsoids. Means of three draws.

distances = np.arange(0.0, 6.5, 1.0)
names = "OVR, 100 records each", "OVR, 1000 records each", "half of the OVL", "error of SEPClassifier"
curves = {name: [] for name in names}
for apart in distances:
    found = []
    for seed in range(3):
        view = sepc.landscape(*two_classes(100, apart, seed)).overlaps[0]
        large = sepc.landscape(*two_classes(1000, apart, seed)).overlaps[0]
        clf = sepc.SEPClassifier(trust="raw").fit(*two_classes(100, apart, seed))
        error = 1 - clf.score(*two_classes(2000, apart, 100 + seed))
        found.append((np.mean(view.ovr), np.mean(large.ovr), view.ovl / 2, error))
    for name, value in zip(names, np.mean(found, axis=0), strict=True):
        curves[name].append(value)

figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
looks = ("#0072B2", "-"), ("#56B4E9", "--"), ("#009E73", "-."), ("#D55E00", "-")
for (name, curve), (colour, line) in zip(curves.items(), looks, strict=True):
    ax.plot(distances, curve, color=colour, ls=line, marker="o", ms=3, label=name)
smallest = [0.5 * erfc(apart / sqrt(8.0)) for apart in distances]
ax.plot(distances, smallest, color="black", ls=":", label="smallest possible error")
ax.set(xlabel="distance of the means, standard deviations", ylabel="share", ylim=(0, 1))
ax.legend()
plt.show()

# %%
# All of them fall together, so that each may serve as a warning. But only the errors are errors. The OVR is a ratio of
# volumes: it stays large where few records are wrong, because ellipsoids reach to the outermost records, and with more
# records it grows, though nothing about the classes has changed. Half of the OVL is nearer to the error, too small
# where the classes are alike and too large where they are apart. Neither bounds the error of one label.
