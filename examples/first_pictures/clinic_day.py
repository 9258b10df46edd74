"""
A day in a clinic
=================

Which of today's labels may leave the house without a second look? Breast cancer records are split into training
records, calibration records and the records of one day. :func:`~sepc.select_min_trust` finds a trust threshold with a
promise. Two records of the day are spoilt: one is in other units, in one two columns are swapped. The day's list says
which labels are accepted, and why the others are not.
"""

# %%
# Records of a day
# ----------------

import textwrap

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, select_min_trust

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X, X_rest, y, y_rest = train_test_split(data.data, y, train_size=280, random_state=0, stratify=y)
X_cal, today, y_cal, y_today = train_test_split(X_rest, y_rest, test_size=26, random_state=0, stratify=y_rest)

today = today.set_axis([f"record {i}" for i in range(1, len(today) + 1)])
as_measured = today.copy()
lengths = today.columns.str.contains("radius|perimeter")
today.loc["record 5", lengths] *= 10  # as if measured in a ten times smaller unit
today.loc["record 5", today.columns.str.contains("area")] *= 100
swapped = ["worst radius", "worst texture"]
today.loc["record 14", swapped] = today.loc["record 14", swapped[::-1]].to_numpy()

# %%
# Threshold with a promise
# ------------------------
# The calibration records were not fitted to. They stand for the records to come: only then does the promise hold.

clf = SEPClassifier().fit(X, y)
promise = select_min_trust(clf, X_cal, y_cal, max_error=0.05, confidence=0.95)
print(textwrap.fill(promise.message, 110))

# %%
# List of the day
# ---------------
# :meth:`Assessment.refusals <sepc.model.Assessment.refusals>` gives the reason of each refusal.
# :meth:`SEPClassifier.explain <sepc.SEPClassifier.explain>` names the columns that make a record strange, and the share
# of the rival label in the others. ``later`` is the true label, which nobody knew on that day.

a = clf.assess(today)
why = a.refusals(promise.min_trust)


def hint(name, reason):
    """Return what a person should look at first."""
    if reason is None:
        return ""
    e = clf.explain(today.loc[name])
    if reason == "strange":
        return "check " + ", ".join(f.feature for f in e.strange_features[:2])
    return f"{e.evidence.rival} has {1 - e.trust:.0%}"


table = a.to_frame()[["label", "trust", "typicality"]].round(3)
table.insert(0, "decision", ["accepted" if reason is None else f"refused: {reason}" for reason in why])
table["hint"] = [hint(name, reason) for name, reason in zip(today.index, why, strict=True)]
table["later"] = y_today
accepted = table[table["decision"] == "accepted"]
wrong = (accepted["label"] != accepted["later"]).sum()
print(f"{len(accepted)} of {len(table)} labels accepted, {wrong} of these wrong")
table.sort_values(["decision", "trust"], ascending=[False, True])

# %%
# Both spoilt records, 5 and 14, are refused as strange, and the hints lead to the trouble. An ordinary record is
# refused as strange, too. The promise is about the mean of many days: a wrong label among the accepted ones of one day
# does not break it. It does not speak of spoilt records, which come from another source. To refuse these is the task
# of the typicality, and it does not find all of them. The same swap in each record of the day:

as_measured[swapped] = as_measured[swapped[::-1]].to_numpy()
b = clf.assess(as_measured)
strange, accepted = b.reason == "strange", b.accepted(promise.min_trust)
print(f"swapped in all {len(b)} records: {strange.sum()} strange, {accepted.sum()} accepted")
