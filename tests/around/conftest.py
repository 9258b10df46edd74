"""Fixtures of the tests of classifiers around other models."""

import pytest


@pytest.fixture(autouse=True)
def _fits_once(fits_once):
    """Make equal fits of regions once."""
