"""
MAPIE, calibrated-explanations and sepc side by side
====================================================

Three packages say when not to trust a label. What does each of them say of the same five records? MAPIE gives sets of
labels with a promised coverage, calibrated-explanations calibrated probabilities with an interval and a reject option,
sepc a trust, a typicality and a reason. For those who have to choose, or to combine.
"""

# %%
# The same records for all
# ------------------------
# MAPIE and calibrated-explanations wrap any model, here a random forest, and need calibration records that it has not
# seen. sepc is a model of its own, calibrates itself, and gets these records for the fit. The levels are chosen so
# that all three answer about as many records: sets that hold the true label with a probability of 99 %, a trust of 95
# %.

import numpy as np
import pandas as pd
from calibrated_explanations import RejectPolicySpec, WrapCalibratedExplainer
from mapie.classification import SplitConformalClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import sepc

data = load_breast_cancer()
names = data.target_names
X, X_test, y, y_test = train_test_split(data.data, data.target, test_size=0.4, random_state=0, stratify=data.target)
X_fit, X_cal, y_fit, y_cal = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
forest = RandomForestClassifier(100, random_state=0).fit(X_fit, y_fit)

conformal = SplitConformalClassifier(forest, confidence_level=0.99, prefit=True).conformalize(X_cal, y_cal)
explainer = WrapCalibratedExplainer(forest)
explainer.calibrate(X_cal, y_cal, feature_names=data.feature_names.tolist())
clf = sepc.SEPClassifier().fit(X, y)

# %%
# What each number means
# ----------------------

meaning = {
    "MAPIE": [
        "set of labels; it holds the true one for 99 % of new records, on average",
        "two labels, or none",
        "wraps any classifier; a promise of coverage, control of other risks",
    ],
    "calibrated-explanations": [
        "calibrated probability, with an interval that tells how well it is known",
        "ambiguous (two labels) or novel (none), by a set of labels",
        "wraps any classifier or regressor; rules with weights for the features",
    ],
    "sepc": [
        "trust, a calibrated probability; typicality, the share of training records at least as strange",
        "low trust, contested, or strange",
        "is the model; needs no calibration records; regions with counts",
    ],
}
pd.DataFrame(meaning, index=["number", "abstains for", "beside it"]).transpose().style.format()

# %%
# Five records
# ------------
# The surest record of either label by the forest, the least sure one by the forest and by sepc, and one whose values
# came in a wrong unit, a thousand times too large. Then all test records, as they are and in the wrong unit.

proba = forest.predict_proba(X_test)[:, 1]
five = [proba.argmax(), proba.argmin(), np.abs(proba - 0.5).argmin(), clf.trust_score(X_test).argmin(), proba.argmax()]
truth = [*names[y_test[five[:4]]], "(wrong unit)"]
rows = np.vstack([X_test[five[:4]], 1000 * X_test[five[4:]], X_test, 1000 * X_test])

label, sets = conformal.predict_set(rows)
size = sets[:, :, 0].sum(axis=1)
why = np.select([size == 0, size == 2], ["empty set", "two labels"], "")
says = {"MAPIE": (label, [f"set of {k}" for k in size], why)}

flagged = explainer.predict(rows, reject_policy=RejectPolicySpec.flag(), reject_confidence=0.99)
p, (low, high) = explainer.predict_proba(rows, uq_interval=True)
why = np.select([flagged.metadata["novelty_mask"], flagged.metadata["ambiguity_mask"]], ["novel", "ambiguous"], "")
numbers = [f"{names[1]} {i:.2f} ({j:.2f} to {k:.2f})" for i, j, k in zip(p[:, 1], low, high, strict=True)]
says["calibrated-explanations"] = flagged.prediction, numbers, why

a = clf.assess(rows)
why = np.array([refusal or "" for refusal in a.refusals(min_trust=0.95)])
numbers = [f"trust {i:.3f}, typicality {j:.2f}" for i, j in zip(a.trust, a.typicality, strict=True)]
says["sepc"] = a.label, numbers, why

tables, n = [], len(X_test)
for package, (label, number, why) in says.items():
    columns = {"record": range(1, 6), "true": truth, "package": package, "label": names[label[:5]]}
    tables.append(pd.DataFrame({**columns, "number": number[:5], "abstains": why[:5]}))
    kept, right = why[5 : 5 + n] == "", label[5 : 5 + n] == y_test
    print(f"{package}: answers {kept.mean():.3f} of the test records, {1 - right[kept].mean():.3f} of these wrong;")
    print(f"  in the wrong unit it answers {np.mean(why[5 + n :] == ''):.3f}")
pd.concat(tables).sort_values(["record", "package"]).set_index(["record", "true", "package"])

# %%
# All three agree on what is sure, and abstain where the forest or sepc is in doubt, each for a reason of its own. The
# wrong unit is seen by sepc alone: sets and intervals of the others come from the forest's score, which is as sure far
# away as nearby. In return theirs is a promise, or an interval, for the model that one already has, while sepc has to
# be the model. This is one split of one easy data set: the shares above say little about others.
