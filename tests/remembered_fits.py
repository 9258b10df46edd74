"""Fits that several tests or pages need, made once in each process."""

import joblib
import pytest

_FITTED = {}


def _remembering(fit):
    def known(training, features, settings, *more):
        *chance, progress = more
        if progress.verbose or getattr(progress.estimator, "_skl_callbacks", None):
            return fit(training, features, settings, *more)
        key = joblib.hash((training, features, settings, [rng.bit_generator.state for rng in chance]))
        if key not in _FITTED:
            _FITTED[key] = fit(training, features, settings, *more)
        return _FITTED[key]

    return known


@pytest.fixture
def fits_once(monkeypatch):
    """Fit the same records with the same settings once; that two such fits are equal is for other tests to say."""
    from sepc.estimators import classifier
    from sepc.estimators.ensemble import ensemble_classifier

    monkeypatch.setattr(classifier, "fit_in_memory", _remembering(classifier.fit_in_memory))
    monkeypatch.setattr(ensemble_classifier, "fit_ensemble", _remembering(ensemble_classifier.fit_ensemble))
