"""Local densities against plain formulas, and what must not matter."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_t
from strategies import REGIMES, drawn_points, examples

from sepc.model import densities
from sepc.model.constants import OTHER_DEGREES_OF_FREEDOM
from sepc.model.densities import ByForms, ByMonomials, pairs
from sepc.model.mixtures import mixture_of_blocks
from sepc.partitions.units import location_and_scale


def read_locally(X, blocks, count, unit):
    return mixture_of_blocks(X, blocks, count, location_and_scale(X)[0], unit).densities


@st.composite
def points_in_blocks(draw):
    """Return points, and the sizes and classes of their blocks, one of them of one point."""
    sizes = [*draw(st.lists(st.integers(1, 20), min_size=1, max_size=5)), 1]
    codes = [0, 1, *draw(st.lists(st.integers(0, 2), min_size=len(sizes) - 2, max_size=len(sizes) - 2))]
    X = draw(drawn_points(draw(st.integers(1, 4)), sum(sizes), sum(sizes), REGIMES[:5]))
    return X, sizes, sorted(codes)


def blocks_of(data):
    """Return the points, their blocks, the numbers of points of the classes, a unit, and points to ask about."""
    X, sizes, codes = data
    rng, d = np.random.default_rng(len(X)), X.shape[1]
    rows = np.split(rng.permutation(len(X)), np.cumsum(sizes)[:-1])
    blocks = list(zip(codes, rows, strict=True))
    count = np.bincount(codes, sizes).astype(int)
    unit = (0.5 + rng.random(d)) * np.maximum(np.ptp(X, axis=0), 1.0) / 4.0
    return X, blocks, count, unit, X.mean(0) + 3 * unit * rng.normal(size=(80, d))


def plain_posterior(X, blocks, count, unit, Z, df=8):
    """Do what the module's docstring says, one component at a time."""
    X, Z, d = X / unit, Z / unit, X.shape[1]
    scatters = [len(rows) * np.cov(X[rows].T, ddof=0).reshape(d, d) for _, rows in blocks]
    common = sum(scatters) / max(sum(len(rows) - 1 for _, rows in blocks), 1) + 1e-2 * np.eye(d)
    joint = np.zeros((len(Z), len(count)))
    for (code, rows), scatter in zip(blocks, scatters, strict=True):
        shape = (scatter + (d + 1) * common) / (len(rows) + d + 1) + 1e-4 * np.eye(d)
        joint[:, code] += len(rows) * multivariate_t(X[rows].mean(0), shape, df=df).pdf(Z)
    return joint / joint.sum(axis=1, keepdims=True)


class TestPosterior:
    @pytest.mark.slow
    @examples(100)
    @given(points_in_blocks())
    def test_it_is_that_of_a_plain_reading(self, data):
        X, blocks, count, unit, Z = blocks_of(data)
        found = read_locally(X, blocks, count, unit).posterior(Z)
        assert found == pytest.approx(plain_posterior(X, blocks, count, unit, Z), abs=1e-9)
        assert found.sum(axis=1) == pytest.approx(1.0)

    @examples(50)
    @given(points_in_blocks(), st.sampled_from(OTHER_DEGREES_OF_FREEDOM))
    def test_with_other_degrees_of_freedom(self, data, dof):
        X, blocks, count, unit, Z = blocks_of(data)
        found = replace(read_locally(X, blocks, count, unit), degrees_of_freedom=dof).posterior(Z)
        assert found == pytest.approx(plain_posterior(X, blocks, count, unit, Z, dof), abs=1e-9)

    def test_classes_weigh_by_their_points_whatever_the_blocks_hold(self):
        X = np.array([[0.0], [1.0], [0.0], [1.0]])
        blocks = [(0, np.arange(2)), (1, np.arange(2, 4))]
        found = read_locally(X, blocks, np.array([30, 10]), np.ones(1)).posterior(np.array([[0.3], [50.0]]))
        assert found == pytest.approx(np.array([[0.75, 0.25]] * 2))

    @examples(50)
    @given(points_in_blocks())
    def test_a_shift_and_other_units_do_not_matter(self, data):
        X, blocks, count, unit, Z = blocks_of(data)
        rng = np.random.default_rng(0)
        scale, shift = 10.0 ** rng.uniform(-6, 6, X.shape[1]), 10 * rng.normal(size=X.shape[1])
        here = read_locally(X, blocks, count, unit).posterior(Z)
        there = read_locally(scale * (X + shift), blocks, count, scale * unit).posterior(scale * (Z + shift))
        assert there == pytest.approx(here, abs=1e-9)

    @examples(50)
    @given(points_in_blocks())
    def test_the_order_of_the_blocks_of_a_class_does_not_matter(self, data):
        X, blocks, count, unit, Z = blocks_of(data)
        here = read_locally(X, blocks, count, unit).posterior(Z)
        other = sorted(blocks, key=lambda block: (block[0], len(block[1])))
        assert read_locally(X, other, count, unit).posterior(Z) == pytest.approx(here, abs=1e-12)

    @pytest.mark.slow
    @examples(25)
    @given(points_in_blocks())
    def test_one_row_at_a_time_and_all_at_once(self, data):
        X, blocks, count, unit, Z = blocks_of(data)
        local = read_locally(X, blocks, count, unit)
        assert np.array_equal(local.posterior(Z), np.vstack([local.posterior(z[None]) for z in Z]))

    @examples(50)
    @given(points_in_blocks())
    def test_a_point_belongs_to_the_component_that_has_most_part_in_its_density(self, data):
        X, blocks, count, unit, Z = blocks_of(data)
        claims = read_locally(X, blocks, count, unit).claims(Z)
        apart = [(k, rows) for k, (_, rows) in enumerate(blocks)]  # each block a class of its own
        sizes = np.array([len(rows) for _, rows in blocks])
        parts = plain_posterior(X, apart, sizes, unit, Z)
        # Of equal components, such as those of copies, rounding decides.
        assert parts[np.arange(len(Z)), claims] == pytest.approx(parts.max(axis=1), abs=1e-9)

    @pytest.mark.slow
    @examples(50)
    @given(points_in_blocks())
    def test_of_one_class_a_point_belongs_to_what_it_would_belong_to_without_the_others(self, data):
        X, blocks, count, unit, Z = blocks_of(data)
        local = read_locally(X, blocks, count, unit)
        apart = [(k, rows) for k, (_, rows) in enumerate(blocks)]
        sizes = np.array([len(rows) for _, rows in blocks])
        by_block = plain_posterior(X, apart, sizes, unit, Z)
        for k, _ in local.of_classes():
            found = np.where(local.codes == k, by_block, -1.0).argmax(axis=1)
            assert np.array_equal(local.claims(Z, k), found)
            assert np.array_equal(local.claims_within(Z, np.full(len(Z), k)), found)
        of_classes = np.array([k for k, _ in local.of_classes()])
        mixed = of_classes[np.arange(len(Z)) % len(of_classes)]
        each = [local.claims(Z[i : i + 1], mixed[i])[0] for i in range(len(Z))]
        assert local.claims_within(Z, mixed).tolist() == each

    def test_many_features_are_judged_a_few_rows_at_a_time(self, monkeypatch):
        rng = np.random.default_rng(0)
        X, Z = rng.normal(size=(30, 40)), rng.normal(size=(20, 40))
        local = read_locally(X, [(0, np.arange(15)), (1, np.arange(15, 30))], np.array([15, 15]), np.ones(40))
        whole = local.posterior(Z)
        monkeypatch.setattr(densities, "_TABLE", 3000)
        assert local.posterior(Z) == pytest.approx(whole, abs=1e-12)
        assert np.array_equal(local.posterior(Z), np.vstack([local.posterior(z[None]) for z in Z]))

    @pytest.mark.parametrize("n_blocks", [2, 40])
    def test_with_many_features_it_is_that_of_a_plain_reading(self, n_blocks):
        rng = np.random.default_rng(n_blocks)
        X, Z = rng.normal(size=(200, 60)) + 5.0, rng.normal(size=(150, 60)) + 5.0
        blocks = [(int(k >= n_blocks // 2), rows) for k, rows in enumerate(np.split(np.arange(200), n_blocks))]
        given_all = X, blocks, np.array([100, 100]), 0.5 + rng.random(60)
        found = read_locally(*given_all).posterior(Z)
        assert found == pytest.approx(plain_posterior(*given_all, Z), abs=1e-9)


class TestHardPlaces:
    @pytest.mark.parametrize("far", [1e12, 1e150, 1e300])
    def test_far_away_probabilities_are_finite_and_not_certain(self, far):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3))
        local = read_locally(X, [(0, np.arange(30)), (1, np.arange(30, 60))], np.array([30, 30]), X.std(axis=0))
        found = local.posterior(np.array([[far, 0, 0], [-far, far, -far]]))
        assert np.isfinite(found).all()
        assert found.sum(axis=1) == pytest.approx(1.0)
        assert (found > 1e-6).all()

    def test_an_offset_far_from_the_origin(self):
        rng = np.random.default_rng(0)
        X, Z = rng.integers(-40, 40, size=(60, 3)).astype(float), rng.integers(-60, 60, size=(50, 3)).astype(float)
        X[30:] += 30
        blocks, count, unit = [(0, np.arange(30)), (1, np.arange(30, 60))], np.array([30, 30]), X.std(axis=0)
        here = read_locally(X, blocks, count, unit).posterior(Z)
        assert read_locally(X + 1e12, blocks, count, unit).posterior(Z + 1e12) == pytest.approx(here, abs=1e-9)

    @pytest.mark.parametrize("d", [1, 40, 60])
    @pytest.mark.parametrize("kind", ["single points", "duplicates", "constant features", "few points"])
    def test_few_or_equal_points(self, d, kind):
        rng = np.random.default_rng(d)
        X = rng.normal(size=(12, d))
        X[6:] += 4.0
        sizes = 1 if kind == "single points" else 6
        if kind == "duplicates":
            X[:6], X[6:] = X[0], X[6]
        elif kind == "constant features":
            X[:, 1:] = 7.0
        rows = np.split(np.arange(12), 12 // sizes)
        local = read_locally(X, [(int(r[0] >= 6), r) for r in rows], np.array([6, 6]), np.ones(d))
        found = local.posterior(np.vstack([X, 100 + X]))
        assert np.isfinite(found).all()
        assert found[:12].argmax(axis=1).tolist() == [0] * 6 + [1] * 6


def some_polynomials(d, count):
    rng = np.random.default_rng(d)
    return rng.normal(size=((d + 1) * (d + 2) // 2, count)), rng.normal(size=(128, d))


def plain_values(coefficients, z):
    lifted = np.column_stack([z, np.ones(len(z))])
    i, j = pairs(lifted.shape[1])
    return (lifted[:, i] * lifted[:, j]) @ coefficients


class TestPolynomials:
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
        monkeypatch.setattr(densities, "_TABLE", 3 * 56 * 56)
        one_by_one = ByForms(coefficients, 50)
        assert len(one_by_one.forms) == 1
        assert np.array_equal(one_by_one(z), kept)

    def test_few_polynomials_in_many_features_are_evaluated_by_their_forms(self):
        assert isinstance(densities.quadratics(*some_polynomials(60, 2)[:1], 60), ByForms)
        assert isinstance(densities.quadratics(*some_polynomials(60, 100)[:1], 60), ByMonomials)
        assert isinstance(densities.quadratics(*some_polynomials(10, 2)[:1], 10), ByMonomials)
