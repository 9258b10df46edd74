"""Polynomials of the second degree: the same values in every form, whatever the rows beside a point."""

import numpy as np
import pytest

from sepc.model import quadratics
from sepc.model.quadratics import ByForms, ByMonomials, pairs


def some_polynomials(d, count):
    rng = np.random.default_rng(d)
    return rng.normal(size=((d + 1) * (d + 2) // 2, count)), rng.normal(size=(128, d))


def plain_values(coefficients, z):
    lifted = np.column_stack([z, np.ones(len(z))])
    i, j = pairs(lifted.shape[1])
    return (lifted[:, i] * lifted[:, j]) @ coefficients


class TestValues:
    @pytest.mark.parametrize("form", [ByMonomials, ByForms])
    @pytest.mark.parametrize("d", [1, 7, 46, 47, 63, 100])
    def test_they_are_those_of_plain_sums(self, form, d):
        coefficients, z = some_polynomials(d, 3)
        ready = form(coefficients, d)
        for points in (z, z[::-1]):
            assert ready(points) == pytest.approx(plain_values(coefficients, points), rel=1e-10, abs=1e-10)

    @pytest.mark.parametrize("form", [ByMonomials, ByForms])
    @pytest.mark.parametrize("d", [40, 61])
    def test_a_value_depends_neither_on_the_other_rows_nor_on_its_own(self, form, d):
        coefficients, z = some_polynomials(d, 5)
        ready = form(coefficients, d)
        whole = ready(z).copy()
        alone = np.zeros_like(z)
        for row in range(0, len(z), 9):
            alone[0] = z[row]
            assert np.array_equal(ready(alone)[0], whole[row])
        assert np.array_equal(ready(z[::-1])[::-1], whole)

    def test_forms_that_do_not_fit_into_memory_together_come_one_by_one(self, monkeypatch):
        coefficients, z = some_polynomials(50, 4)
        kept = ByForms(coefficients, 50)(z).copy()
        monkeypatch.setattr(quadratics, "_TABLE", 3 * 56 * 56)
        one_by_one = ByForms(coefficients, 50)
        assert len(one_by_one.forms) == 1
        assert np.array_equal(one_by_one(z), kept)


class TestChoice:
    def test_few_polynomials_in_many_features_are_evaluated_by_their_forms(self):
        assert isinstance(quadratics.quadratics(*some_polynomials(60, 2)[:1], 60), ByForms)
        assert isinstance(quadratics.quadratics(*some_polynomials(60, 100)[:1], 60), ByMonomials)
        assert isinstance(quadratics.quadratics(*some_polynomials(10, 2)[:1], 10), ByMonomials)
