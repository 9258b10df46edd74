"""
Voices of an ensemble
=====================

When is :class:`~sepc.SEPEnsembleClassifier` worth its longer fit, and what does its answer rest on? The ensemble makes
many partitions of parts of the records and columns, and learns how much each is worth. A table shows
where it ranks labels better than one partition. The picture takes one of its verdicts apart: what each member says for
the label and against it.
"""

# %%
# Gain in ranking
# ---------------
# The AURC is the mean share of wrong labels over all thresholds; smaller is better. Two splits of each set tell how
# much is chance.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, make_classification, make_moons
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.metrics import aurc

shape = {"n_informative": 6, "n_redundant": 4, "n_clusters_per_class": 3, "class_sep": 1.2, "flip_y": 0.02}
sets = {
    "two moons, 2 columns": make_moons(400, noise=0.3, random_state=0),
    "made, 20 columns, 10 of them useless": make_classification(600, 20, random_state=0, **shape),
}
rows = []
for name, (X, y) in sets.items():
    for split in range(2):
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.35, random_state=split, stratify=y)
        models = SEPClassifier().fit(X_train, y_train), SEPEnsembleClassifier().fit(X_train, y_train)
        rows.append((name, split, *(1000 * aurc(y_test, model.predict_proba(X_test)) for model in models)))
pd.DataFrame(rows, columns=["records", "split", "AURC x 1000, one partition", "AURC x 1000, ensemble"]).round(1)

# %%
# Voices on one record
# --------------------
# An ensemble for the breast cancer data. The record is the least trusted one that is called benign, and whose label is
# neither contested nor strange. The log odds of its label against the runner-up are a sum: of the evidence of all
# members, the leaning that was learnt, and what the background takes back.

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X, X_test, y, y_test = train_test_split(X, y, train_size=0.35, random_state=0, stratify=y)
many = SEPEnsembleClassifier().fit(X, y)
a = many.assess(X_test)
calm = np.flatnonzero((a.label == "benign") & ~np.isin(a.reason, ["contested", "strange"]))
number = calm[np.argmin(a.trust[calm])]
e = many.explain(X_test.iloc[number])
print(f"{e.label} with a trust of {e.trust:.3f}; the true label is {y_test[number]}; agreement {e.agreement:.2f}")
print(f"log odds {np.log(e.odds):.3f}, sum {sum(v.evidence for v in e.voices) + e.leaning + e.background:.3f}")


def name_of(voice):
    """Return the number of a member and the first of the columns that it looks at."""
    more = f" and {len(voice.features) - 2} more" if len(voice.features) > 2 else ""
    return f"{voice.member}: {', '.join(voice.features[:2])}{more}"


bars = [(name_of(v), v.evidence) for v in e.voices] + [("leaning", e.leaning), ("background", e.background)]
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
colours = ["#0072B2" if value > 0 else "#D55E00" for _, value in bars]
ax.barh(range(len(bars)), [value for _, value in bars], color=colours)
ax.set_yticks(range(len(bars)), [name for name, _ in bars], fontsize="small")
ax.axvline(0, color="black", linewidth=0.8)
ax.set_xlabel(f"evidence in log odds: against {e.label} (left), for it (right)")
ax.invert_yaxis()
plt.show()

# %%
# Most members speak for the label, none of them loudly, and a few speak against it, all of them faintly. The ensemble
# leans the other way before any member speaks. The leaning is the same for all records: where the voices are faint it
# may decide alone.
#
# In the table the ensemble gains most where there are many columns, half of them useless. On two moons it gains a
# little in one split and loses a little in the other: there are no columns to choose from. Not in the picture: one
# partition can be looked at as a whole, the three partitions of each of sixteen members cannot.
