"""
Trust around CatBoost
=====================

You have a model and will not give it up: when should you believe it? :class:`~sepc.TrustedClassifier` goes around
CatBoost here, keeps each of its labels, and says how probable it is that the label is right: by what CatBoost's
probabilities were worth on records that it had not seen, and by where the record lies. The loans are made by
:func:`sepc.datasets.make_credit`, with texts, dates and gaps; one label in twenty is wrong on purpose.
"""

# %%
# The model as it was, with trust around it
# -----------------------------------------
# The estimator takes the table as it came; texts become categories of CatBoost. For the regions the table is encoded by
# :class:`~sepc.tables.TableEncoder`, which leaves gaps open.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sepc
from sepc.metrics import aurc, expected_calibration_error
from sepc.plot import RiskCoverageDisplay

table, ending = sepc.datasets.make_credit(2000)
texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]


def for_catboost(X):
    """Return a table that CatBoost takes: texts without gaps."""
    return X.assign(**{name: X[name].astype(str) for name in texts})


boosting = CatBoostClassifier(
    iterations=100, cat_features=texts, random_state=0, thread_count=1, verbose=0, allow_writing_files=False
)
model = make_pipeline(FunctionTransformer(for_catboost), boosting)
X, X_new, y, y_new = train_test_split(table, ending, test_size=0.4, random_state=0, stratify=ending)
clf = sepc.TrustedClassifier(model).fit(X, y)

# %%
# Its labels, and what they are worth
# -----------------------------------
# The labels are CatBoost's to the last one. The trust is a probability, as CatBoost's own number claims to be.

a = clf.assess(X_new)
alone, right = clf.estimator_.predict_proba(X_new).max(axis=1), a.label == y_new
assert np.array_equal(a.label, clf.estimator_.predict(X_new))
pd.DataFrame(
    {
        "calibration error": [expected_calibration_error(right, by) for by in (alone, a.trust)],
        "AURC x 1000": [1000 * aurc(right, by) for by in (alone, a.trust)],
        "right above 0.9, %": [100 * right[by > 0.9].mean() for by in (alone, a.trust)],
    },
    index=["CatBoost's own probability", "trust"],
).round(3)

# %%
# Labels that are not accepted
# ----------------------------
# Besides a trust that is too low there are two reasons that CatBoost cannot have: the record is strange to all regions,
# or with the regions another label is more likely (``disagreement``).

print(pd.Series(a.refusals(min_trust=0.8)).value_counts(dropna=False).to_string())
in_cents = X_new.assign(income=100 * X_new["income"])
print(f"\nincomes in cents, accepted: {clf.assess(in_cents).accepted(min_trust=0.8).mean():.0%}")
sure = clf.estimator_.predict_proba(in_cents).max(axis=1) > 0.8
print(f"CatBoost's own probability above 0.8: {sure.mean():.0%}")

# %%
# Errors over the share of labels that are accepted
# -------------------------------------------------

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, by in (("CatBoost's own probability", alone), ("trust", a.trust)):
    RiskCoverageDisplay.from_predictions(y_new, a.label, by, name=name, ax=ax)
plt.show()

# %%
# With ``labels="joint"`` the likeliest label by both is given, which is no longer always CatBoost's own. Here are the
# shares of right labels.

likeliest = clf.classes_[clf.predict_proba(X_new).argmax(axis=1)]
pd.Series(
    {"CatBoost": right.mean(), "regions": (a.region_label == y_new).mean(), "joint": (likeliest == y_new).mean()}
).round(3)
