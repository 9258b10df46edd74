"""
Strange records, caught and missed
==================================

What becomes of records that are not like the training records: in another unit, far away, with columns
swapped or shuffled? The picture shows the share that is accepted at a trust of 0.95, by
:class:`~sepc.SEPClassifier`, by :class:`~sepc.SEPEnsembleClassifier` and by a random forest at the same
threshold. Ideally it is 0 for all rows but the first. It also shows what the typicality does not catch.
"""

# %%
# Three classifiers
# -----------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier

data = load_breast_cancer(as_frame=True)
X, X_test, y, _ = train_test_split(data.data, data.target, test_size=0.4, random_state=0, stratify=data.target)
models = {
    "SEPClassifier": SEPClassifier().fit(X, y),
    "SEPEnsembleClassifier": SEPEnsembleClassifier().fit(X, y),
    "random forest": RandomForestClassifier(100, random_state=0).fit(X, y),
}

# %%
# Spoilt records
# --------------
# Each kind spoils all test records in the same way.

rng = np.random.default_rng(0)
radii, areas = X.columns.str.contains("radius|perimeter"), X.columns.str.contains("area")
lengths = 1.0 * radii + 2.0 * areas  # how often the unit of length enters a column
direction = rng.normal(size=X_test.shape)
direction *= 20 / np.linalg.norm(direction, axis=1, keepdims=True)
swap = {"worst radius": "worst texture", "worst texture": "worst radius"}
kinds = {
    "as measured": X_test,
    "unit 10 times smaller": X_test * 10.0**lengths,
    "unit 10 times larger": X_test * 0.1**lengths,
    "worst radius times 10": X_test.assign(**{"worst radius": X_test["worst radius"] * 10}),
    "mean texture divided by 10": X_test.assign(**{"mean texture": X_test["mean texture"] / 10}),
    "20 standard deviations away": X_test + direction * X.std().to_numpy(),
    "two columns swapped": X_test.rename(columns=swap)[X.columns],
    "each column shuffled": X_test.apply(lambda column: rng.permutation(column.to_numpy())),
    "zeros": X_test * 0.0,
}

# %%
# Accepted share
# --------------


def accepted(model, records):
    """Return the share of records whose label is accepted at 0.95."""
    if hasattr(model, "assess"):
        return model.assess(records).accepted(0.95).mean()
    return (model.predict_proba(records).max(axis=1) >= 0.95).mean()


table = pd.DataFrame(
    {name: [accepted(model, records) for records in kinds.values()] for name, model in models.items()},
    index=list(kinds),
)
figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
for shift, (name, marker, colour) in zip(
    (-0.15, 0, 0.15), zip(table, "osX", ("#0072B2", "#56B4E9", "#D55E00"), strict=True), strict=True
):
    ax.plot(table[name], np.arange(len(table)) + shift, marker, color=colour, label=name)
ax.set_yticks(range(len(table)), table.index)
ax.set(xlabel="share of labels accepted at 0.95", xlim=(-0.02, 1.02))
ax.axhline(0.5, color="0.7", linewidth=0.8)
ax.grid(axis="x", alpha=0.4)
ax.invert_yaxis()
figure.legend(loc="outside upper right", ncols=3)
plt.show()

# %%
# Both classifiers of sepc refuse values that are too large, records that are far away, and all but one of the shuffled
# ones. A unit that makes values *smaller* is a case that :class:`~sepc.SEPClassifier` misses: it accepts a little more
# of these records than the forest does. Small lengths lie on the side of the benign records. The ensemble finds them
# all, but it misses many records in which one column is too small, or two are swapped. A typicality judges the record
# as a whole; what lies outside the range of a column is found by a check of each column, which should come before any
# model.

table.round(3)
