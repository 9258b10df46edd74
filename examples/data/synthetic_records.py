"""
Synthetic records beside real ones
==================================

Can records be passed on that are like the real ones but belong to nobody? :meth:`~sepc.SEPClassifier.sample` draws
them from the ellipsoids of a fitted classifier. This page trains other classifiers on them and tests these on real
records, and lets a forest try to tell the two kinds apart.
"""

# %%
# Drawing records
# ---------------
# Each record is drawn uniformly from an ellipsoid, ellipsoids in proportion to the training records that they hold.
# The label is that of the ellipsoid. Drawing needs no calibrated trust, so ``trust="raw"`` is enough.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc

data = load_breast_cancer(as_frame=True)
labels = data.target_names[data.target]
X, X_test, y, y_test = train_test_split(data.data, labels, test_size=0.4, random_state=0, stratify=labels)
clf = sepc.SEPClassifier(trust="raw").fit(X, y)
X_made, y_made = clf.sample(5 * len(X), random_state=0)

pair = ["mean radius", "mean concave points"]
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, title, table, label in (
    (axes[0], "real records", X, y),
    (axes[1], "as many synthetic ones", X_made[: len(X)], y_made[: len(X)]),
):
    for name, colour, marker in (("benign", "#0072B2", "o"), ("malignant", "#D55E00", "s")):
        ax.scatter(*table[label == name][pair].to_numpy().T, s=12, color=colour, marker=marker, alpha=0.6, label=name)
    ax.set(title=title, xlabel=pair[0])
axes[0].set_ylabel(pair[1])
axes[0].legend()
plt.show()

# %%
# Trained on synthetic, tested on real records
# --------------------------------------------
# Share of right labels on real records that neither the classifier nor the samples have seen.

n = len(X)
training_sets = {
    "real": (X, y),
    "as many synthetic": (X_made[:n], y_made[:n]),
    "five times as many synthetic": (X_made, y_made),
    "real and as many synthetic": (pd.concat([X, X_made[:n]]), np.append(y, y_made[:n])),
}
models = {
    "random forest": RandomForestClassifier(50, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}
right = {
    name: {which: model.fit(*training).score(X_test, y_test) for which, training in training_sets.items()}
    for name, model in models.items()
}
pd.DataFrame(right).round(3)

# %%
# Can they be told apart?
# -----------------------
# A forest learns to tell real test records from as many synthetic ones. An area under the ROC curve of 0.5 would mean
# that it cannot.

both = pd.concat([X_test, X_made[: len(X_test)]])
is_made = np.repeat([0, 1], len(X_test))
area = cross_val_score(RandomForestClassifier(50, random_state=0), both, is_made, scoring="roc_auc", cv=3).mean()
column = X_made.min().idxmin()
print(f"ROC area, real against synthetic: {area:.2f}")
print(f"Smallest {column}, real: {X_test[column].min():.1f}; synthetic: {X_made[column].min():.1f}")

# %%
# A classifier trained on synthetic records comes close to one trained on real ones, and adding synthetic records to
# real ones brings nothing here. They are not copies of the real distribution: an ellipsoid is filled evenly, with
# values that no real record can have, as printed above, and a forest tells many of them apart. No promise of privacy
# goes with them either: an ellipsoid of few records says a good deal about these.
