"""Counterfactuals: the least change that leads to an ordinary record of another label."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from hypothesis import given
from real_sets import real_set
from strategies import classified_points, examples
from texts import sentences

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.explanations.change_search import change_metric
from sepc.explanations.counterfactual import NONE_ORDINARY, NOTHING_MAY_CHANGE


def length(model, x, X):
    """Return the lengths of changes of a record to others, by the formula."""
    moved = model.units(np.atleast_2d(X)) - model.units(x)
    return np.sqrt(np.einsum("ij,jk,ik->i", moved, change_metric(model), moved))


def test_changes_are_in_original_units_and_ranked_in_standard_deviations(cancer, fitted):
    X, _ = cancer
    x = X.iloc[1]
    found = fitted.explain(x).counterfactual
    sizes = [abs(change.in_units) for change in found.changes]
    assert sizes == sorted(sizes, reverse=True)
    assert found.distance == pytest.approx(length(fitted.model_, x.to_numpy(), list(found.point.values()))[0])
    scale = dict(zip(X.columns, fitted.scale_, strict=True))
    for change in found.changes:
        assert change.before == pytest.approx(x[change.feature])
        assert change.after - change.before == pytest.approx(change.change)
        assert change.change == pytest.approx(change.in_units * scale[change.feature], abs=1e-9)


@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
@examples(10)
@given(classified_points())
def test_a_change_leads_to_an_ordinary_record_of_another_label(drawn):
    X, y, _ = drawn
    clf = SEPClassifier(n_imp=0).fit(X, y)
    why = clf.explain(X[0], max_columns=1)
    assert (why.counterfactual is None) == (why.no_change_because is not None)
    other = X[why.nearest_other.row]
    assert y[why.nearest_other.row] != why.label
    assert why.nearest_other.distance == pytest.approx(length(clf.model_, X[0], X[y != why.label]).min(), abs=1e-6)
    assert list(why.nearest_other.values.values()) == pytest.approx(other.tolist())
    for found in (why.counterfactual, why.actionable_change):
        if found is None:
            continue
        changed = np.array([list(found.point.values())])
        judged = clf.assess(changed)
        assert judged.label[0] == found.label != why.label
        assert (found.typicality is None) == bool(np.isnan(judged.typicality[0]))
        assert found.typicality is None or judged.typicality[0] == found.typicality >= 0.1
        assert {c.feature for c in found.changes} == {
            name for name, before, after in zip(clf.model_.features, X[0], changed[0], strict=True) if before != after
        }
    if why.actionable_change is not None:
        assert len(why.actionable_change.changes) == 1
        assert why.counterfactual.distance <= why.actionable_change.distance


def random_search(clf, x, records, min_typicality, n):
    """Return the length of the shortest of n changes at random: towards training records, with noise like theirs."""
    rng, model = np.random.default_rng(0), clf.model_
    label, Z, z = clf.predict(x[None])[0], model.units(records), model.units(x)
    tried = z + rng.uniform(0.0, 1.2, (n, 1)) * (Z[rng.integers(len(Z), size=n)] - z)
    noise = rng.multivariate_normal(np.zeros(len(x)), np.linalg.inv(change_metric(model)), size=n)
    tried[::2] += (10.0 ** rng.uniform(-2.0, 0.0, (n, 1)) * noise)[::2]
    judged = clf.assess(model.original(tried))
    does = judged.label != label
    if np.isfinite(judged.typicality).all():
        does &= judged.typicality >= min_typicality
    return float(length(model, x, model.original(tried[does])).min(initial=np.inf))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "clf", "n"),
    [
        ("vertebral_2c", SEPClassifier(), 6),
        ("banknote", SEPClassifier(), 6),
        ("vehicle", SEPClassifier(trust="raw"), 4),
        ("heart_statlog", SEPClassifier(), 6),
        ("heart_statlog", SEPClassifier(trust="paper"), 3),
        ("seeds", SEPClassifier(trust="counts"), 4),
        ("vertebral_2c", SEPEnsembleClassifier(n_estimators=4), 3),
    ],
    ids=lambda value: str(value).split("(")[0],
)
def test_a_random_search_finds_no_much_shorter_change(name, clf, n):
    X, y = real_set(name)
    clf.fit(X[1::2], y[1::2])
    rng = np.random.default_rng(0)
    for x in X[::2][rng.permutation(len(X) // 2)[:n]]:
        found = clf.explain(x).counterfactual
        at_random = random_search(clf, x, X[1::2], 0.1, 2000)
        if found is None:
            assert at_random == np.inf
            continue
        assert found.distance <= 1.25 * at_random


def test_columns_that_always_move_together_move_together():
    rng = np.random.default_rng(0)
    radius = np.concatenate([rng.normal(10.0, 1.0, 100), rng.normal(14.0, 1.0, 100)])
    X = np.column_stack([radius, 6.0 * radius + rng.normal(0.0, 0.2, 200), rng.normal(0.0, 1.0, 200)])
    clf = SEPClassifier().fit(X, np.repeat(["small", "large"], 100))
    for x in X[::40]:
        point = np.array(list(clf.explain(x).counterfactual.point.values()))
        assert point[1] - x[1] == pytest.approx(6.0 * (point[0] - x[0]), abs=0.6)
        assert abs(point[0] - x[0]) > 0.3


def test_a_strange_record_is_changed_to_an_ordinary_one(cancer, fitted):
    X, _ = cancer
    x = X.iloc[1] * np.where(np.arange(X.shape[1]) == 2, 3.0, 1.0)
    why = fitted.explain(x)
    assert why.reason == "beyond"
    assert why.counterfactual.typicality >= 0.1
    # What makes it strange may not change, so no change makes it ordinary.
    held = fitted.explain(x, fixed="mean perimeter")
    assert held.counterfactual is None
    assert held.actionable_change is None
    assert held.no_change_because == NONE_ORDINARY
    assert held.nearest_other is not None


def test_a_higher_typicality_takes_a_longer_change(cancer, fitted):
    X, _ = cancer
    lengths = []
    for least in (0.0, 0.1, 0.5):
        found = fitted.explain(X.iloc[7], min_typicality=least).counterfactual
        assert found.typicality >= least
        lengths.append(found.distance)
    assert lengths[0] <= 1.01 * lengths[1] <= 1.02 * lengths[2]


@pytest.mark.parametrize("most", [1, 2, 4])
def test_an_actionable_change_is_one_of_few_columns(cancer, fitted, most):
    X, _ = cancer
    for i in (6, 12, 44):
        why = fitted.explain(X.iloc[i], max_columns=most)
        if why.actionable_change is None:
            continue
        assert len(why.actionable_change.changes) <= most
        assert why.actionable_change.typicality >= 0.1
        assert why.actionable_change.distance >= why.counterfactual.distance


def test_categories_and_whole_numbers_stay_what_they_are():
    rng = np.random.default_rng(0)
    n = 160
    table = pd.DataFrame({"visits": rng.integers(0, 60, n), "kind": rng.choice(["a", "b", "c"], n)})
    table["cost"] = table["visits"] * 10.0 + rng.normal(0.0, 5.0, n).round(2)
    clf = make_table_pipeline().fit(table, np.where(table["visits"] + 20 * (table["kind"] == "a") > 35, "high", "low"))
    for i in range(8):
        for found in (why := clf.explain(table.iloc[i], max_columns=2)).counterfactual, why.actionable_change:
            if found is not None:
                assert found.point["visits"] == int(found.point["visits"])
                assert found.point["kind"] in {"a", "b", "c"}
                assert clf.assess(pd.DataFrame([found.point])).typicality[0] >= 0.1


def test_the_order_of_the_training_records_has_no_effect(plane):
    clf, x = plane
    X, y = clf.model_.original(clf.model_.points), clf.classes_[clf.model_.codes]
    order = np.random.default_rng(1).permutation(len(X))
    one = SEPClassifier(standardize=False).fit(X, y).explain(x)
    other = SEPClassifier(standardize=False).fit(X[order], y[order]).explain(x)
    assert (one.counterfactual, one.actionable_change) == (other.counterfactual, other.actionable_change)
    assert one.nearest_other.row == order[other.nearest_other.row]


@pytest.fixture(scope="module")
def plane():
    """A classifier of two features, and a record that is nearest to another label by the first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + np.repeat([[0, 0], [4, 0], [0, 9]], [100, 50, 50], axis=0)
    return SEPClassifier(standardize=False).fit(X, np.repeat(["a", "b"], 100)), np.array([0.0, 0.0])


class TestLimits:
    def test_what_is_fixed_stays(self, plane):
        clf, x = plane
        free = clf.explain(x).counterfactual
        for fixed in ("x0", ["x0"], 0, [0]):
            held = clf.explain(x, fixed=fixed).counterfactual
            assert held.point["x0"] == x[0]
            assert held.distance > free.distance
        why = clf.explain(x, fixed="x0")
        assert "x0" in why.limits
        assert why.limits in why.details

    def test_a_range_is_kept(self, plane):
        clf, x = plane
        free = clf.explain(x).counterfactual
        end = 0.9 * free.point["x0"]
        held = clf.explain(x, ranges={"x0": (None, end)}).counterfactual
        assert held.point["x0"] <= end
        assert held.distance > free.distance
        # What lies beyond a range may stay where it is.
        beyond = clf.explain(x, ranges={"x0": (1.0, 1.5)}).counterfactual
        assert beyond.point["x0"] == x[0] or 1.0 <= beyond.point["x0"] <= 1.5

    def test_where_nothing_may_change_it_says_so(self, plane):
        clf, x = plane
        why = clf.explain(x, fixed=["x0", "x1"])
        assert why.counterfactual is None
        assert why.no_change_because == NOTHING_MAY_CHANGE
        assert why.nearest_other is not None
        assert "x0 and x1" in why.limits
        assert sentences(why)[-1].endswith(f"{why.limits}.")

    @pytest.mark.parametrize(
        ("limits", "refusal"),
        [
            ({"fixed": "age"}, raises("change-unknown-column", column="age")),
            ({"fixed": [7]}, raises("change-unknown-column", column=7)),
            ({"ranges": {"x0": (2, 1)}}, raises("range-empty", name="x0", low=2.0, high=1.0)),
            ({"ranges": {"x0": 1}}, raises("range-ends", column="x0", ends=1)),
            ({"ranges": {"x0": ("low", 1)}}, raises("range-end-no-number", name="x0")),
            ({"ranges": ["x0"]}, raises("ranges", ranges=["x0"])),
            ({"min_typicality": 1}, raises("min-typicality", min_typicality=1)),
            ({"min_typicality": "low"}, raises("min-typicality", min_typicality="low")),
            ({"max_columns": 0}, raises("max-columns", max_columns=0)),
            ({"max_columns": 1.5}, raises("max-columns", max_columns=1.5)),
            ({"fixed": "x0", "ranges": {"x0": (0, 1)}}, raises("fixed-with-range", columns="x0")),
        ],
    )
    def test_limits_that_make_no_sense_are_refused(self, plane, limits, refusal):
        clf, x = plane
        with refusal:
            clf.explain(x, **limits)


def test_the_same_record_has_the_same_change(fitted, cancer):
    X, _ = cancer
    assert fitted.explain(X.iloc[4]).counterfactual == fitted.explain(X.iloc[4]).counterfactual
