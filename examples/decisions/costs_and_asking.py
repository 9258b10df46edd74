"""
Costs of errors, and when to ask a person
=========================================

A missed tumour costs more than a false alarm, and a second look costs something, too. What does it save to decide by
these prices instead of by one trust threshold? :meth:`~sepc.SEPClassifier.under` takes prices, and the share of each
class where the model is used. This page lets the price of asking grow, and counts what decisions cost on records that
were put aside.
"""

# %%
# Records and prices
# ------------------
# Half of the breast cancer records stand for those in use. Missing a malignant one costs 50, a false alarm 5.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, y, test_size=0.5, random_state=0, stratify=y)
clf = SEPClassifier().fit(X, y)
errors = {"malignant": {"benign": 50.0}, "benign": {"malignant": 5.0}}


def mean_cost(labels, asking):
    """Return what some labels cost a record; None is a record that a person was asked about."""
    price = {(true, given): cost for true, row in errors.items() for given, cost in row.items()}
    pairs = zip(y_new, labels, strict=True)
    return np.mean([asking if given is None else price.get((true, given), 0.0) for true, given in pairs])


# %%
# Four ways to decide
# -------------------
# The least expected cost; a trust of 0.95; a trust of 0.99; and always the likeliest label.

prices = np.array([0.1, 0.25, 0.5, 1.0, 2.0, 4.0])
by_cost = [clf.predict_or_abstain(X_new, costs={**errors, None: asking}) for asking in prices]
ways = {
    "least expected cost": [mean_cost(labels, asking) for labels, asking in zip(by_cost, prices, strict=True)],
    "trust of 0.95": [mean_cost(clf.predict_or_abstain(X_new), asking) for asking in prices],
    "trust of 0.99": [mean_cost(clf.predict_or_abstain(X_new, min_trust=0.99), asking) for asking in prices],
    "always a label": [mean_cost(clf.predict(X_new), asking) for asking in prices],
}
asked = [np.mean([label is None for label in labels]) for labels in by_cost]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
colours = ("#0072B2", "#D55E00", "#009E73", "0.4")
for (way, cost), colour, mark in zip(ways.items(), colours, "os^x", strict=True):
    left.plot(prices, cost, marker=mark, color=colour, label=way)
left.set(xscale="log", yscale="log", xlabel="price of asking a person", ylabel="cost of a record")
left.legend(fontsize="small")
right.plot(prices, asked, "o-", color=colours[0])
right.set(xscale="log", xlabel="price of asking a person", ylabel="share of records asked about", ylim=(0, None))
plt.show()

# %%
# The dearer a person is, the fewer records are asked about; a threshold asks about the same ones whatever it costs. As
# long as asking is cheap, a trust of 0.95 costs four to seven times the least expected cost; from a price of 2 on
# it costs about a quarter more. Up to there a trust of 0.99 is the cheapest on these records: it makes no error here,
# which probabilities cannot know beforehand, and nobody told which threshold to take.
#
# How common the classes are matters as much. Where one case in a hundred is malignant, the same measurements are weaker
# evidence of it, and more records go to a person.

screening = clf.under(class_prior={"malignant": 0.01}, costs={**errors, None: 1.0})
clinic = clf.under(costs={**errors, None: 1.0})
for name, one in (("as in training", clinic), ("one case in a hundred", screening)):
    given = one.predict_or_abstain(X_new)
    shares = [np.mean([label == wanted for label in given]) for wanted in ("benign", "malignant", None)]
    print(f"{name}: benign {shares[0]:.0%}, malignant {shares[1]:.0%}, to a person {shares[2]:.0%}")

# %%
# What it does not show: prices are expectations. Where the trust is wrong, so are they; and on so few records one or
# two dear errors decide which curve is lowest.
