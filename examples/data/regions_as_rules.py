"""
Regions read as rules
=====================

What has the classifier learnt, in the units of the table? :meth:`~sepc.SEPClassifier.regions` has one row for each
ellipsoid: what it holds, how far its label can be trusted, and from where to where it reaches.
:func:`~sepc.persist.rules_dict` has the same and the rules in words, ready for JSON. For readers who want to check a
model without running it.
"""

# %%
# Regions as a table
# ------------------
# Three kinds of wine by four measurements. ``n_label`` counts the training wines of the region's own label in it,
# ``n_others`` those of other labels, ``purity`` is the share of the first. ``trust`` is the probability of the label
# at the centre. ``iteration`` tells in which round it was found, 0 stands for what was left over at the end.

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import sepc

wine = load_wine(as_frame=True)
names = ["alcohol", "flavanoids", "color_intensity", "proline"]
X, y = wine.data[names], np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
clf = sepc.SEPClassifier(n_imp=2).fit(X, y)
regions = clf.regions().set_index("region")
regions[["label", "n_label", "n_others", "purity", "trust", "iteration"]].round(3)

# %%
# The other columns say where a region lies, in the original units.

regions[[f"{name} {end}" for name in names for end in ("low", "high")]].round(1)

# %%
# The rules in words
# ------------------
# The same as plain numbers and texts. With the default reading of trust the rules say where a record lies, and which
# training records are counted; its label is the one with the largest probability. With ``trust="paper"`` the rules
# decide.

told = sepc.persist.rules_dict(clf)
print(fill(told["trust"], 100), "\n")
print(*told["rules"].values(), sep="\n")
problem = told["problems"][0]
print(f"\nIsolated wines: {problem['n_isolated']}. Why the partition ended:")
print(fill(problem["stopped"], 100))
first = problem["regions"][0]
print(f"\n{first['region']} holds {first['n_label']} wines of {first['label']} and {first['n_others']} others:")
for name, reach in first["reach"].items():
    print(f"  {name} from {reach['low']:.1f} to {reach['high']:.1f}, centre {reach['centre']:.1f}")

# %%
# From where to where each region reaches
# ---------------------------------------

colours = dict(zip(clf.classes_, ("#0072B2", "#D55E00", "#009E73"), strict=True))
figure, axes = plt.subplots(1, len(names), figsize=(9.5, 3.6), sharey=True, layout="constrained")
for ax, name in zip(axes, names, strict=True):
    low, high = regions[f"{name} low"], regions[f"{name} high"]
    ax.barh(regions.index, high - low, left=low, height=0.6, color=regions.label.map(colours))
    ax.set_xlabel(name)
    ax.use_sticky_edges = False
    ax.margins(x=0.06)
axes[0].invert_yaxis()
plt.show()

# %%
# Read off: which measurement keeps two regions apart, as flavanoids do for Barbera and Barolo. A region does not fill
# the box of its ranges: it is an ellipsoid, and the corners of the box are outside. So a record within all ranges of a
# region may lie outside of it; :meth:`~sepc.SEPClassifier.assess` tells. A range may also go beyond all records, below
# 0 for flavanoids here, because the smallest ellipsoid around few records bulges between them.
