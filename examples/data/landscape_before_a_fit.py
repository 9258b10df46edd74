"""
Landscape of labelled data before a fit
=======================================

Which classes overlap, and what is wrong with the table? :func:`~sepc.landscape` answers both before anything is
fitted. This page plants three kinds of trouble in the Iris data and looks for them: for anyone who gets a table and
does not know yet what is in it.
"""

# %%
# A table with planted trouble
# ----------------------------
# One column is constant, one is the sum of two others, and three records come a second time under another label.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_iris

import sepc

iris = load_iris(as_frame=True)
table = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
labels = pd.Series(iris.target_names[iris.target])
table["garden"] = 3.0
table["length of both"] = table["sepal length"] + table["petal length"]
twice = [70, 77, 83]
table = pd.concat([table, table.iloc[twice]], ignore_index=True)
labels = pd.concat([labels, pd.Series(["virginica"] * 3)], ignore_index=True)

view = sepc.landscape(table, labels)

# %%
# Overlap of each pair of classes
# -------------------------------
# Each class is covered by its smallest ellipsoid. ``n_inside`` counts the records of either class that lie in both
# ellipsoids. ``ovr`` is the volume of the overlap as a share of the ellipsoid of the class, and ``ovl`` tells how
# alike the two ellipsoids are when they are read as normal distributions: 1 for equal ones, 0 for ones far apart.

view.pairs[["class_a", "class_b", "n_inside_a", "n_inside_b", "ovr_a", "ovr_b", "ovl", "separable"]].round(4)

# %%
# The same as a picture: a filled cell stands for two classes that share records, the number tells how many.

sepc.plot.LandscapeDisplay.from_landscape(view, ax=plt.figure(figsize=(4.2, 3.4), layout="constrained").subplots())
plt.show()

# %%
# Findings and remedies
# ---------------------
# A *problem* means that results are not to be relied on, a *warning* asks for a look at the data, a *note* informs.
# Each finding has a code that stays the same, for scripts that check a table before they go on.

pd.DataFrame([finding.to_dict() for finding in view.findings]).style.hide()

# %%
# All three planted troubles are found, with the rows and the equation. The landscape does not tell which label of a
# contradictory pair is right, and it looks for linear dependence alone: a column that is the square of another one
# passes.
