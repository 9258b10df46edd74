"""Laws of all displays: given axes are used, classes look the same everywhere, and names are text."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from drawings import axes
from matplotlib.colors import to_rgb
from sklearn.datasets import make_moons
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SepcError, SEPClassifier, SEPEnsembleClassifier, TrustedClassifier, make_table_pipeline
from sepc.plot import (
    ConfusionDisplay,
    ExplanationDisplay,
    LandscapeDisplay,
    PartitionDisplay,
    PrecisionRecallDisplay,
    RegionTrustDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    RocDisplay,
)
from sepc.plot.style import class_styles


def every_display(clf, X, y, ax):
    """Yield a function for each display that draws it on what `ax` returns."""
    curves = (RiskCoverageDisplay, ReliabilityDisplay, RocDisplay, PrecisionRecallDisplay)
    for kind in (PartitionDisplay, RegionTrustDisplay, *curves, ConfusionDisplay):
        yield lambda kind=kind: kind.from_estimator(clf, X, y, ax=ax())
    yield lambda: LandscapeDisplay.from_estimator(clf, ax=ax())
    yield lambda: ExplanationDisplay.from_estimator(clf, X[:1], ax=ax())


class TestAllDisplays:
    @pytest.mark.slow
    def test_given_axes_are_used_and_nothing_else_changes(self, iris, pyplot):
        settings, figures = dict(mpl.rcParams), pyplot.get_fignums()
        for draw in every_display(*iris, axes):
            ax = axes()
            display = draw()
            assert display.plot(ax) is display
            assert display.ax_ is ax
            assert display.figure_ is ax.figure
        assert pyplot.get_fignums() == figures
        assert dict(mpl.rcParams) == settings

    def test_without_axes_there_is_a_new_figure(self, iris, pyplot):
        settings = dict(mpl.rcParams)
        for n, draw in enumerate(every_display(*iris, lambda: None), start=1):
            assert draw().figure_ is pyplot.gcf()
            assert len(pyplot.get_fignums()) == n
        assert dict(mpl.rcParams) == settings

    def test_around_another_model_they_show_its_labels_and_the_regions(self):
        X, y = make_moons(80, noise=0.2, random_state=0)
        for clf in (
            TrustedClassifier(LogisticRegression(), cv=2),
            make_pipeline(StandardScaler(), TrustedClassifier(LogisticRegression(), cv=2)),
        ):
            clf.fit(X, y)
            displays = {type(one).__name__: one for one in (draw() for draw in every_display(clf, X, y, axes))}
            trusted = clf[-1] if hasattr(clf, "steps") else clf
            assert "LogisticRegression" in displays["ExplanationDisplay"].rows
            assert len(displays["PartitionDisplay"].outlines) == len(trusted.regions())

    @pytest.mark.slow
    def test_the_same_class_has_the_same_colour_everywhere(self, iris):
        clf, X, y = iris
        styles = class_styles(clf.classes_)
        regions = PartitionDisplay.from_estimator(clf, ax=axes())
        bars = RegionTrustDisplay.from_estimator(clf, X, y, ax=axes())
        overlaps = LandscapeDisplay.from_estimator(clf, ax=axes())
        for k, (label, style) in enumerate(styles.items()):
            assert regions.points_[k].get_facecolor()[0, :3] == pytest.approx(to_rgb(style.colour))
            assert bars.bars_[k][0].get_facecolor()[:3] == pytest.approx(to_rgb(style.colour))
            node = next(n for n, drawn in zip(overlaps.nodes_, overlaps.nodes, strict=True) if drawn.label == label)
            assert node.get_facecolor()[0, :3] == pytest.approx(to_rgb(style.colour))

    @pytest.mark.slow
    def test_names_are_shown_as_text(self):
        X, y = make_moons(60, noise=0.2, random_state=0)
        labels = np.array(["_a$b", r"$\frac"])[y]
        table = pd.DataFrame(X, columns=[r"$\alpha", "_x"])
        clf = SEPClassifier().fit(table, labels)
        for draw in every_display(clf, table, labels, axes):
            draw().figure_.draw_without_rendering()
        display = PartitionDisplay.from_estimator(clf, ax=axes())
        entries = [text.get_text().strip().replace(r"\$", "$") for text in display.ax_.get_legend().get_texts()]
        assert set(entries) >= set(labels)

    def test_a_missing_matplotlib_is_named_with_its_remedy(self, moons, monkeypatch):
        clf, _, _ = moons
        for name in ("matplotlib", "matplotlib.axes"):
            monkeypatch.setitem(sys.modules, name, None)
        with raises("matplotlib-missing", SepcError, extra="plot"):
            PartitionDisplay.from_estimator(clf)

    def test_unfitted_classifiers_are_refused(self):
        from sklearn.exceptions import NotFittedError

        for kind in (PartitionDisplay, RegionTrustDisplay, LandscapeDisplay):
            with pytest.raises(NotFittedError):
                kind.from_estimator(SEPClassifier())

    @pytest.mark.slow
    def test_any_classifier_will_do_where_only_confidence_counts(self, iris):
        _, X, y = iris
        table_pipeline = make_table_pipeline().fit(X[::2], y[::2])
        models = [DummyClassifier(), LogisticRegression(max_iter=1000), SEPEnsembleClassifier(n_estimators=1)]
        for clf in [table_pipeline, *(model.fit(X[::2], y[::2]) for model in models)]:
            for kind in (RiskCoverageDisplay, ReliabilityDisplay, RocDisplay, PrecisionRecallDisplay, ConfusionDisplay):
                assert len(kind.from_estimator(clf, X[1::2], y[1::2], ax=axes()).frame()) > 0

    @pytest.mark.slow
    def test_polars_frames_work(self, iris):
        _, X, y = iris
        table = pl.DataFrame(X)
        clf = SEPClassifier().fit(table, y)
        for draw in every_display(clf, table, pl.Series(y), axes):
            assert len(draw().frame()) > 0
        assert RegionTrustDisplay.from_estimator(clf, ax=axes()).counts.sum() > 0

    @pytest.mark.first_use
    def test_matplotlib_is_loaded_by_drawing_alone(self):
        code = "import sys; from sepc.plot import PartitionDisplay; assert 'matplotlib' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)
