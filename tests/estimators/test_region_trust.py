"""The trust in the table of regions means what it means for records."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from sepc import SEPClassifier


@pytest.mark.parametrize("trust", ["local", "raw"])
@pytest.mark.parametrize("load", [pytest.param(load_breast_cancer, marks=pytest.mark.slow), load_iris])
def test_it_is_the_probability_of_the_region_s_label_at_its_centre(load, trust):
    clf = SEPClassifier(trust=trust).fit(*load(return_X_y=True))
    regions = clf.regions()
    centers = np.array([block.ellipsoid.center for p in clf.partitions_ for block in p.blocks])
    proba = clf.predict_proba(centers * clf.scale_ + clf.mean_)
    code = {str(label): k for k, label in enumerate(clf.classes_)}
    for told, label, p in zip(regions["trust"], regions["label"], proba, strict=True):
        of_class = p[code[label.removeprefix("not ")]]
        assert told == pytest.approx(1.0 - of_class if label.startswith("not ") else of_class)


def test_where_counts_decide_it_is_what_the_counts_give():
    clf = SEPClassifier(trust="counts").fit(*load_breast_cancer(return_X_y=True))
    regions = clf.regions()
    smoothed = (regions["n_label"] + 1) / (regions["n_label"] + regions["n_others"] + 2)
    assert regions["trust"].to_numpy() == pytest.approx(smoothed.to_numpy())
