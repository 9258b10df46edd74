"""Trust threshold with a bounded error, a promise that holds for any distribution.

It needs records that the classifier has not been fitted to, drawn independently from where it will be used.

The candidates are all floats from 1.0 down, whatever the data: accept where ``trust >= t``. For a
fixed one the errors among N accepted records are binomial given N, so that ``P(Bin(N, max_error) <= errors)`` is an
exact p-value of "the error rate R(t) is above `max_error`". Candidates are tested in a fixed sequence, from high to
low. Levels enter it at ranks k that depend on nothing but the number of records: at the lowest candidate that accepts
no more than k (at 1.0 if that accepts more). A candidate passes if its p-value is at most the level that is carried to
it; otherwise that level is dropped, and the sequence goes on with what enters below. The lowest candidate that passed
is the result.

*Why a threshold found in this way keeps the promise.* Let t be the first candidate that passed with R > `max_error`,
and g the one right below the previous candidate with R > `max_error`. That one did not pass, so that t carries only
what entered from g down to t: the levels of the ranks from N(g) to just below N(t-), the number accepted one candidate
further down. Given N(t) and N(t-) the errors are a sum of N(g) draws at a rate of at most `max_error` and of others at
a higher rate. So more records at g mean fewer errors, with a monotone likelihood ratio, and a smaller level. Hence the
p-value is at most the level with a probability of at most the level's mean divided by 1 - L, where L is the sum of
all levels (for each band between two levels, its probability divided by that of a p-value above L rises with N(g)).
Each level enters once, so the sum over all such t is at most L / (1 - L), which is ``1 - confidence`` for
``L = (1 - confidence) / (2 - confidence)``. Where R falls with the trust, the factor is not needed.

*Records that no threshold accepts.* A classifier that assesses refuses some records whatever their trust: strange and
contested ones. They take no part in the tests, and what is said above of records is said of the others, which are
eligible. Whether a record is eligible depends on nothing but the record, since the classifier is fixed. So, given how
many of the calibration records are eligible, these are independent draws of the eligible ones, and R(t) is the error
rate among eligible records with ``trust >= t``: exactly the labels that are accepted in use. The proof holds for them
word for word, with the number of eligible records for the number of records, for any such number; so it holds over all.

References
----------
Angelopoulos, Bates, Candes, Jordan, Lei (2021). Learn then Test: Calibrating Predictive Algorithms to Achieve Risk
Control. Wiens (2003). A fixed sequence Bonferroni procedure for testing multiple endpoints.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, log, log1p
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr

from sepc.common.errors import InputError, warn
from sepc.common.intervals import upper_limit
from sepc.common.text import percent
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import known_labels, require_share

# Ranks where levels enter the sequence: all records, and each time this share of the rank before. Equal levels over
# these accepted most, or nearly so, in the cases of bench/guarantee.py, of ratios from 0.5 to 0.8.
_RATIO = 0.7
_MOST_STARTS = 8
_SMALLEST_START = 30


_HOLDS_WHERE = (
    " It holds where classes are as frequent as among the calibration records, whatever shares the classifier was told."
)


@dataclass(frozen=True, slots=True, repr=False)
class TrustThreshold:
    """Trust threshold with a promise; `select_min_trust` returns it.

    Attributes
    ----------
    min_trust : float or None
        Accept a label where its trust is at least this, and nothing else speaks against it. It lies just above the
        highest trust that is refused. None if no threshold can promise it.
    max_error, confidence : float
        The promise: among accepted labels the share of wrong ones is at most `max_error`, with this confidence.
    n_calibration, n_accepted, n_errors : int
        Calibration records; accepted ones; wrong ones among these.
    coverage : float
        Share of the calibration records that is accepted.
    error_bound : float or None
        Clopper and Pearson's upper bound on the error at this threshold, at the level at which it was tested; at most
        `max_error`. It tells how close the choice was. What is promised is `max_error`.
    message : str
        The same in a sentence.
    class_prior : tuple of float, or None
        Shares of the classes that were stated when it was found; None where those in training were taken.

    Examples
    --------
    >>> TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.")
    TrustThreshold(min_trust=0.9, 150 of 200 accepted, 1 wrong: Fine.)
    """

    min_trust: float | None
    max_error: float
    confidence: float
    n_calibration: int
    n_accepted: int
    n_errors: int
    coverage: float
    error_bound: float | None
    message: str
    class_prior: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts, ready for JSON.

        Examples
        --------
        >>> TrustThreshold(None, 0.05, 0.95, 10, 0, 0, 0.0, None, "No.").to_dict()["n_calibration"]
        10
        """
        return asdict(self)

    def __repr__(self) -> str:
        counts = f"{self.n_accepted} of {self.n_calibration} accepted, {self.n_errors} wrong"
        return f"TrustThreshold(min_trust={self.min_trust}, {counts}: {self.message})"


def select_min_trust(
    clf: Any, X_cal: Any, y_cal: Any, *, max_error: float = 0.05, confidence: float = 0.95
) -> TrustThreshold:
    """Find the smallest trust threshold that keeps the error among accepted labels below a limit.

    With probability `confidence` over the draw of the calibration records, at most a share `max_error` of the accepted
    labels is wrong: of those that ``clf.predict_or_abstain(X, min_trust)`` gives. An exact bound for any number of
    records and any distribution.

    Parameters
    ----------
    clf : classifier
        Fitted, with `predict` and `trust_score`. If it has `assess` too, records that no threshold would accept, as
        they are strange or contested, are refused here as well; else ``trust >= min_trust`` accepts.
    X_cal : array-like of shape (n, n_features)
        Records that it has not been fitted to, drawn independently from where it will be used.
    y_cal : array-like of shape (n,)
        Their labels. One that the classifier does not know counts as an error, which it would be in use.
    max_error : float, default=0.05
    confidence : float, default=0.95

    Returns
    -------
    TrustThreshold

    Notes
    -----
    A second threshold from the same records, for another `max_error`, has a promise of its own; that both hold is
    promised only with the sum of the two risks. Choosing between classifiers by their thresholds voids the promise.
    So does another `min_typicality` than the default, or ``allow_outside=False``: it accepts other records.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sepc import SEPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SEPClassifier().fit(X[::2], y[::2])
    >>> found = select_min_trust(clf, X[1::2], y[1::2], max_error=0.1)
    >>> labels = clf.predict_or_abstain(X[1::2], min_trust=found.min_trust)
    >>> sum(label is not None for label in labels) == found.n_accepted
    True
    """
    require_share(max_error, "max_error", 0.05)
    require_share(confidence, "confidence", 0.95)
    n, trust, wrong = _eligible(clf, X_cal, y_cal)
    prior = _stated_prior(clf)
    found = lowest_safe_threshold(trust, wrong, float(max_error), float(confidence)) if len(trust) else None
    if found is None:
        message = _no_promise_message(n, len(trust), max_error, confidence)
        return TrustThreshold(None, float(max_error), float(confidence), n, 0, 0, 0.0, None, message, prior)
    message = (
        f"Of the {'labels' if n == len(trust) else 'accepted labels'} with a trust of at least {found.threshold!r} at "
        f"most {100 * max_error:g} % are wrong, with a confidence of {100 * confidence:g} %; this accepts "
        f"{percent(found.n_accepted / n)} of the records.{_refused_at_any_trust(n, len(trust))}"
        f"{'' if prior is None else _HOLDS_WHERE}"
    )
    return TrustThreshold(
        min_trust=found.threshold,
        max_error=float(max_error),
        confidence=float(confidence),
        n_calibration=n,
        n_accepted=found.n_accepted,
        n_errors=found.n_errors,
        coverage=found.n_accepted / n,
        error_bound=min(upper_limit(found.n_errors, found.n_accepted, found.level), float(max_error)),
        message=message,
        class_prior=prior,
    )


def promised_trust(min_trust: Any, clf: Any) -> Any:
    """Return the threshold of a promise, with a warning where the classifier was told of other shares of the classes.

    Parameters
    ----------
    min_trust : TrustThreshold, float or dict
        Numbers are returned as they are.
    clf : classifier
        Fitted.

    Examples
    --------
    >>> promised_trust(0.9, None)
    0.9
    """
    if not isinstance(min_trust, TrustThreshold):
        return min_trust
    if min_trust.class_prior != _stated_prior(clf):
        warn(
            "the promise does not hold here: it was made with other shares of the classes. Find a threshold with "
            "select_min_trust of the classifier under these shares, and with calibration records from where they hold."
        )
    return min_trust.min_trust


def _stated_prior(clf: Any) -> tuple[float, ...] | None:
    """Return the shares of the classes that a classifier was told; None if none."""
    policy = getattr(getattr(clf, "_model", None), "policy", None)
    return None if policy is None or policy.prior is None else tuple(policy.prior.tolist())


class SafeThreshold(NamedTuple):
    """Threshold, what it accepts of the calibration records, and the level at which it passed."""

    threshold: float
    n_accepted: int
    n_errors: int
    level: float


def lowest_safe_threshold(
    trust: FloatArray, wrong: BoolArray, max_error: float, confidence: float
) -> SafeThreshold | None:
    """Return the lowest threshold that passes the tests which the module's docstring describes.

    Parameters
    ----------
    trust : ndarray of shape (n,)
        Between 0 and 1.
    wrong : ndarray of bool, shape (n,)
    max_error, confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    SafeThreshold or None

    Examples
    --------
    >>> lowest_safe_threshold(np.linspace(0.01, 1.0, 100), np.arange(100) < 20, 0.1, 0.95).n_accepted
    82
    """
    values, accepted, errors = accepted_and_errors(trust, wrong)
    p = bdtr(errors.astype(np.float64), accepted, max_error)
    level_at_top, entering = entering_levels(values, accepted, confidence)
    found = fixed_sequence_test(p, level_at_top, entering)
    if found is None:
        return None
    last, level = found
    # Next to it among numbers of its own kind: NumPy compares float32 trusts with the threshold rounded to float32.
    refused = values[last + 1 : last + 2]
    threshold = float(np.nextafter(refused[0], trust.dtype.type(1.0))) if len(refused) else 0.0
    return SafeThreshold(threshold, int(accepted[last]), int(errors[last]), level)


def accepted_and_errors(trust: FloatArray, wrong: BoolArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the distinct trusts, falling, and how many records, and wrong ones, have at least each.

    Examples
    --------
    >>> values, n, e = accepted_and_errors(np.array([0.9, 1.0, 0.9]), np.array([True, False, False]))
    >>> values.tolist(), n.tolist(), e.tolist()
    ([1.0, 0.9], [1, 3], [0, 1])
    """
    order = np.argsort(-trust)
    falling = trust[order]
    last: IntArray = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    errors: IntArray = np.cumsum(wrong[order], dtype=np.int64)
    return falling[last], last + 1, errors[last]


def start_ranks(n: int) -> IntArray:
    """Return the ranks where levels enter the sequence of tests over n records.

    They must not depend on anything but n; not on `max_error` either, so that a smaller one never gives a lower
    threshold.

    Examples
    --------
    >>> start_ranks(100).tolist()
    [100, 70, 49, 35]
    """
    ranks: IntArray = np.ceil(n * _RATIO ** np.arange(_MOST_STARTS)).astype(np.int64)
    return np.asarray(ranks[(ranks >= _SMALLEST_START) | (ranks == n)])


def entering_levels(values: FloatArray, accepted: IntArray, confidence: float) -> tuple[float, FloatArray]:
    """Return the level that enters the sequence at a trust of 1.0, and those just above each next lower value.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The distinct trusts, falling.
    accepted : ndarray of int, shape (n_values,)
        How many records have at least each.
    confidence : float

    Returns
    -------
    level_at_top : float
    entering : ndarray of shape (n_values,)
        With the candidate that accepts the same records as `values` and lies just above the next lower one.

    Examples
    --------
    >>> at_top, entering = entering_levels(np.array([1.0, 0.5]), np.array([60, 100]), 0.95)
    >>> round(at_top, 4), entering.round(4).tolist()  # ranks 49 and 35; 70; 100
    (0.0238, [0.0119, 0.0119])
    """
    ranks = start_ranks(int(accepted[-1]))
    level = _all_levels(confidence) / len(ranks)
    at = np.searchsorted(accepted, ranks, side="right") - 1
    entering: FloatArray = level * np.bincount(at[at >= 0], minlength=len(accepted)).astype(np.float64)
    # A rank below the first count enters where nothing is accepted, and is lost there, unless no candidate is higher.
    at_top = level * np.count_nonzero(at < 0) if values[0] == 1.0 else 0.0
    return float(at_top), entering


def fixed_sequence_test(p: FloatArray, level_at_top: float, entering: FloatArray) -> tuple[int, float] | None:
    """Return the last group of candidates that passes, and the level that it passed at; None if none does.

    Each group of candidates that accept the same records is tested twice, with what came from above at its highest
    member, and with what enters besides at its lowest.

    Examples
    --------
    >>> fixed_sequence_test(np.array([0.02, 0.01, 0.9, 0.03]), 0.02, np.array([0.0, 0.0, 0.0, 0.03]))
    (3, 0.03)
    """
    level, last = level_at_top, None
    for j, (p_j, more) in enumerate(zip(p.tolist(), entering.tolist(), strict=True)):
        level = more + (level if p_j <= level else 0.0)
        if p_j <= level:
            last = j, level
        else:
            level = 0.0
    return last


def records_needed(max_error: float, confidence: float) -> int:
    """Return from how many calibration records on there is a promise if none of them is wrong, whatever their trust.

    Examples
    --------
    >>> records_needed(0.05, 0.95)
    87
    """

    def needed(parts: int) -> int:
        return ceil(log(_all_levels(confidence) / parts) / log1p(-max_error))

    n = needed(_MOST_STARTS)
    while n > 1 and n - 1 >= needed(len(start_ranks(n - 1))):
        n -= 1
    return n


def _all_levels(confidence: float) -> float:
    return (1.0 - confidence) / (2.0 - confidence)


def _no_promise_message(n: int, n_eligible: int, max_error: float, confidence: float) -> str:
    cannot = (
        f"No threshold can promise an error of at most {100 * max_error:g} % with a confidence of "
        f"{100 * confidence:g} %"
    )
    if not n_eligible:
        return (
            f"{cannot}: all {n} calibration records are refused at any trust, as strange, contested or without a "
            "region. Check that they have the units and columns of the training records, and come from the same source."
        )
    needed = records_needed(max_error, confidence)
    records = f"{n_eligible} {'' if n == n_eligible else 'eligible '}calibration records"
    reason = (
        f"{records} are too few; {needed} would be enough if none of them is wrong"
        if n_eligible < needed
        else f"too many of the surest of the {records} are wrong ({needed} records with none wrong would be enough)"
    )
    return (
        f"{cannot}: {reason}. Use more calibration records, a larger max_error or a better classifier."
        f"{_refused_at_any_trust(n, n_eligible)}"
    )


def _refused_at_any_trust(n: int, n_eligible: int) -> str:
    if n == n_eligible:
        return ""
    refused = n - n_eligible
    are = "is" if refused == 1 else "are"
    return f" {refused} of the {n} {are} refused at any trust, as strange, contested or without any value."


def _eligible(clf: Any, X_cal: Any, y_cal: Any) -> tuple[int, FloatArray, BoolArray]:
    """Return how many records there are; of those that some threshold accepts, the trust and which labels are wrong."""
    missing = [name for name in ("predict", "trust_score") if not callable(getattr(clf, name, None))]
    if missing:
        raise InputError(
            f"clf is {clf if isinstance(clf, type) else type(clf).__name__}, without {' and '.join(missing)}; expected "
            "a fitted classifier with both. Pass an SEPClassifier; of a pipeline its last step, with X_cal transformed "
            "by the steps before."
        )
    labels = known_labels(X_cal, y_cal)
    trust, predicted, eligible = _judged(clf, X_cal)
    if trust.shape != (len(labels),) or not ((trust >= 0.0) & (trust <= 1.0)).all():
        raise InputError(
            f"trust_score returned an array of shape {trust.shape}; expected {len(labels)} numbers between 0 and 1. "
            "Scale other scores into this range, for all records alike."
        )
    _require_some_known(labels, getattr(clf, "classes_", predicted))
    wrong = np.array([a != b for a, b in zip(labels, predicted, strict=True)], dtype=bool)
    return len(labels), trust[eligible], wrong[eligible]


def _judged(clf: Any, X_cal: Any) -> tuple[FloatArray, list[Any], BoolArray]:
    """Return the trust of each record, its label, and which records some threshold accepts."""
    if callable(getattr(clf, "assess", None)):
        a = clf.assess(X_cal)
        trust, predicted = np.asarray(a.trust), a.label
        eligible = np.asarray(a.accepted(min_trust=0.0))
    else:
        trust, predicted = np.asarray(clf.trust_score(X_cal)), clf.predict(X_cal)
        eligible = np.full(trust.shape, True)
    return trust if trust.dtype == np.float32 else trust.astype(np.float64), np.asarray(predicted).tolist(), eligible


def _require_some_known(labels: Sequence[Any], classes: Any) -> None:
    known = np.asarray(classes).tolist()
    if set(known).isdisjoint(labels):
        raise InputError(
            f"y_cal holds {labels[0]!r}, and none of the labels that the classifier knows, such as {known[0]!r}; "
            "expected labels of the same kind. Encode y_cal as the training labels were."
        )
