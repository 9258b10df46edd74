"""Counterfactuals: the least change that leads to another label."""

import numpy as np
import pytest

from sepc import SEPClassifier


def test_changes_are_in_original_units_and_ranked_in_standard_deviations(cancer, fitted):
    X, _ = cancer
    found = fitted.explain(X.iloc[1]).counterfactual
    sizes = [abs(change.in_units) for change in found.changes]
    assert sizes == sorted(sizes, reverse=True)
    assert np.linalg.norm(sizes) == pytest.approx(found.distance)
    scale = dict(zip(X.columns, fitted.scale_, strict=True))
    for change in found.changes:
        assert change.before == pytest.approx(X.iloc[1][change.feature])
        assert change.after - change.before == pytest.approx(change.change)
        assert change.change == pytest.approx(change.in_units * scale[change.feature], abs=1e-9)


def test_no_shorter_change_into_a_region_of_another_label():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(180, 2)) + np.repeat([[0, 0], [6, 0], [0, 5]], 60, axis=0)
    y = np.repeat(["a", "b", "b"], 60)
    clf = SEPClassifier(standardize=False, trust="paper").fit(X, y)
    z = np.array([0.5, 0.5])
    found = clf.explain(z).counterfactual
    (p,) = clf.partitions_
    ways = [b.ellipsoid.distance(z[None])[0] for b in p.blocks if b.side == 1]
    ways += np.linalg.norm(X[p.isolated[1]] - z, axis=1).tolist()
    assert found.distance == pytest.approx(min(ways))
