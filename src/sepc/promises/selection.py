"""select_min_trust: thresholds with a promise, from calibration records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.intervals import upper_limit
from sepc.common.text import many, percent
from sepc.common.typing import FloatArray
from sepc.common.validation import require_share
from sepc.promises.asked_parts import AskedLimits, asked_parts, cost_matrix
from sepc.promises.calibration_verdicts import CalibrationVerdicts
from sepc.promises.criteria import Criterion
from sepc.promises.part_promises import PartPromises
from sepc.promises.parts import GROUP, GROUPS, Parts
from sepc.promises.risk_sharing import equal_share, shared_risks
from sepc.promises.safe_thresholds import lowest_safe_threshold, records_needed
from sepc.promises.trust_threshold import (
    PROMISED,
    TOO_DEAR,
    TOO_FEW,
    TOO_MANY_WRONG,
    TrustThreshold,
    stated_of,
    stated_prior,
)

_HOLDS_WHERE = (
    " It holds where classes are as frequent as among the calibration records, whatever shares the classifier was told."
)
_UNKNOWN_LABELS = ("error", "wrong")
_USUAL_ERROR = 0.05


def select_min_trust(
    clf: Any,
    X_cal: Any,
    y_cal: Any,
    *,
    max_error: float | Mapping[Any, float] = _USUAL_ERROR,
    confidence: float = 0.95,
    by: Any = None,
    max_cost: float | Mapping[Any, float] | None = None,
    costs: Any = None,
    unknown_labels: str = "error",
) -> TrustThreshold | PartPromises:
    """Find the smallest trust threshold that keeps the error among accepted labels below a limit.

    With probability `confidence` over the draw of the calibration records, at most a share `max_error` of the accepted
    labels is wrong: of those that ``clf.predict_or_abstain(X, min_trust)`` gives. An exact bound for any number of
    records and any distribution. By parts there is a threshold for each, and all promises hold together with that
    probability.

    Parameters
    ----------
    clf : classifier
        Fitted, with `predict` and `trust_score`. If it has `assess` too, records that no threshold would accept, as
        they are strange or contested, are refused here as well; else ``trust >= min_trust`` accepts.
    X_cal : array-like of shape (n, n_features)
        Records that it has not been fitted to, drawn independently from where it will be used.
    y_cal : array-like of shape (n,)
        Their labels.
    max_error : float or dict, default=0.05
        By parts a dict may give a number for each: by label, for regions too; by group. ``None`` in it stands for all
        others. Where groups overlap, the smallest of a record's groups counts.
    confidence : float, default=0.95
    by : {"label", "region"} or array-like of shape (n,) or (n, n_groups), optional
        What the promise is made for: each label that is given; each region of these, by the one that gives most of the
        label's probability; or each group of records. Groups are a vector, or a table of yes and no where they overlap,
        and are given again at prediction.
    max_cost : float or dict, optional
        In place of `max_error`: what an accepted label may be expected to cost.
    costs : dict or array-like, optional
        ``costs[true][given]``, as for `SEPClassifier.under`. By default those that the classifier was told.
    unknown_labels : {"error", "wrong"}, default="error"
        What to do with a label that the classifier does not know: refuse it, or count it as wrong, which it is.

    Returns
    -------
    TrustThreshold or PartPromises
        The latter by parts, or with `max_cost`.

    Notes
    -----
    A second threshold from the same records, for another `max_error`, has a promise of its own; that both hold is
    promised only with the sum of the two risks. Choosing between classifiers by their thresholds voids the promise.
    So does another `min_typicality` than the default, or ``allow_outside=False``: it accepts other records.

    The risk is shared out equally over the parts that have enough calibration records for their share; the others get
    nothing. Regions that can be expected to have too few, by their share of the training records, are pooled by label.

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
    >>> select_min_trust(clf, X[1::2], y[1::2], max_error=0.1, by="label").parts[1].status
    'promised'
    """
    require_share(confidence, "confidence", 0.95)
    if unknown_labels not in _UNKNOWN_LABELS:
        raise InputError(f"unknown_labels is {unknown_labels!r}; expected one of {', '.join(_UNKNOWN_LABELS)}.")
    if costs is not None and max_cost is None:
        raise InputError("costs came without max_cost; expected what an accepted label may cost. Pass max_cost=, too.")
    cal = CalibrationVerdicts.of(clf, X_cal, y_cal, unknown_labels)
    if by is None and max_cost is None:
        require_share(max_error, "max_error", 0.05)
        return _for_all(clf, cal, float(max_error), float(confidence))  # type: ignore[arg-type]
    if max_cost is not None and max_error != _USUAL_ERROR:
        raise InputError(
            f"max_error is {max_error!r} and max_cost {max_cost!r}; expected one of them. Make a promise for each."
        )
    limits = max_error if max_cost is None else max_cost
    matrix = None if max_cost is None else cost_matrix(clf, costs, unknown_labels)
    parts, criteria = asked_parts(clf, cal, by, AskedLimits(limits, matrix, cal.classes), float(confidence))
    groups = by if parts.by in (GROUP, GROUPS) else None
    which = parts.of(cal.label, cal.main_region, groups)
    loss = cal.wrong.astype(np.float64) if matrix is None else cal.costs(matrix)
    found = part_promises(cal, parts, which, criteria, loss, float(confidence), matrix is not None)
    return PartPromises(
        by=parts.by,
        bounds="error" if matrix is None else "cost",
        confidence=float(confidence),
        n_calibration=len(which),
        parts=dict(zip(parts.keys or parts.names, found, strict=True)),
        columns=parts.columns,
        costs=None if matrix is None else tuple(map(tuple, matrix.tolist())),
        made_on=date.today().isoformat(),
        key=cal.key,
        stated=stated_of(clf),
    )


def _for_all(clf: Any, cal: CalibrationVerdicts, max_error: float, confidence: float) -> TrustThreshold:
    n, trust, wrong = len(cal.trust), cal.trust[cal.eligible], cal.wrong[cal.eligible]
    told: dict[str, Any] = {
        "class_prior": stated_prior(clf),
        "made_on": date.today().isoformat(),
        "key": cal.key,
        "stated": stated_of(clf),
    }
    found = lowest_safe_threshold(trust, wrong, max_error, confidence) if len(trust) else None
    if found is None:
        message = _no_promise_message(n, len(trust), max_error, confidence)
        return TrustThreshold(None, max_error, confidence, n, 0, 0, 0.0, None, message, **told)
    message = (
        f"Of the {'labels' if n == len(trust) else 'accepted labels'} with a trust of at least {found.threshold!r} at "
        f"most {100 * max_error:g} % are wrong, with a confidence of {100 * confidence:g} %; this accepts "
        f"{percent(found.n_accepted / n)} of the records.{_refused_at_any_trust(n, len(trust))}"
        f"{'' if told['class_prior'] is None else _HOLDS_WHERE}"
    )
    n_errors = int(np.count_nonzero(wrong[trust >= found.threshold]))
    return TrustThreshold(
        min_trust=found.threshold,
        max_error=max_error,
        confidence=confidence,
        n_calibration=n,
        n_accepted=found.n_accepted,
        n_errors=n_errors,
        coverage=found.n_accepted / n,
        error_bound=min(upper_limit(n_errors, found.n_accepted, found.level), max_error),
        message=message,
        **told,
    )


def part_promises(
    cal: CalibrationVerdicts,
    parts: Parts,
    which: NDArray[np.int64],
    criteria: Sequence[Criterion],
    loss: FloatArray,
    confidence: float,
    is_cost: bool,
) -> list[TrustThreshold]:
    """Return what is promised of each part.

    Parameters
    ----------
    cal : CalibrationVerdicts
        On n records.
    parts : Parts
    which : ndarray of int, shape (n,)
        The part of each record; -1 for none.
    criteria : sequence of Criterion
        What is to be promised of each part.
    loss : ndarray of shape (n,)
        What each label loses: 1 if it is wrong, or its cost.
    confidence : float
        With which all promises hold together; the risk that is left is shared out over the parts.
    is_cost : bool
        Whether losses are costs.
    """
    rows = [np.flatnonzero(cal.eligible & (which == k)) for k in range(len(parts.names))]
    risk = 1.0 - confidence
    risks = shared_risks([len(mine) for mine in rows], criteria, risk)
    # What a part that got nothing would get if it had enough records, beside those that have.
    one_more = equal_share(risk, sum(share > 0.0 for share in risks) + 1)
    promises = []
    for name, mine, criterion, share in zip(parts.names, rows, criteria, risks, strict=True):
        trust, lost, wrong = cal.trust[mine], loss[mine], cal.wrong[mine]
        found = criterion.threshold(trust, lost, share) if share > 0.0 else None
        n_more = None
        if not share > 0.0 and not criterion.is_out_of_reach:
            n_more = max(criterion.needed(one_more) - len(mine), 1)
        accepted = np.zeros(len(mine), dtype=bool) if found is None else trust >= found.threshold
        n_accepted = int(np.count_nonzero(accepted))
        mean = float(lost[accepted].mean()) if n_accepted else 0.0
        told = TrustThreshold(
            min_trust=None if found is None else found.threshold,
            max_error=None if is_cost else criterion.limit,
            confidence=confidence,
            n_calibration=len(mine),
            n_accepted=n_accepted,
            n_errors=int(np.count_nonzero(wrong[accepted])),
            coverage=n_accepted / len(mine) if len(mine) else 0.0,
            error_bound=None if found is None or not n_accepted else criterion.bound(mean, n_accepted, found.level),
            message="",
            part=name,
            status=PROMISED if found is not None else TOO_FEW if n_more else TOO_DEAR if is_cost else TOO_MANY_WRONG,
            n_more=n_more,
            max_cost=criterion.limit if is_cost else None,
            cost=mean if is_cost and n_accepted else None,
        )
        promises.append(replace(told, message=_in_words(told, int(np.count_nonzero(wrong)))))
    return promises


def _in_words(part: TrustThreshold, n_wrong: int) -> str:
    """Return what is promised of a part, or why nothing is; `n_wrong` of all its records are wrong."""
    records = many(part.n_calibration, "record")
    if part.min_trust is not None:
        lost = f"{part.n_errors:,} wrong" if part.cost is None else f"a mean cost of {part.cost:.3g}"
        trust = f"from a trust of {part.min_trust:.4g} on" if part.min_trust > 0.0 else "at any trust"
        return f"promised {trust}, {part.limit_in_words()}; {part.n_accepted:,} of {records} accepted, {lost}"
    if part.n_more is not None:
        return f"too few records, {part.n_calibration:,}; {part.n_more:,} more would do if none of all is wrong"
    if part.status == TOO_DEAR:
        return f"too dear: the surest of its {records} cost too much, or there are too few to show that they do not"
    return f"too many wrong: {n_wrong:,} of its {records}, and too few to promise anything of the surest"


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
