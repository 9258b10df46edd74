"""Members of an ensemble whose regions are read as one, with the tails that left-out points tell of."""

import numpy as np
import pytest
from saved_models import assert_same, stored, told
from scipy.stats import multivariate_t

import sepc
from sepc import ModelFileError, SEPEnsembleClassifier
from sepc.estimators.ensemble.growth import grow
from sepc.estimators.ensemble.members import Plan
from sepc.model.constants import OTHER_DEGREES_OF_FREEDOM
from sepc.persist.model_files import FORMAT
from sepc.persist.rules_in_words import rules_dict
from sepc.reports.regions import regions_table
from sepc.reports.subject import Subject


@pytest.fixture(scope="module")
def joined(cut_clouds):
    X, y = cut_clouds
    clf = SEPEnsembleClassifier(n_estimators=4).fit(X, y).calibrate(X[::2], y[::2])
    assert any(part.groups is not None for member in clf.model_.members for part in member.parts)
    return clf


def of_one_member(X, y):
    codes = np.unique(y, return_inverse=True)[1]
    return grow(Plan(0, np.arange(X.shape[1]), 0), X, codes, np.unique(y), 0.05)


class TestGrowth:
    def test_pieces_of_a_cloud_become_one_component(self, cut_clouds):
        X, y = cut_clouds
        member, *_ = of_one_member(X, y)
        for part in member.parts:
            assert part.densities.codes.tolist() == [0, 1]
            assert part.names == ["a#1+", "b#1+"]
            assert part.sizes.tolist() == np.unique(y[part.rows], return_counts=True)[1].tolist()
            assert part.claimed.sum(axis=0).tolist() == np.unique(y[part.out], return_counts=True)[1].tolist()
            for k, label in enumerate("ab"):
                assert part.densities.mean(k) == pytest.approx(X[part.rows][y[part.rows] == label].mean(axis=0))
                blocks = [block for block in part.partitions[0].blocks if block.side == k]
                assert len(part.ellipsoids(k)) == len(blocks) >= 1

    def test_every_region_is_in_one_component_of_its_class(self, joined):
        for member in joined.model_.members:
            for part in member.parts:
                codes = part.densities.codes[part.groups]
                assert (np.diff(codes) >= 0).all()
                assert len(part.names) == len(part.densities.codes) == len(part.sizes) == part.groups.max() + 1
                assert sum(len(part.ellipsoids(c)) for c in range(len(part.names))) == len(part.partitions[0].blocks)
                counts = np.bincount(part.groups)
                assert [name.endswith("+") for name in part.names] == (counts > 1).tolist()

    def test_clouds_of_a_class_that_lie_apart_stay_apart(self):
        rng = np.random.default_rng(1)
        corners = rng.integers(2, size=(400, 2))
        member, *_ = of_one_member(6.0 * corners + rng.normal(size=(400, 2)), corners.sum(axis=1) % 2)
        assert all(np.bincount(part.densities.codes).min() >= 2 for part in member.parts)

    @pytest.mark.slow
    def test_tails_are_those_of_the_points(self, cut_clouds):
        assert {part.densities.degrees_of_freedom for part in of_one_member(*cut_clouds)[0].parts} == {
            max(OTHER_DEGREES_OF_FREEDOM)
        }
        X = multivariate_t(np.zeros(2), df=2).rvs(1200, random_state=0)
        X[600:] += [2.0, 1.0]
        member, *_ = of_one_member(X, np.repeat([0, 1], 600))
        assert {part.densities.degrees_of_freedom for part in member.parts} == {min(OTHER_DEGREES_OF_FREEDOM)}

    def test_the_honest_opinion_is_that_of_the_parts_that_were_left_out(self, cut_clouds):
        X, y = cut_clouds
        member, out_of_fold, _ = of_one_member(X, y)
        for part in member.parts:
            said = part.prediction(X[part.out])
            assert np.array_equal(out_of_fold.log_probability[part.out], said.log_probability)
            assert np.array_equal(out_of_fold.log_density[part.out], said.log_density)


class TestWhatIsTold:
    def test_how_many_regions_each_row_is(self, joined):
        regions = joined.regions()
        parts = [part for member in joined.model_.members for part in member.parts]
        assert regions.n_regions.sum() == sum(len(part.groups) for part in parts)
        assert ((regions.n_regions > 1) == regions.region.str.endswith("+")).all()

    def test_an_explanation_says_how_many_regions_speak(self, joined, cut_clouds):
        why = joined.explain(cut_clouds[0][0])
        several = [voice for voice in why.voices if voice.n_regions > 1]
        known = joined.regions().set_index("region").n_regions
        assert several
        assert all(voice.n_regions == known[voice.region] for voice in why.voices)
        first = why.voices[0]
        assert f" {first.place} " in why.details
        assert first.place.startswith(f"{first.n_regions} ") == (first.n_regions > 1)

    def test_a_report_and_rules_for_other_programs_have_it(self, joined, cut_clouds):
        X, y = cut_clouds
        shown = regions_table(Subject.of(joined, X[::3], y[::3]))
        place = [column["title"] for column in shown["columns"]].index("regions")
        assert [row[place] for row in shown["rows"]] == joined.regions().n_regions.to_list()
        of_members = [member["regions"] for member in rules_dict(joined)["members"]]
        assert sum(row["n_regions"] for rows in of_members for row in rows) == joined.regions().n_regions.sum()


class TestSaved:
    @pytest.mark.parametrize("training_rows", [True, False])
    def test_a_saved_ensemble_knows_it(self, joined, cut_clouds, tmp_path, training_rows):
        X, _ = cut_clouds
        found = stored(joined, tmp_path, training_rows=training_rows)
        assert_same(told(found, X), told(joined, X))
        for one, two in zip(found.model_.members, joined.model_.members, strict=True):
            for mine, its in zip(one.parts, two.parts, strict=True):
                assert np.array_equal(mine.groups, its.groups)
                assert mine.densities.degrees_of_freedom == its.densities.degrees_of_freedom

    @pytest.mark.parametrize(
        "spoil",
        [lambda groups: groups[:-2], lambda groups: groups[::-1], np.zeros_like, lambda groups: groups + 1],
        ids=["too few", "backwards", "one class", "no such component"],
    )
    def test_a_file_that_joins_what_is_not_there_is_refused(self, joined, tmp_path, spoil):
        sepc.save(joined, tmp_path / "model.sepc")
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        name = next(name for name in arrays if name.endswith("/groups"))
        FORMAT.write(tmp_path / "spoilt.sepc", header, arrays | {name: spoil(arrays[name])})
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "spoilt.sepc")
