"""Places where labels differ from their probabilities: found where there are some, hardly ever where there are none."""

from dataclasses import replace

import array_api_strict as xp
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from strategies import examples

import sepc
from sepc import ModelFileError, SEPClassifier, SEPEnsembleClassifier
from sepc.estimators.constants import LEAST_IN_PLACE, LEVEL
from sepc.estimators.local_calibration import _log_stakes, with_places
from sepc.model.constants import COUNTS_AGAINST
from sepc.model.partition_model import identity_calibration
from sepc.persist.model_files import FORMAT

NONE = identity_calibration(np.array([1, 1]))


def with_a_group(seed, n_group=8, n=400):
    """Return records of two classes, and a tight group of class 1 amid those of class 0 at the end."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 8.0 * y[:, None] * [0.0, 1.0]
    group = np.array([1.0, 0.0]) + 0.02 * rng.normal(size=(n_group, 2))
    return np.vstack([X, group]), np.append(y, np.ones(n_group, dtype=int))


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.01, 1.0)), min_size=1, max_size=12))
def test_a_stake_is_the_product_of_new_odds_over_old_ones(records):
    codes, odds = np.array([code for code, _ in records]), np.array([p for _, p in records])
    stake, seen = 1.0, []
    for n, (code, p) in enumerate(records):
        stake *= (COUNTS_AGAINST * p + seen.count(code)) / (COUNTS_AGAINST + n) / p
        seen.append(code)
        assert _log_stakes(codes[None], odds[None])[0, n] == pytest.approx(np.log(stake), abs=1e-9)


@pytest.mark.study
def test_hardly_any_place_is_found_where_probabilities_are_right():
    rng, found = np.random.default_rng(0), 0
    for _ in range(400):
        points, first = rng.normal(size=(120, 2)), rng.beta(0.3, 0.3, 120)
        codes = (rng.random(120) > first).astype(int)
        found += with_places(NONE, points, codes, [np.column_stack([first, 1.0 - first])]).local is not None
    assert found / 400 <= LEVEL


def test_a_misjudged_group_is_a_place_whatever_the_scale_of_its_probabilities():
    points, codes = with_a_group(0)
    proba = np.where(points[:, [1, 1]] > 4.0, [0.05, 0.95], [0.95, 0.05])
    local = with_places(NONE, points, codes, [proba]).local
    assert len(local.radii) == 1
    assert np.linalg.norm(local.centers[0] - [1.0, 0.0]) < 0.1
    assert local.counts[0, 1] >= 7
    nowhere = np.full((len(points), 2), 1e9)
    assert local.at(nowhere)[1].max() == 0.0
    assert with_places(NONE, points, codes, [np.where(codes[:, None] == [0, 1], 0.95, 0.05)]).local is None


def test_copies_that_tell_something_together_are_places():
    rng = np.random.default_rng(1)
    at = rng.integers(0, 30, 600)
    codes = (rng.random(600) < rng.beta(0.5, 0.5, 30)[at]).astype(int)
    local = with_places(NONE, rng.normal(size=(30, 3))[at], codes, [np.full((600, 2), 0.5)]).local
    assert len(local.radii) == 30
    assert local.counts.sum() == 600


def test_no_place_is_a_single_record_and_their_order_does_not_matter():
    points, codes = with_a_group(0)
    proba = np.where(points[:, [1, 1]] > 4.0, [0.05, 0.95], [0.95, 0.05])
    local = with_places(NONE, points, codes, [proba]).local
    assert local.counts.sum(axis=1).min() >= LEAST_IN_PLACE
    assert np.linalg.norm(points[:, None] - local.centers, axis=2).min() > 0.0
    order = np.random.default_rng(3).permutation(len(points))
    again = with_places(NONE, points[order], codes[order], [proba[order]]).local
    np.testing.assert_allclose(again.centers, local.centers, rtol=0.0, atol=1e-12)
    assert np.array_equal(again.counts, local.counts)


def test_records_with_gaps_do_not_count():
    points, codes = with_a_group(0)
    proba = np.where(points[:, [1, 1]] > 4.0, [0.05, 0.95], [0.95, 0.05])
    points[-8:, 0] = np.nan
    assert with_places(NONE, points, codes, [proba]).local is None


def at_few_places(seed, n=600):
    """Return records at 40 places, each with its own shares of two labels."""
    rng = np.random.default_rng(seed)
    places, shares = np.random.default_rng(7).normal(size=(40, 4)), np.random.default_rng(8).beta(0.5, 0.5, 40)
    at = rng.integers(0, 40, n)
    return places[at], (rng.random(n) < shares[at]).astype(int)


def without_places(model):
    return replace(model, fit=replace(model.fit, calibration=replace(model.calibration, local=None)))


class TestInAClassifier:
    """Copies, of whose labels neither the partition nor the densities know."""

    @pytest.fixture(scope="class")
    @classmethod
    def clf(cls):
        return SEPClassifier().fit(*at_few_places(0))

    def test_new_records_are_judged_better(self, clf):
        X, y = at_few_places(1)
        without = without_places(clf.model_)
        assert log_loss(y, clf.predict_proba(X)) < 0.9 * log_loss(y, without.decide(X).proba)
        assert without.key() != clf.model_.key()

    def test_held_out_probabilities_do_not_know_the_places(self, clf):
        found = clf.model_.held_out_probabilities()
        for own, other in zip(found, without_places(clf.model_).held_out_probabilities(), strict=True):
            assert np.array_equal(own, other)

    def test_shares_of_an_explanation_add_up(self, clf):
        x = at_few_places(0)[0][:1]
        why = clf.explain(x)
        for label, proba in zip((0, 1), clf.predict_proba(x)[0], strict=True):
            assert sum(one.share for one in why.shares if one.label == label) == pytest.approx(proba, abs=1e-9)
        assert any(one.region == "nearby" for one in why.shares)

    def test_a_file_and_an_array_elsewhere_have_them(self, clf, tmp_path, monkeypatch):
        X = at_few_places(1)[0]
        proba = clf.predict_proba(X)
        sepc.save(clf, tmp_path / "model.sepc")
        assert np.array_equal(sepc.load(tmp_path / "model.sepc").predict_proba(X), proba)
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        (name,) = (name for name in arrays if name.endswith("local/counts"))
        arrays[name] = np.where(np.arange(len(arrays[name]))[:, None] == 0, 0.0, arrays[name])
        FORMAT.write(tmp_path / "model.sepc", header, arrays)
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")
        with sklearn.config_context(array_api_dispatch=True):
            np.testing.assert_allclose(np.asarray(clf.predict_proba(xp.asarray(X))), proba, rtol=0.0, atol=1e-9)

    def test_neither_the_order_of_records_nor_that_of_rows_matters(self, clf):
        X, y = at_few_places(0)
        order = np.random.default_rng(0).permutation(len(X))
        assert np.array_equal(SEPClassifier().fit(X[order], y[order]).predict_proba(X), clf.predict_proba(X))

    def test_an_ensemble_has_them_too(self, tmp_path):
        X, y = with_a_group(0)
        clf = SEPEnsembleClassifier(n_estimators=2, random_state=0, n_imp=20).fit(X, y)
        assert clf.model_.strangeness.calibration.local is not None
        new = with_a_group(1)[0][-8:]
        assert np.median(clf.predict_proba(new)[:, 1]) > 0.6
        why = clf.explain(new[0])
        odds = sum(voice.evidence for voice in why.voices) + why.leaning + why.background
        proba = clf.predict_proba(new[:1])[0]
        assert odds == pytest.approx(abs(np.log(proba[0] / proba[1])), abs=1e-9)
        sepc.save(clf, tmp_path / "model.sepc")
        assert np.array_equal(sepc.load(tmp_path / "model.sepc").predict_proba(new), clf.predict_proba(new))
