"""Members of an ensemble: what shapes them, what they are judged by, which features they have."""

import numpy as np
import pytest
from fitted_ensembles import overlapping

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.estimators.ensemble import members
from sepc.estimators.ensemble.members import grow
from sepc.estimators.ensemble.plans import Plan


class TestGrown:
    def test_every_point_is_left_out_once_and_shapes_the_other_parts(self):
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(80, 2)), np.repeat([0, 1], [50, 30])
        member, honest = grow(Plan(0, np.array([0, 1]), 5), X, codes, np.array(["a", "b"]), 2)
        outs = [part.out for part in member.parts]
        assert sorted(np.concatenate(outs)) == list(range(80))
        for part in member.parts:
            assert sorted(np.concatenate([part.rows, part.out])) == list(range(80))
            shares = np.bincount(codes[part.out])
            assert abs(shares - [50 / 3, 10]).max() < 1
            assert np.array_equal(
                honest.log_probability[part.out].argmax(axis=1), part.densities.posterior(X[part.out]).argmax(axis=1)
            )
        assert np.isfinite(honest.log_probability).all()
        assert (honest.log_probability >= -12).all()
        assert np.isfinite(honest.log_density).all()

    def test_the_only_point_of_a_class_is_never_left_out(self):
        X, codes = np.arange(9.0)[:, None], np.array([0] * 5 + [1] * 3 + [2])
        member, honest = grow(Plan(0, np.array([0]), 0), X, codes, np.array(["a", "b", "c"]), 0)
        assert all(8 in part.rows for part in member.parts)
        assert np.isnan(honest.log_probability[8]).all()
        assert np.isnan(honest.log_density[8])
        assert np.isfinite(honest.log_probability[:8]).all()

    def test_of_many_points_some_of_each_class_are_enough(self, monkeypatch):
        monkeypatch.setattr(members, "_MOST_POINTS", 30)
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(400, 2)), np.repeat([0, 1, 2], [300, 97, 3])
        member, honest = grow(Plan(0, np.array([0, 1]), 1), X, codes, np.array(["a", "b", "c"]), 2)
        for part in member.parts:
            assert not np.isin(part.rows, part.out).any()
            for rows in (part.rows, part.out):
                assert len(rows) <= 31
                assert (np.diff(rows) > 0).all()
                assert set(codes[rows]) == {0, 1, 2}
        assert np.isfinite(honest.log_probability).all()

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_the_ellipsoid_of_a_region_holds_what_shaped_it(self, n_classes):
        X, y = overlapping(n_classes)
        codes = np.unique(y, return_inverse=True)[1]
        member, _ = grow(Plan(0, np.arange(3), 0), X, codes, np.unique(y), 2)
        isolated = []
        for part in member.parts:
            for region, name in enumerate(part.names):
                E, code = part.ellipsoid(region), part.densities.codes[region]
                if E is None:
                    isolated.append(name)
                    continue
                mine = part.rows[codes[part.rows] == code]
                assert np.count_nonzero(E.contains(X[mine])) >= part.sizes[region]
                center = list(part.densities.frames())[region][0]
                assert E.contains(center[None])[0]
        assert all(name.endswith("@") for name in isolated)


def test_no_block_of_a_member_holds_most_of_a_class_where_classes_overlap_heavily():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 240)
    X = rng.normal(size=(480, 2)) + np.column_stack([0.3 * y, 0 * y])
    largest = max(len(b.members) for b in SEPClassifier().fit(X, y).partitions_[0].blocks)
    assert largest > 0.8 * 240
    for member in SEPEnsembleClassifier(n_estimators=2).fit(X, y)._model.members:
        for part in member.parts:
            assert max(len(b.members) for b in part.partitions[0].blocks) < 0.6 * 160


def test_several_members_take_turns_with_views_and_sizes():
    X, y = overlapping(n_classes=2, n=15, d=6)
    plans = [member.plan for member in SEPEnsembleClassifier(n_estimators=6).fit(X, y)._model.members]
    assert [plan.view for plan in plans] == [0, 1] * 3
    assert [len(plan.features) for plan in plans] == [6, 6, 3, 3, 4, 4]
