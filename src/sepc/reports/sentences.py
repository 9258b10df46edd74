"""Sentences of a report: whether trust and thresholds keep what they claim, and what stated costs come to."""

from typing import Any

import numpy as np

from sepc.common.intervals import exact_interval
from sepc.common.text import many, percent
from sepc.reports.subject import Subject

# Bands of the trust, the surest first: from where on, and what it is called.
_BANDS = ((0.99, "99 % or more"), (0.9, "90 to 99 %"), (0.0, "less than 90 %"))


def trust_bands(subject: Subject) -> list[dict[str, Any]]:
    """Return how many test records got a label of each band of the trust, and how many of these are right."""
    bands, upper = [], np.inf
    for low, words in _BANDS:
        here = (subject.trust >= low) & (subject.trust < upper)
        upper = low
        n, n_right = int(np.count_nonzero(here)), int(np.count_nonzero(subject.right & here))
        if n:
            trust = float(subject.trust[here].mean())
            interval = list(exact_interval(n_right, n))
            bands.append({"words": words, "n_records": n, "n_right": n_right, "trust": trust, "interval": interval})
    return bands


def trust_in_words(bands: list[dict[str, Any]]) -> str:
    """Return sentences on how often labels were right, and on whether their trust says so.

    A band holds if its mean trust is in the exact 95 % interval of the share that is right.
    """
    told: list[str] = []
    for band in bands:
        n, n_right = band["n_records"], band["n_right"]
        start = "of" if told else "Of"
        trust = band["words"] if told else f"a trust of {band['words']}"
        rightly = f"{n_right:,} {'was' if n_right == 1 else 'were'} right ({percent(n_right / n)})"
        told.append(f"{start} {many(n, 'label')} with {trust}, {rightly}")
    too_much = [band["words"] for band in bands if band["trust"] > band["interval"][1]]
    too_little = [band["words"] for band in bands if band["trust"] < band["interval"][0]]
    if not too_much and not too_little:
        verdict = "That is what such a trust claims, within chance."
    else:
        verdict = " ".join(
            f"The trust claims too {how} where it is {' and '.join(which)}."
            for how, which in (("much", too_much), ("little", too_little))
            if which
        )
    return f"{'; '.join(told)}. {verdict}"


def claim_warning(n_right: int, n_accepted: int, min_trust: float) -> str | None:
    """Return a warning if accepted labels are right less often than their threshold claims, else None.

    A threshold of 0.95 claims that of the labels with at least this trust 95 % or more are right. Chance alone must not
    set it off: the warning comes where the whole exact 95 % interval of the share that is right lies below the
    threshold, which happens to a claim that holds at most once in 40 times.

    Parameters
    ----------
    n_right, n_accepted : int
        Among test records that the model has not learned from.
    min_trust : float

    Returns
    -------
    str or None
    """
    low, high = exact_interval(n_right, n_accepted)
    if high >= min_trust:
        return None
    return (
        f"accepted labels are right less often than their trust claims: {n_right:,} of {n_accepted:,} "
        f"({percent(n_right / n_accepted)}; 95 % interval {percent(low)} to {percent(high)}), where a trust of at "
        f"least {min_trust:g} claims {percent(min_trust)} or more. Chance does not explain that: do not rely on this "
        "threshold here. A higher one, another n_imp or an ensemble may keep what it claims."
    )


def policy_in_words(subject: Subject, min_trust: float) -> str:
    """Return sentences on what was stated; empty where nothing was.

    Parameters
    ----------
    subject : Subject
    min_trust : float
        Trust from which a label is accepted.
    """
    return " ".join(part for part in (_shares(subject), _costs(subject, min_trust)) if part)


def _shares(subject: Subject) -> str:
    policy, counts = subject.model.policy, subject.model.class_count
    if policy is None or policy.prior is None:
        return ""
    tested = np.bincount(subject.truth[subject.truth < subject.n_classes], minlength=subject.n_classes)
    labels = subject.labels[: subject.n_classes]
    stated = ", ".join(f"{label} {percent(share)}" for label, share in zip(labels, policy.prior.tolist(), strict=True))
    others = [", ".join(percent(share) for share in (n / max(n.sum(), 1)).tolist()) for n in (counts, tested)]
    return (
        f"Classes are taken to be as frequent as stated: {stated} (in training {others[0]}, among the test records "
        f"{others[1]}). Shares of right labels are those among the test records."
    )


def _costs(subject: Subject, min_trust: float) -> str:
    policy, known = subject.model.policy, subject.truth < subject.n_classes
    if policy is None or policy.costs is None or not known.any():
        return ""
    truth, accepted = subject.truth[known], subject.accepted(min_trust)[known]
    given = policy.costs[truth, subject.predicted[known]]
    likeliest = policy.costs[truth, subject.proba[known].argmax(axis=1)]
    if policy.asking is None:
        return (
            f"Errors have costs: the labels of all test records, accepted or not, cost {given.mean():.3g} a record; "
            f"the likeliest label for each would cost {likeliest.mean():.3g}."
        )
    decided = np.where(accepted, given, policy.asking[truth])
    return (
        f"Errors have costs: on the test records the decisions cost {decided.mean():.3g} a record; the likeliest label "
        f"for each would cost {likeliest.mean():.3g}, asking a person each time {policy.asking[truth].mean():.3g}."
    )
