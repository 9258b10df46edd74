"""Laws of RegionTrustDisplay: counts and trusts are those of the regions."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from drawings import axes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.plot import RegionTrustDisplay


class TestRegionTrust:
    def test_points_are_counted_by_deciding_region_and_label(self, cancer):
        clf, X, y = cancer
        display = RegionTrustDisplay.from_estimator(clf, X[1::2], y[1::2], max_regions=1000, ax=axes())
        a = clf.assess(X[1::2])
        expected = pd.crosstab(a.region, y[1::2])
        frame = display.frame().set_index("region")
        assert frame[["n_benign", "n_malignant"]].to_numpy().tolist() == expected.loc[frame.index].to_numpy().tolist()
        mean = pd.Series(a.trust).groupby(a.region).mean()
        assert frame.trust.to_numpy() == pytest.approx(mean.loc[frame.index].to_numpy())
        assert (np.diff(display.trust) <= 0.0).all()
        assert display.line_.get_ydata() == pytest.approx(display.trust)
        heights = np.array([[bar.get_height() for bar in bars] for bars in display.bars_]).T
        assert heights.tolist() == display.counts.tolist()

    def test_without_points_it_shows_the_table_of_regions(self, cancer):
        clf, _, _ = cancer
        frame = RegionTrustDisplay.from_estimator(clf, ax=axes()).frame().set_index("region")
        table = clf.regions().set_index("region").loc[frame.index]
        own = [frame.loc[name, f"n_{label}"] for name, label in table.label.items()]
        assert own == table.n_label.tolist()
        assert (frame.n - own).tolist() == table.n_others.tolist()
        assert frame.trust.tolist() == table.trust.tolist()

    def test_of_several_classes_the_regions_of_rests_are_left_out(self, iris):
        clf, _, _ = iris
        display = RegionTrustDisplay.from_estimator(clf, ax=axes())
        table = clf.regions()
        table = table[~table.label.str.startswith("not ")].set_index("region")
        assert set(display.regions) == set(table.index)
        frame = display.frame().set_index("region").loc[table.index]
        assert frame["n_other labels"].tolist() == table.n_others.tolist()

    @pytest.mark.slow
    def test_the_rest_is_pooled(self, moons):
        clf, X, y = moons
        every = RegionTrustDisplay.from_estimator(clf, X, y, max_regions=1000, ax=axes())
        few = RegionTrustDisplay.from_estimator(clf, X, y, max_regions=3, ax=axes())
        assert len(few.regions) == 4
        assert few.regions[-1] == f"others ({len(every.regions) - 3})"
        assert few.counts.sum(axis=0).tolist() == every.counts.sum(axis=0).tolist() == np.bincount(y).tolist()
        sizes = [display.counts.sum(axis=1) for display in (few, every)]
        assert few.trust @ sizes[0] == pytest.approx(every.trust @ sizes[1])
        assert sorted(sizes[0][:-1]) == sorted(sizes[1])[-3:]

    @pytest.mark.slow
    def test_ensembles_need_points(self, iris):
        _, X, y = iris
        clf = SEPEnsembleClassifier(n_estimators=2).fit(X[::2], y[::2])
        display = RegionTrustDisplay.from_estimator(clf, X[1::2], y[1::2], max_regions=5, ax=axes())
        assert display.counts.sum() == 75
        with raises("ensemble-needs-points"):
            RegionTrustDisplay.from_estimator(clf, ax=axes())

    @pytest.mark.slow
    def test_pipelines_are_looked_into(self, cancer):
        _, X, y = cancer
        pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
        display = RegionTrustDisplay.from_estimator(pipeline, X, y, ax=axes())
        assert display.counts.sum() == len(X)

    def test_bad_requests_are_refused(self, moons, forest):
        clf, X, y = moons
        with raises("only-one-of-X-and-y"):
            RegionTrustDisplay.from_estimator(clf, X)
        with raises("not-a-positive-integer", name="max_regions", value=0):
            RegionTrustDisplay.from_estimator(clf, X, y, max_regions=0)
        with raises("display-needs-regions", type="RandomForestClassifier"):
            RegionTrustDisplay.from_estimator(forest, X, y)
