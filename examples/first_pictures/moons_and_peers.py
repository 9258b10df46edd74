"""
Two moons beside a forest and an SVM
====================================

How sure is a classifier where there are no data? The plane is coloured by label and confidence, far beyond the two
moons, for :class:`~sepc.SEPClassifier`, a random forest and an RBF SVM with calibrated probabilities. For
readers who know the two peers and ask what a trust and a typicality add.
"""

# %%
# Three classifiers
# -----------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from sepc import SEPClassifier

X, y = make_moons(400, noise=0.2, random_state=0)
X_test, y_test = make_moons(2000, noise=0.2, random_state=1)
models = {
    "SEPClassifier": SEPClassifier(n_imp=4).fit(X, y),
    "random forest": RandomForestClassifier(100, random_state=0).fit(X, y),
    "RBF SVM, calibrated": CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y),
}

# %%
# Confidence far away
# -------------------
# Close to the data the three are about equally often right. The last columns are the largest probability at three
# places where no training point is near.

places = np.array([[5.0, 5.0], [-5.0, 0.0], [0.5, -40.0]])
table = {
    name: [model.score(X_test, y_test), *model.predict_proba(places).max(axis=1)] for name, model in models.items()
}
names = ["accuracy", *(f"confidence at ({a:g}, {b:g})" for a, b in places)]
pd.DataFrame.from_dict(table, orient="index", columns=names).round(3)

# %%
# Plane of labels
# ---------------
# The depth of the colour is the confidence. The black line is sepc's limit of what is strange: outside of it the
# typicality is below 0.01, and :meth:`Assessment.accepted <sepc.model.Assessment.accepted>` refuses the label whatever
# its trust.

x_grid, y_grid = np.linspace(-4.5, 5.5, 180), np.linspace(-4, 4.5, 180)
grid = np.stack(np.meshgrid(x_grid, y_grid), axis=-1).reshape(-1, 2)
colours = LinearSegmentedColormap.from_list("confidence", ["#0072B2", "white", "#D55E00"])
figure, panels = plt.subplots(1, 3, figsize=(11, 3.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(panels, models.items(), strict=True):
    share = model.predict_proba(grid)[:, 1].reshape(len(y_grid), len(x_grid))
    image = ax.pcolormesh(x_grid, y_grid, share, cmap=colours, vmin=0, vmax=1, rasterized=True)
    for label, (colour, marker) in enumerate((("#003B5C", "o"), ("#5F2A00", "^"))):  # darker than the plane
        ax.scatter(*X[y == label].T, s=7, color=colour, marker=marker, linewidths=0, label=f"class {label}")
    ax.set(title=name, xlabel="first feature")
typicality = models["SEPClassifier"].assess(grid).typicality.reshape(share.shape)
panels[0].contour(x_grid, y_grid, typicality, levels=[0.01], colors="black", linewidths=1)
panels[0].annotate("strange", (3.0, -3.2), ha="center")
panels[0].set_ylabel("second feature")
panels[2].legend(loc="lower right", fontsize="small")
figure.colorbar(image, ax=panels, label="probability of class 1")
plt.show()

# %%
# The forest carries the confidence of the outermost training points on to infinity. The SVM with its calibration goes
# back to one number far away, but it leans to one class. sepc's probabilities go back to the shares of the labels.
# They do so late: for some way beyond the black line they are still near 0 or 1, and it is the typicality that refuses
# these labels. The picture does not show many dimensions, where most ordinary records lie outside of every ellipsoid.
