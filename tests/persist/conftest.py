"""Fitted classifiers of each kind."""

import numpy as np
import pytest
from saved_models import TRUST_METHODS, iris
from sklearn.datasets import make_moons

from sepc import SEPClassifier, SEPEnsembleClassifier


@pytest.fixture(scope="session")
def moons():
    return make_moons(160, noise=0.35, random_state=0)


@pytest.fixture(scope="session")
def fitted(moons):
    """Return one fitted classifier of each kind, with the records that it is asked about."""
    X, y = moons
    probes = np.vstack([X, 3.0 * X[:40]])
    models = {trust: (SEPClassifier(trust=trust, n_imp=1).fit(X[::2], y[::2]), probes) for trust in TRUST_METHODS}
    Z, species = iris()
    models["three classes"] = SEPClassifier(standardize=False).fit(Z[::2], species[::2]), np.vstack([Z, 2.0 * Z[:20]])
    models["ensemble"] = SEPEnsembleClassifier(n_estimators=3).fit(X[::2], y[::2]), probes
    models["ensemble of three classes"] = SEPEnsembleClassifier(n_estimators=2).fit(Z[::3], species[::3]), Z
    for clf, asked in models.values():
        clf.calibrate(asked[1:150:2], clf.predict(asked[1:150:2]))
    return models
