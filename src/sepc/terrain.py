"""The landscape of a partitioned training set: its regions, where they overlap, and the records that stand out."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from sepc.disjuncts import Clump, Disjunct, clumps, largest_disjunct
from sepc.errors import InputError
from sepc.frames import FrameMaker, plain, records
from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.mve import min_volume_ellipsoid
from sepc.geometry.stack import EllipsoidStack
from sepc.model import Model
from sepc.overlaps import overlaps
from sepc.partitioning import Block, Partition, units_of_length
from sepc.rules import Rules

# From so many records per dimension and one, a single record can be told to inflate an ellipsoid.
_MANY = 3

_Columns = dict[str, list[Any]]


class Terrain:
    """The landscape of a partitioned training set; `SEPClassifier.landscape_` returns it.

    Rows are those of the training set, and every part is computed when it is first asked for. With three or more
    classes there is one problem per class, that class against the rest, and regions of rests are called "not ...".

    Parameters
    ----------
    model : Model
    partitions : sequence of Partition
        One for each of the model's problems, in rows of the training set.
    frames : FrameMaker, optional
        Decides between pandas and polars.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X = [[0.0], [1.0], [2.0], [4.0], [3.0], [6.0], [8.0], [9.0]]
    >>> terrain = SEPClassifier(n_imp=1).fit(X, ["low"] * 4 + ["high"] * 4).landscape_
    >>> terrain
    Terrain of 8 records with 1 feature
      regions:   4 (2 of high, 2 of low)
      overlaps:  1 (1 between different labels)
      disjuncts: none
      impure:    2 records (rows 3, 4)
      isolated:  none
      outliers:  none
    >>> terrain.neighbours("low#2")
    ['high#2']
    """

    def __init__(self, model: Model, partitions: Sequence[Partition], frames: FrameMaker | None = None) -> None:
        self.model = model
        self._frames = FrameMaker() if frames is None else frames
        self._problems = [_Problem(rules, p, model) for rules, p in zip(model.rules, partitions, strict=True)]

    @property
    def regions(self) -> Any:
        """Frame of one row per ellipsoid.

        `n_label` and `n_others` count the training records of its label and of others in it. `density` is the
        logarithm of their number minus `log_volume`, both in the units that the model measures in (standard
        deviations if it standardises): comparable among ellipsoids of one model, but not with ellipsoids that are
        flat in other directions, whose thickness is nominal. `iteration` is 0 for what was left over at the end.
        `small_disjunct` says whether at least half of the records that it was built on are in one of `disjuncts`,
        and `surrounded_by` names the region around that disjunct; for others it is the region of another label
        that holds more than half of its records of its label, if there is one.
        """
        return self._frames.frame(self._regions)

    @property
    def graph(self) -> Any:
        """Frame of one row per pair of ellipsoids of a problem that overlap, by the exact test of `sepc.separate`.

        `n_common` counts the training records in both. `margin` is that of `sepc.Separation`: -1 for a common
        centre, 0 for ellipsoids that only touch.
        """
        return self._frames.frame(self._graph)

    @property
    def class_graph(self) -> Any:
        """The same as `graph`, but for all regions of classes, whichever problem they come from.

        Regions of rests are left out. With two classes there is one problem, and nothing is left out.
        """
        return self._frames.frame(self._class_graph)

    @property
    def impure(self) -> Any:
        """Frame of one row per training record in an ellipsoid of another label.

        `other_regions` names these ellipsoids, `own_regions` those of its own label that it lies in, in the same
        problems. The latter is empty for isolated records only: all others lie in the ellipsoid built on them.
        """
        listed = {name: [", ".join(v) for v in self._impure[name]] for name in ("own_regions", "other_regions")}
        return self._frames.frame(self._impure | listed)

    @property
    def isolated(self) -> Any:
        """Frame of one row per training record that ended in no ellipsoid, and the label it has in that problem."""
        return self._frames.frame(self._isolated)

    @property
    def outliers(self) -> Any:
        """Frame of one row per training record on whose account an ellipsoid is much larger, the largest drop first.

        Besides the regions, the ellipsoid of each whole class is looked at ("all of ..."): an outlier may end in a
        region of few. `log_volume_drop` is how much the log volume falls without the record and its exact copies,
        `limit` the drop from which a record is listed: `outlier_limit`. Of several outliers side by side none is
        found, as any of them holds the place of the others; nor is any in an ellipsoid of fewer than
        ``3 (rank + 1)`` records.
        """
        return self._frames.frame(self._outliers)

    @cached_property
    def disjuncts(self) -> tuple[Disjunct, ...]:
        """The small disjuncts, as `Disjunct`, largest first.

        Looked for among the records of each class that are in its left-over, in ellipsoids of at most twice the
        size of a small disjunct, or isolated. Those of which at least 3 of the 5 nearest training records are of
        the class are linked when each is among the other's 10 nearest. A connected group is a disjunct if

        - it has at least 5 records, at most a third of its class, and at most 2 (d + 1), 15 or 10 % of its class,
          whichever is most;
        - at least 80 % of the nearest records around it (twice its number, at least 20) are of other classes;
        - the records in it are too one-sided for a chance clump: the binomial probability, given the share of its
          class around it, is below 1e-6. In it are all records as near to one of the group as half of the group
          is to its nearest fellow.
        """
        found = [disjunct for c in range(len(self.model.classes)) for disjunct in self._disjuncts_of(c)]
        return tuple(sorted(found, key=lambda disjunct: (-len(disjunct.rows), disjunct.rows)))

    def neighbours(self, name: str) -> list[str]:
        """Return the regions that overlap one region, the deepest overlap first.

        Parameters
        ----------
        name : str
            As in the column ``region`` of `regions`.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]).landscape_.neighbours("0#1")
        []
        """
        known = [region for problem in self._problems for region in problem.rules.names]
        if name not in known:
            some = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
            raise InputError(f"name is {name!r}; expected a region of this model, such as {some}. See `regions`.")
        edges = zip(*(self._graph[c] for c in ("margin", "region_a", "region_b")), strict=True)
        return [b if a == name else a for _, a, b in sorted(edges) if name in (a, b)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> terrain = SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]).landscape_
        >>> [region["region"] for region in terrain.to_dict()["regions"]]
        ['0#1', '1#1']
        """
        n, d = self.model.points.shape
        tables = {name: records(getattr(self, f"_{name}")) for name in ("regions", "graph")}
        tables["disjuncts"] = [asdict(x) | {"rows": list(x.rows), "text": x.text} for x in self.disjuncts]
        for disjunct in tables["disjuncts"]:
            disjunct["regions"] = list(disjunct["regions"])
        tables |= {name: records(getattr(self, f"_{name}")) for name in ("impure", "isolated", "outliers")}
        return {"n_records": n, "n_features": d, "classes": self.model.classes.tolist(), **tables}

    def __repr__(self) -> str:
        n, d = self.model.points.shape
        labels = self._regions["label"]
        counts = [f"{labels.count(label)} of {label}" for label in dict.fromkeys(sorted(labels))]
        mixed = self._graph["same_label"].count(False)
        lines = {
            "regions": f"{len(labels)} ({', '.join(counts)})" if labels else "none",
            "overlaps": f"{len(self._graph['margin'])} ({mixed} between different labels)" if labels else "none",
            "disjuncts": "; ".join(x.text.removesuffix(".") for x in self.disjuncts) or "none",
            "impure": _listed(self._impure["row"]),
            "isolated": _listed(self._isolated["row"]),
            "outliers": _listed(self._outliers["row"]),
        }
        title = f"Terrain of {n} records with {d} feature{'' if d == 1 else 's'}"
        return "\n".join([title, *(f"  {name + ':':<10} {text}" for name, text in lines.items())])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{self.regions._repr_html_()}"

    @cached_property
    def _regions(self) -> _Columns:
        names = "region label n_label n_others purity log_volume density iteration small_disjunct surrounded_by"
        rows = [row for problem in self._problems for row in problem.regions(self.disjuncts)]
        return _columns(names, rows)

    @cached_property
    def _graph(self) -> _Columns:
        edges = [edge for problem in self._problems for edge in problem.edges()]
        return _columns("region_a region_b n_common margin same_label", edges)

    @cached_property
    def _class_graph(self) -> _Columns:
        if len(self._problems) == 1:
            return self._graph
        regions = [(c, *region) for c, problem in enumerate(self._problems) for region in problem.of_first_label()]
        return _columns("region_a region_b n_common margin same_label", list(self._across(regions)) if regions else [])

    def _across(self, regions: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        classes, names, ellipsoids, holds = zip(*regions, strict=True)
        stack = EllipsoidStack(ellipsoids, self.model.points.shape[1])
        for a, b, n_common, margin in overlaps(stack, vstack(holds, format="csr")):
            yield names[a], names[b], n_common, margin, classes[a] == classes[b]

    @cached_property
    def _impure(self) -> _Columns:
        own: dict[int, list[str]] = {}
        others: dict[int, list[str]] = {}
        for problem in self._problems:
            for i, (mine, foreign) in problem.impure():
                own.setdefault(i, []).extend(mine)
                others.setdefault(i, []).extend(foreign)
        rows = [(*self._record(i), own[i], others[i]) for i in own]
        return _columns("row label own_regions other_regions", sorted(rows, key=lambda row: row[0]))

    @cached_property
    def _isolated(self) -> _Columns:
        rows = [
            (*self._record(i), problem.rules.labels[side])
            for problem in self._problems
            for side in (0, 1)
            for i in problem.isolated[side].tolist()
        ]
        return _columns("row label isolated_as", sorted(rows, key=lambda row: row[0]))

    @cached_property
    def _outliers(self) -> _Columns:
        rows = [
            (*self._record(int(records[i])), name, drop, limit)
            for name, records in self._ellipsoids()
            for i, drop, limit in _inflating(self.model.points[records], self._unit)
        ]
        return _columns(
            "row label region log_volume_drop limit", sorted(rows, key=lambda row: (-row[3], row[0], row[2]))
        )

    def _ellipsoids(self) -> Iterator[tuple[str, Rows]]:
        """Yield the name of each ellipsoid, of whole classes too, and the records that it is built on."""
        for c, label in enumerate(self.model.classes):
            yield f"all of {label}", np.flatnonzero(self.model.codes == c)
        for problem in self._problems:
            yield from zip(problem.rules.names, problem.blocks, strict=True)

    @cached_property
    def _unit(self) -> FloatArray:
        """What the partitions took for the unit of length of each feature."""
        return units_of_length(self.model.points)

    def _record(self, i: int) -> tuple[int, Any]:
        return int(self.model.rows[i]), plain(self.model.classes[self.model.codes[i]])

    def _disjuncts_of(self, c: int) -> Iterator[Disjunct]:
        problem, side = (self._problems[c], 0) if len(self._problems) > 1 else (self._problems[0], c)
        few = 2.0 * largest_disjunct(int(self.model.class_count[c]), self.model.points.shape[1])
        label = plain(self.model.classes[c])
        for clump in clumps(self.model, problem.unsettled(side, few), c):
            rows = tuple(np.sort(self.model.rows[clump.members]).tolist())
            yield Disjunct(label, rows, *problem.whereabouts(side, clump), clump.foreign)


def outlier_limit(n: int, d: int) -> float:
    """Return by how much one of n records in d dimensions may lower the log volume of their ellipsoid.

    ``(1 + 5 (d + 1) / n) / d ** 0.3``. Of 163,200 simulated samples of a Gaussian, or of the half of one beyond a
    plane, 3 had a record that lowers it by more. Among many records an outlier is found where the ellipsoid of the
    others has to be scaled about its centre to reach it by 5.3 (d = 1), 4 (d = 2), 3 (d = 5) or 2.6 (d = 10).

    Examples
    --------
    >>> round(outlier_limit(300, 2), 2), round(outlier_limit(30, 2), 2)
    (0.85, 1.22)
    """
    return float((1.0 + 5.0 * (d + 1) / n) / d**0.3)


class _Problem:
    """One binary problem: its rules, and its partition in rows of the model's points."""

    def __init__(self, rules: Rules, partition: Partition, model: Model) -> None:
        place = np.empty_like(model.rows)
        place[model.rows] = np.arange(len(place))
        self.rules, self.parts = rules, partition.blocks
        self.blocks = [np.sort(place[block.members]) for block in partition.blocks]
        self.isolated = tuple(np.sort(place[rows]) for rows in partition.isolated)
        self.rows = model.rows

    @cached_property
    def holds(self) -> csr_array:
        """Which ellipsoid holds which record, 1 or 0, shape (n_ellipsoids, n)."""
        members = [self.rules.members(k) for k in range(len(self.rules.stack))]
        which = np.repeat(np.arange(len(members)), [len(m) for m in members])
        record = np.concatenate(members) if members else np.empty(0, dtype=np.int32)
        return csr_array((np.ones(len(record), dtype=np.int64), (which, record)), (len(members), len(self.rules.side)))

    def regions(self, disjuncts: Sequence[Disjunct]) -> Iterator[tuple[Any, ...]]:
        around = {name: disjunct.surrounded_by for disjunct in disjuncts for name in disjunct.regions}
        for k, part in enumerate(self.parts):
            name, label = self.rules.names[k], self.rules.labels[part.side]
            own, others = int(self.rules.held[k, part.side]), int(self.rules.held[k, 1 - part.side])
            volume = part.ellipsoid.log_volume
            density = float(np.log(own + others)) - volume
            inside = around.get(name) or self._surrounding(k, part)
            found = name in around
            yield name, label, own, others, own / (own + others), volume, density, part.iteration, found, inside

    def _surrounding(self, k: int, part: Block) -> str | None:
        """Return the region of the other label that holds more than half of the records an ellipsoid was built on."""
        held = self.holds[:, self.blocks[k]].sum(axis=1) * (self.rules.sides != part.side)
        most = int(np.argmax(held))
        return self.rules.names[most] if 2 * held[most] > len(self.blocks[k]) else None

    def unsettled(self, side: int, few: float) -> Rows:
        """Return the records of one side that are left over, isolated, or in an ellipsoid of few."""
        parts = zip(self.parts, self.blocks, strict=True)
        few_or_rest = [rows for p, rows in parts if p.side == side and (p.left_over or len(rows) <= few)]
        return np.sort(np.concatenate([*few_or_rest, self.isolated[side]]))

    def whereabouts(self, side: int, clump: Clump) -> tuple[tuple[str, ...], str | None]:
        """Return the ellipsoids that a clump makes up, and the one of the other label that holds most around it."""
        names, sides = self.rules.names, self.rules.sides
        shares = [np.isin(block, clump.members).mean() for block in self.blocks]
        own = [name for name, s, share in zip(names, sides, shares, strict=True) if s == side and share >= 0.5]
        held = self.holds[:, clump.around].sum(axis=1) * (sides != side)
        return tuple(own), names[int(np.argmax(held))] if held.any() else None

    def edges(self) -> Iterator[tuple[str, str, int, float, bool]]:
        names, sides = self.rules.names, self.rules.sides
        for a, b, n_common, margin in overlaps(self.rules.stack, self.holds):
            yield names[a], names[b], n_common, margin, bool(sides[a] == sides[b])

    def of_first_label(self) -> Iterator[tuple[str, Ellipsoid, csr_array]]:
        """Yield name and ellipsoid of the regions of the first label, and which records each holds, shape (1, n)."""
        for k in np.flatnonzero(self.rules.sides == 0).tolist():
            yield self.rules.names[k], self.parts[k].ellipsoid, self.holds[[k]]

    def impure(self) -> Iterator[tuple[int, tuple[list[str], list[str]]]]:
        """Yield the records in an ellipsoid of the other label; the ellipsoids of their own label, and of the other."""
        by_record = self.holds.T.tocsr()
        foreign = self.rules.sides[by_record.indices] != np.repeat(self.rules.side, np.diff(by_record.indptr))
        record = np.repeat(np.arange(len(self.rules.side)), np.diff(by_record.indptr))
        for i in np.unique(record[foreign]).tolist():
            here = slice(by_record.indptr[i], by_record.indptr[i + 1])
            which = sorted(zip(by_record.indices[here].tolist(), foreign[here].tolist(), strict=True))
            own, other = ([self.rules.names[k] for k, is_foreign in which if is_foreign == kind] for kind in (0, 1))
            yield i, (own, other)


def _inflating(points: FloatArray, unit: FloatArray) -> Iterator[tuple[int, float, float]]:
    """Yield the points without which the ellipsoid is much smaller; by how much, and the limit of that."""
    m = min_volume_ellipsoid(points, unit=unit)
    if m.rank == 0 or len(points) < _MANY * (m.rank + 1):
        return
    limit = outlier_limit(len(points), m.rank)
    held = np.flatnonzero(m.weights > 0.0)
    support, copy = np.unique(points[held], axis=0, return_inverse=True)
    weight: FloatArray = np.bincount(copy.ravel(), weights=m.weights[held]).astype(np.float64)
    for x in support[_drop_bound(weight, m.rank + 1) > limit]:
        copies = (points == x).all(axis=1)
        rest = min_volume_ellipsoid(points[~copies], unit=unit)
        drop = m.ellipsoid.log_volume - rest.ellipsoid.log_volume
        if drop > limit:
            yield from ((int(i), drop, limit) for i in np.flatnonzero(copies))


def _drop_bound(weight: FloatArray, n: int) -> FloatArray:
    """Bound how much the log volume falls without a point, by the design that just leaves it out.

    At most about n points can have a weight near 1/n, so that few have to be tried.
    """
    share = np.minimum(n * weight, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(0.5 * (n * np.log1p(-share / n) - np.log1p(-share)))


def _columns(names: str, rows: Sequence[tuple[Any, ...]]) -> _Columns:
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names.split()]
    return dict(zip(names.split(), columns, strict=True))


def _listed(rows: list[int]) -> str:
    distinct = list(dict.fromkeys(rows))
    if not distinct:
        return "none"
    shown = ", ".join(map(str, distinct[:10])) + (", ..." if len(distinct) > 10 else "")
    many = len(distinct) > 1
    return f"{len(distinct)} record{'s' if many else ''} (row{'s' if many else ''} {shown})"
