"""
One promise for all, and one for each part
==========================================

What does a promise about all labels hide? :func:`~sepc.select_min_trust` promises that at most 10 % of the accepted
labels are wrong; with ``by="region"`` it promises that of each region. This page draws what both accept, and what
becomes of it, on records that neither was made from.
"""

# %%
# Records that are easy in some places
# ------------------------------------
# Machines are fine or worn, each in two places, and a few are cracked. One place of the worn ones is near a place of
# the fine ones; the cracked ones lie in the other. With 2,500 calibration records there are more than most people have.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binomtest

from sepc import SEPClassifier, select_min_trust

MAX_ERROR = 0.1
PLACES = np.array([[0.0, 0.0], [7.0, 0.0], [9.0, 1.5], [0.0, 7.0], [2.2, 8.2]])
LABELS = np.array(["fine", "fine", "worn", "worn", "cracked"])
rng = np.random.default_rng(0)


def draw(n):
    """Return n records of the planted distribution, and their labels."""
    place = rng.choice(5, size=n, p=[0.4, 0.2, 0.15, 0.2, 0.05])
    return rng.normal(size=(n, 2)) + PLACES[place], LABELS[place]


clf = SEPClassifier(n_imp=0.1).fit(*draw(1500))
X_cal, y_cal = draw(2500)
X_new, y_new = draw(4000)

# %%
# Two promises
# ------------

for_all = select_min_trust(clf, X_cal, y_cal, max_error=MAX_ERROR)
by_region = select_min_trust(clf, X_cal, y_cal, max_error=MAX_ERROR, by="region")
print(for_all.message)
print(by_region)

# %%
# What becomes of them
# --------------------
# Both are drawn for the same parts, all labels first. A line is the exact 95 % interval of the share of wrong labels:
# what chance leaves open with so few new records.

a = clf.assess(X_new)
wrong, part = a.label != y_new, by_region.part_of(a)
rows = {"all labels": np.full(len(a), True)}
parts = {k: promise for k, promise in enumerate(by_region.parts.values()) if np.any(part == k)}  # those that occur
rows |= {promise.part: part == k for k, promise in parts.items()}
is_promised = np.array([False, *(promise.is_kept for promise in parts.values())])
places = np.arange(len(rows))[::-1]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.4), sharey=True, layout="constrained")
ways = (("one promise for all", "#D55E00", for_all, 0.2), ("one for each region", "#0072B2", by_region, -0.2))
for name, colour, promise, offset in ways:
    accepted = a.accepted(promise)
    taken = [accepted & members for members in rows.values()]
    shares = [mine.sum() / members.sum() for mine, members in zip(taken, rows.values(), strict=True)]
    left.barh(places + offset, shares, height=0.4, color=colour, label=name)
    for place, mine in zip(places + offset, taken, strict=True):
        if mine.any():
            found = binomtest(int(wrong[mine].sum()), int(mine.sum()))
            interval = found.proportion_ci()
            right.plot([interval.low, interval.high], [place, place], color=colour, linewidth=1.5)
            right.plot(found.statistic, place, "o", color=colour, markersize=5)
right.axvline(MAX_ERROR, color="black", linewidth=1)
right.annotate("limit", (MAX_ERROR, 0), xycoords=("data", "axes fraction"), xytext=(4, 5), textcoords="offset points")
for place in places[1:][~is_promised[1:]]:
    left.text(0.01, place - 0.2, "nothing promised", color="#0072B2", va="center", fontsize="small")
left.set(xlabel="share of new records that is accepted", yticks=places, yticklabels=rows, xlim=(0, 1))
right.set(xlabel="share of wrong labels among the accepted", xlim=(-0.005, None))
figure.legend(loc="outside upper center", ncols=2)
plt.show()

# %%
# The promise for all is kept: the first line lies left of the limit. Further down it accepts labels in regions where
# about one in ten is wrong, and chance leaves more open: two lines cross the limit. In ``fine#5`` one in five is wrong,
# in ``fine#6+`` one in six, and these lines lie beyond it as a whole. Easy regions make up for them. With a promise for
# each region all records of ``fine#5`` and ``fine#6+`` go to a person, all that are called cracked, and the least
# trusted of ``worn#7+``.
#
# The price is in the left panel: fewer labels. Cracked machines may be recognised well enough, and yet nothing is
# promised of them, since 68 calibration records do not show it. And regions that are read as one, such as those of
# ``worn#7+``, are promised as a whole: within them one may be worse than another.
