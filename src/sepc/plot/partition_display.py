"""PartitionDisplay: the regions of a classifier, as ellipses in a plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import has_gaps
from sepc.estimators.classifier import SEPClassifier
from sepc.plot.base import Display
from sepc.plot.planes import Line, Outline, Plane, class_regions, isolated_points, lines, plane_of
from sepc.plot.scores import features_of, labels_of, partitioned
from sepc.plot.style import (
    GREY,
    TINY,
    Style,
    class_styles,
    into_emptiest_place,
    label_axes,
    legend_entry,
    pale,
    settle,
    short,
)

_N_GRID = 240
# How isolated points and hyperplanes look.
_STAR = {"marker": "*", "markersize": 7, "markeredgecolor": "black", "markeredgewidth": 0.7}
_DOTTED = {"linestyle": (0, (1, 1.5)), "linewidth": 0.9}


class Shading(NamedTuple):
    """Labels (numbers of classes) and trust on a grid, both of shape (n, n), the rows along y."""

    x: FloatArray
    y: FloatArray
    label: IntArray
    trust: FloatArray


@dataclass(eq=False, repr=False, kw_only=True)
class PartitionDisplay(Display):
    """The regions of a `SEPClassifier` as ellipses in a plane, with points; made by `from_estimator`.

    Parameters
    ----------
    outlines : sequence of Outline
        One ellipse for each region of a class.
    points : ndarray of shape (n, 2)
        In units of the plot.
    codes : ndarray of int, shape (n,), or None
        Their classes, as numbers; None if they are not known.
    isolated : sequence of (ndarray of shape (2,), label)
        Training points in no ellipsoid.
    classes : ndarray of shape (n_classes,)
    axis_names : pair of str
    lines : sequence of Line
        Hyperplanes.
    shading : Shading or None
    limits : pair of (low, high), optional
        Of both axes; by default all that is drawn has room.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    ellipses_ : list of matplotlib Line2D
        In the order of `outlines`.
    points_ : list of matplotlib PathCollection
        One for each class.
    lines_ : list of matplotlib Line2D
    names_ : list of matplotlib Text

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SEPClassifier().fit(X, y)
    >>> display = PartitionDisplay.from_estimator(
    ...     clf, features=("petal length (cm)", "petal width (cm)"), ax=Figure().subplots()
    ... )
    >>> display.frame()[["region", "label", "n_points", "x", "x_reach"]].head(1).round(2)
      region  label  n_points    x  x_reach
    0    0#1      0        50  1.4     0.63
    """

    outlines: Sequence[Outline]
    points: FloatArray
    codes: IntArray | None
    isolated: Sequence[tuple[FloatArray, Any]]
    classes: NDArray[Any]
    axis_names: tuple[str, str]
    lines: Sequence[Line] = ()
    shading: Shading | None = None
    limits: tuple[tuple[float, float], tuple[float, float]] | None = None

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any = None,
        y: Any = None,
        *,
        features: Any = None,
        hyperplanes: bool = False,
        shade: bool = False,
        n_names: int = 6,
        ax: Any = None,
    ) -> Self:
        """Show the regions of a classifier.

        Ellipsoids of more than two features are projected onto the plane: a point outside of a projection is outside
        of the ellipsoid, but one inside of it need not be inside.

        Parameters
        ----------
        clf : SEPClassifier
            Fitted; or a pipeline that ends in one.
        X : array-like of shape (n, n_features), optional
            Points to draw. By default the training points, if the classifier has them (see `sepc.save`).
        y : array-like of shape (n,), optional
            Their labels; without them they are grey.
        features : pair of int or str, "principal" or None, default=None
            The axes: two features, by number or name, in their original units; or the first two principal components
            of the training points, in the classifier's units, with their shares of the variance. By default both
            features if there are two, else the principal components.
        hyperplanes : bool, default=False
            Whether to draw the hyperplanes between the labels, of two features only.
        shade : bool, default=False
            Whether to colour the background by label, the paler the lower the trust; of two features only.
        n_names : int, default=6
            Number of the largest regions to name; names without room are not drawn.
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sklearn.datasets import make_moons
        >>> from sepc import SEPClassifier
        >>> X, y = make_moons(200, noise=0.1, random_state=0)
        >>> clf = SEPClassifier().fit(X, y)
        >>> display = PartitionDisplay.from_estimator(clf, shade=True, hyperplanes=True, ax=Figure().subplots())
        >>> len(display.ellipses_) == len(clf.regions())
        True
        """
        fitted = partitioned(clf, cls.__name__)
        model = fitted.model_
        shown, codes = _shown(clf, fitted, X, y)
        plane = plane_of(model, features, shown if model.records is None else model.points)
        _require_two_features(fitted, hyperplanes=hyperplanes, shade=shade)
        classes = model.classes.tolist()
        display = cls(
            outlines=[
                Outline(name, classes[k], len(block.members), *plane.project(block.ellipsoid))
                for name, k, block in class_regions(fitted)
            ],
            points=plane.place(shown),
            codes=codes,
            isolated=[(plane.place(point), label) for point, label in isolated_points(model)],
            classes=model.classes,
            axis_names=plane.names,
            lines=list(lines(fitted, plane)) if hyperplanes else (),
        )
        if shade:
            display.shading = display._shading(fitted, plane)
        return display.plot(ax, n_names=n_names)

    def plot(self, ax: Any = None, *, n_names: int = 6, legend: bool = True) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        n_names : int, default=6
            Number of the largest regions to name; names without room are not drawn.
        legend : bool, default=True

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import SEPClassifier
        >>> X = [[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0], [7.0, 0.0], [9.0, 0.0], [7.0, 2.0], [9.0, 2.0]]
        >>> display = PartitionDisplay.from_estimator(SEPClassifier().fit(X, [0] * 4 + [1] * 4), ax=Figure().subplots())
        >>> [name.get_text() for name in display.plot(Figure().subplots(), n_names=1).names_]
        ['0#1']
        """
        ax = self._on(ax)
        styles = class_styles(self.classes)
        x_limits, y_limits = self._limits()
        ax.set(xlim=x_limits, ylim=y_limits)
        if self.shading is not None:
            self._draw_shading(self.shading, styles)
        self._draw_lines(styles, x_limits, y_limits)
        self._draw_points(styles)
        self.ellipses_ = [
            ax.plot(*o.curve().T, color=styles[o.label].colour, linestyle=styles[o.label].line, linewidth=1.2)[0]
            for o in self.outlines
        ]
        label_axes(ax, *self.axis_names)
        if legend:
            self._draw_legend(styles)
        self._draw_names(styles, n_names)
        return self

    def frame(self) -> Any:
        """Return one row per ellipse.

        Returns
        -------
        pandas.DataFrame
            `n_points` are the training points that it was built on. The ellipse is the set of points at z from its
            center (`x`, `y`) with ``z @ inv(S) @ z <= 1``, for S with the diagonal ``x_reach**2``, ``y_reach**2`` and
            ``x_reach * y_reach * correlation`` beside it.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import SEPClassifier
        >>> X = [[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0], [7.0, 0.0], [9.0, 0.0], [7.0, 2.0], [9.0, 2.0]]
        >>> clf = SEPClassifier().fit(X, [0] * 4 + [1] * 4)
        >>> display = PartitionDisplay.from_estimator(clf, ax=Figure().subplots())
        >>> display.frame()[["region", "x", "y", "x_reach"]].round(2)
          region    x    y  x_reach
        0    0#1  1.0  2.0     1.41
        1    1#1  8.0  1.0     1.41
        """
        reach = [o.reach for o in self.outlines]
        shared = [float((o.factor @ o.factor.T)[0, 1]) for o in self.outlines]
        return FrameMaker().frame(
            {
                "region": [o.region for o in self.outlines],
                "label": [o.label for o in self.outlines],
                "n_points": [o.n_points for o in self.outlines],
                "x": [float(o.center[0]) for o in self.outlines],
                "y": [float(o.center[1]) for o in self.outlines],
                "x_reach": [float(r[0]) for r in reach],
                "y_reach": [float(r[1]) for r in reach],
                "correlation": [s / float(r[0] * r[1]) for s, r in zip(shared, reach, strict=True)],
            }
        )

    def _limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        if self.limits is not None:
            return self.limits
        corners = [o.center + sign * o.reach for o in self.outlines for sign in (-1.0, 1.0)]
        everything = np.vstack([self.points, *corners, *(point for point, _ in self.isolated)])
        low, high = everything.min(axis=0), everything.max(axis=0)
        room = 0.05 * np.where(high > low, high - low, 1.0)
        (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
        return (left, right), (bottom, top)

    def _shading(self, clf: SEPClassifier, plane: Plane) -> Shading:
        x, y = (np.linspace(*limits, _N_GRID) for limits in self._limits())
        places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        decision = clf.model_.decide_in_units(plane.back(places))
        return Shading(x, y, decision.label.reshape(_N_GRID, _N_GRID), decision.trust.reshape(_N_GRID, _N_GRID))

    def _draw_shading(self, shading: Shading, styles: dict[Any, Style]) -> None:
        from matplotlib.colors import to_rgb

        x, y, label, trust = shading
        colours = np.array([to_rgb(s.colour) for s in styles.values()])
        chance = 1.0 / len(colours)
        depth = 0.05 + 0.4 * np.clip((trust - chance) / (1.0 - chance), 0.0, 1.0)
        image = pale(colours[label], depth[..., None])
        limits = {"extent": (x[0], x[-1], y[0], y[-1]), "aspect": self.ax_.get_aspect()}
        self.ax_.imshow(image, origin="lower", interpolation="nearest", zorder=0, **limits)

    def _draw_lines(
        self, styles: dict[Any, Style], x_limits: tuple[float, float], y_limits: tuple[float, float]
    ) -> None:
        self.lines_ = [
            self.ax_.plot(
                *line.across(x_limits, y_limits).T,
                color=GREY if line.label is None else styles[line.label].colour,
                **_DOTTED,
            )[0]
            for line in self.lines
        ]

    def _draw_points(self, styles: dict[Any, Style]) -> None:
        look = {"linewidths": 0.3, "edgecolors": "white", "rasterized": True}
        if self.codes is None:
            self.points_ = [self.ax_.scatter(*self.points.T, s=9, color=GREY, marker=".", **look)]
        else:
            self.points_ = [
                self.ax_.scatter(*self.points[self.codes == k].T, s=11, color=s.colour, marker=s.marker, **look)
                for k, s in enumerate(styles.values())
            ]
        for point, label in self.isolated:
            colour = GREY if label is None else styles[label].colour
            self.ax_.plot(*point, color=colour, **_STAR)

    def _draw_legend(self, styles: dict[Any, Style]) -> None:
        entries = [
            legend_entry(c, color=s.colour, marker=s.marker, linestyle=s.line, markersize=4, linewidth=1.2)
            for c, s in styles.items()
        ]
        if self.isolated:
            entries.append(legend_entry("isolated", color=GREY, linestyle="", **_STAR))
        if self.lines:
            entries.append(legend_entry("hyperplane", color=GREY, **_DOTTED))
        crowd = np.vstack([self.points, *(o.curve() for o in self.outlines)])
        look = {"fontsize": TINY, "framealpha": 0.8, "handlelength": 2.4, "ncols": 1 if len(entries) < 6 else 2}
        into_emptiest_place(self.ax_.legend(handles=entries, loc="upper right", **look), self.ax_, crowd)

    def _draw_names(self, styles: dict[Any, Style], n_names: int) -> None:
        """Name the largest regions, each at the first of a few places that no other name takes."""
        self.names_: list[Any] = []
        if self.figure_.figure.get_layout_engine() is None:  # the axes stay where they are
            self.ax_.apply_aspect()
        else:
            settle(self.ax_)
        for o in sorted(self.outlines, key=lambda o: -o.n_points)[:n_names]:
            text = self.ax_.text(
                *o.center,
                short(o.region),
                color=styles[o.label].colour,
                fontsize=TINY,
                weight="bold",
                ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
            )
            taken = [other.get_window_extent() for other in self.names_]
            low, high = np.transpose(self._limits())
            for place in (o.center, *o.curve()[:-1:32]):
                text.set_position(place)
                inside = bool(((low <= place) & (place <= high)).all())
                if inside and not any(text.get_window_extent().overlaps(other) for other in taken):
                    self.names_.append(text)
                    break
            else:
                text.remove()


def _shown(clf: Any, fitted: SEPClassifier, X: Any, y: Any) -> tuple[FloatArray, IntArray | None]:
    """Return the points to draw, in the model's units, and their classes as numbers; none with missing values."""
    if X is None:
        if y is not None:
            raise InputError("y-without-X")
        records = fitted.model_.records
        if records is None:
            return np.empty((0, fitted.n_features_in_)), np.empty(0, int)
        return _with_a_place(records.as_they_came, records.codes)
    points = fitted.model_.units(features_of(clf, X))
    return _with_a_place(points, None if y is None else labels_of(y, len(points), fitted.classes_))


def _with_a_place(points: FloatArray, codes: IntArray | None) -> tuple[FloatArray, IntArray | None]:
    """Return the points that have all their values, and their classes."""
    if not has_gaps(points):
        return points, codes
    whole = ~np.isnan(points).any(axis=1)
    return points[whole], None if codes is None else codes[whole]


def _require_two_features(clf: SEPClassifier, **options: bool) -> None:
    wanted = [name for name, value in options.items() if value]
    if wanted and clf.n_features_in_ != 2:
        raise InputError("display-needs-plane", name=wanted[0], n_features=clf.n_features_in_)
