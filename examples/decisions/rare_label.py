"""
A rare label: what an accuracy hides
====================================

Four records in a hundred are *good*. A classifier that never says *good* is right on 96 of 100. What does
:class:`~sepc.SEPClassifier` find of the rare label, and what of that can be accepted? The table has recall, precision
and accepted labels of each label; the pictures show all thresholds of its probability, with a mark where the accepted
labels are.
"""

# %%
# Records with a rare label
# -------------------------
# Three normal distributions: one of them, of one record in 25, overlaps both others.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from sepc import SEPClassifier
from sepc.metrics import class_report
from sepc.plot import PrecisionRecallDisplay, RocDisplay

rng = np.random.default_rng(2)


def draw(n):
    """Return n records and their labels."""
    code = rng.choice(3, size=n, p=[0.5, 0.46, 0.04])
    X = rng.normal(size=(n, 2)) + np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 2.5]])[code]
    return X, np.where(code == 2, "good", "other")


X, y = draw(1500)
X_test, y_test = draw(6000)
models = {"SEPClassifier": SEPClassifier().fit(X, y), "logistic regression": LogisticRegression().fit(X, y)}
clf = models["SEPClassifier"]

# %%
# Results of each label
# ---------------------

a = clf.assess(X_test)
found = class_report(y_test, a.label, clf.predict_proba(X_test), labels=clf.classes_, accepted=a.accepted(0.95))
pd.DataFrame(found).set_index("label").round(3)

# %%
# All thresholds
# --------------
# By default both displays show the rarer one of two labels. The mark is not for the threshold of 0.5 by which labels
# are given, but for the labels that are accepted: those with a trust of 0.95, unless the record is strange or
# contested.

figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
kinds = (RocDisplay, PrecisionRecallDisplay)
displays = [
    kind.from_estimators(models, X_test, y_test, min_trust=0.95, ax=ax) for kind, ax in zip(kinds, panels, strict=True)
]
plt.show()

# %%
# The ROC curve divides wrong labels by the number of all other records, which are 24 times as many: it looks good
# whatever the label is worth. Precision against recall shows it.
#
# The numbers behind the pictures, with the threshold of each point:

displays[1].frame().iloc[::2000].round(3)
