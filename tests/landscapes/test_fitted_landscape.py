"""Landscape of a partitioned training set: its tables, and as a whole."""

import json
import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises, warns
from hypothesis import given
from landscape_data import gaussians, with_disjunct
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from strategies import classified_points, examples

from sepc import SEPClassifier
from sepc.geometry import separate
from sepc.landscapes import FittedLandscape


class TestRegions:
    def test_there_is_one_row_per_ellipsoid_as_in_regions(self):
        X, y = load_iris(return_X_y=True)
        clf = SEPClassifier().fit(X, y)
        ours, theirs = clf.landscape_.regions, clf.regions()
        shared = ["region", "label", "n_label", "n_others", "purity", "iteration"]
        pd.testing.assert_frame_equal(ours[shared], theirs[shared])
        in_original_units = ours.log_volume.to_numpy() + np.log(clf.scale_).sum()
        assert in_original_units == pytest.approx(theirs.log_volume.to_numpy())

    def test_density_is_the_log_of_records_per_volume(self, cancer):
        columns = ["n_label", "n_others", "log_volume", "density"]
        n_label, n_others, log_volume, density = cancer.regions[columns].to_numpy().T
        assert density == pytest.approx(np.log(n_label + n_others) - log_volume)

    def test_a_group_inside_another_label_s_ellipsoid_is_surrounded_by_it(self):
        ring = [[np.cos(t), np.sin(t)] for t in np.linspace(0, 6, 40)]
        inner = [[0.1 * np.cos(t), 0.1 * np.sin(t)] for t in np.linspace(0, 6, 20)]
        clf = SEPClassifier(n_imp=25).fit(ring + inner, ["ring"] * 40 + ["inner"] * 20)
        r = clf.landscape_.regions.set_index("region")
        assert r.surrounded_by.loc["inner#1"].startswith("ring")

    def test_frames_are_of_the_library_that_came_in(self):
        X, y = load_iris(return_X_y=True)
        fitted = SEPClassifier().fit(pl.DataFrame(X), y).landscape_
        for part in ("regions", "graph", "impure", "isolated", "outliers"):
            assert isinstance(getattr(fitted, part), pl.DataFrame)


class TestGraph:
    def test_neighbours_go_both_ways_deepest_first(self, cancer):
        for name in cancer.regions.region:
            near = cancer.neighbours(name)
            assert all(name in cancer.neighbours(other) for other in near)
            edges = cancer.graph[(cancer.graph.region_a == name) | (cancer.graph.region_b == name)]
            assert len(near) == len(edges)
        first = cancer.graph.sort_values("margin").iloc[0]
        assert cancer.neighbours(first.region_a)[0] == first.region_b

    def test_overlaps_stay_within_a_problem(self, iris_by_paper):
        def of(name):
            return name.split("#")[0].removeprefix("not ")

        graph = iris_by_paper.graph
        assert all(of(a) == of(b) for a, b in zip(graph.region_a, graph.region_b, strict=True))

    def test_regions_of_all_classes_are_compared_whichever_problem_they_come_from(self, iris_by_paper):
        model = iris_by_paper.model
        found = {(a, b): rest for a, b, *rest in iris_by_paper.class_graph.itertuples(index=False)}
        own = [(r, k) for r in model.rules for k in np.flatnonzero(r.sides == 0).tolist()]
        assert len({r.names[k] for r, k in own}) > len(model.classes)
        for (r, i), (s, j) in combinations(own, 2):
            verdict = separate(r.stack[i], s.stack[j])
            common = len(np.intersect1d(r.members(i), s.members(j)))
            expected = [common, verdict.margin, r is s] if common or not verdict.disjoint else None
            assert found.get((r.names[i], s.names[j])) == expected

    def test_with_one_problem_these_are_all_regions(self, cancer, iris):
        for fitted in (cancer, iris):
            pd.testing.assert_frame_equal(fitted.class_graph, fitted.graph)
            assert not any(label.startswith("not ") for label in fitted.regions.label)

    def test_isolated_records_alone_have_no_overlaps(self):
        for trust, labels in (("local", set()), ("paper", {f"not {c}" for c in "abcde"})):
            with warns("too-few-points", regions="a, b, c, d, e", n_features=3):
                clf = SEPClassifier(trust=trust).fit(np.eye(5)[:, :3], list("abcde"))
            assert set(clf.landscape_.regions.label) == labels
            assert len(clf.landscape_.class_graph) == 0

    def test_an_unknown_region_is_refused(self, cancer):
        with raises("unknown-region", name="x#1"):
            cancer.neighbours("x#1")


class TestRecords:
    def test_impure_are_all_records_in_an_ellipsoid_of_another_label(self):
        X, y, _, _ = gaussians(0)
        clf = SEPClassifier(n_imp=5).fit(X, y)
        Z = (X - clf.mean_) / clf.scale_
        table = clf.landscape_.impure.set_index("row")
        assert len(table)
        for p, rules in zip(clf.partitions_, clf.model_.rules, strict=True):
            for k, block in enumerate(p.blocks):
                side = (y != rules.labels[0]).astype(int)
                inside = np.flatnonzero(block.ellipsoid.contains(Z))
                for i in inside[side[inside] != block.side]:
                    assert rules.names[k] in table.other_regions[i].split(", ")
                    assert table.label[i] == y[i]
        listed = sum(len(names.split(", ")) for names in table.other_regions)
        assert listed == clf.regions().n_others.sum()

    @pytest.mark.slow
    def test_isolated_are_those_of_the_partitions(self, cancer):
        X, y = load_breast_cancer(return_X_y=True)
        clf = SEPClassifier().fit(X, y)
        assert cancer.isolated.row.tolist() == sorted(np.concatenate(clf.partitions_[0].isolated).tolist())
        assert cancer.isolated.isolated_as.tolist() == [str(label) for label in y[cancer.isolated.row]]


@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
class TestAsAWhole:
    @pytest.mark.slow
    @examples(30)
    @given(classified_points())
    def test_any_set_has_one_that_json_takes(self, data):
        X, y, n_imp = data
        fitted = SEPClassifier(n_imp=n_imp).fit(X, y).landscape_
        assert json.loads(json.dumps(fitted.to_dict(), allow_nan=False))["n_records"] == len(y)
        assert f" {len(y)} records" in repr(fitted)

    @pytest.mark.slow
    def test_the_order_of_rows_does_not_matter(self):
        X, y, _, n_imp = with_disjunct(3)
        order = np.random.default_rng(0).permutation(len(X))
        one, two = (SEPClassifier(n_imp=n_imp).fit(X[o], y[o]).landscape_ for o in (np.arange(len(X)), order))
        pd.testing.assert_frame_equal(one.regions, two.regions)
        pd.testing.assert_frame_equal(one.graph, two.graph)
        assert [sorted(order[list(x.rows)]) for x in two.disjuncts] == [list(x.rows) for x in one.disjuncts]
        assert sorted(order[two.impure.row]) == sorted(one.impure.row.tolist())

    @pytest.mark.slow
    def test_it_is_there_after_a_fit_only_and_follows_it(self):
        clf = SEPClassifier()
        with pytest.raises(NotFittedError):
            _ = clf.landscape_
        X, y, _, _ = gaussians(1)
        fitted = clf.fit(X, y).landscape_
        assert isinstance(fitted, FittedLandscape)
        assert clf.landscape_ is fitted
        assert clf.fit(X[::2], y[::2]).landscape_ is not fitted
        assert repr(pickle.loads(pickle.dumps(clf)).landscape_) == repr(clf.landscape_)

    def test_html_is_escaped(self):
        clf = SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], ["<a>", "<a>", "b", "b"])
        assert "<a>" not in clf.landscape_._repr_html_()


def test_impure_records_come_with_the_most_doubtful_first():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.repeat(["left", "right"], 150)
    X[150:, 0] += 3.0
    X[7], X[200] = [3.0, 0.1], [0.0, 0.1]  # right in the middle of the other class
    impure = SEPClassifier(n_imp=10).fit(X, y).landscape_.impure
    assert set(impure["row"][:2]) == {7, 200}
    assert impure["n_near_own"].is_monotonic_increasing
    first = impure.set_index("row").loc[7]
    distance = np.linalg.norm(X - X[7], axis=1)
    nearest = np.argsort(distance, kind="stable")[1:11]
    assert first["n_near_own"] == np.count_nonzero(y[nearest] == "left")
    assert first["near_label"] == "right"


class TestRecordsOutside:
    @pytest.mark.slow
    @pytest.mark.parametrize(("d", "n", "warns"), [(2, 300, False), (12, 300, False), (30, 300, True)])
    def test_their_share_is_that_of_new_records_outside_of_all_ellipsoids(self, d, n, warns):
        rng = np.random.default_rng(d)
        X, y = rng.normal(size=(2000 + n, d)), rng.integers(2, size=2000 + n)
        X[:, 0] += 2.0 * y
        clf = SEPClassifier().fit(X[:n], y[:n])
        outside = ~np.any([E.contains(clf.landscape_.model.units(X[n:])) for E in ellipsoids_of(clf)], axis=0)
        assert clf.landscape_.n_outside / n == pytest.approx(outside.mean(), abs=0.06)
        assert [finding.code for finding in clf.landscape_.findings] == ["outside-all-ellipsoids"] * warns
        assert ("outside-all-ellipsoids" in repr(clf.landscape_)) == warns
        assert [finding["severity"] for finding in clf.landscape_.to_dict()["findings"]] == ["warning"] * warns

    def test_one_of_two_equal_records_stays_inside(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 30)), np.repeat([0, 1], 20)
        X[20:, 0] += 50.0
        assert SEPClassifier().fit(np.vstack([X, X]), np.append(y, y)).landscape_.n_outside == 0


def ellipsoids_of(clf):
    return [block.ellipsoid for partition in clf.partitions_ for block in partition.blocks]
