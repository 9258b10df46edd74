"""Laws of LandscapeDisplay: overlaps are those of the landscapes."""

import numpy as np
import pytest
from coded import raises, warns
from drawings import axes, regions_of

from sepc import SEPClassifier, SEPEnsembleClassifier, landscape
from sepc.plot import LandscapeDisplay


class TestLandscape:
    @pytest.mark.parametrize("data", ["moons", "iris", "cancer"])
    def test_it_shows_the_overlaps_of_the_terrain(self, data, request):
        clf = request.getfixturevalue(data)[0]
        display = LandscapeDisplay.from_estimator(clf, max_regions=1000, ax=axes())
        graph = clf.landscape_.class_graph
        found = {frozenset(row[:2]): row[2:] for row in display.frame().itertuples(index=False)}
        assert found == {
            frozenset((e.region_a, e.region_b)): (e.same_label, e.n_common, e.margin) for e in graph.itertuples()
        }
        sizes = clf.landscape_.regions.set_index("region")[["n_label", "n_others"]].sum(axis=1)
        regions = display.frame("regions")
        assert regions.n_records.tolist() == sizes.loc[regions.name].tolist()
        assert set(regions.name) == {name for name, _, _ in regions_of(clf)}

    def test_cells_are_where_the_names_say(self, moons):
        display = LandscapeDisplay.from_estimator(moons[0], ax=axes())
        names = [text.get_text() for text in display.ax_.get_xticklabels()]
        rows = [text.get_text().split(" (")[0] for text in display.ax_.get_yticklabels()]
        assert names == rows == [node.name for node in display.nodes]
        for cell, row in zip(display.edges_, display.frame().itertuples(), strict=True):
            column, line = round(cell.get_x() + 0.5), round(cell.get_y() + 0.5)
            assert {names[column], rows[line]} == {row.a, row.b}
            assert column < line  # below the diagonal

    def test_the_largest_regions_are_kept(self, moons):
        every = LandscapeDisplay.from_estimator(moons[0], max_regions=1000, ax=axes())
        few = LandscapeDisplay.from_estimator(moons[0], max_regions=3, ax=axes())
        assert len(few.nodes) == 3
        assert few.n_not_shown == len(every.nodes) - 3
        sizes = sorted(node.n_records for node in every.nodes)
        assert sorted(node.n_records for node in few.nodes) == sizes[-3:]
        assert str(few.n_not_shown) in few.ax_.get_legend().get_title().get_text()

    def test_classes_of_a_data_set_overlap_as_its_landscape_says(self, iris):
        _, X, y = iris
        view = landscape(X, y)
        display = LandscapeDisplay.from_landscape(view, ax=axes())
        pairs = view.pairs[view.pairs.ellipsoids_meet]
        frame = display.frame()
        assert frame[["a", "b"]].to_numpy().tolist() == pairs[["class_a", "class_b"]].to_numpy().tolist()
        assert frame.n_common.tolist() == (pairs.n_inside_a + pairs.n_inside_b).tolist()
        assert frame.ovl.tolist() == pairs.ovl.tolist()

    def test_nothing_to_overlap_is_no_error(self):
        with warns("too-few-points", regions="0, 1", n_features=6):
            clf = SEPClassifier().fit(np.eye(6)[:4], [0, 0, 1, 1])
        display = LandscapeDisplay.from_estimator(clf, ax=axes())
        assert len(display.frame()) == len(display.frame("regions")) == 0
        assert display.ax_.get_legend().get_title().get_text()

    def test_bad_requests_are_refused(self, moons, iris):
        with raises("not-a-positive-integer", name="max_regions", value=1.5):
            LandscapeDisplay.from_estimator(moons[0], max_regions=1.5)
        with raises("landscape-part", part="nodes"):
            LandscapeDisplay.from_estimator(moons[0], ax=axes()).frame("nodes")
        ensemble = SEPEnsembleClassifier(n_estimators=1).fit(iris[1], iris[2])
        with raises("display-needs-partition", display="LandscapeDisplay"):
            LandscapeDisplay.from_estimator(ensemble)
