"""Trust threshold with a bounded expected cost per accepted record, for any costs and any distribution.

As in `safe_thresholds` all floats from 1.0 down are candidates, tested from high to low. Costs of single records lie
between two known numbers, here scaled to 0 and 1, and the p-value of "the expected cost is above c" is that of
Hoeffding and Bentkus: of N independent costs with a mean above c the sum is at most s with a probability of at most

- ``exp(-N kl(s / N, c))``, with the Kullback-Leibler divergence of two coins (Hoeffding 1963),
- ``e P(Bin(N, c) <= ceil(s))`` (Bentkus 2004),

so that the smaller of the two is one, too. Levels enter the sequence at trusts that are fixed beforehand. Then the
proof is short, and asks nothing of the p-values but that each is one: let t be the first candidate that passed though
its cost is above c. The previous such candidate did not pass, so that t carries what entered between the two: a fixed
number. The sum of all these is at most the sum of all levels, which is the risk.

References
----------
Bates, Angelopoulos, Lei, Malik, Jordan (2021). Distribution-Free, Risk-Controlling Prediction Sets. Bentkus (2004). On
Hoeffding's inequalities. Hoeffding (1963). Probability inequalities for sums of bounded random variables.
"""

from math import ceil, log, log1p

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, rel_entr

from sepc.common.typing import FloatArray, IntArray
from sepc.promises.safe_thresholds import SafeThreshold, accepted_and_losses, lowest_that_passes

# Trusts at which levels enter, falling.
STARTS = np.array([1.0, 0.999, 0.99, 0.97, 0.9, 0.8, 0.65, 0.5, 0.0])


def lowest_affordable_threshold(
    trust: FloatArray, cost: FloatArray, max_cost: float, risk: float
) -> SafeThreshold | None:
    """Return the lowest threshold that passes the tests which the module's docstring describes.

    Parameters
    ----------
    trust : ndarray of shape (n,)
        Between 0 and 1.
    cost : ndarray of shape (n,)
        Of giving each record its label; between 0 and 1.
    max_cost, risk : float
        Strictly between 0 and 1.
    """
    values, accepted, costs = accepted_and_losses(trust, cost)
    level = risk / len(STARTS)
    # A start enters with the candidates that accept the same records as it does; where it accepts none, it is lost.
    at = np.searchsorted(-values, -STARTS, side="right") - 1
    entering: FloatArray = level * np.bincount(at[at >= 0], minlength=len(values)).astype(np.float64)
    return lowest_that_passes(values, accepted, p_values(accepted, costs, max_cost), 0.0, entering)


def p_values(n: IntArray, total: FloatArray, limit: float) -> FloatArray:
    """Return Hoeffding and Bentkus's p-values of "the mean is above the limit".

    Parameters
    ----------
    n : ndarray of int, shape (m,)
        Numbers of independent values between 0 and 1.
    total : ndarray of shape (m,)
        Their sums.
    limit : float
        Strictly between 0 and 1.
    """
    mean = np.minimum(total / n, limit)
    hoeffding = np.exp(-n * (rel_entr(mean, limit) + rel_entr(1.0 - mean, 1.0 - limit)))
    # A sum of as many costs may lie above a whole number by rounding alone.
    whole = np.ceil(total - 1e-12 * n)
    bentkus = np.e * bdtr(np.clip(whole, 0.0, n), n, limit)
    return np.asarray(np.minimum(np.minimum(hoeffding, bentkus), 1.0))


def upper_mean(total: float, n: int, risk: float) -> float:
    """Return a limit that the mean of values between 0 and 1 exceeds with a probability of at most `risk`."""
    if total >= n:
        return 1.0

    def excess(limit: float) -> float:
        return float(p_values(np.array([n]), np.array([total]), limit)[0]) - risk

    least, most = max(total / n, 1e-12), 1.0 - 1e-12
    return float(brentq(excess, least, most)) if excess(least) > 0.0 > excess(most) else 1.0


def records_needed(max_cost: float, risk: float) -> int:
    """Return from how many calibration records on there is a promise if none of them costs anything."""
    return ceil(log(risk / len(STARTS)) / log1p(-max_cost))
