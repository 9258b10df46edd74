"""Forgetting: weights of old records in a fit after a drift, chosen by held-out log loss on the newest records.

The age of a record is the number of labelled records that have come after it. Those of the training set came before all
that were observed, in an unknown order: all of them are as old as the oldest observed one.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.text import many, percent
from sepc.common.typing import FloatArray, IntArray

# Smallest number of observed records, the newest, that are held out to choose by.
_LEAST_HELD = 20


class Forgetting(NamedTuple):
    """How much records count by their age.

    Attributes
    ----------
    kind : {"nothing", "window", "fading"}
        Equal weights, those of a window alone, or weights that halve with each `records` of age.
    records : int
        Size of the window, or the age at which a record counts half.

    Examples
    --------
    >>> Forgetting("fading", 10).weights(np.array([0, 10, 20])).tolist()
    [1.0, 0.5, 0.25]
    >>> str(Forgetting("window", 300))
    'the last 300 records alone'
    """

    kind: str
    records: int = 0

    def weights(self, age: IntArray) -> FloatArray:
        """Return the weight of records of some ages, shape (n,)."""
        if self.kind == "window":
            return (age < self.records).astype(np.float64)
        return np.asarray(0.5 ** (age / self.records)) if self.kind == "fading" else np.ones(len(age))

    def __str__(self) -> str:
        if self.kind == "window":
            return f"the last {many(self.records, 'record')} alone"
        return f"records that count half after {self.records:,} more" if self.kind == "fading" else "all records alike"


NOTHING = Forgetting("nothing")


class Trial(NamedTuple):
    """Score of a candidate on the held-out newest records.

    `n_counting` is the sum of the weights of the training records, `log_loss` the mean of the negative logarithm of the
    probability of the true label.
    """

    forgetting: Forgetting
    n_counting: float
    log_loss: float
    accuracy: float

    def __str__(self) -> str:
        return f"{self.forgetting}: right on {percent(self.accuracy)} of the newest, log loss {self.log_loss:.3f}"


def ages(n_training: int, n_observed: int) -> IntArray:
    """Return the ages of training records, and of observed ones in the order in which they came."""
    return np.concatenate([np.full(n_training, n_observed), np.arange(n_observed - 1, -1, -1)])


def checked_forgetting(forget: Any) -> Forgetting:
    """Return a valid `Forgetting`, `NOTHING` for "auto" and None; raise an `InputError` for anything else."""
    if forget is None or (isinstance(forget, str) and forget == "auto"):
        return NOTHING
    if isinstance(forget, Forgetting) and forget.kind == "nothing":
        return NOTHING
    is_count = isinstance(forget, Forgetting) and isinstance(forget.records, Integral) and forget.records >= 1
    if is_count and forget.kind in ("window", "fading"):
        return Forgetting(forget.kind, int(forget.records))
    raise InputError("forget", forget=forget)


def weights_by_age(forgetting: Forgetting, y: NDArray[Any], n_training: int) -> FloatArray:
    """Return the weights of training and observed records, shape (n,); an error where a label would be lost."""
    weights = forgetting.weights(ages(n_training, len(y) - n_training))
    classes, codes = np.unique(y, return_inverse=True)
    lost = np.flatnonzero(np.bincount(codes, weights, minlength=len(classes)) < 1.0)
    if len(lost):
        raise InputError("forgetting-loses-label", forgetting=forgetting, label=plain(classes[lost[0]]))
    return weights


def choose_forgetting(
    clf: Any,
    X: FloatArray,
    y: NDArray[Any],
    n_training: int,
    as_it_came: Callable[[FloatArray], Any],
    on_step: Callable[[int, int], None] | None = None,
) -> tuple[Forgetting, tuple[Trial, ...]]:
    """Choose how much to forget by the log loss on the newest observed records, which are held out.

    X has `n_training` training records, then the observed ones in the order in which they came; `as_it_came` returns
    records as the classifier takes them. Returns the choice, and all trials.
    """
    n_observed = len(y) - n_training
    n_held_out = max(_LEAST_HELD, round(0.2 * n_observed))
    if n_observed < 2 * n_held_out:
        raise InputError(
            "too-few-to-choose-forgetting", observed=many(n_observed, "labelled record"), least=2 * _LEAST_HELD
        )
    seen, held_out = slice(0, len(y) - n_held_out), slice(len(y) - n_held_out, len(y))
    n_seen = n_observed - n_held_out
    age = ages(n_training, n_seen)
    # The final fit includes the held-out records: half of the observed ones without them becomes half with them.
    both = zip(_candidates(n_seen), _candidates(n_observed), strict=True)
    tried = [(way, final) for way, final in both if _leaves_enough(way.weights(age), y[seen])]
    trials = []
    for k, (way, forgetting) in enumerate(tried):
        weights = way.weights(age)
        rows = np.flatnonzero(weights > 0.0)
        made = clone(clf).fit(as_it_came(X[seen][rows]), y[seen][rows], sample_weight=weights[rows])
        trials.append(_judged(made, forgetting, float(weights.sum()), as_it_came(X[held_out]), y[held_out]))
        if on_step is not None:
            on_step(k + 1, len(tried))
    return min(trials, key=lambda trial: trial.log_loss).forgetting, tuple(trials)


def _candidates(n_observed: int) -> list[Forgetting]:
    """Return the candidates: nothing forgotten, and windows and half-lives of three sizes each."""
    sizes = [n_observed, n_observed // 2, n_observed // 4]
    return [NOTHING, *(Forgetting(kind, size) for kind in ("window", "fading") for size in sizes)]


def _leaves_enough(weights: FloatArray, y: NDArray[Any]) -> bool:
    """Return whether each class keeps enough weight to be learned."""
    classes, codes = np.unique(y, return_inverse=True)
    return bool((np.bincount(codes, weights, minlength=len(classes)) >= 5.0).all())


def _judged(made: Any, forgetting: Forgetting, n_counting: float, X: Any, y: NDArray[Any]) -> Trial:
    place = {label: k for k, label in enumerate(made.classes_.tolist())}
    proba = np.asarray(made.predict_proba(X))
    right = [proba[i, place[label]] if label in place else 0.0 for i, label in enumerate(y.tolist())]
    # Probabilities are clipped at 1e-3, so that one record does not decide.
    loss = -float(np.log(np.maximum(right, 1e-3)).mean())
    return Trial(forgetting, n_counting, loss, float(np.mean(made.predict(X) == y)))
