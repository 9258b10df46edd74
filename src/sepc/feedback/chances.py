"""Checks of a monitor's parameters, and of the stated chances of records to be labelled."""

from numbers import Integral
from reprlib import repr as repr_in_short
from typing import Any

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray
from sepc.common.validation import require_share

# Default lower bound of the chances of records to be labelled.
LEAST_PROBABILITY = 0.01


def check_parameters(
    false_alarm_rate: Any, reference: Any, reference_labels: Any, folds: Any, least_probability: Any
) -> None:
    """Raise an `InputError` for invalid parameters of `FeedbackMonitor`."""
    require_share(false_alarm_rate, "false_alarm_rate", 0.01)
    if not isinstance(folds, Integral) or folds < 2:
        raise InputError("folds", folds=folds)
    if not isinstance(least_probability, (int, float)) or not 0.0 < least_probability <= 1.0:
        raise InputError("least-probability", least_probability=least_probability)
    if reference is None and reference_labels is not None:
        raise InputError("reference-labels-alone")


def stated_chances(
    probability: Any, labels: Any, n: int, least_probability: float, *, has_labels: bool
) -> FloatArray | None:
    """Return the chances of n records to be labelled, shape (n,); None without `probability`.

    `probability` and `labels` are those of `FeedbackMonitor.observe`.
    """
    if not (labels is None or (isinstance(labels, str) and labels == "all")):
        raise InputError("labels-not-all", labels=repr_in_short(labels))
    if labels is not None and probability is not None:
        raise InputError("labels-and-probability")
    if not has_labels and (labels is not None or probability is not None):
        given = "probability" if labels is None else "labels='all'"
        raise InputError("without-y-true", argument=given)
    return None if probability is None else checked_chances(probability, n, least_probability)


def checked_chances(probability: Any, n: int, least_probability: float) -> FloatArray:
    """Return the chances of n records to be labelled, shape (n,); raise an `InputError` for invalid ones."""
    try:
        chances = np.asarray(probability, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("probability-not-numbers", probability=repr_in_short(probability)) from error
    if chances.ndim > 1 or (chances.ndim == 1 and len(chances) != n):
        raise InputError("probability-shape", shape=chances.shape, n_records=n)
    chances = np.broadcast_to(chances, n)
    bad = np.flatnonzero(~((chances > 0.0) & (chances <= 1.0)))
    if len(bad):
        raise InputError("probability-value", chance=chances[bad[0]], row=bad[0])
    small = np.flatnonzero(chances < least_probability)
    if len(small):
        raise InputError(
            "probability-below-least", chance=chances[small[0]], row=small[0], least_probability=least_probability
        )
    return chances.copy()
