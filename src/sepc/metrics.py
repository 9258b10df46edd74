"""Metrics of selective classification: how well a confidence separates right labels from wrong ones.

A selective classifier abstains below a threshold of its confidence. Coverage is the share of rows that it accepts,
risk the share of wrong labels among them. The metrics are for the outputs of any classifier, in two ways:

- ``f(y_true, y_pred, confidence)``: predicted labels, and any score by which to rank them;
- ``f(y_true, y_proba)``: probabilities; the label is the most probable one, the confidence its probability.
  This is what a scorer of scikit-learn passes, see `aurc`.

`class_report` is apart: recall, precision and AUC of each class, beside the number of its labels that are accepted.

Ties: rows of equal confidence can only be accepted together. Where a metric needs an order among them, it takes
the mean over all orders; the order of the rows never matters.

Weights: `sample_weight` holds frequencies. A row of weight 3 counts as the row repeated three times; real weights
continue this smoothly; a row of weight 0 does not count. `aurc`, `e_aurc` and `augrc` take the sum of the weights
for the number of rows n: scaling all weights changes their value by O(1/n). The others do not depend on the scale.

References
----------
E-AURC: Geifman, Uziel, El-Yaniv (2019). Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers. ICLR.
AUGRC: Traub et al. (2024). Overcoming Common Flaws in the Evaluation of Selective Classification Systems. NeurIPS.
Calibration error: Guo, Pleiss, Sun, Weinberger (2017). On Calibration of Modern Neural Networks. ICML.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma
from sklearn.metrics import average_precision_score, roc_auc_score

from sepc.common.errors import InputError
from sepc.common.messages import message
from sepc.common.typing import BoolArray, FloatArray
from sepc.common.validation import as_they_came, require_labels

# Means of float32 probabilities leave [0, 1] by less.
_PROBABILITY_SLACK = 1e-6
# Sums of real weights, and products such as 0.29 * 100, are off by less.
_RISK_SLACK = 1e-12


def risk_coverage_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the risk of a selective classifier at each coverage that a threshold can achieve.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, strings or numbers.
    y_pred : array-like of shape (n,) or (n, k)
        Predicted labels if `confidence` is given. Otherwise probabilities: of each class, with columns in the order
        of `labels`, or of `pos_label` alone in a problem of two classes. Of equal probabilities the first wins.
    confidence : array-like of shape (n,), optional
        Any finite score by which to rank the predicted labels; higher is surer.
    labels : array-like of shape (k,), optional
        Classes of the probabilities. The default, the sorted labels of `y_true`, fails where a class is absent,
        which may happen in a small fold. Not used if `confidence` is given.
    pos_label : str or number, optional
        Class of one-dimensional probabilities; by default the greater of the two. Not used otherwise.
    sample_weight : array-like of shape (n,), optional
        Frequency weights: nonnegative, 1 by default.

    Returns
    -------
    coverages : ndarray of shape (n_thresholds,)
        Share of the rows with ``confidence >= threshold``, rising to 1.
    risks : ndarray of shape (n_thresholds,)
        Share of wrong labels among those rows.
    thresholds : ndarray of shape (n_thresholds,)
        The distinct confidences of rows that count, falling.

    Notes
    -----
    From one threshold to the next the expected number of errors rises linearly, as it does if tied rows are accepted
    in random order: the other metrics use that curve.

    Examples
    --------
    >>> coverages, risks, thresholds = risk_coverage_curve([0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.8, 0.6])
    >>> coverages.tolist(), risks.tolist(), thresholds.tolist()
    ([0.25, 0.75, 1.0], [0.0, 0.0, 0.25], [0.9, 0.8, 0.6])
    """
    curve = _curve(_outcomes(y_true, y_pred, confidence, labels, pos_label, sample_weight))
    accepted, errors = curve.accepted[1:], curve.errors[1:]
    return accepted / accepted[-1], errors / accepted, curve.thresholds


def aurc(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the area under the risk-coverage curve: the mean risk over all coverages, smaller is better.

    The mean over k of the share of errors among the k surest rows. Random confidence gives the error rate.

    Parameters
    ----------
    y_true, y_pred, confidence, labels, pos_label, sample_weight
        As for `risk_coverage_curve`; the weights must not be scaled to a sum of 1 (they count rows).

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    A tie group of weight W with a share p of errors, after K rows with E errors, contributes ``(E + j p) / (K + j)``
    for each j from 1 to W. The sum is ``p W + (E - p K) (digamma(K + W + 1) - digamma(K + 1))``, which is also
    its value for real weights.

    Examples
    --------
    >>> round(aurc(["cat", "dog", "dog"], ["cat", "cat", "dog"], [0.9, 0.5, 0.7]), 6)  # (0/1 + 0/2 + 1/3) / 3
    0.111111

    As a scorer; name the classes where a fold may miss one of them.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.model_selection import cross_val_score
    >>> scorer = make_scorer(aurc, response_method="predict_proba", greater_is_better=False, labels=[0, 1, 2])
    >>> scores = cross_val_score(LogisticRegression(max_iter=1000), *load_iris(return_X_y=True), scoring=scorer)
    >>> bool(scores.mean() > -0.01)
    True
    """
    return _mean_risk(_outcomes(y_true, y_pred, confidence, labels, pos_label, sample_weight))


def e_aurc(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the excess AURC: how far `aurc` lies above that of a perfect order with the same errors.

    The perfect order accepts all right labels before the first wrong one.

    Parameters
    ----------
    y_true, y_pred, confidence, labels, pos_label, sample_weight
        As for `aurc`.

    Returns
    -------
    float
        Between 0 and 1; 0 where each right label is surer than each wrong one.

    Examples
    --------
    >>> e_aurc([0, 0, 1], [0, 1, 1], [0.9, 0.5, 0.7])
    0.0
    >>> round(e_aurc([0, 0, 1], [0, 1, 1], [0.9, 0.7, 0.5]), 6)  # 1/2 of an error too many at k = 2
    0.166667
    """
    outcomes = _outcomes(y_true, y_pred, confidence, labels, pos_label, sample_weight)
    perfect = outcomes._replace(confidence=(~outcomes.wrong).astype(np.float64))
    return max(0.0, _mean_risk(outcomes) - _mean_risk(perfect))


def augrc(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the area under the generalized risk-coverage curve: the mean share of silent errors, smaller is better.

    The generalized risk is the share of all rows that are accepted and wrong. Unlike `aurc`, its mean over all
    coverages gives each error a weight linear in its rank, and the surest few rows no undue one.

    Parameters
    ----------
    y_true, y_pred, confidence, labels, pos_label, sample_weight
        As for `aurc`.

    Returns
    -------
    float
        Between 0 and 1; random confidence gives about half the error rate.

    Notes
    -----
    A tie group of weight W with D errors, after E errors, contributes ``W E + D (W + 1) / 2`` to the sum over k.

    Examples
    --------
    >>> augrc([0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.7, 0.6])
    0.0625
    """
    outcomes = _outcomes(y_true, y_pred, confidence, labels, pos_label, sample_weight)
    _check_scale(outcomes.weight)
    curve = _curve(outcomes)
    silent = np.sum(curve.weight * curve.errors[:-1] + curve.wrong * (curve.weight + 1.0) / 2.0)
    return float(silent / curve.accepted[-1] ** 2)


def accuracy_at_coverage(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
) -> float:
    """Return the expected accuracy among the surest rows, a share `coverage` of all.

    Parameters
    ----------
    y_true, y_pred, confidence, labels, pos_label, sample_weight
        As for `risk_coverage_curve`.
    coverage : float, default=0.9
        Share of the rows to accept, ``0 < coverage <= 1``. It need not be a whole number of rows: the tie group at
        the border counts by the part of it that is accepted.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> accuracy_at_coverage([0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.7, 0.7], coverage=0.75)  # 2.5 of 3 rows
    0.8333333333333334
    """
    if not (isinstance(coverage, Real) and 0 < coverage <= 1):
        raise InputError("target-coverage", coverage=coverage)
    curve = _curve(_outcomes(y_true, y_pred, confidence, labels, pos_label, sample_weight))
    amount = float(coverage) * curve.accepted[-1]
    return 1.0 - float(np.interp(amount, curve.accepted, curve.errors) / amount)


def coverage_at_risk(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    max_risk: float = 0.05,
) -> float:
    """Return the largest coverage at which the expected risk is at most `max_risk`.

    Parameters
    ----------
    y_true, y_pred, confidence, labels, pos_label, sample_weight
        As for `risk_coverage_curve`.
    max_risk : float, default=0.05
        Largest share of wrong labels among the accepted, ``0 <= max_risk <= 1``.

    Returns
    -------
    float
        Between 0 and 1; 0 if no coverage will do. At smaller coverages the risk may be above `max_risk`.

    Notes
    -----
    Coverage is continuous: t of the W rows of a tie group with a share p of errors, after K rows with E errors, have
    the risk ``(E + t p) / (K + t)`` for each real t from 0 to W. The group of the highest confidence has the risk p
    throughout. Use `risk_coverage_curve` for the coverages that a threshold can achieve.

    Examples
    --------
    >>> coverage_at_risk([0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.7, 0.6], max_risk=0.1)  # 1/3 of the last row
    0.8333333333333334
    """
    if not (isinstance(max_risk, Real) and 0 <= max_risk <= 1):
        raise InputError("max-risk", max_risk=max_risk)
    curve = _curve(_outcomes(y_true, y_pred, confidence, labels, pos_label, sample_weight))
    # The allowed errors minus those made: linear within each tie group, nonnegative where the risk is low enough.
    allowance = float(max_risk) * curve.accepted - curve.errors
    allowance[np.abs(allowance) <= _RISK_SLACK * curve.accepted] = 0.0
    last = int(np.flatnonzero(allowance >= 0.0)[-1])
    amount = curve.accepted[last]
    if last < len(curve.weight):
        amount += curve.weight[last] * allowance[last] / (allowance[last] - allowance[last + 1])
    return float(amount / curve.accepted[-1])


def expected_calibration_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
) -> float:
    """Return the mean distance between confidence and accuracy, over bins of equal width.

    Parameters
    ----------
    y_true, y_pred, confidence, labels, pos_label, sample_weight
        As for `risk_coverage_curve`, but the confidence must be a probability.
    n_bins : int, default=15
        Number of bins on [0, 1]. A bin holds its upper edge, the first one 0 too.

    Returns
    -------
    float
        Sum over bins of the bin's share of the rows times ``|accuracy - mean confidence|``, between 0 and 1.

    Examples
    --------
    >>> round(expected_calibration_error([0, 0, 1, 1], [0, 0, 1, 0], [0.75, 0.75, 0.75, 0.75]), 6)
    0.0
    >>> round(expected_calibration_error([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9]), 6)
    0.1
    """
    confidences, accuracies, weights = reliability_curve(
        y_true, y_pred, confidence, labels=labels, pos_label=pos_label, sample_weight=sample_weight, n_bins=n_bins
    )
    return float(np.nansum(weights * np.abs(accuracies - confidences)) / weights.sum())


def reliability_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean confidence and accuracy over bins of equal width, for a reliability diagram.

    Parameters
    ----------
    y_true, y_pred, confidence, labels, pos_label, sample_weight, n_bins
        As for `expected_calibration_error`.

    Returns
    -------
    confidences : ndarray of shape (n_bins,)
        Mean confidence in each bin; NaN where a bin is empty.
    accuracies : ndarray of shape (n_bins,)
        Share of right labels in each bin; NaN where a bin is empty.
    weights : ndarray of shape (n_bins,)
        Sum of the weights in each bin.

    Examples
    --------
    >>> sure, right, n = reliability_curve([0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], n_bins=2)
    >>> sure.round(6).tolist(), right.tolist(), n.tolist()
    ([0.1, 0.8], [0.0, 1.0], [1.0, 3.0])
    """
    if isinstance(n_bins, bool) or not (isinstance(n_bins, Integral) and n_bins > 0):
        raise InputError("n-bins", n_bins=n_bins)
    wrong, sure, weight = _outcomes(y_true, y_pred, confidence, labels, pos_label, sample_weight)
    _check_probabilities(sure, "confidence", message("calibrate-scores"))
    inner_edges = np.linspace(0.0, 1.0, int(n_bins) + 1)[1:-1]
    which = np.searchsorted(inner_edges, sure)
    weights, confidence_sums, right_sums = (
        np.bincount(which, weights=part, minlength=int(n_bins)) for part in (weight, weight * sure, weight * ~wrong)
    )
    with np.errstate(invalid="ignore"):
        return confidence_sums / weights, right_sums / weights, weights


class ClassResult(NamedTuple):
    """Results of one class; what has no records behind it is None.

    Attributes
    ----------
    label : str or number
    n_records, n_given, n_right : int
        Rows with this true label, rows that got it, and rows of which both holds.
    recall, precision : float or None
        Shares of `n_right` in `n_records` and in `n_given`.
    auc : float or None
        Area under the ROC curve, this class against the rest by its probability: the chance that a row of the class
        has the higher one of two rows, 0.5 for a probability that says nothing.
    average_precision : float or None
        Area under the precision-recall curve; a probability that says nothing has the share of the class.
    n_accepted, n_accepted_right : int or None
        Accepted labels of this class, and right ones among these.
    """

    label: Any
    n_records: int
    n_given: int
    n_right: int
    recall: float | None
    precision: float | None
    auc: float | None
    average_precision: float | None
    n_accepted: int | None
    n_accepted_right: int | None


def class_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    y_proba: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    accepted: ArrayLike | None = None,
) -> tuple[ClassResult, ...]:
    """Return the results of each class: an accuracy hides what becomes of a rare one.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    y_proba : array-like of shape (n, k), optional
        Probabilities of the classes, with columns in the order of `labels`.
    labels : array-like of shape (k,), optional
        Classes, in the order of the results. By default the sorted ones of `y_true` and `y_pred`. True and predicted
        labels that are none of them come after them, sorted; they have no probability.
    accepted : array-like of bool, shape (n,), optional
        Which predicted labels are accepted, as `Assessment.accepted` returns it.

    Returns
    -------
    tuple of ClassResult
        The mean of their recalls is the balanced accuracy.

    Examples
    --------
    >>> truth, given, proba = ["good", "good", "bad"], ["good"] * 3, [[0.1, 0.9], [0.2, 0.8], [0.4, 0.6]]
    >>> bad, good = class_report(truth, given, proba, labels=["bad", "good"])
    >>> bad.n_records, bad.n_given, bad.recall, bad.precision, bad.auc
    (1, 0, 0.0, None, 1.0)

    As a table:

    >>> import pandas as pd
    >>> found = class_report([0, 0, 1, 1], [0, 0, 1, 0], accepted=[True, True, True, False])
    >>> pd.DataFrame(found)[["recall", "n_accepted"]]
       recall  n_accepted
    0     1.0           2
    1     0.5           1
    """
    truth = _as_labels(y_true, "y_true", np.size(y_true))
    given = _as_labels(y_pred, "y_pred", len(truth), truth)
    is_accepted = None if accepted is None else _as_numbers(accepted, "accepted", len(truth)).astype(bool)
    found = np.unique(np.concatenate([truth, given]))
    classes = found if labels is None else _as_labels(labels, "labels", np.size(labels), truth)
    _require_each_once(classes)
    proba = None if y_proba is None else _as_numbers(y_proba, "y_proba", len(truth), len(classes))
    others = found[~np.isin(found, classes)].tolist()
    results = []
    for k, label in enumerate([*classes.tolist(), *others]):
        column = None if proba is None or k >= len(classes) else proba[:, k]
        results.append(_class_result(label, truth == label, given == label, column, is_accepted))
    return tuple(results)


def _class_result(
    label: Any, true: BoolArray, given: BoolArray, proba: FloatArray | None, accepted: BoolArray | None
) -> ClassResult:
    n_records, n_given, n_right = (int(np.count_nonzero(flags)) for flags in (true, given, true & given))
    ranked = proba is not None and 0 < n_records < len(true)
    return ClassResult(
        label=label,
        n_records=n_records,
        n_given=n_given,
        n_right=n_right,
        recall=n_right / n_records if n_records else None,
        precision=n_right / n_given if n_given else None,
        auc=float(roc_auc_score(true, proba)) if ranked else None,
        average_precision=float(average_precision_score(true, proba)) if ranked else None,
        n_accepted=None if accepted is None else int(np.count_nonzero(accepted & given)),
        n_accepted_right=None if accepted is None else int(np.count_nonzero(accepted & given & true)),
    )


class _Outcomes(NamedTuple):
    """Errors, confidence and weight of the rows with a weight above 0."""

    wrong: BoolArray
    confidence: FloatArray
    weight: FloatArray


class _Curve(NamedTuple):
    """Tie groups from the highest confidence on; `accepted` and `errors` are sums up to each, with a leading 0."""

    thresholds: FloatArray
    weight: FloatArray
    wrong: FloatArray
    accepted: FloatArray
    errors: FloatArray


def _curve(outcomes: _Outcomes) -> _Curve:
    values, group = np.unique(outcomes.confidence, return_inverse=True)
    weight: FloatArray = np.bincount(group, weights=outcomes.weight).astype(np.float64)[::-1]
    wrong: FloatArray = np.bincount(group, weights=outcomes.weight * outcomes.wrong).astype(np.float64)[::-1]
    accepted, errors = (np.concatenate([[0.0], np.cumsum(part)]) for part in (weight, wrong))
    return _Curve(values[::-1], weight, wrong, accepted, errors)


def _mean_risk(outcomes: _Outcomes) -> float:
    _check_scale(outcomes.weight)
    curve = _curve(outcomes)
    share, before = curve.wrong / curve.weight, curve.accepted[:-1]
    harmonic = np.diff(digamma(curve.accepted + 1.0))
    single = curve.weight == 1.0
    harmonic[single] = 1.0 / (before[single] + 1.0)  # the difference would lose digits
    total = np.sum(curve.wrong + (curve.errors[:-1] - share * before) * harmonic)
    return float(total / curve.accepted[-1])


def _check_scale(weight: FloatArray) -> None:
    total = weight.sum()
    if total < 1.0 or (len(weight) > 1 and total < 1.0 + 1e-9):
        raise InputError("weights-sum-below-one", total=total)


def _outcomes(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike | None,
    labels: ArrayLike | None,
    pos_label: Any,
    sample_weight: ArrayLike | None,
) -> _Outcomes:
    truth = _as_labels(y_true, "y_true", np.size(y_true))
    if confidence is None:
        predicted, sure = _most_probable(truth, y_pred, labels, pos_label)
    else:
        predicted = _as_labels(y_pred, "y_pred", len(truth), truth)
        sure = _as_numbers(confidence, "confidence", len(truth))
    wrong = truth != predicted
    if sample_weight is None:
        return _Outcomes(wrong, sure, np.ones(len(truth)))
    weight = _as_numbers(sample_weight, "sample_weight", len(truth))
    if weight.min() < 0 or not weight.any():
        raise InputError("weights-range", smallest=weight.min(), largest=weight.max())
    counts = weight > 0
    return _Outcomes(wrong[counts], sure[counts], weight[counts])


def _most_probable(
    truth: NDArray[Any], y_pred: ArrayLike, labels: ArrayLike | None, pos_label: Any
) -> tuple[NDArray[Any], FloatArray]:
    """Return the label of the highest probability of each row, and that probability."""
    columns = np.shape(y_pred)[1:2]
    table = _as_numbers(y_pred, "y_pred without confidence", len(truth), *columns)
    _check_probabilities(table, "y_pred without confidence", message("pass-confidence"))
    classes = np.unique(truth) if labels is None else _as_classes(labels, truth)
    k = columns[0] if columns else 2
    if k != len(classes):
        origin = "y_true holds" if labels is None else "labels names"
        raise InputError(
            "proba-columns",
            shape=table.shape,
            n_columns=k,
            origin=origin,
            n_classes=len(classes),
            classes=classes[:10].tolist(),
        )
    if not columns:
        known: list[Any] = classes.tolist()
        positive = max(known) if pos_label is None else pos_label
        if positive not in known:
            raise InputError("pos-label", pos_label=pos_label, classes=known)
        table = np.column_stack([table, 1.0 - table] if positive == known[0] else [1.0 - table, table])
    return classes[np.argmax(table, axis=1)], table.max(axis=1)


def _as_classes(labels: ArrayLike, truth: NDArray[Any]) -> NDArray[Any]:
    classes = _as_labels(labels, "labels", np.size(labels), truth)
    _require_each_once(classes)
    unknown = truth[~np.isin(truth, classes)]
    if len(unknown):
        raise InputError("label-not-among", label=unknown[0].item(), labels=classes[:10].tolist())
    return classes


def _require_each_once(classes: NDArray[Any]) -> None:
    if len(np.unique(classes)) < len(classes):
        raise InputError("labels-duplicated", labels=classes.tolist())


def _as_labels(values: ArrayLike, name: str, n: int, truth: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return `values` as an array of shape (n,), of strings or of numbers as in `truth`, none of them missing."""
    array = as_they_came(values)
    _check_shape(array, name, n)
    require_labels(array, name, message("drop-unlabelled-rows"))
    if array.dtype.kind in "OT":
        array = np.array(array.tolist())
    if array.dtype.kind not in "biufU":
        raise InputError("labels-of-mixed-kinds", name=name, label=array[0])
    if truth is not None and (array.dtype.kind == "U") != (truth.dtype.kind == "U"):
        raise InputError("labels-of-different-kinds", name=name, label=array[0].item(), other=truth[0].item())
    return array


def _as_numbers(values: ArrayLike, name: str, *shape: int) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind == "O":
        array = np.array(array.tolist())  # text stays text
    if array.dtype.kind not in "biuf":
        raise InputError("metric-dtype", name=name, dtype=str(array.dtype))
    _check_shape(array, name, *shape)
    bad = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
    if len(bad):
        raise InputError("metric-not-finite", name=name, n_rows=len(bad), row=bad[0])
    return array.astype(np.float64, copy=False)


def _check_shape(array: NDArray[Any], name: str, *shape: int) -> None:
    if array.shape != shape or 0 in shape:
        raise InputError(
            "metric-shape", name=name, shape=array.shape, expected=shape if all(shape) else "at least one entry"
        )


def _check_probabilities(array: FloatArray, name: str, remedy: str) -> None:
    bad = array[(array < -_PROBABILITY_SLACK) | (array > 1.0 + _PROBABILITY_SLACK)]
    if len(bad):
        raise InputError("metric-not-probabilities", name=name, value=bad[0], remedy=remedy)
