"""LandscapeDisplay: which regions, or which classes, overlap."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker, plain
from sepc.landscapes.data_landscape import DataLandscape
from sepc.landscapes.fitted_landscape import FittedLandscape
from sepc.plot.base import Display
from sepc.plot.scores import partitioned, require_positive
from sepc.plot.style import (
    TINY,
    Style,
    cell_size,
    class_styles,
    fitting_size,
    ink_on,
    pale,
    short,
)

# Cells of two regions that share all records.
_BETWEEN: dict[str, Any] = {"facecolor": (0.15, 0.15, 0.15), "edgecolor": "white", "linewidth": 0.8}
_WITHIN: dict[str, Any] = {"facecolor": (0.45, 0.45, 0.45), "edgecolor": "white", "linewidth": 0.8, "hatch": "///"}


class Node(NamedTuple):
    """A region, or a class: its name, its label, and its number of records."""

    name: str
    label: Any
    n_records: int


class Edge(NamedTuple):
    """Two nodes that overlap, by number; the number of records in both, and a measure of the overlap."""

    a: int
    b: int
    n_common: int
    overlap: float


@dataclass(eq=False, repr=False)
class LandscapeDisplay(Display):
    """Overlaps of the regions of a classifier, or of the classes of a data set.

    A triangle of cells. On the diagonal are the regions, sorted by label, the larger the more training records a region
    holds; that number is beside the name. The cell of two regions that overlap is filled, the darker the larger the
    share of the smaller one's records that both hold, and with their number where there is room; hatched if both have
    the same label. An empty cell stands for two regions that do not overlap.

    Parameters
    ----------
    nodes : sequence of Node
    edges : sequence of Edge
    classes : ndarray of shape (n_classes,)
    n_not_shown : int, default=0
        Number of regions that are not drawn.
    measure : str, default="margin"
        Meaning of `Edge.overlap`: "margin", that of `sepc.geometry.Separation` (-1 for a common centre, 0 for regions
        that only touch), or "ovl", the likeness of two classes (their overlapping coefficient).

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    nodes_ : list of matplotlib PathCollection
        In the order of `nodes`.
    edges_ : list of matplotlib Rectangle
        In the order of `edges`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sepc import SEPClassifier
    >>> X = [[0.0], [1.0], [2.0], [4.0], [3.0], [6.0], [8.0], [9.0]]
    >>> clf = SEPClassifier(n_imp=1).fit(X, ["low"] * 4 + ["high"] * 4)
    >>> display = LandscapeDisplay.from_estimator(clf, ax=Figure().subplots())
    >>> display.frame()[["a", "b", "n_common"]]
            a      b  n_common
    0  high#2  low#2         2
    """

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    classes: NDArray[Any]
    _: KW_ONLY
    n_not_shown: int = 0
    measure: str = "margin"

    @classmethod
    def from_estimator(cls, clf: Any, *, max_regions: int = 24, ax: Any = None) -> Self:
        """Show which regions of a classifier overlap, by its `landscape_`; of one-vs-rest problems not the rest's.

        Parameters
        ----------
        clf : SEPClassifier
            Fitted; or a pipeline that ends in one.
        max_regions : int, default=24
            Number of regions to draw, those with the most records.
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> LandscapeDisplay.from_estimator(clf, ax=Figure().subplots()).frame("regions")
          name  label  n_records
        0  0#1      0          3
        1  1#1      1          3
        """
        require_positive(max_regions, "max_regions")
        fitted = partitioned(clf, cls.__name__).landscape_
        every = _region_nodes(fitted)
        shown = set(sorted(every, key=lambda node: (-node.n_records, node.name))[:max_regions])
        nodes = [node for node in every if node in shown]
        edges = _edges(nodes, fitted.class_graph)
        return cls(nodes, edges, fitted.model.classes, n_not_shown=len(every) - len(nodes)).plot(ax)

    @classmethod
    def from_landscape(cls, view: DataLandscape, *, ax: Any = None) -> Self:
        """Show which classes of a data set overlap, each as its minimum-volume ellipsoid.

        `n_common` counts the records of two classes that lie in both ellipsoids.

        Parameters
        ----------
        view : DataLandscape
            As `sepc.landscape` returns it.
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import landscape
        >>> view = landscape([[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [6.0]], ["low"] * 4 + ["high"] * 3)
        >>> LandscapeDisplay.from_landscape(view, ax=Figure().subplots()).frame()[["a", "b", "n_common"]]
              a    b  n_common
        0  high  low         2
        """
        labels = [plain(note.label) for note in view.notes]
        number = {label: k for k, label in enumerate(labels)}
        edges = [
            Edge(number[plain(pair.class_a)], number[plain(pair.class_b)], sum(pair.n_inside), pair.ovl)
            for pair in view.overlaps
            if pair.ellipsoids_meet
        ]
        nodes = [Node(str(label), label, note.n_records) for label, note in zip(labels, view.notes, strict=True)]
        return cls(nodes, edges, np.array(labels), measure="ovl").plot(ax)

    def frame(self, part: str = "overlaps") -> Any:
        """Return the numbers behind the picture.

        Parameters
        ----------
        part : {"overlaps", "regions"}, default="overlaps"
            One row per filled cell, or one row per region.

        Returns
        -------
        pandas.DataFrame
            Of overlaps: the two names, whether they have the same label, the number of records that both hold, and how
            far they overlap (`measure`). Of regions: name, label, number of records.

        Examples
        --------
        >>> nodes = Node("a#1", "a", 12), Node("b#1", "b", 9)
        >>> LandscapeDisplay(nodes, [Edge(0, 1, 3, -0.2)], np.array(["a", "b"])).frame()
             a    b  same_label  n_common  margin
        0  a#1  b#1       False         3    -0.2
        """
        if part not in ("overlaps", "regions"):
            raise InputError("landscape-part", part=part)
        if part == "regions":
            columns = zip(*self.nodes, strict=True) if self.nodes else ([], [], [])
            return FrameMaker().frame(dict(zip(("name", "label", "n_records"), map(list, columns), strict=True)))
        pairs = [(self.nodes[edge.a], self.nodes[edge.b]) for edge in self.edges]
        return FrameMaker().frame(
            {
                "a": [a.name for a, _ in pairs],
                "b": [b.name for _, b in pairs],
                "same_label": [a.label == b.label for a, b in pairs],
                "n_common": [edge.n_common for edge in self.edges],
                self.measure: [edge.overlap for edge in self.edges],
            }
        )

    def _draw(self, ax: Any) -> None:
        n, styles = len(self.nodes), class_styles(self.classes)
        ax.set(xlim=(-0.5, max(n, 1) - 0.5), ylim=(max(n, 1) - 0.5, -0.5))
        ax.set_xticks(range(n), [short(node.name) for node in self.nodes], rotation=90, fontsize=TINY)
        ax.set_yticks(range(n), [f"{short(node.name)} ({node.n_records})" for node in self.nodes], fontsize=TINY)
        ax.tick_params(length=0.0)
        ax.spines[["top", "right"]].set_visible(False)
        self.edges_ = [self._draw_edge(edge) for edge in self.edges]
        cell = cell_size(ax, max(n, 1), max(n, 1))
        self.nodes_ = [self._draw_node(k, node, styles[node.label], cell) for k, node in enumerate(self.nodes)]
        self._draw_numbers(cell)
        self._draw_legend()

    def _draw_node(self, k: int, node: Node, look: Style, cell: tuple[float, float]) -> Any:
        """Draw one region on the diagonal; the largest one fills its cell."""
        most = max(1, *(other.n_records for other in self.nodes))
        area = (0.75 * min(*cell, 24.0)) ** 2 * max(node.n_records / most, 0.04)
        return self.ax_.scatter(k, k, s=area, color=look.colour, marker=look.marker, linewidths=0.0)

    def _draw_edge(self, edge: Edge) -> Any:
        from matplotlib.patches import Rectangle

        a, b = self.nodes[edge.a], self.nodes[edge.b]
        share = min(edge.n_common / max(min(a.n_records, b.n_records), 1), 1.0)
        look = _WITHIN if a.label == b.label else _BETWEEN
        place = min(edge.a, edge.b) - 0.5, max(edge.a, edge.b) - 0.5
        colour = pale(np.array(look["facecolor"]), 0.15 + 0.85 * share)
        return self.ax_.add_patch(Rectangle(place, 1.0, 1.0, **{**look, "facecolor": colour}))

    def _draw_numbers(self, cell: tuple[float, float]) -> None:
        """Write the number of records in two regions into their cell, if that is large enough to be read."""
        longest = max((len(str(edge.n_common)) for edge in self.edges), default=1)
        size = fitting_size(cell, longest)
        if size < 4.5:  # too small to read, in points
            return
        for edge, patch in zip(self.edges, self.edges_, strict=True):
            ink, place = ink_on(np.array(patch.get_facecolor()[:3])), (min(edge[:2]), max(edge[:2]))
            box = {"facecolor": patch.get_facecolor(), "edgecolor": "none", "pad": 0.2}
            self.ax_.text(*place, str(edge.n_common), color=ink, fontsize=size, ha="center", va="center", bbox=box)

    def _draw_legend(self) -> None:
        """Put the legend into the half above the diagonal, which is empty."""
        from matplotlib.patches import Patch

        kinds = {self.nodes[edge.a].label == self.nodes[edge.b].label for edge in self.edges}
        looks = {"overlap of two labels": _BETWEEN, "overlap within a label": _WITHIN}
        entries = [Patch(label=name, **look) for name, look in looks.items() if (look is _WITHIN) in kinds]
        one = self.n_not_shown == 1
        title = None if entries else "no overlaps"
        if self.n_not_shown:
            title = f"{self.n_not_shown} smaller {'region is' if one else 'regions are'} not shown"
        small = {"fontsize": TINY, "title_fontsize": TINY, "frameon": False}
        self.ax_.legend(handles=entries, loc="upper right", title=title, **small)


def _region_nodes(fitted: FittedLandscape) -> list[Node]:
    """Return the regions of classes, class by class, the largest first."""
    classes = {str(label): label for label in fitted.model.classes.tolist()}
    table = fitted.regions
    columns = (np.asarray(table[name]).tolist() for name in ("region", "label", "n_label", "n_others"))
    nodes = [
        Node(name, classes[label], own + others)
        for name, label, own, others in zip(*columns, strict=True)
        if label in classes
    ]
    order = list(classes.values())
    return sorted(nodes, key=lambda node: (order.index(node.label), -node.n_records, node.name))


def _edges(nodes: Sequence[Node], table: Any) -> list[Edge]:
    number = {node.name: k for k, node in enumerate(nodes)}
    columns = (np.asarray(table[name]).tolist() for name in ("region_a", "region_b", "n_common", "margin"))
    return [
        Edge(number[a], number[b], n_common, overlap)
        for a, b, n_common, overlap in zip(*columns, strict=True)
        if a in number and b in number
    ]
