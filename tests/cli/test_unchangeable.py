"""Columns that people cannot change, by their names."""

import pytest

from sepc.cli.unchangeable import unchangeable


@pytest.mark.parametrize("name", ["age", "AGE", "Age at entry", "sex", "sex_code", "dateOfBirth", "DOB", "patientID"])
def test_names_with_such_a_word_are_found(name):
    assert unchangeable(["income", name]) == [name]


@pytest.mark.parametrize("name", ["mileage", "usage", "sussex", "page", "agent", "idle", "width", "hours per week"])
def test_other_names_are_not(name):
    assert unchangeable([name]) == []
