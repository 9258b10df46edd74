"""
Loans with categories, dates and gaps
=====================================

How does a table with texts, dates and missing values become a verdict that speaks of the same columns?
:func:`~sepc.make_table_pipeline` encodes the columns and says what it did. This page is for those who have to explain
a verdict to the person it is about. The loans are made by :func:`sepc.datasets.make_credit`; one label in twenty is
wrong on purpose.
"""

# %%
# What was made of the columns
# ----------------------------

from textwrap import fill

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

import sepc

table, ending = sepc.datasets.make_credit(2000)
X, X_new, y, y_new = train_test_split(table, ending, test_size=0.4, random_state=0, stratify=ending)
clf = sepc.make_table_pipeline().fit(X, y)
print(*clf["columns"].notes, sep="\n")
print(f"\nRight on new loans: {clf.score(X_new, y_new):.3f}; always 'repaid': {(y_new == 'repaid').mean():.3f}")

# %%
# One verdict in the values of the table
# --------------------------------------
# The text says what speaks for the label, beside what is usual for each, the strongest doubt, and what to do. The
# details name the regions behind the trust, the nearest loans, and what would have to change; ``fixed`` keeps a change
# away from what nobody can change.

a = clf.assess(X_new)
loan = X_new.iloc[int((a.trust * (a.label == "default")).argmax())]
print(loan.to_string(), "\n")
why = clf.explain(loan, fixed=["age", "opened"])
print(fill(why.text, 100), fill(why.details, 100), sep="\n\n")

# %%
# Where a missing value goes
# --------------------------
# A missing value stays missing, and the loan is judged by the others. Where there were gaps in training a feature says
# that a number is missing, so that it may speak for a label. The reason is *outside* if no value could bring the loan
# into a region; else it is not known where it lies, and the reason is *incomplete*. A combination of gaps that is rare
# in training can be *strange*, as any values can.

gaps = [[], ["savings"], ["housing"], ["savings", "years_in_job"], ["income", "savings", "housing"]]
rows = pd.concat([loan.to_frame().T] * len(gaps), ignore_index=True)
for row, columns in enumerate(gaps):
    rows.loc[row, columns] = None
verdicts = clf.assess(rows).to_frame()[["label", "trust", "reason", "typicality"]]
verdicts.set_axis([", ".join(columns) or "nothing" for columns in gaps]).rename_axis("missing").round(3)

# %%
# The risk by housing
# -------------------
# Labels are accepted from the highest trust down. The curve of each group shows which share of its accepted labels is
# wrong; the number is its area times 1000.

figure, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
for housing in ("own", "rent", "free"):
    group = (X_new.housing == housing).to_numpy()
    name = f"{housing} ({group.sum()} loans)"
    sepc.plot.RiskCoverageDisplay.from_estimator(clf, X_new[group], y_new[group], name=name, ax=ax)
plt.show()

# %%
# The groups do not run the same risk: with one threshold for all, the accepted labels of one group are wrong more
# often than those of another. The left end of a curve rests on few loans and says little. A single partition is not
# the most accurate model of such a table; :class:`~sepc.SEPEnsembleClassifier` can take its place, as
# ``sepc.make_table_pipeline(sepc.SEPEnsembleClassifier())``.
