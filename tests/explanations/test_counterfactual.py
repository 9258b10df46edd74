"""Counterfactuals: the least change that leads to another label."""

from dataclasses import replace

import numpy as np
import pytest
from coded import raises
from real_sets import real_set
from texts import only_with, sentences

from sepc import SEPClassifier, SEPEnsembleClassifier


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


def along_lines(clf, x, records, scale):
    """Return the length of the shortest change on lines to some records, by a plain search: look, then bisect."""
    label = clf.predict(x[None])[0]
    shares = np.linspace(0.0, 1.0, 17)[1:]
    points = x + shares[:, None, None] * (records - x)
    is_other = (clf.predict(points.reshape(-1, len(x))) != label).reshape(len(shares), -1)
    found = is_other.any(axis=0)
    ends, high = records[found], shares[is_other.argmax(axis=0)[found]]
    low = high - shares[0]
    for _ in range(10):
        middle = (low + high) / 2
        there = clf.predict(x + middle[:, None] * (ends - x)) != label
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return float((high * np.linalg.norm((ends - x) / scale, axis=1)).min(initial=np.inf))


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
def test_no_change_on_lines_to_training_records_is_shorter(name, clf, n):
    X, y = real_set(name)
    clf.fit(X[1::2], y[1::2])
    rng = np.random.default_rng(0)
    for x in X[::2][rng.permutation(len(X) // 2)[:n]]:
        found = clf.explain(x).counterfactual
        plain = along_lines(clf, x, rng.permutation(X[1::2])[:200], clf.model_.scales.scale)
        if found is None:
            assert plain == np.inf
            continue
        changed = np.array(list(found.point.values()))
        assert clf.predict(changed[None])[0] == found.label != clf.predict(x[None])[0]
        assert np.linalg.norm((changed - x) / clf.model_.scales.scale) == pytest.approx(found.distance)
        # What a plain search finds is itself no more exact than so.
        assert found.distance <= 1.001 * plain


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
            ({"fixed": "x0", "ranges": {"x0": (0, 1)}}, raises("fixed-with-range", columns="x0")),
        ],
    )
    def test_limits_that_make_no_sense_are_refused(self, plane, limits, refusal):
        clf, x = plane
        with refusal:
            clf.explain(x, **limits)


def test_a_change_that_leaves_the_range_of_the_data_says_so():
    along = np.linspace(0.0, 5.0, 40)
    wiggle = 0.1 * np.sin(9.0 * along)
    long = np.column_stack([along - wiggle, along + wiggle])
    short = 0.6 * long + [0.6, -0.6]
    clf = SEPClassifier(trust="raw").fit(np.concatenate([long, short]), np.repeat(["long", "short"], 40))
    inside = clf.explain([1.5, 1.5])
    assert inside.counterfactual.beyond == ()
    why = clf.explain(long[-1])
    assert why.counterfactual.point["x0"] > long[:, 0].max()
    assert why.counterfactual.beyond == ("x0",)
    (told,) = only_with(why, counterfactual=replace(why.counterfactual, beyond=()))
    assert told.endswith(" x0.")


def test_the_same_record_has_the_same_change(fitted, cancer):
    X, _ = cancer
    assert fitted.explain(X.iloc[4]).counterfactual == fitted.explain(X.iloc[4]).counterfactual
