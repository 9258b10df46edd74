"""The compiled part of the smooth stage of `nearest_points`."""

from sepc.geometry._checks import FloatArray
from sepc.geometry._compile import kernel


@kernel
def spread(score: FloatArray, tau: float, wanted: float, guess: float, share: FloatArray) -> tuple[float, float, float]:
    """Set `share` to 0 below a slab of half-width `tau`, 1 above it, and what lies between inside, of sum `wanted`.

    Newton's method on a piecewise linear function, kept inside a bracket.

    Returns
    -------
    threshold : float
        The middle of the slab.
    reach : float
        The sum of ``score * share``.
    rounding : float
        The sum of ``(share - 1/2)^2``.
    """
    low, high = score[0], score[0]
    for s in score:
        low, high = min(low, s), max(high, s)
    low, high = low - tau, high + tau
    at = min(max(guess, low), high)
    slope, inside, total = 0.5 / tau, 0, 0.0
    for _ in range(200):
        inside, total = 0, 0.0
        for s in score:
            t = (s - at) * slope + 0.5
            inside += (t > 0.0) & (t < 1.0)
            total += min(max(t, 0.0), 1.0)
        excess = total - wanted
        if abs(excess) <= 1e-12 * max(wanted, 1.0):
            break
        if excess > 0.0:
            low = at
        else:
            high = at
        following = at + excess / (slope * inside) if inside else high
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == at:
            break
        at = following
    # What rounding of the threshold leaves of the sum goes to the points inside.
    lift = (wanted - total) / max(inside, 1)
    reach, rounding = 0.0, 0.0
    for i in range(len(score)):
        t = (score[i] - at) * slope + 0.5
        if 0.0 < t < 1.0:
            t += lift
        t = min(max(t, 0.0), 1.0)
        share[i] = t
        reach += score[i] * t
        rounding += (t - 0.5) * (t - 0.5)
    return at, reach, rounding
