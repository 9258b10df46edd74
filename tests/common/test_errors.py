"""Warnings point to the line that a user has written."""

import warnings

import numpy as np

from sepc import SEPClassifier


def test_a_warning_of_a_fit_names_the_file_that_called_it():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SEPClassifier().fit(np.random.default_rng(0).normal(size=(9, 6)), [0] * 5 + [1] * 4)
    assert {one.filename for one in told if one.message.code == "too-few-points"} == {__file__}
