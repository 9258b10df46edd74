"""Trust thresholds with a bounded error, or a bounded expected cost, for any distribution.

They need calibration records that were not used in training, drawn independently from the population in use.

**Errors.** The candidates t are all floats from 1.0 down, independent of the data; records with ``trust >= t`` are
accepted. ``P(Bin(N, max_error) <= errors)`` is the p-value for the null hypothesis that the error rate R(t) is above
`max_error`, where t accepts N records. Candidates are tested in a fixed sequence, from high to low (Wiens 2003). Equal
parts of the risk, ``1 - confidence``, enter it at ranks that depend on the number of records alone, or later: as soon
as the parts that have come so far would pass without an error. A candidate passes if its p-value is at most the level
that is carried to it; otherwise that level is lost, and the sequence continues with the parts that enter below. The
lowest candidate that passed is the result. Where a part enters amid equal trusts, the test must also pass at each rank
from there to the last of them, the wrong ones counted first. So 59 records without an error suffice for 5 %, as many
as a test of a single threshold needs.

*Proof.* First let trusts be continuous, so that R is, too. The test at rank k is that of all thresholds between the
k-th and the next lower trust S(k). Call a threshold bad if R is above `max_error`, and consider the first bad one that
passes.

- It is S(k) of a rank k where a part enters: the bad one before it did not pass, so that the level is that part.
  Given S(k), the errors are a sum of k draws at a rate above `max_error`; the p-value is at most the part with a
  probability of at most the part.
- It is the upper end b of a bad interval. The level are the parts of the ranks k with N(u) <= k < N(b), where u is
  the lower end of the bad interval above, if there is one. By continuity R(b) and R(u) are `max_error`, and so is the
  rate between. Given N(u) and N(b), then, the errors are a sum of N(b) draws at `max_error`, and the level is a
  number: the p-value is at most the level with a probability of at most the level.

Each part enters at one rank, so that the probabilities add up to at most the sum of the parts, the risk. Equal trusts
are put into a random order, which makes them continuous. Ranks amid equal trusts may be left out where no part enters
among them: the rate of wrong ones is constant there, so that a bad interval that begins there reaches the last of
them, where the rate is higher still, and one that ends there begins above them. The worst order, the wrong ones first,
passes only where any does.

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

from math import ceil, log, log1p
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, rel_entr

from sepc.common.typing import BoolArray, FloatArray, IntArray

# Ranks where equal parts of the risk enter the sequence: all records, and 0.7 times the rank before, at most 8 ranks,
# from 30 on. Fewer ranks accept a little more where most labels can be accepted, and nothing where only few can be.
_RATIO = 0.7
_MOST_PARTS = 8
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
    order = np.lexsort((~wrong, -trust))  # of equal trusts the wrong ones first
    falling = trust[order]
    errors = np.cumsum(wrong[order], dtype=np.float64)
    is_last = np.append(falling[1:] != falling[:-1], True)
    entering = entering_parts(len(trust), max_error, 1.0 - confidence)
    tested, n_parts, parts, last = np.flatnonzero(_tested(is_last, entering)), entering.sum(), 0, None
    columns = tested, entering[tested], is_last[tested], bdtr(errors[tested], tested + 1, max_error)
    for j, more, ends, p in zip(*(column.tolist() for column in columns), strict=True):
        parts += more
        level = (1.0 - confidence) * parts / n_parts
        if p > level:
            parts = 0
        elif parts and ends:
            last = j, level
    if last is None:
        return None
    j, level = last
    return SafeThreshold(_just_above(falling[j + 1 : j + 2]), j + 1, level)


def _tested(is_last: BoolArray, entering: IntArray) -> BoolArray:
    """Return which ranks are tested: the last of equal trusts, and those from the first part that enters among them."""
    entered = np.cumsum(entering)
    group: IntArray = np.cumsum(is_last) - is_last
    before = np.concatenate([[0], entered[is_last]])[group]
    return is_last | (entered > before)


def entering_parts(n: int, max_error: float, risk: float) -> IntArray:
    """Return the number of parts of the risk that enter the sequence at each rank, from 1 to n, shape (n,).

    They depend on no record: a part waits until it would pass, with those that wait, if no label were wrong.
    """
    ranks, starts = np.arange(1, n + 1), np.ceil(n * _RATIO ** np.arange(_MOST_PARTS)[::-1])
    starts = starts[(starts >= _SMALLEST_START) | (starts == n)]
    came = np.searchsorted(starts, ranks, side="right")
    could_pass = ((1.0 - max_error) ** ranks <= risk * came / len(starts)) | (ranks == n)
    return np.diff(np.where(np.maximum.accumulate(could_pass), came, 0), prepend=0)


def _just_above(refused: FloatArray) -> float:
    """Return the lowest threshold that refuses the only value, and is a number of its dtype; 0 for none.

    NumPy compares float32 trusts with a threshold rounded to float32.
    """
    return float(np.nextafter(refused[0], refused.dtype.type(1.0))) if len(refused) else 0.0


def accepted_and_losses(trust: FloatArray, loss: FloatArray | BoolArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the distinct trusts, falling, the number of records with at least each, and the sum of their losses."""
    order = np.lexsort((loss, -trust))  # by losses, too: sums must not depend on the order of the records
    falling = trust[order]
    last: IntArray = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    losses: FloatArray = np.cumsum(loss[order], dtype=np.float64)
    return falling[last], last + 1, losses[last]


def records_needed(max_error: float, confidence: float) -> int:
    """Return the least number of calibration records that suffices for a promise if none is wrong, at any trusts."""
    return ceil(log(1.0 - confidence) / log1p(-max_error))


def lowest_affordable_threshold(
    trust: FloatArray, cost: FloatArray, max_cost: float, risk: float
) -> SafeThreshold | None:
    """Return the lowest threshold with a bounded expected cost, of records whose labels cost from 0 to 1; or None.

    `max_cost` and `risk` lie strictly between 0 and 1.
    """
    values, accepted, costs = accepted_and_losses(trust, cost)
    part = risk / len(COST_STARTS)
    # A start enters with the candidates that accept the same records as it does; where it accepts none, it is lost.
    at = np.searchsorted(-values, -COST_STARTS, side="right") - 1
    entering: FloatArray = part * np.bincount(at[at >= 0], minlength=len(values)).astype(np.float64)
    level, last = 0.0, None
    for j, (p, more) in enumerate(zip(p_values(accepted, costs, max_cost).tolist(), entering.tolist(), strict=True)):
        # The highest candidate of a group that accepts the same records has the level carried from above alone.
        level = more + (level if p <= level else 0.0)
        if p <= level:
            last = j, level
        else:
            level = 0.0
    if last is None:
        return None
    j, level = last
    return SafeThreshold(_just_above(values[j + 1 : j + 2]), int(accepted[j]), level)


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
