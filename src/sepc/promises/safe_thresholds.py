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

from functools import lru_cache
from math import ceil, log, log1p
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr

from sepc.common.typing import BoolArray, FloatArray, IntArray

# Ranks where levels enter the sequence: all records, and each time this share of the rank before. Equal levels over
# these accepted most, or nearly so, in the cases of bench/guarantee.py, of ratios from 0.5 to 0.8.
_RATIO = 0.7
_MOST_STARTS = 8
_SMALLEST_START = 30


class SafeThreshold(NamedTuple):
    """Threshold, how many of the calibration records it accepts, and the level at which it passed."""

    threshold: float
    n_accepted: int
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
    """
    values, accepted, errors = accepted_and_errors(trust, wrong)
    p = bdtr(errors.astype(np.float64), accepted, max_error)
    return lowest_that_passes(values, accepted, p, *entering_levels(values, accepted, confidence))


def lowest_that_passes(
    values: FloatArray, accepted: IntArray, p: FloatArray, level_at_top: float, entering: FloatArray
) -> SafeThreshold | None:
    """Return the lowest threshold that passes a sequence of tests; None if none does.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The distinct trusts, falling.
    accepted : ndarray of int, shape (n_values,)
        How many records have at least each.
    p : ndarray of shape (n_values,)
        The p-values of thresholds that accept these.
    level_at_top, entering
        As for `fixed_sequence_test`.
    """
    found = fixed_sequence_test(p, level_at_top, entering)
    if found is None:
        return None
    last, level = found
    # Next to it among numbers of its own kind: NumPy compares float32 trusts with the threshold rounded to float32.
    refused = values[last + 1 : last + 2]
    threshold = float(np.nextafter(refused[0], values.dtype.type(1.0))) if len(refused) else 0.0
    return SafeThreshold(threshold, int(accepted[last]), level)


def accepted_and_errors(trust: FloatArray, wrong: BoolArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the distinct trusts, falling, and how many records, and wrong ones, have at least each."""
    values, accepted, losses = accepted_and_losses(trust, wrong)
    return values, accepted, losses.astype(np.int64)


def accepted_and_losses(trust: FloatArray, loss: FloatArray | BoolArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the distinct trusts, falling, how many records have at least each, and the sum of their losses."""
    order = np.lexsort((loss, -trust))  # by losses, too: sums must not depend on the order of the records
    falling = trust[order]
    last: IntArray = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    losses: FloatArray = np.cumsum(loss[order], dtype=np.float64)
    return falling[last], last + 1, losses[last]


def start_ranks(n: int) -> IntArray:
    """Return the ranks where levels enter the sequence of tests over n records.

    They must not depend on anything but n; not on `max_error` either, so that a smaller one never gives a lower
    threshold.
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
    """
    level, last = level_at_top, None
    for j, (p_j, more) in enumerate(zip(p.tolist(), entering.tolist(), strict=True)):
        level = more + (level if p_j <= level else 0.0)
        if p_j <= level:
            last = j, level
        else:
            level = 0.0
    return last


@lru_cache(maxsize=1024)  # parts are asked about the same numbers over and over
def records_needed(max_error: float, confidence: float) -> int:
    """Return from how many calibration records on there is a promise if none of them is wrong, whatever their trust."""

    def needed(parts: int) -> int:
        return ceil(log(_all_levels(confidence) / parts) / log1p(-max_error))

    n = needed(_MOST_STARTS)
    while n > 1 and n - 1 >= needed(len(start_ranks(n - 1))):
        n -= 1
    return n


def _all_levels(confidence: float) -> float:
    return (1.0 - confidence) / (2.0 - confidence)
