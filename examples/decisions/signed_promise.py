"""
Worth of a signed promise
=========================

How often is a promise about the error broken? :func:`~sepc.select_min_trust` promises, with a confidence of 95 %, that
at most 5 % of the accepted labels are wrong. Here the distribution of the records is known, so that 200 draws of
calibration records can be checked, beside a naive threshold: the lowest one with at most 5 % wrong labels among
the accepted calibration records.
"""

# %%
# Classifier and its true error
# -----------------------------
# Two overlapping normal distributions. Fifty thousand records stand for all records to come: they give the true error
# and the true share of accepted records at any threshold. Strange and contested records are refused at each of them.

import matplotlib.pyplot as plt
import numpy as np

from sepc import SEPClassifier, select_min_trust
from sepc.metrics import risk_coverage_curve

MAX_ERROR = 0.05
rng = np.random.default_rng(0)


def draw(n):
    """Return n records of the planted distribution, and their labels."""
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + 2.5 * y[:, None] * [1.0, 0.3], y


clf = SEPClassifier().fit(*draw(500))
X_all, y_all = draw(50_000)
a = clf.assess(X_all)
wrong, eligible = a.label != y_all, a.accepted(0.0)


def truth(min_trust):
    """Return the true share of wrong labels among the accepted, and the true share of accepted records."""
    accepted = eligible & (a.trust >= min_trust)
    return wrong[accepted].mean(), accepted.mean()


# %%
# Two hundred calibration sets
# ----------------------------

signed, naive = [], []
for _ in range(200):
    X_cal, y_cal = draw(800)
    found = select_min_trust(clf, X_cal, y_cal, max_error=MAX_ERROR, confidence=0.95)
    signed.append(truth(found.min_trust) if found.is_kept else (0.0, 0.0))
    _, risks, thresholds = risk_coverage_curve(y_cal, clf.predict_proba(X_cal))
    naive.append(truth(thresholds[np.flatnonzero(risks <= MAX_ERROR)[-1]]))

# %%
# Broken promises
# ---------------

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for name, colour, found in (("naive", "#D55E00", np.array(naive)), ("select_min_trust", "#0072B2", np.array(signed))):
    made = found[:, 1] > 0
    label = f"{name}: broken in {np.sum(found[:, 0] > MAX_ERROR)} of {len(found)}, none made in {np.sum(~made)}"
    left.hist(found[made, 0], bins=np.arange(0.0, 0.0801, 0.0025), color=colour, alpha=0.6, label=label)
    right.hist(found[made, 1], bins=np.arange(0.0, 1.001, 0.025), color=colour, alpha=0.6)
left.axvline(MAX_ERROR, color="black", linewidth=1)
left.annotate("limit", (MAX_ERROR, 1), xycoords=("data", "axes fraction"), xytext=(3, -11), textcoords="offset points")
left.set(xlabel="true share of wrong labels among the accepted", ylabel="draws of calibration records")
right.set(xlabel="true share of accepted records")
figure.legend(loc="outside upper center", ncols=2)
plt.show()

# %%
# Left: the naive threshold has the right error on the records by which it was chosen, and breaks the limit more often
# than not. The promise may be broken in 5 % of the draws, and is broken less often. Right: the price, fewer accepted
# labels. Not in the picture: records to come that differ from the calibration records. For these nothing is promised.
