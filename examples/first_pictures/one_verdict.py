"""
One verdict, taken apart
========================

Why this label? :meth:`SEPClassifier.explain <sepc.SEPClassifier.explain>` answers for one record: which regions give
the label its probability, which speak for the rival, and what would have to change for another label. The record here
is from the breast cancer data: the least trusted one whose label is neither contested nor strange.
"""

# %%
# Record with a doubtful label
# ----------------------------
# Ten of the thirty columns are enough for this, and keep the text short.

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier

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

e = clf.explain(X_test.iloc[number])
print(textwrap.fill(e.text, 110))
print("\ntrue label:", y_test[number])

# %%
# Reasons as bars
# ---------------
# The trust is a sum: ``e.shares`` lists what each region adds to the probability of the label and to that of its
# rival. The *background* stands for no region; labels are as frequent in it as in the training set. Regions with ``@``
# are training records that no ellipsoid holds. ``e.counterfactual`` is the smallest change found that gives another
# label.

colours = {"benign": "#0072B2", "malignant": "#D55E00"}
shares = [s for s in e.shares if s.share >= 0.002]
changes = e.counterfactual.changes[:6]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")

bars = left.barh(range(len(shares)), [s.share for s in shares], color=[colours[s.label] for s in shares])
left.bar_label(bars, [f"{s.share:.1%}" for s in shares], padding=3, fontsize="small")
left.set_yticks(range(len(shares)), [f"{s.region} ({s.records} records)" for s in shares])
left.set(xlabel="share of the probability", xlim=(0, 1.2 * max(s.share for s in shares)))
totals = {label: sum(s.share for s in e.shares if s.label == label) for label in colours}
left.legend(handles=[Patch(color=colours[name], label=f"{name}: {totals[name]:.1%} in all") for name in colours])
left.invert_yaxis()

right.barh(range(len(changes)), [c.in_units for c in changes], color="0.6")
right.set_yticks(range(len(changes)), [c.in_words() for c in changes])
right.set(xlabel="change, in standard deviations", title=f"to become {e.counterfactual.label}")
right.axvline(0, color="black", linewidth=0.8)
right.locator_params(axis="x", nbins=5)
right.invert_yaxis()
plt.show()

# %%
# One region gives the label nearly all of its probability, and it holds few records; of three partitions without a part
# of the records only one gives the same label. The label is right here, but a trust as low as this means that about one
# such label in four is wrong. The bars of one colour add up to the probability of that label. The change on the right
# is small: the record lies next to the border. It is no advice and no cause: the columns of a real record do not move
# one by one, and the trust after the change is only just one half.
