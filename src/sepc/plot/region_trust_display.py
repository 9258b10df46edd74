"""RegionTrustDisplay: records of each label in each region, and the trust there."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray
from sepc.estimators.ensemble.ensemble_classifier import SEPEnsembleClassifier
from sepc.model.decision import HELD_OUT_METHODS
from sepc.plot.base import Display
from sepc.plot.scores import assessed, labels_of, last_step, partitioned, require_positive
from sepc.plot.style import GREY, TINY, Style, class_styles, height_of, label_axes, short


@dataclass(eq=False, repr=False)
class RegionTrustDisplay(Display):
    """Number of points of each label in each region as bars, and the trust there as a line.

    Parameters
    ----------
    regions : sequence of str
    counts : ndarray of shape (n_regions, n_groups)
        Points of each group in each region.
    trust : ndarray of shape (n_regions,)
        Mean trust in the labels there.
    groups : sequence of labels
        The classes, and "other labels" if those are not distinguished.
    classes : ndarray of shape (n_classes,)
    counted : str
        Title of the axis of counts.

    Attributes
    ----------
    ax_, trust_ax_ : matplotlib Axes
        Of the bars, and of the line.
    figure_ : matplotlib Figure
    bars_ : list of matplotlib BarContainer
        One for each group.
    line_ : matplotlib Line2D

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["a"] * 3 + ["b"] * 3)
    >>> RegionTrustDisplay.from_estimator(clf, ax=Figure().subplots()).frame().round(2)
      region  n  n_a  n_b  trust
    0    b#1  3    0    3    0.8
    1    a#1  3    3    0    0.8
    """

    regions: list[str]
    counts: NDArray[np.int64]
    trust: FloatArray
    groups: list[Any]
    classes: NDArray[Any]
    counted: str

    @classmethod
    def from_estimator(cls, clf: Any, X: Any = None, y: Any = None, *, max_regions: int = 12, ax: Any = None) -> Self:
        """Show the regions of a classifier, the most trusted first.

        Parameters
        ----------
        clf : SEPClassifier or SEPEnsembleClassifier
            Fitted; or a pipeline that ends in one.
        X : array-like of shape (n, n_features), optional
            Points to count, each in the region that decides its label; the trust is their mean trust. Without them,
            the counts and the trust are those of `SEPClassifier.regions`: counts of training points, and the trust
            that the region has by itself.
        y : array-like of shape (n,), optional
            Their true labels.
        max_regions : int, default=12
            Number of regions to draw, those with the most points; the others are pooled in one more, "others".
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> X, y = [[1.0], [1.5], [7.0]], [0, 1, 1]
        >>> display = RegionTrustDisplay.from_estimator(clf, X, y, ax=Figure().subplots())
        >>> display.regions, display.counts.tolist()
        (['1#1', '0#1'], [[0, 1], [1, 1]])
        """
        require_positive(max_regions, "max_regions")
        if (X is None) != (y is None):
            raise InputError("only-one-of-X-and-y")
        arguments = _of_training(clf, cls.__name__) if X is None else _of_points(clf, X, y, cls.__name__)
        return cls(*arguments)._pooled(max_regions).plot(ax)

    def frame(self) -> Any:
        """Return one row per region: number of points, of all labels and of each, and the trust.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> counts, trust, classes = np.array([[3, 1]]), np.array([0.8]), np.array(["a", "b"])
        >>> RegionTrustDisplay(["a#1"], counts, trust, ["a", "b"], classes, "points").frame()
          region  n  n_a  n_b  trust
        0    a#1  4    3    1    0.8
        """
        by_group = {f"n_{group}": self.counts[:, k] for k, group in enumerate(self.groups)}
        return FrameMaker().frame(
            {"region": self.regions, "n": self.counts.sum(axis=1), **by_group, "trust": self.trust}
        )

    def _pooled(self, n: int) -> Self:
        """Keep the n regions with the most points, the most trusted first; pool the others at the end."""
        size = self.counts.sum(axis=1)
        by_size = np.lexsort((self.regions, -size))
        kept, rest = by_size[:n], by_size[n:]
        kept = kept[np.lexsort((-size[kept], -self.trust[kept]))]
        regions, counts, trust = [self.regions[k] for k in kept], self.counts[kept], self.trust[kept]
        if len(rest):
            weights = size[rest] if size[rest].any() else None
            regions.append(f"others ({len(rest)})")
            counts = np.vstack([counts, self.counts[rest].sum(axis=0)])
            trust = np.append(trust, np.average(self.trust[rest], weights=weights))
        return replace(self, regions=regions, counts=counts, trust=trust)

    def _draw(self, ax: Any) -> None:
        at = np.arange(len(self.regions))
        self.bars_ = self._draw_bars(at)
        self.trust_ax_ = ax.twinx()
        (self.line_,) = self.trust_ax_.plot(
            at, self.trust, "o-", color="black", markersize=4, markerfacecolor="white", linewidth=1.2, label="trust"
        )
        label_axes(ax, "region", self.counted)
        label_axes(self.trust_ax_, "", "trust")
        ax.set_xticks(at, [short(name) for name in self.regions], rotation=90)
        self._draw_legend()

    def _draw_bars(self, at: NDArray[np.int64]) -> list[Any]:
        styles = class_styles(self.classes)
        bars, below = [], np.zeros(len(at))
        for group, n in zip(self.groups, self.counts.T, strict=True):
            look = styles.get(group, Style(GREY, "", "", "xxx"))
            bars.append(
                self.ax_.bar(
                    at,
                    n,
                    0.8,
                    below,
                    color=look.colour,
                    hatch=look.hatch,
                    edgecolor="white",
                    linewidth=0.5,
                    label=short(group),
                )
            )
            below = below + n
        return bars

    def _draw_legend(self) -> None:
        """Put the legend above the bars and the line; the limits of the axes make room for it."""
        entries = [*self.bars_, self.line_]
        longest = max(len(short(group)) for group in self.groups)
        columns = 4 if longest <= 5 else 3 if longest <= 12 else 2
        look = {"fontsize": TINY, "frameon": False, "borderaxespad": 0.2, "columnspacing": 1.2}
        legend = self.trust_ax_.legend(handles=entries, loc="upper center", ncols=columns, **look)
        room = 1.06 / (1.0 - height_of(legend, self.ax_))
        self.ax_.set_ylim(0.0, room * max(self.counts.sum(axis=1).max(), 1))
        self.trust_ax_.set(ylim=(0.0, room), yticks=np.linspace(0.0, 1.0, 6))


def _of_points(clf: Any, X: Any, y: Any, display: str) -> tuple[Any, ...]:
    """Count points by their deciding regions and true labels."""
    assessment, classes = assessed(clf, X, display), clf.classes_
    codes = labels_of(y, len(assessment), classes)
    regions, where = np.unique(assessment.region.astype(str), return_inverse=True)
    counts = np.zeros((len(regions), len(classes)), dtype=np.int64)
    np.add.at(counts, (where, codes), 1)
    trust = np.bincount(where, weights=assessment.trust) / counts.sum(axis=1)
    return regions.tolist(), counts, trust, classes.tolist(), classes, "points in the region"


def _of_training(clf: Any, display: str) -> tuple[Any, ...]:
    """Take the counts of training points from `regions`; of one-vs-rest problems, not the regions of the rest."""
    if isinstance(last_step(clf), SEPEnsembleClassifier):
        raise InputError("ensemble-needs-points")
    fitted = partitioned(clf, display)
    regions, classes = fitted.regions(), fitted.classes_
    names, labels, own, others, trust = (
        np.asarray(regions[column]) for column in ("region", "label", "n_label", "n_others", "trust")
    )
    number = {str(label): k for k, label in enumerate(classes.tolist())}
    kept = np.flatnonzero([label in number for label in labels])
    codes = np.array([number[label] for label in labels[kept]], dtype=np.int64)
    binary = len(classes) == 2
    counts = np.zeros((len(kept), len(classes) + (not binary)), dtype=np.int64)
    counts[np.arange(len(kept)), codes] = own[kept]
    counts[np.arange(len(kept)), 1 - codes if binary else len(classes)] = others[kept]
    groups = classes.tolist() if binary else [*classes.tolist(), "other labels"]
    what = "held-out training points" if fitted.trust in HELD_OUT_METHODS else "training points"
    return names[kept].tolist(), counts, trust[kept].astype(float), groups, classes, f"{what} in the region"
