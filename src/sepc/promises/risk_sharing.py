"""How the risk of a promise is shared out over its parts.

Given how many calibration records each part has, a share that goes to a part with too few of them is lost: no
threshold could pass there, even if no label were wrong. So as many parts as can be get an equal share, and the others
nothing: of all numbers m for which m parts have enough records at the m-th share, the largest. That depends on counts
of records alone, not on which labels were wrong, so that every share is as good as one that was fixed beforehand. Parts
are independent, so that the m-th share is ``1 - (1 - risk) ** (1 / m)``, a little more than ``risk / m``.
"""

from collections.abc import Sequence
from math import expm1, log1p

from sepc.promises.criteria import Criterion


def equal_share(risk: float, m: int) -> float:
    """Return the risk of each of m independent promises that all hold with a probability of at least ``1 - risk``."""
    return risk if m == 1 else -expm1(log1p(-risk) / m)


def shared_risks(sizes: Sequence[int], criteria: Sequence[Criterion], risk: float) -> list[float]:
    """Return the share of the risk that each part gets; 0 for those that cannot be promised.

    Parameters
    ----------
    sizes : sequence of int
        Calibration records of each part.
    criteria : sequence of Criterion
        What is to be promised of each.
    risk : float
        Strictly between 0 and 1.

    Returns
    -------
    list of float
    """
    for m in range(len(sizes), 0, -1):
        share = equal_share(risk, m)
        room = {k: n / max(criteria[k].needed(share), 1) for k, n in enumerate(sizes)}
        able = [k for k, n in enumerate(sizes) if n >= criteria[k].needed(share)]
        if len(able) >= m:
            # Of more than m, those that have most of what they need.
            chosen = set(sorted(able, key=lambda k: (-room[k], k))[:m])
            return [share if k in chosen else 0.0 for k in range(len(sizes))]
    return [0.0] * len(sizes)
