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
        raise InputError(f"folds is {folds!r}; expected a count of 2 or more, such as 3.")
    if not isinstance(least_probability, (int, float)) or not 0.0 < least_probability <= 1.0:
        raise InputError(
            f"least_probability is {least_probability!r}; expected a number above 0 and at most 1, such as 0.01."
        )
    if reference is None and reference_labels is not None:
        raise InputError("reference_labels came without reference; expected both, or neither. Pass reference=X, too.")


def stated_chances(
    probability: Any, labels: Any, n: int, least_probability: float, *, has_labels: bool
) -> FloatArray | None:
    """Return the chances of n records to be labelled, shape (n,); None without `probability`.

    `probability` and `labels` are those of `FeedbackMonitor.observe`.
    """
    if not (labels is None or (isinstance(labels, str) and labels == "all")):
        raise InputError(
            f"labels is {repr_in_short(labels)}; expected 'all' if every record gets a label, or nothing. "
            "Where records are chosen to be labelled, pass probability. The labels themselves are y_true."
        )
    if labels is not None and probability is not None:
        raise InputError("labels='all' and probability both came; expected one of them. Leave the other out.")
    if not has_labels and (labels is not None or probability is not None):
        given = "probability" if labels is None else "labels='all'"
        raise InputError(f"{given} came without y_true; expected the labels that it speaks of. Pass y_true, too.")
    return None if probability is None else checked_chances(probability, n, least_probability)


def checked_chances(probability: Any, n: int, least_probability: float) -> FloatArray:
    """Return the chances of n records to be labelled, shape (n,); raise an `InputError` for invalid ones."""
    try:
        chances = np.asarray(probability, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"probability is {repr_in_short(probability)}; expected one number for each record."
        ) from error
    if chances.ndim > 1 or (chances.ndim == 1 and len(chances) != n):
        raise InputError(
            f"probability has the shape {chances.shape} for {n} records; expected one number for each of them, or one "
            "for all."
        )
    chances = np.broadcast_to(chances, n)
    bad = np.flatnonzero(~((chances > 0.0) & (chances <= 1.0)))
    if len(bad):
        raise InputError(
            f"probability is {chances[bad[0]]:g} in row {bad[0]}; expected a number above 0 and at most 1: the chance "
            "with which the record was chosen to be labelled, 1 if it was sure to be."
        )
    small = np.flatnonzero(chances < least_probability)
    if len(small):
        raise InputError(
            f"probability is {chances[small[0]]:g} in row {small[0]}; expected at least least_probability = "
            f"{least_probability:g}, as the monitor was told in advance. Choose records with larger chances, or make a "
            "monitor with a smaller least_probability."
        )
    return chances.copy()
