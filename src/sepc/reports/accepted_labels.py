"""A check of what a trust threshold claims: labels that are accepted are to be right that often."""

from sepc.common.intervals import exact_interval
from sepc.common.text import percent


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
