"""Clopper and Pearson's limits of a share: exact for independent trials, whatever their number."""

from scipy.special import betainccinv, betaincinv


def exact_interval(hits: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share; (0, 1) if nothing was observed.

    Parameters
    ----------
    hits, n : int or float
        How many of how many. Sums of weights serve as well.
    confidence : float, default=0.95

    Returns
    -------
    low, high : float
    """
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    return low, upper_limit(hits, n, tail)


def upper_limit(hits: float, n: float, risk: float) -> float:
    """Return a limit that the true share exceeds with a probability of at most `risk`."""
    return float(betainccinv(hits + 1, n - hits, risk)) if hits < n else 1.0
