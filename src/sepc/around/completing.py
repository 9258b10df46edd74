"""Completing a classifier from a file with the estimator and the encoder that a file does not hold."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sepc.around.answers import PROBABILITIES, VALUES
from sepc.around.encoding import name_of
from sepc.around.given_scores import GivenScores
from sepc.around.trusted_classifier import TrustedClassifier
from sepc.common.errors import InputError, warn

# Embeddings on other devices differ by more than probabilities do.
_SAME_ANSWER, _SAME_FEATURE = 1e-6, 1e-4


def complete(clf: TrustedClassifier, estimator: Any = None, encoder: Any = None) -> TrustedClassifier:
    """Give a loaded classifier its estimator, which is checked by its answers on the probes, and its encoder.

    `GivenScores` may take the estimator's place: nobody can check these.
    """
    _take_encoder(clf, encoder)
    if estimator is None:
        return clf
    if isinstance(estimator, GivenScores):
        clf.estimator = clf.estimator_ = _known(clf, estimator)
        return clf
    if clf._probes is None:
        warn("estimator-not-checked", estimator=clf.estimator_name)
    else:
        _check(clf, estimator)
    already = isinstance(estimator, FrozenEstimator) or not clf._was_frozen
    clf.estimator = clf.estimator_ = estimator if already else FrozenEstimator(estimator)
    return clf


def _take_encoder(clf: TrustedClassifier, encoder: Any) -> None:
    name = clf._encoding.encoder
    if not isinstance(name, str):
        if encoder is not None:
            raise InputError("load-encoder-not-asked")
        return
    if encoder is None:
        raise InputError("load-without-encoder", encoder=name)
    clf._encoding = clf._encoding._replace(encoder=encoder)
    clf.encoder = encoder
    if clf._probe_features is not None:
        _check_encoder(clf, name)


def _check_encoder(clf: TrustedClassifier, name: str) -> None:
    """Raise an `InputError` for another encoder than the one whose features of the probes are kept."""
    kept: Any = clf._probe_features
    try:
        found = np.asarray(clf._features(clf._probes), dtype=np.float64)
        same = np.allclose(found, kept, rtol=_SAME_FEATURE, atol=_SAME_FEATURE, equal_nan=True)
    except Exception as error:  # another encoder may fail in any way
        raise InputError(
            "encoder-fails", encoder=name, given=name_of(clf.encoder), reason=_first_line(error)
        ) from error
    if not same:
        raise InputError("encoder-another", encoder=name, given=name_of(clf.encoder))


def _known(clf: TrustedClassifier, given: GivenScores) -> GivenScores:
    """Return given scores in place of the estimator, fitted to its labels."""
    found: GivenScores = clone(given)
    method = clf._reader.method
    if method == VALUES or (method == PROBABILITIES and not hasattr(found, method)):
        raise InputError("given-in-place-of", estimator=clf.estimator_name, method=method)
    return found.knowing(clf.classes_, clf.class_count_)


def _check(clf: TrustedClassifier, estimator: Any) -> None:
    """Raise an `InputError` for another model than the one whose answers are kept."""
    kept, names = clf.model_.fingerprint, {"estimator": clf.estimator_name, "given": type(estimator).__name__}
    try:
        found = clf._reader.fingerprint(estimator, clf._probes, clf.classes_)
    except Exception as error:  # another model may fail in any way
        raise InputError("estimator-fails", **names, reason=_first_line(error)) from error
    same = found[:, -1] == kept[:, -1]
    same &= np.isclose(found, kept, rtol=_SAME_ANSWER, atol=_SAME_ANSWER).all(axis=1)
    if not same.all():
        most = float(np.abs(found - kept)[:, :-1].max())
        raise InputError("estimator-another", **names, n=np.count_nonzero(~same), n_probes=len(same), most=most)


def _first_line(error: Exception) -> str:
    return (str(error) or repr(error)).splitlines()[0]
