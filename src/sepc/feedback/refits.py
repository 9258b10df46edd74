"""Fits with the observed records in the training set, where old ones may count less."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from sepc.common.errors import InputError, warn
from sepc.feedback.forgetting import NOTHING, Forgetting, Trial, checked_forgetting, choose_forgetting, weights_by_age
from sepc.feedback.held_out_models import training_of
from sepc.feedback.observations import Observations
from sepc.feedback.partition_changes import PartitionChanges, partition_changes
from sepc.feedback.watched import Watched


def refitted(
    watched: Watched,
    observations: Observations,
    min_records: int,
    forget: Forgetting | str | None,
    on_step: Callable[[int, int], None] | None,
) -> tuple[Any, PartitionChanges]:
    """Return what takes the place of the watched, and what has changed; see `FeedbackMonitor.repartition`."""
    records, codes = observations.labelled()
    if not isinstance(min_records, Integral) or min_records < 1:
        raise InputError(f"min_records is {min_records!r}; expected a count of 1 or more.")
    if len(codes) < min_records:
        raise InputError(
            f"{len(codes)} labelled records were observed; expected at least min_records = {min_records}. "
            "Observe more records with y_true, or ask for fewer."
        )
    old, training = training_of(watched.model)
    place = np.argsort(training.rows)
    X = np.vstack([old[place], records])
    y = observations.label_array(np.concatenate([training.codes[place], codes]))
    n = len(place)
    chosen = checked_forgetting(forget)
    trials: tuple[Trial, ...] = ()
    if isinstance(forget, str):
        plain = clone(watched.classifier).set_params(class_prior=None, costs=None)
        chosen, trials = choose_forgetting(plain, X, y, n, watched.as_it_came, on_step)
    weights = None if chosen == NOTHING else weights_by_age(chosen, y, n)
    new = clone(watched.classifier)
    labels = np.unique(y if weights is None else y[weights > 0.0])
    if watched.model.policy is not None and not np.array_equal(labels, watched.model.classes):
        warn(
            "the new classifier has other labels, for which no shares and no costs were stated: it goes by neither. "
            "State them with under()."
        )
        new.set_params(class_prior=None, costs=None)
    new.fit(watched.as_it_came(X), y, sample_weight=weights)
    changes = partition_changes(watched.classifier, new, watched.as_it_came(records), y[n:], n)
    return watched.with_classifier(new), replace(changes, forgetting=chosen, trials=trials)
