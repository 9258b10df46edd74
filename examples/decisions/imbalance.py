"""
Imbalance: a rare class of 5 %
==============================

What becomes of the records of a rare class? The paper says that imbalance does no harm to its rules. Where classes
overlap this is not so, neither for its own trust nor for the default of :class:`~sepc.SEPClassifier`. The picture shows
what label, trust and threshold make of the rare class, and two remedies: a threshold for each label, and sets of labels
per class.
"""

# %%
# A rare class that overlaps
# --------------------------
# Two normal distributions in the plane, 2.5 standard deviations apart; one record in twenty is of the rare class.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sepc import SEPClassifier

rng = np.random.default_rng(0)


def draw(n):
    """Return n records and their labels."""
    rare = rng.random(n) < 0.05
    X = rng.normal(size=(n, 2))
    X[:, 0] += 2.5 * rare
    return X, np.where(rare, "rare", "common")


X, y = draw(1000)
X_cal, y_cal = draw(2000)
X_test, y_test = draw(20_000)
paper = SEPClassifier(trust="paper").fit(X, y)
clf = SEPClassifier().fit(X, y).calibrate(X_cal, y_cal)

# %%
# Labels and trust
# ----------------

rows = {}
for name, model in (("paper", paper), ("default", clf)):
    a = model.assess(X_test)
    rows[name] = [(a.label[y_test == "rare"] == "rare").mean()]
    rows[name] += [np.median(a.trust[a.label == label]) for label in ("rare", "common")]
columns = ["rare records found", "median trust in a label rare", "median trust in a label common"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(3)

# %%
# What becomes of the records
# ---------------------------
# A set with one label counts as that label; all others go to a person.

by_label = {"common": 0.99, "rare": 0.7}
sets = clf.predict_set(X_test, coverage=0.9, per_class=True)
ways = {
    "paper, every label": paper.predict(X_test),
    "default, every label": clf.predict(X_test),
    "trust of 0.95": clf.predict_or_abstain(X_test, min_trust=0.95),
    "0.99 for common, 0.7 for rare": clf.predict_or_abstain(X_test, min_trust=by_label),
    "sets per class, coverage 0.9": np.array([s[0] if len(s) == 1 else None for s in sets.labels()], dtype=object),
}
figure, panels = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
for ax, true in zip(panels, ("rare", "common"), strict=True):
    given = [labels[y_test == true] for labels in ways.values()]
    right = np.array([np.mean(labels == true) for labels in given])
    asked = np.array([np.mean([label is None for label in labels]) for labels in given])
    parts = ("right", right, "#0072B2"), ("to a person", asked, "0.8"), ("wrong", 1 - right - asked, "#D55E00")
    left = np.zeros(len(ways))
    for name, share, colour in parts:
        bars = ax.barh(list(ways), share, left=left, color=colour, label=name)
        shown = [f"{s:.0%}" if s >= 0.04 else "" for s in share]
        ax.bar_label(bars, shown, label_type="center", color="black" if name == "to a person" else "white")
        left += share
    ax.set(xlabel=f"share of the {true} records", xlim=(0, 1))
panels[0].invert_yaxis()
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plt.show()

# %%
# Where the classes overlap, most records of a region are of the common class, and these give the label: half of the
# rare records are missed by the paper's reading, and more than two in five by the default. The paper's trust in a label
# *rare* is low besides, as its formula counts the sizes of the classes a second time. One threshold for all labels
# makes it worse for the rare class: at 0.95 no rare label is accepted, while 0.95 is no more than the share of the
# common class, so that rare records still pass as common.
#
# A higher threshold for the common label, and a lower one for the rare label, leaves few rare records unseen; a person
# has to look at most of them. Sets per class treat both classes alike, at the price of wrong labels among the common
# records, which are twenty times as many. None of this makes up for the records that are missing: of the rare class,
# the training set holds about fifty.
