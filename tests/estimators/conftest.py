"""Data sets, a classifier that is fitted to half of a real one, and cores of a few records."""

import pytest
from fitted_classifiers import cancer, cut_clouds, fitted

from sepc.estimators import core

__all__ = ["cancer", "cut_clouds", "fitted"]


@pytest.fixture
def small_core(monkeypatch):
    """Make the core of a training set small; return how many records it has at most."""
    monkeypatch.setattr(core, "_CORE_RECORDS", 300)
    monkeypatch.setattr(core, "_LEAST_CORE", 300)
    return 300
