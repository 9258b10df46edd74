"""
Threshold for the trust
=======================

Which trust should a label have to be accepted? A high threshold accepts few labels, and these are seldom wrong. The
picture shows this trade for :class:`~sepc.SEPClassifier`, :class:`~sepc.SEPEnsembleClassifier` and a random forest; the
table says what thresholds of 0.9, 0.95 and 0.99 accept, and how right it is.
"""

# %%
# Three classifiers
# -----------------
# The records are made: 20 columns, of which 10 tell something of the label, and one label in a hundred is wrong.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.plot import RiskCoverageDisplay

X, y = make_classification(
    3000, 20, n_informative=6, n_redundant=4, n_clusters_per_class=3, class_sep=1.2, flip_y=0.02, random_state=0
)
X, X_test, y, y_test = train_test_split(X, y, train_size=700, random_state=0, stratify=y)
models = {
    "SEPClassifier": SEPClassifier().fit(X, y),
    "SEPEnsembleClassifier": SEPEnsembleClassifier().fit(X, y),
    "random forest": RandomForestClassifier(100, random_state=0).fit(X, y),
}

# %%
# Three thresholds
# ----------------
# :meth:`Assessment.accepted <sepc.model.Assessment.accepted>` refuses strange and contested records, too. The forest
# has nothing of the kind: its label is accepted where its probability reaches the threshold.

answers, rows = {}, []
for name, model in models.items():
    if hasattr(model, "assess"):
        a = model.assess(X_test)
        answers[name] = a.label, a.trust
    else:
        a, proba = None, model.predict_proba(X_test)
        answers[name] = model.classes_[proba.argmax(axis=1)], proba.max(axis=1)
    label, sure = answers[name]
    for threshold in (0.9, 0.95, 0.99):
        accepted = sure >= threshold if a is None else a.accepted(threshold)
        rows.append((name, threshold, accepted.sum(), (label != y_test)[accepted].sum()))
table = pd.DataFrame(rows, columns=["model", "threshold", "accepted", "wrong"])
table["share accepted"] = table["accepted"] / len(y_test)
table["share right"] = 1 - table["wrong"] / table["accepted"]  # NaN where nothing is accepted
table.round(3)

# %%
# All thresholds
# --------------

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for name, (label, sure) in answers.items():
    RiskCoverageDisplay.from_predictions(y_test, label, sure, name=name, ax=ax)
plt.show()

# %%
# At a coverage of 1 all labels are given; each step to the left refuses the least sure one. A lower curve is better,
# and the legend has the area under it. On these records the ensemble ranks best, and one partition ranks a little
# better than the forest. The forest is too modest: a threshold of 0.95 accepts few of its labels.
#
# The trust of one partition ends below 0.99 here. Its calibration has seen that labels are wrong even in the middle of
# a region, so that no record is that sure; a threshold of 0.99 then accepts nothing. The labels that the ensemble gives
# with a trust of 0.99 are wrong a little more often than 1 in 100: a trust is calibrated on average, and no guarantee.
# Nor has a threshold one that is chosen by this curve; :func:`~sepc.select_min_trust` gives one.
