"""
One verdict, taken apart
========================

Why this label? :meth:`SEPClassifier.explain <sepc.SEPClassifier.explain>` answers for one record: in four sentences, in
a table of what each column adds, in a picture, and in details. The record here is from the breast cancer data: the
least trusted one whose label is neither contested nor strange.
"""

# %%
# Record with a doubtful label
# ----------------------------
# Ten of the thirty columns are enough for this, and keep the text short.

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier
from sepc.plot import ExplanationDisplay

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(
    data.data.filter(like="worst"), data.target_names[data.target], random_state=0, stratify=data.target
)
clf = SEPClassifier(n_imp=2).fit(X, y)
a = clf.assess(X_test)
calm = np.flatnonzero(~np.isin(a.reason, ["contested", "strange"]))
number = calm[np.argmin(a.trust[calm])]
a.to_frame().iloc[[number]].round(3)

# %%
# Reasons in words
# ----------------
# *Usually* is what 80 % of the training records with that label have.

e = clf.explain(X_test.iloc[number])
print(textwrap.fill(e.text, 110))
print("\ntrue label:", y_test[number])

# %%
# Reasons column by column
# ------------------------
# What the columns add to the log odds of the label against its rival, and what is no column: together they are the log
# odds. Columns that say the same share what they say.

e.table().round(3)

# %%
# Reasons as a picture
# --------------------
# On the left each bar begins where the one above it ends, so that the last one is the log odds. On the right are the
# training records of both labels, a thick line from the 10 % to the 90 % quantile of each, and the record as a black
# diamond.

figure, ax = plt.subplots(figsize=(11, 4.6), layout="constrained")
ExplanationDisplay.from_estimator(clf, X_test.iloc[number], explanation=e, ax=ax)
plt.show()

# %%
# The details
# -----------
# The regions behind the trust with the columns that set them apart, the paper's rule, the nearest training records, and
# the smallest change that would give another label. The change is no advice and no cause.

print(textwrap.fill(e.details, 110))
