"""Laws of the metrics of selective classification."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, make_scorer, precision_recall_fscore_support, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from strategies import examples, orders, weights

from sepc.metrics import (
    accuracy_at_coverage,
    augrc,
    aurc,
    class_report,
    coverage_at_risk,
    e_aurc,
    expected_calibration_error,
    reliability_curve,
    risk_coverage_curve,
)

AREAS = [aurc, e_aurc, augrc]
SCALARS = [*AREAS, accuracy_at_coverage, coverage_at_risk, expected_calibration_error]
METRICS = [*SCALARS, risk_coverage_curve, reliability_curve]
NAMES = np.array(["ash", "birch", "cedar"])


@st.composite
def outcomes(draw, max_size=40, levels=6):
    """Right and wrong labels with confidences full of ties, as ``(y_true, y_pred, confidence)``."""
    rows = draw(st.lists(st.tuples(st.booleans(), st.integers(0, levels)), min_size=1, max_size=max_size))
    wrong, level = np.array(rows).T
    return np.zeros(len(rows), int), wrong, level / levels


def agree(result, expected, tol=1e-12):
    """Compare two results of one metric, numbers or curves."""
    result, expected = (value if isinstance(value, tuple) else (value,) for value in (result, expected))
    return all(
        np.shape(r) == np.shape(e) and np.allclose(r, e, rtol=0, atol=tol, equal_nan=True)
        for r, e in zip(result, expected, strict=True)
    )


def expected_risks(wrong, confidence):
    """Risk after each row, the mean over every order in which the confidence does not rise."""
    orders = [list(p) for p in permutations(range(len(wrong))) if (np.diff(confidence[list(p)]) <= 0).all()]
    return np.mean([np.cumsum(wrong[p]) for p in orders], axis=0) / np.arange(1, len(wrong) + 1)


@pytest.mark.slow
@given(outcomes(max_size=6, levels=2))
@examples(60)
def test_ties_count_by_the_mean_over_all_orders(rows):
    _, wrong, confidence = rows
    n = len(wrong)
    risks, best = expected_risks(wrong, confidence), expected_risks(wrong, 1.0 - wrong)
    share = np.arange(1, n + 1) / n
    assert aurc(*rows) == pytest.approx(risks.mean(), abs=1e-14)
    assert e_aurc(*rows) == pytest.approx(risks.mean() - best.mean(), abs=1e-14)
    assert augrc(*rows) == pytest.approx((risks * share).mean(), abs=1e-14)
    assert [accuracy_at_coverage(*rows, coverage=c) for c in share] == pytest.approx(1 - risks, abs=1e-14)
    coverages, values, thresholds = risk_coverage_curve(*rows)
    accepted = [int((confidence >= t).sum()) for t in thresholds]
    assert thresholds.tolist() == sorted(set(confidence), reverse=True)
    assert coverages == pytest.approx(np.array(accepted) / n)
    assert values == pytest.approx(risks[np.array(accepted) - 1], abs=1e-14)


@pytest.mark.slow
@given(outcomes(), st.floats(0, 1))
@examples(200)
def test_coverage_at_risk_is_the_last_point_below(rows, max_risk):
    coverage = coverage_at_risk(*rows, max_risk=max_risk)
    if coverage > 0:
        assert accuracy_at_coverage(*rows, coverage=coverage) >= 1 - max_risk - 1e-11
    above = np.linspace(coverage, 1, 30)[1:] if coverage < 1 else []
    assert all(accuracy_at_coverage(*rows, coverage=c) < 1 - max_risk + 1e-11 for c in above)
    coverages, risks, _ = risk_coverage_curve(*rows)
    assert coverage >= max(coverages[risks <= max_risk], default=0)


@given(outcomes(levels=20), st.integers(1, 12))
def test_calibration_error_is_the_sum_over_bins(rows, n_bins):
    _, wrong, confidence = rows
    edges, expected = np.linspace(0, 1, n_bins + 1), 0.0
    for low, high in pairwise(edges):
        held = (confidence > low if low else confidence >= 0) & (confidence <= high)
        if held.any():
            expected += held.mean() * abs(1 - wrong[held].mean() - confidence[held].mean())
    assert expected_calibration_error(*rows, n_bins=n_bins) == pytest.approx(expected, abs=1e-14)


@given(outcomes(), st.data())
@examples(100)
def test_integer_weights_repeat_rows(rows, data):
    weight = data.draw(arrays(np.int64, len(rows[0]), elements=st.integers(0, 3)))
    weight[0] += 1
    repeated = [np.repeat(column, weight) for column in rows]
    for metric in METRICS:
        assert agree(metric(*rows, sample_weight=weight), metric(*repeated)), metric


@given(outcomes(), st.data())
@examples(100)
def test_order_of_the_rows_is_nothing(rows, data):
    weight, order = 1 + data.draw(weights(len(rows[0]))), data.draw(orders(len(rows[0])))
    shuffled = [column[order] for column in rows]
    for metric in METRICS:
        assert agree(metric(*shuffled, sample_weight=weight[order]), metric(*rows, sample_weight=weight)), metric


@given(outcomes(), st.sampled_from([np.exp, lambda c: 1e9 * c - 7, lambda c: -1 / (1 + c), lambda c: np.float32(c)]))
def test_only_the_rank_of_the_confidence_matters(rows, transform):
    y_true, y_pred, confidence = rows
    for metric in [*AREAS, accuracy_at_coverage, coverage_at_risk]:
        assert metric(y_true, y_pred, transform(confidence)) == metric(*rows)


@given(outcomes(), st.data())
@examples(100)
def test_values_keep_their_bounds(rows, data):
    y_true, wrong, confidence = rows
    perfect = np.where(wrong, -1.0, confidence)
    error_rate = wrong.mean()
    assert e_aurc(y_true, wrong, perfect) == pytest.approx(0, abs=1e-14)
    assert aurc(y_true, wrong, np.zeros(len(wrong))) == pytest.approx(error_rate, abs=1e-14)
    assert augrc(*rows) <= aurc(*rows) + 1e-14
    assert accuracy_at_coverage(*rows, coverage=1) == pytest.approx(1 - error_rate)
    assert coverage_at_risk(*rows, max_risk=error_rate) == coverage_at_risk(*rows, max_risk=1) == 1
    weight = 1 + data.draw(weights(len(wrong)))
    for metric in SCALARS:
        assert -1e-14 <= metric(*rows, sample_weight=weight) <= 1 + 1e-14
    assert aurc(*rows, sample_weight=weight) >= aurc(y_true, wrong, perfect, sample_weight=weight) - 1e-14


@pytest.mark.slow
@given(outcomes(), st.data())
@examples(50)
def test_real_weights_are_smooth_and_split_at_will(rows, data):
    weight, part = 1 + data.draw(weights(len(rows[0]))), data.draw(weights(len(rows[0]))) / 5.0
    halves = [np.concatenate([column, column]) for column in rows]
    for metric in METRICS:
        split = metric(*halves, sample_weight=np.concatenate([weight * part, weight * (1 - part)]))
        assert agree(metric(*rows, sample_weight=weight), split), metric
    values = [aurc(*rows, sample_weight=np.r_[w, weight[1:]]) for w in np.linspace(1.5, 3.5, 201)]
    assert np.abs(np.diff(values, 2)).max() < 1e-4  # smooth through 2 and 3


@pytest.mark.parametrize("scale", [3, 0.5, 100])
def test_scale_of_the_weights_matters_by_one_over_n(scale):
    rng = np.random.default_rng(0)
    for n in (100, 1000, 10000):
        confidence = rng.random(n)
        rows = np.zeros(n), (rng.random(n) > confidence).astype(int), confidence
        weight = np.full(n, float(scale))
        for metric in AREAS:
            assert abs(metric(*rows, sample_weight=weight) - metric(*rows)) <= max(1, 1 / scale) / n
        for metric in (accuracy_at_coverage, coverage_at_risk, expected_calibration_error):
            assert metric(*rows, sample_weight=weight) == pytest.approx(metric(*rows), abs=1e-12)


def test_values_by_hand():
    rows = [1, 1, 0, 0, 1], [1, 0, 0, 1, 1], [0.9, 0.8, 0.7, 0.6, 0.5]  # right, wrong, right, wrong, right
    assert aurc(*rows) == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4 + 2 / 5) / 5)
    assert e_aurc(*rows) == pytest.approx(aurc(*rows) - (1 / 4 + 2 / 5) / 5)
    assert augrc(*rows) == pytest.approx((0 + 1 + 1 + 2 + 2) / 25)
    assert accuracy_at_coverage(*rows, coverage=0.6) == pytest.approx(2 / 3)
    assert accuracy_at_coverage(*rows, coverage=0.3) == pytest.approx(1 / 1.5)
    assert coverage_at_risk(*rows, max_risk=0.4) == 1
    assert coverage_at_risk(*rows, max_risk=0.35) == pytest.approx((3 + 0.05 / 0.65) / 5)
    assert coverage_at_risk(*rows, max_risk=0.2) == pytest.approx(1.25 / 5)
    assert coverage_at_risk(*rows, max_risk=0) == pytest.approx(1 / 5)
    assert expected_calibration_error(*rows, n_bins=10) == pytest.approx((0.1 + 0.8 + 0.3 + 0.6 + 0.5) / 5)
    assert expected_calibration_error(*rows, n_bins=1) == pytest.approx(abs(3 - 3.5) / 5)


def test_a_surest_group_above_the_risk_covers_nothing():
    rows = np.zeros(6), np.array([1, 0, 1, 1, 1, 1]), np.array([0.9, 0.9, 0.1, 0.1, 0.1, 0.1])
    assert coverage_at_risk(*rows, max_risk=0.49) == 0
    assert coverage_at_risk(*rows, max_risk=0.5) == pytest.approx(2 / 6)
    assert coverage_at_risk(*rows, max_risk=0.75) == pytest.approx(4 / 6)


@pytest.mark.parametrize("scale", [1, 0.1, 1 / 3])
def test_a_risk_met_to_the_digit_is_met(scale):
    wrong = np.r_[np.ones(29, int), np.zeros(71, int), np.ones(100, int)]  # 0.29 * 100 < 29 in float64
    rows = np.zeros(200), wrong, -np.arange(200.0)
    assert coverage_at_risk(*rows, sample_weight=np.full(200, scale), max_risk=0.29) == pytest.approx(0.5)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [2, 3])
def test_probabilities_are_labels_with_confidence(metric, k):
    rng = np.random.default_rng(k)
    y, proba, weight = rng.integers(k, size=60), rng.dirichlet(np.ones(k), 60).round(1), rng.integers(1, 4, 60)
    expected = metric(y, proba.argmax(axis=1), proba.max(axis=1), sample_weight=weight)
    names, turned = NAMES[:k], np.roll(np.arange(k), 1)
    assert agree(metric(y, proba, sample_weight=weight), expected)
    assert agree(metric(names[y].astype(object), proba.tolist(), sample_weight=weight.tolist()), expected)
    assert agree(metric(names[y], proba, labels=names, sample_weight=weight), expected)
    untied = proba + rng.random((60, k)) * 1e-3
    untied /= untied.sum(axis=1, keepdims=True)
    assert agree(metric(names[y], untied[:, turned], labels=names[turned]), metric(y, untied))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1), st.sampled_from(SCALARS))
def test_one_column_equals_two(rows, metric):
    y, eighths = np.array(rows).T
    p, names = eighths / 8, NAMES[y]
    both = np.column_stack([1 - p, p])
    expected = metric(y, both, labels=[0, 1])
    assert metric(y, p, labels=[0, 1]) == expected
    assert metric(names, p, labels=["ash", "birch"]) == expected
    assert metric(names, 1 - p, labels=["ash", "birch"], pos_label="ash") == expected
    assert metric(names, p, labels=["birch", "ash"]) == metric(y, both[:, ::-1], labels=[1, 0])


@pytest.mark.slow
@pytest.mark.parametrize("metric", SCALARS)
@pytest.mark.parametrize("names", [None, NAMES])
@pytest.mark.parametrize("k", [2, 3])
def test_scorers_work_in_cross_validation(metric, names, k):
    X, y = make_classification(120, 6, n_informative=4, n_classes=k, flip_y=0.2, random_state=0)
    y = y if names is None else names[y]
    model, folds = LogisticRegression(max_iter=1000), StratifiedKFold(3)
    scorer = make_scorer(metric, response_method="predict_proba", greater_is_better=False)
    scores = cross_val_score(model, X, y, scoring=scorer, cv=folds, error_score="raise")
    for score, (train, test) in zip(scores, folds.split(X, y), strict=True):
        model.fit(X[train], y[train])
        proba, weight = model.predict_proba(X[test]), np.arange(len(test)) % 3
        predicted = model.predict(X[test]), proba.max(axis=1)
        # In the case of two classes the scorer sees one column, whose complement is off by rounding.
        assert score == pytest.approx(-metric(y[test], *predicted), abs=1e-12)
        weighted = scorer(model, X[test], y[test], sample_weight=weight)
        assert weighted == pytest.approx(-metric(y[test], *predicted, sample_weight=weight), abs=1e-12)
    search = GridSearchCV(model, {"C": [1e-3, 1.0]}, scoring=scorer, cv=folds, error_score="raise").fit(X, y)
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(scores.mean(), abs=1e-6)


def test_scorer_takes_a_positive_label_and_folds_without_a_class():
    X, y = np.zeros((30, 1)), np.repeat(NAMES[:2], [20, 10])
    model = DummyClassifier().fit(X, y)
    for kwargs in ({"labels": NAMES[:2]}, {"labels": NAMES[:2], "pos_label": "ash"}):
        scorer = make_scorer(aurc, response_method="predict_proba", greater_is_better=False, **kwargs)
        assert scorer(model, X, y) == pytest.approx(-1 / 3)
        assert scorer(model, X[:20], y[:20]) == 0
    assert make_scorer(aurc, response_method="predict_proba", pos_label="ash")(model, X, y) == pytest.approx(1 / 3)
    with raises("proba-columns", n_columns=2, origin="y_true holds", n_classes=1, classes=["ash"]):
        make_scorer(aurc, response_method="predict_proba")(model, X[:20], y[:20])


def test_labels_of_any_form_are_read():
    rows = ["ash", "ash", "birch"], ["ash", "birch", "birch"], [3, 2, 1]
    expected = aurc(*rows)
    forms = [np.array, lambda x: np.array(x, dtype=object), tuple, lambda x: np.array(x, dtype=np.dtypes.StringDType())]
    assert [aurc(form(rows[0]), rows[1], rows[2]) for form in forms] == [expected] * len(forms)
    for truth in ([0, 0, 1], [False, False, True], np.array([0, 0, 1], dtype=object), np.float32([0, 0, 1])):
        assert aurc(truth, [0, 1, 1], np.array([3, 2, 1], dtype=object)) == expected


def test_one_row_is_enough():
    assert [metric([0], [0], [0.5]) for metric in SCALARS] == [0, 0, 0, 1, 1, 0.5]
    assert [metric([0], [1], [0.5]) for metric in SCALARS] == [1, 0, 1, 0, 0, 0.5]


def test_a_mean_that_exceeds_one_by_rounding_is_a_probability():
    assert expected_calibration_error([0, 1], [[1 + 2e-16, 0], [-1e-17, 1]]) == pytest.approx(0)


Y, P, C = [0, 0, 1, 1], [0, 1, 1, 1], [0.9, 0.6, 0.8, 0.7]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("args", "kwargs", "refusal"),
    [
        (([], [], []), {}, raises("metric-shape", name="y_true", shape=(0,), expected="at least one entry")),
        (([[0], [1]], [0, 1], [1, 2]), {}, raises("metric-shape", name="y_true", shape=(2, 1), expected=(2,))),
        ((Y, P[:3], C), {}, raises("metric-shape", name="y_pred", shape=(3,), expected=(4,))),
        ((Y, P, C[:3]), {}, raises("metric-shape", name="confidence", shape=(3,), expected=(4,))),
        ((Y, np.eye(4), C), {}, raises("metric-shape", name="y_pred", shape=(4, 4), expected=(4,))),
        ((Y, P, np.eye(4)), {}, raises("metric-shape", name="confidence", shape=(4, 4), expected=(4,))),
        ((Y, P, [0.9, np.nan, np.inf, 0.1]), {}, raises("metric-not-finite", name="confidence", n_rows=2, row=1)),
        ((Y, P, ["0.9", "1", "1", "1"]), {}, raises("metric-dtype", name="confidence", dtype="<U3")),
        ((Y, P, [0.9, None, 0.3, 0.1]), {}, raises("metric-dtype", name="confidence", dtype="object")),
        (([0, 1, np.nan, 1], P, C), {}, raises("labels-missing", name="y_true", n_missing=1, row=2)),
        ((["a", "b", None, "b"], P, C), {}, raises("labels-missing", name="y_true", n_missing=1, row=2)),
        ((["a", "b", np.nan, "b"], P, C), {}, raises("labels-missing", name="y_true", n_missing=1, row=2)),
        (
            ([0, 1, "b", 1], P, C),
            {},
            raises("label-kinds-mixed", name="y_true", label=0, row=0, other="b", other_row=2),
        ),
        ((Y, [0, 1, None, 1], C), {}, raises("labels-missing", name="y_pred", n_missing=1, row=2, label=None)),
        (([(0,), (1,), (1,), (0,)], P, C), {}, raises("metric-shape", name="y_true")),
        ((Y, ["0", "1", "1", "1"], C), {}, raises("labels-of-different-kinds", name="y_pred", label="0", other=0)),
        ((Y, P, C), {"sample_weight": [1, 1, -2, 1]}, raises("weights-range", smallest=-2.0, largest=1.0)),
        ((Y, P, C), {"sample_weight": [0, 0, 0, 0]}, raises("weights-range", smallest=0.0, largest=0.0)),
        (
            (Y, P, C),
            {"sample_weight": [1, np.nan, 1, 1]},
            raises("metric-not-finite", name="sample_weight", n_rows=1, row=1),
        ),
        ((Y, P, C), {"sample_weight": [1, 1]}, raises("metric-shape", name="sample_weight", shape=(2,), expected=(4,))),
        ((Y, ["a", "b", "b", "b"]), {}, raises("metric-dtype", name="y_pred without confidence", dtype="<U1")),
        ((Y, [0, 1, 2, 1]), {}, raises("metric-not-probabilities", name="y_pred without confidence")),
        (
            (Y, [0.1, np.nan, 0.5, 1]),
            {},
            raises("metric-not-finite", name="y_pred without confidence", n_rows=1, row=1),
        ),
        (
            (Y, np.full((3, 2), 0.5)),
            {},
            raises("metric-shape", name="y_pred without confidence", shape=(3, 2), expected=(4, 2)),
        ),
        ((Y, 0.5), {}, raises("metric-shape", name="y_pred without confidence", shape=(), expected=(4,))),
        (
            (Y, np.full((4, 3), 0.3)),
            {},
            raises("proba-columns", n_columns=3, origin="y_true holds", n_classes=2, classes=[0, 1]),
        ),
        (([0, 1, 2, 0], C), {}, raises("proba-columns", n_columns=2, origin="y_true holds", n_classes=3)),
        ((Y, C), {"labels": [0, 1, 2]}, raises("proba-columns", n_columns=2, origin="labels names", n_classes=3)),
        ((Y, C), {"labels": [0, 0]}, raises("labels-duplicated", labels=[0, 0])),
        ((Y, C), {"labels": [0, 2]}, raises("label-not-among", label=1, labels=[0, 2])),
        ((Y, C), {"labels": ["0", "1"]}, raises("labels-of-different-kinds", name="labels", label="0", other=0)),
        ((Y, C), {"pos_label": 7}, raises("pos-label", pos_label=7, classes=[0, 1])),
    ],
)
def test_bad_input_is_named(metric, args, kwargs, refusal):
    with refusal:
        metric(*args, **kwargs)


@pytest.mark.parametrize("metric", AREAS)
def test_weights_that_count_no_rows_are_refused(metric):
    for weight in (np.full(4, 0.25), np.full(4, 1e-3), [0.1] * 4, [0.9, 0, 0, 0]):
        with raises("weights-sum-below-one"):
            metric(Y, P, C, sample_weight=weight)
    assert metric(Y, P, C, sample_weight=[0, 1, 0, 0]) == metric(Y[1:2], P[1:2], C[1:2])


@pytest.mark.parametrize(
    ("metric", "name", "code", "values"),
    [
        (accuracy_at_coverage, "coverage", "target-coverage", [0, -0.1, 1.1, np.nan, "0.5", None]),
        (coverage_at_risk, "max_risk", "max-risk", [-0.1, 1.1, np.nan, "0.5", None]),
        (expected_calibration_error, "n_bins", "n-bins", [0, -1, 2.5, True, "15", None]),
    ],
)
def test_a_bad_setting_is_named(metric, name, code, values):
    for value in values:
        with raises(code, **{name: value}):
            metric(Y, P, C, **{name: value})


def test_calibration_error_needs_probabilities():
    with raises("metric-not-probabilities", name="confidence", value=3.0):
        expected_calibration_error(Y, P, [0.1, 0.3, 3.0, 0.2])


@pytest.mark.slow
def test_many_rows_keep_their_digits():
    n = 1_000_000
    wrong = np.zeros(n, int)
    wrong[-1] = 1
    rows = np.zeros(n, int), wrong, -np.arange(n)
    assert n**2 * aurc(*rows) == pytest.approx(1, rel=1e-9)
    assert n**2 * e_aurc(*rows) == pytest.approx(0, abs=1e-9)
    assert n**2 * augrc(*rows) == pytest.approx(1, rel=1e-12)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans(), st.integers(0, 9)), min_size=1))
@examples(60)
def test_results_of_classes_are_those_of_scikit_learn(rows):
    truth, given, accepted, level = np.array(rows).T
    accepted = accepted.astype(bool)
    proba = np.column_stack([level, 9 - level, level**2]) / 100.0
    found = class_report(NAMES[truth], NAMES[given], proba, labels=NAMES, accepted=accepted)
    precision, recall, _, n = precision_recall_fscore_support(truth, given, labels=[0, 1, 2], zero_division=np.nan)
    assert [one.label for one in found] == NAMES.tolist()
    assert np.array([one.recall for one in found], float) == pytest.approx(recall, nan_ok=True)
    assert np.array([one.precision for one in found], float) == pytest.approx(precision, nan_ok=True)
    assert [one.n_records for one in found] == n.tolist()
    for k, one in enumerate(found):
        is_k = truth == k
        assert one.n_given == (given == k).sum()
        assert (one.n_accepted, one.n_accepted_right) == ((accepted & (given == k)).sum(), one_right(k, rows))
        if 0 < n[k] < len(truth):
            assert one.auc == pytest.approx(roc_auc_score(is_k, proba[:, k]))
            assert one.average_precision == pytest.approx(average_precision_score(is_k, proba[:, k]))
        else:
            assert one.auc is one.average_precision is None


def one_right(k, rows):
    return sum(true == given == k and accepted for true, given, accepted, _ in rows)


def test_classes_without_a_probability_come_last():
    found = class_report(["b", "z", "a"], ["b", "b", "b"], [[0.2], [0.7], [0.1]], labels=["b"])
    assert [(one.label, one.n_records, one.n_given, one.auc) for one in found] == [
        ("b", 1, 3, 0.5),
        ("a", 1, 0, None),
        ("z", 1, 0, None),
    ]
    assert found[0].n_accepted is None
    assert class_report([1, 0], [1, 1])[0] == (0, 1, 0, 0, 0.0, None, None, None, None, None)


@pytest.mark.parametrize(
    ("kwargs", "refusal"),
    [
        ({"labels": [0, 0]}, raises("labels-duplicated", labels=[0, 0])),
        ({"y_proba": np.full((4, 3), 0.3)}, raises("metric-shape", name="y_proba", expected=(4, 2))),
        ({"accepted": [True]}, raises("metric-shape", name="accepted", expected=(4,))),
    ],
)
def test_bad_input_of_a_class_report_is_named(kwargs, refusal):
    with refusal:
        class_report(Y, P, **kwargs)
