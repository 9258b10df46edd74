"""select_min_trust: thresholds with a promise, from calibration records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from reprlib import repr as repr_in_short
from typing import Any

import numpy as np

from sepc.common.days import today
from sepc.common.errors import InputError
from sepc.common.text import at_least, many, percent
from sepc.common.validation import require_share
from sepc.promises.calibration_verdicts import CalibrationVerdicts, PartRecords
from sepc.promises.criteria import CostLimit, Criterion, equal_share, shared_risks
from sepc.promises.parts import LABEL, REGION, Groups
from sepc.promises.promise_request import promise_request
from sepc.promises.repeated_records import independent_records
from sepc.promises.safe_thresholds import SafeThreshold
from sepc.promises.trust_threshold import (
    PROMISED,
    TOO_DEAR,
    TOO_FEW,
    TOO_MANY_WRONG,
    TrustThreshold,
    model_of,
    stated_of,
)


def select_min_trust(
    clf: Any,
    X_cal: Any,
    y_cal: Any,
    *,
    max_error: float | Mapping[Any, float] = 0.05,
    confidence: float = 0.95,
    by: Any = None,
    max_cost: float | Mapping[Any, float] | None = None,
    costs: Any = None,
    unknown_labels: str = "error",
) -> TrustThreshold:
    """Find the smallest trust threshold that keeps the error among accepted labels below a limit.

    With probability `confidence` over the draw of the calibration records, at most a share `max_error` of the accepted
    labels is wrong: of those that ``clf.predict_or_abstain(X, min_trust)`` gives. An exact bound for any number of
    records and any distribution. By parts there is a threshold for each, and all promises hold together with that
    probability.

    Parameters
    ----------
    clf : classifier
        Fitted, with `predict` and `trust_score`. If it has `assess` too, strange and contested records are refused
        at any trust; else ``trust >= min_trust`` accepts.
    X_cal : array-like of shape (n, n_features)
        Calibration records that were not used in training, drawn independently from the population in use. Training
        records are refused, and copies of a record count once, where a column has enough different values that
        equal records are no coincidence; `note` says what was done.
    y_cal : array-like of shape (n,)
        Their labels.
    max_error : float or dict, default=0.05
        By parts a dict may give a number for each: by label, for regions too; by group. ``None`` in it stands for all
        others. Where groups overlap, the smallest of a record's groups counts.
    confidence : float, default=0.95
    by : {"label", "region"} or array-like of shape (n,) or (n, n_groups), optional
        Parts with a promise each: predicted labels; their regions, by the one that gives most of the label's
        probability; or groups of records. Groups are a vector, or a table of booleans where they overlap, and are
        passed again at prediction.
    max_cost : float or dict, optional
        In place of `max_error`: the largest expected cost of an accepted label.
    costs : dict or array-like, optional
        ``costs[true][given]``, as for `SEPClassifier`. By default those that were stated to the classifier.
    unknown_labels : {"error", "wrong"}, default="error"
        Refuse labels that the classifier does not know, or count them as wrong.

    Returns
    -------
    TrustThreshold
        With `parts` if `by` is given.

    Notes
    -----
    A second threshold from the same records, for another `max_error`, has a promise of its own; both hold with a
    confidence of one minus the sum of the two risks. Choosing between classifiers by their thresholds voids the
    promise. So does another `min_typicality` than the default, or ``allow_outside=False``: it accepts other records.

    The risk is shared equally by the parts that have enough calibration records for their share; the others get
    nothing. Regions with too few expected ones, by their share of the training records, are pooled by label.

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
    if unknown_labels not in ("error", "wrong"):
        raise InputError("unknown-labels", unknown_labels=unknown_labels)
    if costs is not None and max_cost is None:
        raise InputError("costs-without-max-cost")
    cal = CalibrationVerdicts.of(clf, X_cal, y_cal, unknown_labels)
    if by is None and max_cost is None:
        require_share(max_error, "max_error", 0.05)
    if max_cost is not None and max_error != 0.05:
        raise InputError("max-error-and-max-cost", max_error=max_error, max_cost=max_cost)
    groups = _groups(by, len(cal.trust))
    rows, repeated = independent_records(clf, X_cal, cal.truth, None if groups is None else groups.names().tolist())
    cal, by = cal.taken(rows), by if groups is None else groups.taken(rows)
    request = promise_request(clf, cal, by, float(confidence), max_error, max_cost, costs, unknown_labels)
    records, parts = request.records(cal, by), request.parts
    prior = getattr(getattr(model_of(clf), "policy", None), "prior", None)
    stated: dict[str, Any] = {
        "n_calibration": len(cal.trust),
        "class_prior": None if prior is None else tuple(prior.tolist()),
        "costs": None if request.costs is None else tuple(map(tuple, request.costs.tolist())),
        "made_on": today(),
        "key": cal.key,
        "stated": stated_of(clf),
        "note": repeated,
    }
    if by is not None:
        found = part_promises(records, parts.names, request.criteria, float(confidence))
        of_parts = dict(zip(parts.keys or parts.names, found, strict=True))
        return TrustThreshold.of_parts(of_parts, by=parts.by, columns=parts.columns, **stated)
    if max_cost is None:
        one = _error_promise(records, request.criteria[0], float(confidence), has_prior=prior is not None)
    else:
        (one,) = part_promises(records, parts.names, request.criteria, float(confidence))
        one = replace(one, message=f"{one.message}, with a confidence of {percent(confidence)}")
    return replace(one, part="", coverage=one.n_accepted / len(cal.trust), **stated)


def _groups(by: Any, n: int) -> Groups | None:
    """Return the groups of n records; None where the parts are none, labels or regions."""
    if by is None or (isinstance(by, str) and by in (LABEL, REGION)):
        return None
    if isinstance(by, str) or not hasattr(by, "__len__"):
        raise InputError("promise-by", by=repr_in_short(by))
    return Groups.of(by, n)


def _error_promise(records: PartRecords, criterion: Criterion, confidence: float, has_prior: bool) -> TrustThreshold:
    """Return the promise that bounds the error of all labels together, which get all of the risk."""
    n, eligible = len(records.trust), records.taken(records.eligible)
    n_eligible, risk = len(eligible.trust), 1.0 - confidence
    found = criterion.threshold(eligible.trust, eligible.loss, risk) if n_eligible else None
    needed = criterion.needed(risk)
    n_more = needed - n_eligible if found is None and n_eligible < needed else None
    one = _promise("", eligible, criterion, found, n_more, confidence)
    limits = f"at most {100 * criterion.limit:g} %", f"with a confidence of {100 * confidence:g} %"
    if found is None:
        return replace(one, message=_no_promise_message(n, n_eligible, needed, *limits))
    which = "labels" if n == n_eligible else "accepted labels"
    message = (
        f"Of the {which} with a trust of at least {at_least(found.threshold)} {limits[0]} are wrong, {limits[1]}; "
        f"this accepts {percent(found.n_accepted / n)} of the records."
        f"{_refused_at_any_trust(n, n_eligible)}"
    )
    if has_prior:
        message += (
            " It holds where classes are as frequent as among the calibration records, whatever shares the classifier "
            "was told."
        )
    return replace(one, message=message)


def part_promises(
    records: PartRecords, names: Sequence[str], criteria: Sequence[Criterion], confidence: float
) -> list[TrustThreshold]:
    """Return the promise of each part; all hold together with this confidence, and share the risk."""
    parts = [records.taken(records.eligible & (records.part == k)) for k in range(len(names))]
    risk = 1.0 - confidence
    risks = shared_risks([len(mine.trust) for mine in parts], criteria, risk)
    # The share of one more part, if it had enough records.
    one_more = equal_share(risk, sum(share > 0.0 for share in risks) + 1)
    promises = []
    for name, mine, criterion, share in zip(names, parts, criteria, risks, strict=True):
        found, n_more = None, None
        if share > 0.0:
            found = criterion.threshold(mine.trust, mine.loss, share)
        elif not criterion.is_out_of_reach:
            n_more = max(criterion.needed(one_more) - len(mine.trust), 1)
        one = _promise(name, mine, criterion, found, n_more, confidence)
        promises.append(replace(one, message=_in_words(one, int(np.count_nonzero(mine.wrong)))))
    return promises


def _promise(
    name: str,
    records: PartRecords,
    criterion: Criterion,
    found: SafeThreshold | None,
    n_more: int | None,
    confidence: float,
) -> TrustThreshold:
    """Return the promise of one part, still without a message, from its eligible records."""
    n, is_cost = len(records.trust), isinstance(criterion, CostLimit)
    accepted = np.zeros(n, dtype=bool) if found is None else records.trust >= found.threshold
    n_accepted = int(np.count_nonzero(accepted))
    mean = float(records.loss[accepted].mean()) if n_accepted else 0.0
    return TrustThreshold(
        min_trust=np.inf if found is None else found.threshold,
        max_error=None if is_cost else criterion.limit,
        confidence=confidence,
        n_calibration=n,
        n_accepted=n_accepted,
        n_errors=int(np.count_nonzero(records.wrong[accepted])),
        coverage=n_accepted / n if n else 0.0,
        error_bound=None if found is None or not n_accepted else criterion.bound(mean, n_accepted, found.level),
        message="",
        part=name,
        status=PROMISED if found is not None else TOO_FEW if n_more else TOO_DEAR if is_cost else TOO_MANY_WRONG,
        n_more=n_more,
        max_cost=criterion.limit if is_cost else None,
        cost=mean if is_cost and n_accepted else None,
    )


def _in_words(part: TrustThreshold, n_wrong: int) -> str:
    """Return the promise of a part in words, or why there is none; `n_wrong` of all its records are wrong."""
    records = many(part.n_calibration, "record")
    if part.is_kept:
        lost = f"{part.n_errors:,} wrong" if part.cost is None else f"a mean cost of {part.cost:.3g}"
        trust = f"from a trust of {part.min_trust:.4g} on" if part.min_trust > 0.0 else "at any trust"
        return f"promised {trust}, {part.limit_in_words()}; {part.n_accepted:,} of {records} accepted, {lost}"
    if part.n_more is not None:
        return f"too few records, {part.n_calibration:,}; {part.n_more:,} more would do if none of all is wrong"
    if part.status == TOO_DEAR:
        return f"too dear: the surest of its {records} cost too much, or there are too few to show that they do not"
    return f"too many wrong: {n_wrong:,} of its {records}, and too few to promise anything of the surest"


def _no_promise_message(n: int, n_eligible: int, needed: int, limit: str, confidence: str) -> str:
    cannot = f"No threshold can promise an error of {limit} {confidence}"
    if not n_eligible:
        return (
            f"{cannot}: all {n} calibration records are refused at any trust, as strange, beyond reach, contested or "
            "without a region. Check that they have the units and columns of the training records, and come from the "
            "same source."
        )
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
    return (
        f" {refused} of the {n} {are} refused at any trust, as strange, beyond reach, contested or without any value."
    )
