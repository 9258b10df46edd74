"""Parameters of a monitor: what they may be."""

from numbers import Integral
from typing import Any

from sepc.common.errors import InputError

# What no chance of a record to be labelled is below, unless a monitor is told otherwise.
LEAST_PROBABILITY = 0.01


def check_parameters(
    false_alarm_rate: Any, reference: Any, reference_labels: Any, folds: Any, least_probability: Any
) -> None:
    """Raise an `InputError` for parameters of `FeedbackMonitor` that cannot be."""
    if not isinstance(false_alarm_rate, (int, float)) or not 0.0 < false_alarm_rate < 1.0:
        raise InputError(
            f"false_alarm_rate is {false_alarm_rate!r}; expected a number strictly between 0 and 1, such as 0.01."
        )
    if not isinstance(folds, Integral) or folds < 2:
        raise InputError(f"folds is {folds!r}; expected a count of 2 or more, such as 3.")
    if not isinstance(least_probability, (int, float)) or not 0.0 < least_probability <= 1.0:
        raise InputError(
            f"least_probability is {least_probability!r}; expected a number above 0 and at most 1, such as 0.01."
        )
    if reference is None and reference_labels is not None:
        raise InputError("reference_labels came without reference; expected both, or neither. Pass reference=X, too.")
