"""
Trust by the number of records
==============================

The paper computes the trust in a label from the counts of a region and from the sizes of the classes. A region of 2
pure records then has the same trust as one of 2000. This page puts the formula beside two readings of the same counts
that know the difference, ``trust="counts"`` and ``trust="bound"``, as curves and on fitted regions.
"""

# %%
# The formulas
# ------------
# A region holds *n* records of the label and *m* of the others, the training set *N* and *M*. The share is that of the
# label, smoothed by one record of each kind. The bound is what the share exceeds with a probability of 95 %, if every
# share was equally likely beforehand; for a pure region it has the closed form below.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sepc


def paper(n, m, n_all, m_all):
    """Return the paper's trust."""
    return 1 / (1 + m * m_all / ((n + 1) * (n_all + 1)))


def share(n, m):
    """Return the smoothed share of the label: ``trust="counts"``."""
    return (n + 1) / (n + m + 2)


def bound_of_pure(n):
    """Return the lower bound of the share in a region without other labels: ``trust="bound"``."""
    return 0.05 ** (1 / (n + 1))


n = np.array([2, 20, 200, 2000])
pd.DataFrame(
    {"paper": paper(n, 0, 5000, 5000), "counts": share(n, 0), "bound": bound_of_pure(n)},
    index=pd.Index(n, name="records of a pure region"),
).round(4)

# %%
# Fitted regions
# --------------
# Two large classes, and six records of the first far behind the second. With the readings ``counts`` and ``bound`` a
# third of the records takes no part in shaping the ellipsoids and is counted instead.

rng = np.random.default_rng(0)
parts = (((0, 0), 1.0, 2000), ((14, 0), 0.3, 6), ((7, 0), 1.0, 2000))
X = np.vstack([rng.normal(middle, scale, (size, 2)) for middle, scale, size in parts])
y = np.repeat(["a", "b"], [2006, 2000])
regions = {name: sepc.SEPClassifier(n_imp=0, trust=name).fit(X, y).regions() for name in ("paper", "counts", "bound")}

# %%
# Left: trust over the number of records in pure regions, formulas as lines, fitted regions as marks. Right: a region
# of 9 records of the label and 1 other, in training sets in which the label has more and more records beside 1000
# others.

n = np.geomspace(1, 2000, 200)
sizes = np.geomspace(10, 100_000, 200)
looks = {"paper": ("#D55E00", "--", "s"), "counts": ("#0072B2", "-", "o"), "bound": ("#009E73", "-.", "^")}
lines = {"paper": paper(n, 0, 5000, 5000), "counts": share(n, 0), "bound": bound_of_pure(n)}
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9), sharey=True, layout="constrained")
for name, (colour, line, marker) in looks.items():
    pure = regions[name].query("n_others == 0 and n_label > 0")
    left.plot(n, lines[name], color=colour, ls=line, label=name)
    left.scatter(pure.n_label, pure.trust, s=18, color=colour, marker=marker, zorder=3, clip_on=False)
right.plot(sizes, paper(9, 1, sizes, 1000), color="#D55E00", ls="--", label="paper")
right.axhline(share(9, 1), color="#0072B2", label="counts")
left.set(xscale="log", ylim=(0, 1.04), xlabel="records in a pure region", ylabel="trust in its label")
right.set(xscale="log", xlabel="records of the label in the training set")
left.legend(loc="lower right")
right.legend(loc="lower right")
plt.show()

# %%
# Left: the paper's trust is 1 for all pure regions. The bound starts low and needs hundreds of records to come near to
# 1. Right: the paper's trust weighs impurities by the sizes of the classes, which the counts contain already: the same
# region goes from a low to a high trust while nothing in it changes. What the picture does not show: counting has a
# price. All records of a region share one number, and a third of the training records is missing in the ellipsoids;
# the default, ``trust="local"``, ranks labels better.
