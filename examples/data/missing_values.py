"""
More and more missing values
============================

What is left of a classifier when values are missing: a test that was not made, a sensor that was silent? Records with
gaps are judged by what is there. The usual way is to fill in the mean of the column before. This page takes more and
more values away, and counts by both ways how often labels are right and how many of them are accepted.
"""

# %%
# Values that are taken away
# --------------------------
# Half of the breast cancer records are for training, half are new. Values are taken away at random, each with the same
# probability. :class:`~sepc.SEPClassifier` takes NaN as it is.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split

import sepc

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, y, test_size=0.5, random_state=0, stratify=y)


def with_gaps(X, share, seed):
    """Return records of which this share of the values is missing."""
    return X.mask(np.random.default_rng(seed).random(X.shape) < share)


def counted(clf, X):
    """Return which share of the labels is right, is accepted, and is right among those that are accepted."""
    a = clf.assess(X)
    right, ok = a.label == y_new, a.accepted()
    return right.mean(), ok.mean(), right[ok].mean()


def filled(train, new):
    """Return both sets with the means of the training set in their gaps."""
    means = SimpleImputer().set_output(transform="pandas").fit(train)
    return means.transform(train), means.transform(new)


# %%
# First only new records have gaps, and the same classifier judges them as they are and with means in the gaps. Then the
# training records have as many gaps, and there are two classifiers.

shares = np.array([0.0, 0.2, 0.5, 0.8])
complete = sepc.SEPClassifier(n_imp=0.05).fit(X, y)
found = {"gaps in new records": [], "gaps in all records": []}
for share in shares:
    train, new = with_gaps(X, share, seed=1), with_gaps(X_new, share, seed=0)
    found["gaps in new records"].append([counted(complete, new), counted(complete, filled(X, new)[1])])
    pairs = (train, new), filled(train, new)
    found["gaps in all records"].append([counted(clone(complete).fit(seen, y), unseen) for seen, unseen in pairs])

# %%
# What is left
# ------------

figure, rows = plt.subplots(2, 3, figsize=(10, 6), layout="constrained", sharex=True, sharey="col")
titles = ("right, of all labels", "accepted", "right, of accepted labels")
for (case, values), axes in zip(found.items(), rows, strict=True):
    for which, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        for way, colour, mark in ((0, "#0072B2", "o"), (1, "#D55E00", "s")):
            name = ("judged by what is there", "means filled in")[way]
            axis.plot(shares, np.array(values)[:, way, which], marker=mark, color=colour, label=name)
        axis.set_title(f"{case}:\n{title}", fontsize="medium")
    axes[0].axhline((y_new == "benign").mean(), color="0.5", ls=":", label="always benign")
for axis in rows[1]:
    axis.set_xlabel("share of values missing")
rows[1, 0].legend(fontsize="small", loc="lower left")
plt.show()

# %%
# The 30 measurements of a tumour hang together, so that a few of them tell nearly as much as all: with half of the
# values gone, labels are right as often as before. Somewhat fewer are accepted, and those are right as often as asked
# for.
#
# A mean is a value like any other. Together with the values that are there it makes records that do not exist, and a
# classifier of complete records gets lost: from a fifth of missing values on it is right less often than one that
# always says benign. A classifier that has learned from such records does much better, but it accepts less than the one
# that leaves the gaps as they are.
#
# One record in words: what is missing, and which value would be worth asking for.

new = with_gaps(X_new, 0.2, seed=0)
row = int(np.argmin(complete.trust_score(new)))
why = complete.explain(new.iloc[row])
print(f"{why.label} with a trust of {why.trust:.2f}; in truth {y_new[row]}")
print(*why.missing.sentences())

# %%
# What it does not show: values are missing by chance alone here. Where a value is missing because it would have been
# unusual, nothing in the data tells it, and the trust is too high or too low.
