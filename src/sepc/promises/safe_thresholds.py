"""Trust thresholds with a bounded error, or a bounded expected cost, for any distribution.

They need calibration records that were not used in training, drawn independently from the population in use.

**Errors.** The candidates t are all floats from 1.0 down, independent of the data; records with ``trust >= t`` are
accepted. For a fixed t the number of errors among N accepted records is binomial given N, so that
``P(Bin(N, max_error) <= errors)`` is an exact p-value for the null hypothesis that the error rate R(t) is above
`max_error`. Candidates are tested in a fixed sequence, from high to low (Wiens 2003). Levels enter it at ranks k that
depend only on the number of records: at the lowest candidate that accepts at most k (at 1.0 if that accepts more). A
candidate passes if its p-value is at most the level that is carried to it; otherwise that level is lost, and the
sequence continues with the levels that enter below. The lowest candidate that passed is the result.

*Proof.* Let t be the first candidate that passed with R > `max_error`, and g the one right below the previous candidate
with R > `max_error`. That one did not pass, so that t carries only the levels that entered from g down to t: those of
the ranks from N(g) to just below N(t-), the number accepted one candidate further down. Given N(t) and N(t-) the errors
are a sum of N(g) draws at a rate of at most `max_error` and of others at a higher rate. So more records at g mean fewer
errors, with a monotone likelihood ratio, and a smaller level. Hence the p-value is at most the level with a probability
of at most the level's mean divided by 1 - L, where L is the sum of all levels (for each band between two levels, its
probability divided by that of a p-value above L rises with N(g)). Each level enters once, so the sum over all such t is
at most L / (1 - L), which is ``1 - confidence`` for ``L = (1 - confidence) / (2 - confidence)``. Where R falls with the
trust, the factor is not needed.

*Records that no threshold accepts.* A classifier that assesses refuses some records at any trust: strange and
contested ones. They are excluded from the tests, which use the others, the eligible ones. Eligibility is a function of
the record, since the classifier is fixed. So, given the number of eligible calibration records, these are independent
draws from the eligible population, and R(t) is the error rate among eligible records with ``trust >= t``: exactly the
labels that are accepted in use. The proof holds conditionally on the number of eligible records, hence overall.

**Costs.** The candidates are the same. Costs of single records are bounded, here scaled to [0, 1], and the p-value for
an expected cost above c is that of Hoeffding and Bentkus: the sum of N independent costs with a mean above c is at most
s with a probability of at most

- ``exp(-N kl(s / N, c))``, with the Kullback-Leibler divergence of two coins (Hoeffding 1963),
- ``e P(Bin(N, c) <= ceil(s))`` (Bentkus 2004),

so that the smaller of the two is a p-value, too. Levels enter the sequence at fixed trusts. Then any valid p-values
will do: let t be the first candidate that passed though its cost is above c. The previous such candidate did not pass,
so that the level at t is the sum of those that entered between the two, a fixed number. By the union bound the
probability of such a t is at most the sum of all levels, which is the risk.

References
----------
Angelopoulos, Bates, Candes, Jordan, Lei (2021). Learn then Test: Calibrating Predictive Algorithms to Achieve Risk
Control. Bates, Angelopoulos, Lei, Malik, Jordan (2021). Distribution-Free, Risk-Controlling Prediction Sets. Bentkus
(2004). On Hoeffding's inequalities. Hoeffding (1963). Probability inequalities for sums of bounded random variables.
Wiens (2003). A fixed sequence Bonferroni procedure for testing multiple endpoints.
"""

from functools import lru_cache
from math import ceil, log, log1p
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, rel_entr

from sepc.common.typing import BoolArray, FloatArray, IntArray

# Ranks where levels enter the sequence: all records, and 0.7 times the rank before, at most 8 ranks, from 30 on.
# Of ratios from 0.5 to 0.8, with equal levels, it accepted most, or nearly so, in the cases of bench/guarantee.py.
_RATIO = 0.7
_MOST_STARTS = 8
_SMALLEST_START = 30
# Trusts at which levels of costs enter, falling.
COST_STARTS = np.array([1.0, 0.999, 0.99, 0.97, 0.9, 0.8, 0.65, 0.5, 0.0])


class SafeThreshold(NamedTuple):
    """Threshold, the number of calibration records that it accepts, and the level at which it passed."""

    threshold: float
    n_accepted: int
    level: float


def lowest_safe_threshold(
    trust: FloatArray, wrong: BoolArray, max_error: float, confidence: float
) -> SafeThreshold | None:
    """Return the lowest threshold with a bounded error, of records with a trust, some of them wrong; None if none is.

    `max_error` and `confidence` lie strictly between 0 and 1.
    """
    values, accepted, errors = accepted_and_losses(trust, wrong)
    p = bdtr(errors, accepted, max_error)
    return _lowest_that_passes(values, accepted, p, *entering_levels(values, accepted, confidence))


def _lowest_that_passes(
    values: FloatArray, accepted: IntArray, p: FloatArray, level_at_top: float, entering: FloatArray
) -> SafeThreshold | None:
    """Return the lowest threshold that passes a sequence of tests; None if none does.

    `values` are the distinct trusts, falling; `accepted` the numbers of records with at least each, and `p` the
    p-values of thresholds that accept these.
    """
    found = fixed_sequence_test(p, level_at_top, entering)
    if found is None:
        return None
    last, level = found
    # The next number of the same dtype: NumPy compares float32 trusts with the threshold rounded to float32.
    refused = values[last + 1 : last + 2]
    threshold = float(np.nextafter(refused[0], values.dtype.type(1.0))) if len(refused) else 0.0
    return SafeThreshold(threshold, int(accepted[last]), level)


def accepted_and_losses(trust: FloatArray, loss: FloatArray | BoolArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the distinct trusts, falling, the number of records with at least each, and the sum of their losses."""
    order = np.lexsort((loss, -trust))  # by losses, too: sums must not depend on the order of the records
    falling = trust[order]
    last: IntArray = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    losses: FloatArray = np.cumsum(loss[order], dtype=np.float64)
    return falling[last], last + 1, losses[last]


def start_ranks(n: int) -> IntArray:
    """Return the ranks where levels enter the sequence of tests over n records.

    They depend on n only; not on `max_error` either, so that a smaller one never gives a lower threshold.
    """
    ranks: IntArray = np.ceil(n * _RATIO ** np.arange(_MOST_STARTS)).astype(np.int64)
    return np.asarray(ranks[(ranks >= _SMALLEST_START) | (ranks == n)])


def entering_levels(values: FloatArray, accepted: IntArray, confidence: float) -> tuple[float, FloatArray]:
    """Return the level that enters the sequence at a trust of 1.0, and those just above each next lower value.

    The latter enter with the candidates that accept the same records as `values` and lie just above the next lower one.
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

    Each group of candidates that accept the same records is tested twice: its highest member with the level carried
    from above, its lowest with that which enters besides.
    """
    level, last = level_at_top, None
    for j, (p_j, more) in enumerate(zip(p.tolist(), entering.tolist(), strict=True)):
        level = more + (level if p_j <= level else 0.0)
        if p_j <= level:
            last = j, level
        else:
            level = 0.0
    return last


@lru_cache(maxsize=1024)  # `shared_risks` repeats the same arguments
def records_needed(max_error: float, confidence: float) -> int:
    """Return the least number of calibration records that suffices for a promise if none is wrong, at any trusts."""

    def needed(parts: int) -> int:
        return ceil(log(_all_levels(confidence) / parts) / log1p(-max_error))

    n = needed(_MOST_STARTS)
    while n > 1 and n - 1 >= needed(len(start_ranks(n - 1))):
        n -= 1
    return n


def _all_levels(confidence: float) -> float:
    return (1.0 - confidence) / (2.0 - confidence)


def lowest_affordable_threshold(
    trust: FloatArray, cost: FloatArray, max_cost: float, risk: float
) -> SafeThreshold | None:
    """Return the lowest threshold with a bounded expected cost, of records whose labels cost from 0 to 1; or None.

    `max_cost` and `risk` lie strictly between 0 and 1.
    """
    values, accepted, costs = accepted_and_losses(trust, cost)
    level = risk / len(COST_STARTS)
    # A start enters with the candidates that accept the same records as it does; where it accepts none, it is lost.
    at = np.searchsorted(-values, -COST_STARTS, side="right") - 1
    entering: FloatArray = level * np.bincount(at[at >= 0], minlength=len(values)).astype(np.float64)
    return _lowest_that_passes(values, accepted, p_values(accepted, costs, max_cost), 0.0, entering)


def p_values(n: IntArray, total: FloatArray, limit: float) -> FloatArray:
    """Return Hoeffding and Bentkus's p-values for a mean above the limit, from sums of n values from 0 to 1."""
    mean = np.minimum(total / n, limit)
    hoeffding = np.exp(-n * (rel_entr(mean, limit) + rel_entr(1.0 - mean, 1.0 - limit)))
    # A sum of n costs may exceed an integer by rounding errors alone.
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


def records_needed_for_cost(max_cost: float, risk: float) -> int:
    """Return the number of calibration records that suffices for a promise if none of them costs anything."""
    return ceil(log(risk / len(COST_STARTS)) / log1p(-max_cost))
