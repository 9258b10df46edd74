"""Sentences of a report: calibration of trust and thresholds, and mean costs."""

from typing import Any

import numpy as np

from sepc.common.intervals import exact_interval
from sepc.common.text import many, percent
from sepc.reports.subject import Subject

# Bands of the trust, the highest first: lower limit and name.
_BANDS = ((0.99, "99 % or more"), (0.9, "90 to 99 %"), (0.0, "less than 90 %"))


def trust_bands(subject: Subject) -> list[dict[str, Any]]:
    """Return the number of test records in each band of the trust, and of right labels among these."""
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
    """Return sentences on the accuracy of labels in each band of the trust, and on its calibration.

    A band is calibrated if its mean trust is in the exact 95 % interval of the share that is right.
    """
    parts: list[str] = []
    for band in bands:
        n, n_right = band["n_records"], band["n_right"]
        start = "of" if parts else "Of"
        trust = band["words"] if parts else f"a trust of {band['words']}"
        rightly = f"{n_right:,} {'was' if n_right == 1 else 'were'} right ({percent(n_right / n)})"
        parts.append(f"{start} {many(n, 'label')} with {trust}, {rightly}")
    claims = {how: [band["words"] for band in bands if claim(band) == how] for how in ("too much", "too little")}
    verdict = " ".join(
        f"The trust claims {how} where it is {' and '.join(which)}." for how, which in claims.items() if which
    )
    return f"{'; '.join(parts)}. {verdict or 'This agrees with the trust, within chance.'}"


def claim(band: dict[str, Any]) -> str | None:
    """Return "too much" or "too little" where the mean trust of a band is above or below the interval, else None."""
    low, high = band["interval"]
    return "too much" if band["trust"] > high else "too little" if band["trust"] < low else None


def claim_warning(n_right: int, n_accepted: int, min_trust: float) -> str | None:
    """Return a warning if accepted labels of test records are right less often than their threshold claims, else None.

    A threshold of 0.95 claims that of the labels with at least this trust 95 % or more are right. The warning comes
    where the whole exact 95 % interval of the share that is right lies below the threshold; by chance alone, a claim
    that holds gets it with a probability of at most 1/40.
    """
    low, high = exact_interval(n_right, n_accepted)
    if high >= min_trust:
        return None
    return (
        f"accepted labels are right less often than their trust claims: {n_right:,} of {n_accepted:,} "
        f"({percent(n_right / n_accepted)}; 95 % interval {percent(low)} to {percent(high)}), where a trust of at "
        f"least {min_trust:g} claims {percent(min_trust)} or more. Chance does not explain this: do not rely on this "
        "threshold here. A higher one, another n_imp or an ensemble may keep what it claims."
    )


def policy_in_words(subject: Subject, min_trust: float) -> str:
    """Return sentences on the stated class priors and costs; empty where nothing was stated."""
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
        f"Class shares, as stated: {stated} (in training {others[0]}, among the test records "
        f"{others[1]}). Shares of right labels are as counted on the test records."
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
