"""
Sets of labels
==============

What can be said of a record that is hard to label? A set of labels, which holds the true one with a stated probability:
``clf.calibrate(X_cal, y_cal).predict_set(X, coverage=0.9)``. The picture shows how large such sets are, how often they
hold the true label, and why a rare class needs ``per_class=True``.
"""

# %%
# Three classes, one of them rare
# -------------------------------
# The calibration records must be others than the training records.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier

planted = {"n_informative": 4, "n_redundant": 0, "n_classes": 3, "n_clusters_per_class": 1, "class_sep": 0.5}
X, codes = make_classification(5000, 6, weights=[0.6, 0.32], random_state=2, **planted)
y = np.array(["common", "middling", "rare"])[codes]
X, X_rest, y, y_rest = train_test_split(X, y, train_size=800, random_state=0, stratify=y)
X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, train_size=2000, random_state=0, stratify=y_rest)
clf = SEPClassifier(n_imp=0.05).fit(X, y).calibrate(X_cal, y_cal)
print(f"accuracy {clf.score(X_test, y_test):.3f}")

# %%
# Sets of a few records
# ---------------------
# With ``per_class=True`` each label has a limit of its own, so that a set may hold a label and leave out a likelier
# one: see record 0, with rare and without middling.

sets = clf.predict_set(X_test, coverage=0.95, per_class=True)
print(sets)
few = pd.DataFrame(clf.predict_proba(X_test), columns=clf.classes_).round(3)
few["set"] = [" or ".join(labels) or "(empty)" for labels in sets.labels()]
few["true label"] = y_test
few.head(8)

# %%
# Size and coverage
# -----------------
# A set holds the true label where ``sets.sets`` is True in the column of that label.

true_column = np.searchsorted(clf.classes_, y_test)
rows = np.arange(len(y_test))
coverages = [0.8, 0.9, 0.95, 0.99]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")

sizes = [np.bincount(clf.predict_set(X_test, coverage=c).size, minlength=4) / len(X_test) for c in coverages]
below = np.zeros(len(coverages))
for size, (share, colour) in enumerate(
    zip(np.transpose(sizes), ("0.85", "#56B4E9", "#0072B2", "#003B5C"), strict=True)
):
    left.bar([f"{c:g}" for c in coverages], share, bottom=below, color=colour, label=f"{size} label{'s' * (size != 1)}")
    below += share
left.set(xlabel="stated coverage", ylabel="share of the records", ylim=(0, 1.3), yticks=np.linspace(0, 1, 6))
left.legend(loc="upper center", ncols=2)

names = ["all", *clf.classes_]
for k, (per_class, colour) in enumerate(((False, "#D55E00"), (True, "#0072B2"))):
    found = clf.predict_set(X_test, coverage=0.9, per_class=per_class)
    holds = found.sets[rows, true_column]
    shares = [holds.mean(), *(holds[y_test == name].mean() for name in clf.classes_)]
    label = f"per_class={per_class}, {found.size.mean():.2f} labels a set"
    bars = right.bar(np.arange(4) + 0.4 * k - 0.2, shares, 0.38, color=colour, label=label)
    right.bar_label(bars, fmt="%.2f", fontsize="small")
right.axhline(0.9, color="black", linewidth=0.8)
right.set_xticks(range(4), names)
right.set(xlabel="true label", ylabel="share of sets that hold it", ylim=(0, 1.3), yticks=np.linspace(0, 1, 6))
right.legend(loc="upper center")
plt.show()

# %%
# Left: a higher coverage is paid for by larger sets. Where the stated coverage is below the accuracy, one label is
# more than was asked for, and sets of doubtful records are empty. Right, for a stated coverage of 0.9: over all
# records both kinds of sets come to it, but for chance. The sets of the rare class do so only with ``per_class=True``,
# and others then hold more labels. The coverage is a mean over records and over draws of the calibration records: for
# one given hard record nothing is promised.
