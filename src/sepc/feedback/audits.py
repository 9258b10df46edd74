"""Audits: accepted records that are sampled for a second look, each with a known chance."""

import hashlib
from math import fsum
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.partitions.ordering import canonical_order


class Audit(NamedTuple):
    """Records to label: all that are refused, and a sample of those that are accepted.

    Attributes
    ----------
    accepted : ndarray of bool, shape (n,)
        Which labels are accepted.
    rows : ndarray of int, shape (n_picked,)
        The accepted records that were picked for a second look, ascending.
    probability : ndarray of shape (n,)
        Chance of each record to be chosen: 1 for those that are refused.
    chosen : ndarray of bool, shape (n,)
        Which records to label. Pass these, if there are any, to `observe`, with their labels and with
        ``probability=audit.probability[audit.chosen]``.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import SEPClassifier
    >>> from sepc.feedback import FeedbackMonitor
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]])
    >>> monitor = FeedbackMonitor(SEPClassifier().fit(X, [0, 0, 0, 1, 1, 1]))
    >>> audit = monitor.audit(np.vstack([X + 0.25, [[99.0]]]), share=0.5, min_trust=0.75)
    >>> bool((audit.chosen | audit.accepted).all()), sorted(set(audit.probability.tolist()))
    (True, [0.5, 1.0])
    """

    accepted: BoolArray
    rows: IntArray
    probability: FloatArray
    chosen: BoolArray


def check_share(share: Any, seed: Any, by_trust: bool, least_probability: float) -> None:
    """Raise an `InputError` for an invalid or too small share, and for an invalid seed."""
    if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0.0 < share <= 1.0:
        raise InputError("audit-share", share=share)
    smallest, which = (share / 2.0, "half of share, the least chance by trust,") if by_trust else (share, "share")
    if smallest < least_probability:
        raise InputError("chance-below-least", which=which, smallest=smallest, least_probability=least_probability)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InputError("audit-seed", seed=seed)


def audit_of(
    rows: FloatArray, accepted: BoolArray, trust: FloatArray, share: float, seed: int, by_trust: bool
) -> Audit:
    """Sample accepted records, independently and each with its own chance; on average `share` of them.

    The draw for a record depends on the seed and on all records of the batch, not on their order; equal records are
    distinguished by their rows alone. `by_trust` samples more where the trust is low.
    """
    probability = np.ones(len(rows))
    probability[accepted] = _chances(trust[accepted], share) if by_trust else share
    chosen = ~accepted | (draws_of(rows, seed) < probability)
    return Audit(accepted, np.flatnonzero(chosen & accepted), probability, chosen)


def draws_of(rows: FloatArray, seed: int) -> FloatArray:
    """Return a random number between 0 and 1 for each of n rows, shape (n, d), as `audit_of` draws them; shape (n,)."""
    drawn = np.empty(len(rows))
    comparable = np.where(np.isnan(rows), np.inf, rows + 0.0)  # missing values are equal, and so are both zeros
    order = canonical_order(comparable)
    digest = hashlib.sha256(np.ascontiguousarray(comparable[order], dtype="<f8").tobytes()).digest()
    drawn[order] = np.random.default_rng([int(seed), int.from_bytes(digest, "little")]).random(len(rows))
    return drawn


def _chances(trust: FloatArray, share: float) -> FloatArray:
    """Return chances that rise with 1 - trust, from half of the share on; about the share on average."""
    doubt = 1.0 - trust
    total = fsum(doubt)  # does not depend on the order
    if total <= 0.0:
        return np.full(len(trust), share)
    return np.minimum(share * (0.5 + 0.5 * doubt / (total / len(trust))), 1.0)
