"""
Regions of three classes
========================

Where does each class lie, and which classes touch? Three classes of iris in two features, drawn by
:class:`~sepc.plot.PartitionDisplay`, and the overlaps between their ellipsoids, drawn by
:class:`~sepc.plot.LandscapeDisplay`. :class:`~sepc.SEPClassifier` partitions all classes at once.
"""

# %%
# Regions
# -------
# :meth:`SEPClassifier.regions <sepc.SEPClassifier.regions>` has one row per ellipsoid. ``n_label`` and ``n_others``
# count all training records in it; ``trust`` is the probability of its label at its centre.

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from sepc import SEPClassifier
from sepc.plot import LandscapeDisplay, PartitionDisplay

data = load_iris(as_frame=True)
X = data.data[["petal length (cm)", "petal width (cm)"]]
y = data.target_names[data.target]
clf = SEPClassifier(n_imp=2).fit(X, y)
clf.regions()[["region", "label", "iteration", "n_label", "n_others", "trust"]].round(3)

# %%
# Overlaps
# --------
# ``clf.landscape_`` knows which ellipsoids meet. Those of different labels tell which classes touch; ``n_common``
# counts the training records in both.

overlaps = clf.landscape_.class_graph
overlaps[~overlaps["same_label"]]

# %%
# Picture
# -------

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
PartitionDisplay.from_estimator(clf, shade=True, ax=left)
LandscapeDisplay.from_estimator(clf, ax=right)
plt.show()

# %%
# Left: the plane coloured by label, paler where the label is less to be trusted. Setosa has one ellipsoid that meets
# no other. Versicolor and virginica touch in one pair of small ellipsoids; the right picture has it as the one square
# without hatching, with the number of records that both hold.
#
# An ellipsoid may hold more records of other labels than ``n_imp``, as the column ``n_others`` shows: in each round
# only the records count that are not yet in an ellipsoid. With more than two features the ellipses would be shadows of
# ellipsoids, which can cross where the ellipsoids do not; the right picture is exact in any dimension.
