"""
Label noise named by the landscape
==================================

Which records of a training set have a wrong label? After a fit, ``clf.landscape_`` lists impure and isolated records,
small disjuncts and outliers by row number. This page flips 3 % of the labels of the breast cancer data, counts how
many of them are on each list, and compares with chance and with a cross-validation.
"""

# %%
# Flipped labels and lists of records
# -----------------------------------
# ``n_imp`` must leave room for wrong labels inside a region, otherwise they get ellipsoids of their own: 5 % of the
# smaller class here. The landscape needs no calibrated trust, so ``trust="raw"`` saves time. All numbers are means of
# five plantings.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict

import sepc

data = load_breast_cancer(as_frame=True)
X = data.data.filter(like="mean ")
N_FLIPPED = round(0.03 * len(X))

tables, read_down, read_down_folds = [], [], []
for seed in range(5):
    flipped = np.random.default_rng(seed).choice(len(X), N_FLIPPED, replace=False)
    y = data.target.to_numpy().copy()
    y[flipped] = 1 - y[flipped]

    view = sepc.SEPClassifier(n_imp=0.05, trust="raw").fit(X, y).landscape_
    doubtful = view.impure[view.impure.n_near_own <= 3]
    lists = {
        "impure": view.impure.row,
        "impure, at most 3 of 10 neighbours of its label": doubtful.row,
        "isolated": view.isolated.row,
        "outliers": view.outliers.row,
        "small disjuncts": [row for disjunct in view.disjuncts for row in disjunct.rows],
    }
    tables.append(pd.DataFrame({name: [len(set(r)), len(set(r) & set(flipped))] for name, r in lists.items()}).T)

    # Flipped records found by one who reads down the list of impure records, and down one of doubts out of fold.
    proba = cross_val_predict(sepc.SEPClassifier(), X, y, cv=3, method="predict_proba")
    by_folds = np.argsort(proba[np.arange(len(y)), y])
    read_down.append(np.isin(view.impure.row[:60], flipped).cumsum())
    read_down_folds.append(np.isin(by_folds[:60], flipped).cumsum())

# %%
# Precision is the share of flipped records on a list, recall the share of the flipped records that are on it. A list
# of as many records drawn by chance has a precision of 3 %, and a recall as in the last column.

found = (sum(tables) / len(tables)).set_axis(["named", "flipped among them"], axis=1)
found["precision"] = found["flipped among them"] / found["named"]
found["recall"] = found["flipped among them"] / N_FLIPPED
found["recall by chance"] = found["named"] / len(X)
found.round(2)

# %%
# How many records have to be looked at
# -------------------------------------
# The list of impure records begins with the most doubtful ones. Its peer is a list by the probability of the given
# label, from classifiers that have not seen the record.

seen = np.arange(1, 61)
figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
ax.plot(seen, np.mean(read_down, axis=0) / N_FLIPPED, color="#0072B2", label="impure records, one fit")
ax.plot(
    seen, np.mean(read_down_folds, axis=0) / N_FLIPPED, color="#D55E00", ls="--", label="least probable out of fold"
)
ax.plot(seen, seen / len(X), color="0.4", ls=":", label="chance")
ax.set(xlabel="records looked at", ylabel="share of the flipped labels found", ylim=(0, 1))
ax.legend(loc="center right")
plt.show()

# %%
# The impure list finds most of the flipped labels within its first records, then flattens: a flipped record outside of
# every region of the other label is never on it. The cross-validation costs three calibrated fits and finds more.
# Isolated records, outliers and small disjuncts name other things: scattered wrong labels do not lie together. Some of
# the doubtful records that were not flipped are just hard ones, so that each name is a question and not a verdict.
