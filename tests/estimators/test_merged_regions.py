"""Regions that are read as one: when that is so, what they are called, and that all ways of a model know it."""

import re
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from saved_models import assert_same, stored, told
from scattered_fits import WHERE
from scipy.stats import multivariate_t
from sklearn.datasets import load_iris

import sepc
from sepc import ModelFileError, SEPClassifier
from sepc.common.splits import IN_NO_PART
from sepc.estimators import density_fit
from sepc.estimators.density_fit import HeldOutFit, Search, _clearly_better
from sepc.estimators.records import Core
from sepc.model.constants import DEGREES_OF_FREEDOM, OTHER_DEGREES_OF_FREEDOM
from sepc.model.merging import is_any_merged, members
from sepc.persist.model_files import FORMAT
from sepc.persist.rules_in_words import rules_dict


@pytest.fixture(scope="module")
def joined(cut_clouds):
    X, y = cut_clouds
    clf = SEPClassifier(n_imp=0.05).fit(X, y).calibrate(X[::2], y[::2])
    assert is_any_merged(clf.model_.fit.groups)
    assert len(clf.model_.densities.codes) < len(clf.model_.fit.groups)
    return clf


class TestWhen:
    def test_pieces_of_a_cloud_are_read_as_one(self, joined, cut_clouds):
        X, y = cut_clouds
        model = joined.model_
        assert model.densities.codes.tolist() == [0, 1]
        for k, label in enumerate("ab"):
            # One component for a class has the mean of its records.
            assert model.original(model.densities.mean(k)) == pytest.approx(X[y == label].mean(axis=0))

    def test_clouds_of_a_class_that_lie_apart_are_not(self):
        rng = np.random.default_rng(1)
        corners = rng.integers(2, size=(400, 2))
        clf = SEPClassifier().fit(6.0 * corners + rng.normal(size=(400, 2)), corners.sum(axis=1) % 2)
        assert all(np.count_nonzero(clf.model_.densities.codes == k) >= 2 for k in range(2))

    @pytest.mark.parametrize(("gain", "is_joined"), [(0.0, False), (0.009, False), (0.011, True)])
    def test_only_where_it_is_clearly_better(self, gain, is_joined):
        """Of 400 records with a standard deviation of 0.2 the standard error is 0.01."""
        losses = 1.0 + 0.5 * np.arange(400) / 400
        others = losses - gain - np.tile([0.2, -0.2], 200)
        apart, other = (HeldOutFit(None, (), None, given, 400) for given in (losses, others))
        assert (_clearly_better(apart, [other]) is other) == is_joined

    def test_levels_that_merge_the_same_are_the_farthest_of_them(self):
        cloud = np.random.default_rng(0).normal(size=(400, 2))
        halves = (cloud[:, 0] < 0).astype(np.int64)

        def different(points, *numbers):
            seen = [(np.arange(400), of_part) for of_part in numbers]
            core = Core(points, np.zeros(400, dtype=np.int64))
            return list(Search(core, 1, np.ones(2), np.full(400, IN_NO_PART), seen).different(None))

        found = different(cloud, halves, halves)
        assert [level for level, _ in found] == [0, 3]
        assert [groups.tolist() for _, parts in found for groups in parts] == [[0, 1], [0, 1], [0, 0], [0, 0]]
        # Nothing to join: nothing speaks for going any further.
        assert [level for level, _ in different(cloud + 40.0 * halves[:, None], halves)] == [0]
        assert [level for level, _ in different(cloud, 0 * halves)] == [0]

    @pytest.mark.slow
    def test_copies_are_no_further_witnesses(self, cut_clouds, monkeypatch):
        seen = []

        def noted(usual, others, *errors):
            seen.append([usual, *others])
            return _clearly_better(usual, seen[-1][1:], *errors)

        monkeypatch.setattr(density_fit, "_clearly_better", noted)
        X, y = cut_clouds
        SEPClassifier(n_imp=0.05).fit(np.repeat(X[::2], 4, axis=0), np.repeat(y[::2], 4))
        of_copies, seen = seen, []
        SEPClassifier(n_imp=0.05).fit(X[::2], y[::2])
        for found in (of_copies, seen):
            assert [len(one.losses) for judged in found for one in judged] == [300] * sum(map(len, found))
        # What is lost counts four times; the number of witnesses does not.
        assert of_copies[0][0].loss > 3 * seen[0][0].loss

    def test_of_those_the_best_one(self):
        apart, worse, better, best = (
            HeldOutFit(None, (), None, np.ones(100) - gain, 100) for gain in (0.0, -0.1, 0.2, 0.3)
        )
        assert _clearly_better(apart, [best, better, worse]) is best
        assert _clearly_better(apart, [worse, better, best]) is best
        assert _clearly_better(apart, [worse]) is apart

    def test_nothing_is_better_where_nothing_was_left_out(self):
        apart, other = (HeldOutFit(None, (), None, np.empty(0), 0) for _ in range(2))
        assert _clearly_better(apart, [other]) is apart

    def test_only_the_calibrated_model_merges(self, cut_clouds):
        assert not is_any_merged(SEPClassifier(n_imp=0.05, trust="raw").fit(*cut_clouds).model_.fit.groups)

    def test_the_order_of_rows_does_not_matter(self, joined, cut_clouds):
        X, y = cut_clouds
        order = np.random.default_rng(2).permutation(len(X))
        other = SEPClassifier(n_imp=0.05).fit(X[order], y[order])
        assert np.array_equal(other.model_.fit.groups, joined.model_.fit.groups)
        assert np.array_equal(other.predict_proba(X), joined.predict_proba(X))

    def test_labels_are_those_of_the_likelier_normal_distribution(self, joined):
        rng = np.random.default_rng(3)
        new = rng.normal([0.7, 0.5], 1.5, size=(2000, 2))
        logs = [-0.5 * np.square(new).sum(axis=1), -0.5 * np.square((new - [1.5, 1.0]) / [1.2, 0.9]).sum(axis=1)]
        odds = logs[1] - np.log(1.2 * 0.9) - logs[0]
        sure = np.abs(odds) > 0.5
        assert np.mean((joined.predict(new) == "b")[sure] == (odds > 0)[sure]) > 0.98


class TestTails:
    """Records that were left out tell how heavy they are."""

    def test_light_ones_of_normal_distributions(self, joined):
        assert joined.model_.densities.degrees_of_freedom == max(OTHER_DEGREES_OF_FREEDOM)
        assert {part.degrees_of_freedom for part in joined.model_.fit.held_out} == {max(OTHER_DEGREES_OF_FREEDOM)}

    @pytest.mark.slow
    def test_heavy_ones_of_heavy_tails(self):
        X = multivariate_t(np.zeros(2), df=2).rvs(1200, random_state=0)
        X[600:] += [2.0, 1.0]
        clf = SEPClassifier(n_imp=0.05).fit(X, np.repeat([0, 1], 600))
        assert clf.model_.densities.degrees_of_freedom == min(OTHER_DEGREES_OF_FREEDOM)

    def test_the_usual_ones_where_nothing_tells(self, cut_clouds):
        X, y = cut_clouds
        assert SEPClassifier().fit(X[::100], y[::100]).model_.densities.degrees_of_freedom == DEGREES_OF_FREEDOM
        assert SEPClassifier(trust="raw").fit(X, y).model_.densities.degrees_of_freedom == DEGREES_OF_FREEDOM

    def test_models_with_other_tails_are_not_the_same(self, joined):
        model = joined.model_
        others = [
            replace(model, fit=replace(model.fit, whole=replace(model.densities, degrees_of_freedom=tails)))
            for tails in (DEGREES_OF_FREEDOM, 3.0)
        ]
        assert len({model.key(), *(other.key() for other in others)}) == 3


class TestNames:
    def test_the_first_region_with_a_plus(self, joined):
        model = joined.model_
        assert model.region_names() == ["a#1+", "b#1+"]
        by_component = model.regions_by_component()
        assert [len(regions) for regions in by_component] == [len(g) for g in members(model.fit.groups)]
        told = joined.regions()
        for name, regions in zip(model.region_names(), by_component, strict=True):
            assert set(told.region[told.component == name]) == {region for region in regions if "@" not in region}

    def test_samples_are_drawn_by_either_name(self, joined):
        first = joined.model_.rules[0].stack[0]
        for region, is_one in (("a#1", True), ("a#1+", False)):
            points, labels = joined.sample(200, region=region, random_state=0)
            assert set(labels) == {"a"}
            assert first.contains(joined.model_.units(points)).all() == is_one

    def test_rules_for_other_programs_tell_it(self, joined):
        told = rules_dict(joined)["problems"][0]["regions"]
        assert [one["component"] for one in told] == joined.regions().component.tolist()

    def test_a_region_by_itself_keeps_its_name(self):
        clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        assert clf.regions().component.tolist() == clf.regions().region.tolist()
        by_counts = SEPClassifier(trust="paper").fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        assert by_counts.regions().component.tolist() == by_counts.regions().region.tolist()

    def test_an_explanation_says_how_many_regions_speak(self, joined, cut_clouds):
        X, y = cut_clouds
        why = joined.explain(X[0])
        own = [s for s in why.shares if s.label == why.label]
        assert sum(s.share for s in own) == pytest.approx(why.trust, abs=1e-12)
        best = own[0]
        label = best.label
        assert (best.region, best.records) == (f"{label}#1+", np.count_nonzero(y == label))
        assert best.n_regions == len(joined.model_.regions_by_component()["ab".index(label)])
        assert best.in_words(description=why.descriptions[best.region]) in why.details
        assert re.search(rf"{label}#1 and {best.n_regions - 1} \D+ \({best.records} ", why.details)
        assert joined.assess(X[:1]).main_region.tolist() == [best.region]


class TestEverywhere:
    @pytest.mark.parametrize("training_rows", [True, False])
    def test_a_saved_model_knows_it(self, joined, cut_clouds, tmp_path, training_rows):
        X, _ = cut_clouds
        found = stored(joined, tmp_path, training_rows=training_rows)
        assert np.array_equal(found.model_.fit.groups, joined.model_.fit.groups)
        assert (
            found.model_.densities.degrees_of_freedom
            == joined.model_.densities.degrees_of_freedom
            != DEGREES_OF_FREEDOM
        )
        assert [part.degrees_of_freedom for part in found.model_.fit.held_out] == [
            found.model_.densities.degrees_of_freedom
        ] * 3
        assert_same(told(found, X), told(joined, X))
        assert np.array_equal(found.assess(X).stability, joined.assess(X).stability)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda groups: groups[:-2],
            lambda groups: np.append(groups, groups[-2:]),
            lambda groups: groups[::-1],
            lambda groups: np.zeros_like(groups),
            lambda groups: groups + 1,
            lambda _: np.arange(2),
        ],
        ids=["too few", "too many", "backwards", "one class", "no such component", "two regions"],
    )
    def test_a_file_that_joins_what_is_not_there_is_refused(self, joined, tmp_path, spoil):
        sepc.save(joined, tmp_path / "model.sepc")
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "spoilt.sepc", header, arrays | {"groups": spoil(arrays["groups"])})
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "spoilt.sepc")

    @pytest.mark.parametrize("tails", [0.0, -8.0, np.nan, [2.0, 2.0]])
    def test_a_file_with_impossible_tails_is_refused(self, joined, tmp_path, tails):
        sepc.save(joined, tmp_path / "model.sepc")
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        assert arrays["densities/tails"].tolist() == [joined.model_.densities.degrees_of_freedom]
        spoilt = arrays | {"densities/tails": np.atleast_1d(tails)}
        FORMAT.write(tmp_path / "spoilt.sepc", header, spoilt)
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "spoilt.sepc")

    def test_a_file_whose_parts_have_other_tails_is_refused(self, joined, tmp_path):
        sepc.save(joined, tmp_path / "model.sepc", training_rows=False)
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "spoilt.sepc", header, arrays | {"parts/part1/tails": np.array([3.0])})
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "spoilt.sepc")

    def test_a_file_that_has_lost_it_is_refused(self, joined, tmp_path):
        sepc.save(joined, tmp_path / "model.sepc")
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "spoilt.sepc", header, {k: v for k, v in arrays.items() if k != "groups"})
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "spoilt.sepc")

    @WHERE
    @pytest.mark.usefixtures("small_chunks")
    def test_a_fit_elsewhere_joins_the_same(self, joined, cut_clouds, where):
        X, y = cut_clouds
        found = where(SEPClassifier(n_imp=0.05), X, y)
        assert np.array_equal(found.model_.fit.groups, joined.model_.fit.groups)
        assert found.model_.densities.degrees_of_freedom == joined.model_.densities.degrees_of_freedom
        np.testing.assert_allclose(found.predict_proba(X), joined.predict_proba(X), rtol=0, atol=1e-9)

    def test_arrays_elsewhere_get_the_same_answers(self, joined, cut_clouds, monkeypatch):
        xp = pytest.importorskip("array_api_strict")
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")
        X = cut_clouds[0]
        with sklearn.config_context(array_api_dispatch=True):
            proba, a = joined.predict_proba(xp.asarray(X)), joined.assess(xp.asarray(X)).to_numpy()
        np.testing.assert_allclose(np.asarray(proba), joined.predict_proba(X), rtol=0, atol=1e-9)
        np.testing.assert_allclose(a.trust, joined.assess(X).trust, rtol=0, atol=1e-9)

    def test_several_classes(self):
        X, y = load_iris(return_X_y=True)
        clf = SEPClassifier().fit(X, y)
        assert clf.model_.fit.groups is not None
        codes = clf.model_.densities.codes[clf.model_.fit.groups]
        assert (np.diff(codes) >= 0).all()
        told = clf.regions()
        assert all(name.startswith(f"{label}#") for name, label in zip(told.component, told.label, strict=True))
