"""
Partition again with what was learnt
====================================

Some verdicts turned out wrong: what now? :class:`~sepc.feedback.FeedbackMonitor` counts wrong verdicts by region. More
of them than ``n_imp`` are the paper's sign that a group of records is missing from the training set;
:meth:`~sepc.feedback.FeedbackMonitor.repartition` then takes the observed records in and partitions afresh. This page
shows what changes, and whether it helps on records that neither classifier has seen.
"""

# %%
# A kind of fault that was not in the training set
# ------------------------------------------------

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sepc


def parts(n, share_new, rng):
    """Return n parts; this share of them has a fault of a new kind."""
    kind = rng.choice(3, n, p=[0.6, 0.4 - share_new, share_new])
    middle = np.array([[0.0, 0.0], [4.0, 0.5], [-1.5, 3.2]])[kind]
    X = middle + rng.normal(size=(n, 2)) * np.array([[1.0, 0.8], [0.9, 0.9], [0.6, 0.5]])[kind]
    return pd.DataFrame(X, columns=["temperature", "vibration"]), np.where(kind == 0, "sound", "faulty"), kind == 2


rng = np.random.default_rng(0)
X, y, _ = parts(400, 0.0, rng)
clf = sepc.SEPClassifier(n_imp=2).fit(X, y)

# %%
# Feedback of verdicts
# --------------------
# Parts with the new fault arrive, and their true labels become known later.

X_seen, y_seen, _ = parts(200, 0.15, rng)
monitor = sepc.feedback.FeedbackMonitor(clf).observe(X_seen, y_seen, labels="all")
for line in str(monitor.report()).splitlines():
    print(fill(line, 100, subsequent_indent="  "))
monitor.regions()[["region", "n_right", "n_wrong", "trust", "share_right", "exceeds"]].head(5).round(3)

# %%
# A fresh partition
# -----------------
# The old classifier stays as it is. The report of changes names ellipsoids that appeared, changed or disappeared, and
# the observed records whose verdict is another one now.

new, changes = monitor.repartition()
print(changes)
pd.DataFrame(changes.ellipsoids).fillna("").head(8)

# %%
# Before and after, on records that neither has seen
# --------------------------------------------------
# ``changes.accuracy_after`` flatters: the observed records have become training records. New ones are the judge.

X_test, y_test, is_new = parts(2000, 0.15, rng)
rows = {}
for name, model in (("before", clf), ("after", new)):
    a = model.assess(X_test)
    right, accepted = a.label == y_test, a.accepted()
    rows[name] = {
        "right, all": right.mean(),
        "right, new fault": right[is_new].mean(),
        "accepted, all": accepted.mean(),
        "accepted, new fault": accepted[is_new].mean(),
        "wrong among accepted": 1 - right[accepted].mean(),
    }
pd.DataFrame(rows).T.round(3)

# %%
# The observed records, and the regions and labels around them:

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
for ax, model, title in ((axes[0], clf, "before"), (axes[1], new, "after")):
    sepc.plot.PartitionDisplay.from_estimator(model, X_seen, y_seen, shade=True, n_names=0, ax=ax)
    ax.set_title(title)
plt.show()

# %%
# The place of the new fault, at the upper left, belongs to *sound* before and to *faulty* after. Before, all of these
# labels are wrong, but nearly none is accepted: the records are strange. The monitor learns from wrong verdicts, it
# does not prevent them, and it takes observed records in as they are: a wrong label among them is learnt, too.
