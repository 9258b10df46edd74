"""Answers of another model: its labels, and its log probabilities of all labels, read by whatever it offers.

Of a model with `predict_proba` these are the logarithms of its probabilities; of one with `decision_function` its
values, in units of their spread; of one with labels alone the logarithms of how frequent each true label is among
held-out records with the same answer.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from sepc.around.constants import LEAST_PROBABILITY, LIKE_CLASS_SHARES
from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray

PROBABILITIES, VALUES, LABELS = "predict_proba", "decision_function", "predict"


class Answers(NamedTuple):
    """What a model says of n records.

    Attributes
    ----------
    raw : ndarray of shape (n, n_classes)
        Its probabilities, or values; 1 for its label and 0 for others where it has labels alone.
    codes : ndarray of int, shape (n,)
        Numbers of its labels among all classes.
    """

    raw: FloatArray
    codes: IntArray


def method_of(estimator: Any) -> str:
    """Return the method by which an estimator is asked besides its labels."""
    return next((name for name in (PROBABILITIES, VALUES) if hasattr(estimator, name)), LABELS)


def asked(estimator: Any, X: Any, method: str, classes: NDArray[Any]) -> Answers:
    """Return what a fitted estimator says of records; classes that it does not know have a probability of 0."""
    codes = codes_of(estimator.predict(X), classes)
    return Answers(_raw(estimator, X, method, classes, codes), codes)


def codes_of(labels: Any, classes: NDArray[Any]) -> IntArray:
    """Return labels as numbers of classes, shape (n,); raise an `InputError` for others."""
    labels = np.asarray(labels).reshape(-1)
    codes = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    unknown = np.flatnonzero(classes[codes] != labels)
    if len(unknown):
        raise InputError("estimator-label-unknown", label=labels[unknown[0]], classes=classes[:10].tolist())
    return np.asarray(codes)


def _raw(estimator: Any, X: Any, method: str, classes: NDArray[Any], codes: IntArray) -> FloatArray:
    if method == LABELS:
        return np.eye(len(classes))[codes]
    found = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    known = np.asarray(getattr(estimator, "classes_", classes))
    if method == VALUES and found.ndim == 1:
        found = np.column_stack([-0.5 * found, 0.5 * found])
    if found.shape != (len(codes), len(known)):
        raise InputError("estimator-scores-shape", method=method, shape=found.shape, n_rows=len(codes), n=len(known))
    if not np.isfinite(found).all():
        raise InputError("estimator-scores-not-finite", method=method, row=np.flatnonzero(~np.isfinite(found))[0])
    if len(known) == len(classes):
        return found
    raw = np.full((len(codes), len(classes)), 0.0 if method == PROBABILITIES else found.min(initial=0.0))
    raw[:, codes_of(known, classes)] = found
    return raw


@dataclass(frozen=True, eq=False, slots=True)
class AnswerReader:
    """How answers of a model are read as log probabilities, and its labels as those of its largest score.

    Attributes
    ----------
    method : str
        Method that it is asked by besides its labels.
    spread : float
        Of the differences of its values; 1 for probabilities and labels.
    log_shares : ndarray of shape (n_classes, n_classes)
        Log shares of the true labels among held-out records with each answer, for a model with labels alone.
    least_lead : ndarray of shape (n_classes,)
        By label, the smallest lead of the largest score at which its label is known to be that of this score; infinite
        where it is not: a model may have thresholds of its own.
    """

    method: str
    spread: float
    log_shares: FloatArray
    least_lead: FloatArray

    @classmethod
    def learnt(cls, method: str, held_out: Answers, truth: IntArray, class_count: IntArray) -> Self:
        """Learn from a model's answers on held-out records whose classes are `truth`, shape (n,)."""
        raw, codes = held_out
        n_classes = len(class_count)
        counts = np.zeros((n_classes, n_classes))
        np.add.at(counts, (codes, truth), 1.0)
        counts += LIKE_CLASS_SHARES * class_count / class_count.sum()
        spread = float(np.std(raw - raw.mean(axis=1, keepdims=True))) if method == VALUES and len(raw) else 1.0
        log_shares = np.log(counts / counts.sum(axis=1, keepdims=True))
        return cls(method, spread or 1.0, log_shares, _least_lead(method, held_out))

    def log_probabilities(self, answers: Answers) -> FloatArray:
        """Return the log probabilities that answers stand for, shape (n, n_classes)."""
        if self.method == LABELS:
            return np.asarray(self.log_shares[answers.codes])
        if self.method == VALUES:
            return np.asarray(log_softmax(answers.raw / self.spread, axis=1))
        p = np.maximum(answers.raw, LEAST_PROBABILITY)
        return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))

    def columns(self, answers: Answers) -> FloatArray:
        """Return answers as columns of points, shape (n, n_classes + 2): see `trusted_model`."""
        own = answers.raw[np.arange(len(answers.codes)), answers.codes]
        own = own if self.method == PROBABILITIES else np.full(len(answers.codes), np.nan)
        return np.column_stack([self.log_probabilities(answers), answers.codes, own])

    def fingerprint(self, estimator: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
        """Return the answers of a fitted estimator on records, as numbers, shape (n, n_classes + 1)."""
        answers = asked(estimator, X, self.method, classes)
        return np.column_stack([answers.raw, answers.codes])

    def given(self, scores: Any, classes: NDArray[Any], n: int) -> Answers:
        """Return given scores of n records as answers: probabilities or values, (n, n_classes), or labels, (n,)."""
        found = np.asarray(scores)
        if self.method == LABELS:
            codes = codes_of(found, classes)
            raw = np.eye(len(classes))[codes]
        else:
            raw = found.astype(np.float64)
            if raw.shape != (n, len(classes)):
                raise InputError("scores-shape", shape=raw.shape, n_rows=n, n_classes=len(classes))
            codes = raw.argmax(axis=1)
        if len(codes) != n or not np.isfinite(raw).all():
            raise InputError("scores-shape", shape=found.shape, n_rows=n, n_classes=len(classes))
        return Answers(raw, codes)

    def ask(self, estimator: Any, X: Any, classes: NDArray[Any]) -> Answers:
        """Return what a fitted estimator says of records; its labels only where the largest score may not show them."""
        if np.isinf(self.least_lead).all():
            return asked(estimator, X, self.method, classes)
        raw = _raw(estimator, X, self.method, classes, np.empty(_num_samples(X), dtype=np.int64))
        codes, lead = _leads(raw)
        close = np.flatnonzero(lead < self.least_lead[codes])
        if len(close):
            codes[close] = codes_of(estimator.predict(_safe_indexing(X, close)), classes)
        return Answers(raw, codes)


def _leads(raw: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the class of the largest score of each record, and by how much it leads."""
    two = np.partition(raw, -2, axis=1)[:, -2:]
    return raw.argmax(axis=1), two[:, 1] - two[:, 0]


def _least_lead(method: str, answers: Answers) -> FloatArray:
    """Return `AnswerReader.least_lead` from answers with labels."""
    n_classes = answers.raw.shape[1]
    if method == LABELS or not len(answers.codes):
        return np.full(n_classes, np.inf)
    largest, lead = _leads(answers.raw)
    if ((largest != answers.codes) & (lead > 0.0)).any():
        return np.full(n_classes, np.inf)
    leads = [lead[(largest == k) & (lead > 0.0)] for k in range(n_classes)]
    return np.array([found.min() if len(found) else np.inf for found in leads])
