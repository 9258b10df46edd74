"""LandscapeDisplay: which regions, or which classes, overlap."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.errors import InputError
from sepc.frames import FrameMaker, plain
from sepc.geometry._checks import FloatArray
from sepc.landscapes import Landscape
from sepc.plot.scores import partitioned, require_positive
from sepc.plot.style import TINY, Style, axes_for, class_styles, height_of, legend_entry, short
from sepc.terrain import Terrain

# Area of the largest node, in points squared; width of the strongest edge, in points.
_NODE, _EDGE = 200.0, 5.0
# So few edges show how many records are shared; so many nodes have their names along the radius.
_FEW, _MANY = 10, 14
_BETWEEN = {"color": "0.25", "linestyle": "-"}
_WITHIN = {"color": "0.65", "linestyle": "--"}


class Node(NamedTuple):
    """A region, or a class: its name, its label, and how many records it holds.

    Examples
    --------
    >>> Node("a#1", "a", 12).n_records
    12
    """

    name: str
    label: Any
    n_records: int


class Edge(NamedTuple):
    """Two nodes that overlap, by number; how many records both hold, and how far they overlap.

    Examples
    --------
    >>> Edge(0, 1, 3, -0.2).n_common
    3
    """

    a: int
    b: int
    n_common: int
    overlap: float


class LandscapeDisplay:
    """Which regions of a classifier, or which classes of a data set, overlap.

    Nodes on a circle, sorted by label, the larger the more training records a region holds. A line joins two that
    overlap, the wider the larger the share of the smaller one's records that both hold; dark between different labels,
    pale and dashed within one label. Up to 10 lines carry the number of records that both hold.

    Parameters
    ----------
    nodes : sequence of Node
    edges : sequence of Edge
    classes : ndarray of shape (n_classes,)
    n_left_out : int, default=0
        How many regions are not shown.
    measure : str, default="margin"
        What `Edge.overlap` is: "margin", that of `sepc.Separation` (-1 for a common centre, 0 for regions that only
        touch), or "ovl", the overlapping coefficient of two classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    nodes_ : list of matplotlib PathCollection
        In the order of `nodes`.
    edges_ : list of matplotlib Line2D
        In the order of `edges`.
    names_ : list of matplotlib Text

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

    def __init__(
        self,
        nodes: Sequence[Node],
        edges: Sequence[Edge],
        classes: NDArray[Any],
        *,
        n_left_out: int = 0,
        measure: str = "margin",
    ) -> None:
        self.nodes, self.edges, self.classes = tuple(nodes), tuple(edges), classes
        self.n_left_out, self.measure = n_left_out, measure

    @classmethod
    def from_estimator(cls, clf: Any, *, max_regions: int = 24, ax: Any = None) -> Self:
        """Show which regions of a classifier overlap, by its `landscape_`.

        With three or more classes, regions of rests ("not ...") are left out.

        Parameters
        ----------
        clf : SEPClassifier
            Fitted; or a pipeline that ends in one.
        max_regions : int, default=24
            How many regions to show, those with the most records.
        ax : matplotlib Axes, optional
            A new figure by default.

        Returns
        -------
        LandscapeDisplay
        """
        require_positive(max_regions, "max_regions")
        terrain = partitioned(clf, cls.__name__).landscape_
        every = _region_nodes(terrain)
        shown = set(sorted(every, key=lambda node: (-node.n_records, node.name))[:max_regions])
        nodes = [node for node in every if node in shown]
        edges = _edges(nodes, terrain.class_graph, "region_a region_b n_common margin")
        return cls(nodes, edges, terrain.model.classes, n_left_out=len(every) - len(nodes)).plot(ax)

    @classmethod
    def from_landscape(cls, view: Landscape, *, ax: Any = None) -> Self:
        """Show which classes of a data set overlap, by what `sepc.landscape` returned.

        Each class is seen as its minimum-volume ellipsoid. `n_common` counts the records of two classes that lie in
        both ellipsoids.

        Parameters
        ----------
        view : Landscape
        ax : matplotlib Axes, optional
            A new figure by default.

        Returns
        -------
        LandscapeDisplay

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

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(ax)
        self.figure_ = ax.figure
        turn = np.pi / 2.0 - 2.0 * np.pi * (np.arange(len(self.nodes)) + 0.5) / max(len(self.nodes), 1)
        places = np.column_stack([np.cos(turn), np.sin(turn)])
        styles = class_styles(self.classes)
        self.edges_ = [self._draw_edge(edge, places) for edge in self.edges]
        placed = list(zip(self.nodes, places, strict=True))
        self.nodes_ = [self._draw_node(node, place, styles[node.label]) for node, place in placed]
        self.names_ = [self._draw_name(node, place) for node, place in placed]
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        self._make_room(self._draw_legend(styles))
        return self

    def frame(self, part: str = "overlaps") -> Any:
        """Return the numbers behind the picture.

        Parameters
        ----------
        part : {"overlaps", "regions"}, default="overlaps"
            One row per line, or one row per node.

        Returns
        -------
        pandas.DataFrame
            Of overlaps: the two names, whether they have the same label, the number of records that both hold, and how
            far they overlap (`measure`). Of regions: name, label, number of records.
        """
        if part not in ("overlaps", "regions"):
            raise InputError(f"part is {part!r}; expected 'overlaps' or 'regions'.")
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

    def _draw_edge(self, edge: Edge, places: FloatArray) -> Any:
        a, b = self.nodes[edge.a], self.nodes[edge.b]
        share = min(edge.n_common / max(min(a.n_records, b.n_records), 1), 1.0)
        look = _WITHIN if a.label == b.label else _BETWEEN
        ends = places[[edge.a, edge.b]]
        if len(self.edges) <= _FEW:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            self.ax_.text(*ends.mean(axis=0), str(edge.n_common), fontsize=TINY, ha="center", va="center", bbox=box)
        width, depth = 0.6 + _EDGE * share, 0.4 + 0.5 * share
        return self.ax_.plot(*ends.T, linewidth=width, alpha=depth, solid_capstyle="butt", zorder=1, **look)[0]

    def _area(self, node: Node) -> float:
        """Return the area of a node in points squared."""
        return 20.0 + _NODE * node.n_records / max(1, *(other.n_records for other in self.nodes))

    def _draw_node(self, node: Node, place: FloatArray, look: Style) -> Any:
        shape = {"color": look.colour, "marker": look.marker, "edgecolors": "white", "linewidths": 0.8}
        return self.ax_.scatter(*place, s=self._area(node), zorder=2, **shape)

    def _draw_name(self, node: Node, place: FloatArray) -> Any:
        """Write the name of a node beside it; along the radius if there are many."""
        away = 3.0 + 0.7 * np.sqrt(self._area(node))
        along = len(self.nodes) > _MANY
        turn = np.degrees(np.arctan2(place[1], place[0])) if along else 0.0
        right = place[0] >= 0.0
        upright = along or abs(place[0]) >= 0.2
        return self.ax_.annotate(
            f"{short(node.name)} ({node.n_records})",
            place,
            xytext=tuple(away * place),
            textcoords="offset points",
            fontsize=TINY,
            ha=("left" if right else "right") if upright else "center",
            va="center" if upright else "bottom" if place[1] > 0.0 else "top",
            rotation=turn if right else turn + 180.0,
            rotation_mode="anchor",
        )

    def _draw_legend(self, styles: dict[Any, Style]) -> Any:
        entries = [
            legend_entry(label, color=look.colour, marker=look.marker, linestyle="", markersize=5)
            for label, look in styles.items()
        ]
        kinds = {self.nodes[edge.a].label == self.nodes[edge.b].label for edge in self.edges}
        if False in kinds:
            entries.append(legend_entry("between labels", linewidth=2.0, **_BETWEEN))
        if True in kinds:
            entries.append(legend_entry("within a label", linewidth=2.0, **_WITHIN))
        left_out = f"{self.n_left_out} smaller regions are not shown" if self.n_left_out else None
        columns = 3 if max(len(entry.get_label()) for entry in entries) <= 14 else 2
        look = {"fontsize": TINY, "title_fontsize": TINY, "frameon": False, "borderaxespad": 0.0, "columnspacing": 1.2}
        return self.ax_.legend(handles=entries, loc="lower center", ncols=columns, title=left_out, **look)

    def _make_room(self, legend: Any) -> None:
        """Set the limits so that names and legend have room."""
        self.ax_.set(xlim=(-1.0, 1.0), ylim=(-1.0, 1.0))
        below, box = height_of(legend, self.ax_), self.ax_.get_window_extent()
        names = [name.get_window_extent() for name in self.names_] or [box]
        # With these limits the circle fills the axes; what sticks out tells how much smaller it has to be.
        left, right = (box.x0 - min(n.x0 for n in names)) / box.width, (max(n.x1 for n in names) - box.x1) / box.width
        low, high = (box.y0 - min(n.y0 for n in names)) / box.height, (max(n.y1 for n in names) - box.y1) / box.height
        self.ax_.set(xlim=_with_room(left, right), ylim=_with_room(low + below, high))


def _with_room(before: float, after: float) -> tuple[float, float]:
    """Return limits around (-1, 1) that leave these shares of the whole free on either side."""
    before, after = max(before, 0.0) + 0.02, max(after, 0.0) + 0.02
    size = 2.0 / max(1.0 - before - after, 0.3)
    return -1.0 - before * size, 1.0 + after * size


def _region_nodes(terrain: Terrain) -> list[Node]:
    """Return the regions of classes, class by class, the largest first."""
    classes = {str(label): label for label in terrain.model.classes.tolist()}
    table = terrain.regions
    columns = (np.asarray(table[name]).tolist() for name in ("region", "label", "n_label", "n_others"))
    nodes = [
        Node(name, classes[label], own + others)
        for name, label, own, others in zip(*columns, strict=True)
        if label in classes
    ]
    order = list(classes.values())
    return sorted(nodes, key=lambda node: (order.index(node.label), -node.n_records, node.name))


def _edges(nodes: Sequence[Node], table: Any, names: str) -> list[Edge]:
    number = {node.name: k for k, node in enumerate(nodes)}
    columns = (np.asarray(table[name]).tolist() for name in names.split())
    return [
        Edge(number[a], number[b], n_common, overlap)
        for a, b, n_common, overlap in zip(*columns, strict=True)
        if a in number and b in number
    ]
