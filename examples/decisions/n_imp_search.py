"""
Search for n_imp
================

How many records of other labels may an ellipsoid hold? ``n_imp`` is the one parameter of the method. Two searches are
compared: scikit-learn's ``GridSearchCV`` with a scorer made of :func:`sepc.metrics.aurc`, and
:func:`~sepc.select_n_imp`, which does the same in one call and also counts the ellipsoids. Fresh records
tell how good the choices are.
"""

# %%
# Search by scikit-learn
# ----------------------
# The area under the risk-coverage curve (AURC) judges labels and their order by trust; smaller is better.
# ``trust="raw"`` ranks nearly as the default does, and its fits take about a quarter of the time.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from sepc import SEPClassifier, select_n_imp
from sepc.metrics import aurc

X, y = make_moons(400, noise=0.3, random_state=0)
estimator = SEPClassifier(trust="raw")
candidates = [0, 1, 2, 5, 10, 20, 40]
scorer = make_scorer(aurc, response_method="predict_proba", greater_is_better=False, labels=[0, 1])
folds = StratifiedKFold(5, shuffle=True, random_state=0)
search = GridSearchCV(estimator, {"n_imp": candidates}, scoring=scorer, cv=folds).fit(X, y)
print("chosen by GridSearchCV:", search.best_params_)

# %%
# Search by sepc
# --------------
# The rule ``one_se`` takes the largest ``n_imp`` whose risk is within one standard error of the least one: fewer
# ellipsoids that are about as good.

path = select_n_imp(X, y, candidates=candidates, estimator=estimator)
print("chosen by select_n_imp:", path.best)
table = path.frame()
table[["n_imp", "aurc", "aurc_se", "accuracy", "outside", "n_ellipsoids", "chosen"]].round(4)

# %%
# Risk of the candidates
# ----------------------

X_fresh, y_fresh = make_moons(5000, noise=0.3, random_state=1)
fresh = [
    aurc(y_fresh, clone(estimator).set_params(n_imp=value).fit(X, y).predict_proba(X_fresh)) for value in candidates
]
found = pd.DataFrame(search.cv_results_)
grid_se = found["std_test_score"] / np.sqrt(folds.n_splits - 1)

place = np.arange(len(candidates))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
look = {"capsize": 3, "linewidth": 1.2}
left.errorbar(
    place - 0.06, -found["mean_test_score"], grid_se, marker="o", color="#0072B2", label="GridSearchCV", **look
)
left.errorbar(place + 0.06, table["aurc"], table["aurc_se"], marker="s", color="#D55E00", label="select_n_imp", **look)
left.plot(place, fresh, marker="^", color="0.4", linestyle=":", label="5000 fresh records")
left.axvline(candidates.index(search.best_params_["n_imp"]) - 0.06, color="#0072B2", linewidth=5, alpha=0.2)
left.axvline(candidates.index(path.best) + 0.06, color="#D55E00", linewidth=5, alpha=0.2)
left.set(ylabel="AURC, with standard errors", ylim=(0, None))
left.legend(loc="lower right")
right.plot(place, table["n_ellipsoids"], marker="s", color="#D55E00")
right.set(ylabel="ellipsoids, mean over the folds", ylim=(0, None))
for ax in (left, right):
    ax.set_xticks(place, candidates)
    ax.set_xlabel("n_imp")
plt.show()

# %%
# Bands mark the choices. The two searches deal the records into different folds, and so have different risks; within
# their errors they agree. The fresh records say more than the folds can: ``n_imp=0`` is worse than the rest, and from
# 1 on it hardly matters, so that the choice is not the best one, either. What a larger ``n_imp`` brings is fewer
# ellipsoids, which are easier to look at. The risk of a chosen candidate is a little too good, as it was chosen by it;
# the final classifier is to be judged by records that took no part.
