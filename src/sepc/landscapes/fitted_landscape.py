"""Landscape of a partitioned training set: its regions, their overlaps, and the records that stand out."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import vstack

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker, plain, records
from sepc.common.text import plural, shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.stack import EllipsoidStack
from sepc.landscapes.findings import Finding, outside_findings
from sepc.landscapes.near_records import labels_around, repeated_rows
from sepc.landscapes.outliers import volume_outliers
from sepc.landscapes.problem_regions import ProblemRegions, overlaps
from sepc.landscapes.small_disjuncts import Disjunct, largest_disjunct, small_clusters
from sepc.model.partition_model import PartitionModel
from sepc.partitions.blocks import Partition
from sepc.partitions.units import units_of_length

_Columns = dict[str, list[Any]]


class FittedLandscape:
    """Landscape of a partitioned training set; `SEPClassifier.landscape_` returns it.

    Rows are those of the training set, and every part is computed on first use. Where labels are decided by counts,
    three or more classes have one problem each, that class against the rest; regions of rests are called "not ...".

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X = [[0.0], [1.0], [2.0], [4.0], [3.0], [6.0], [8.0], [9.0]]
    >>> fitted = SEPClassifier(n_imp=1).fit(X, ["low"] * 4 + ["high"] * 4).landscape_
    >>> fitted
    Fitted landscape of 8 records with 1 feature
      regions:   4 (2 of high, 2 of low)
      overlaps:  1 (1 between different labels)
      disjuncts: none
      impure:    2 records (rows 3, 4)
      isolated:  none
      outliers:  none
    >>> fitted.neighbours("low#2")
    ['high#2']
    """

    def __init__(
        self, model: PartitionModel, partitions: Sequence[Partition], frames: FrameMaker | None = None
    ) -> None:
        self.model = model
        self._frames = FrameMaker() if frames is None else frames
        self._problems = [ProblemRegions(rules, p, model) for rules, p in zip(model.rules, partitions, strict=True)]

    @property
    def regions(self) -> Any:
        """Frame of one row per ellipsoid.

        `n_label` and `n_others` count the training records of its label and of others in it. `density` is the
        logarithm of their number minus `log_volume`, both in the units of the model (standard deviations if it
        standardises): comparable among ellipsoids of one model, but not with ellipsoids that are flat in other
        directions, whose thickness is nominal. `iteration` is 0 for the left-over of the partition.
        `small_disjunct` is whether at least half of the records that it was built on are in one of `disjuncts`,
        `surrounded_by` the region around that disjunct; for others it is the region of another label that holds
        more than half of its records of its label, if there is one.
        """
        return self._frames.frame(self._regions)

    @property
    def graph(self) -> Any:
        """Frame of one row per pair of ellipsoids of a problem that overlap, by the exact test of `separate`.

        `n_common` counts the training records in both. `margin` is that of `sepc.geometry.Separation`: -1 for a common
        centre, 0 for ellipsoids that only touch.
        """
        return self._frames.frame(self._graph)

    @property
    def class_graph(self) -> Any:
        """The same as `graph` for all regions of classes, of whichever problem, without those of rests."""
        return self._frames.frame(self._class_graph)

    @property
    def impure(self) -> Any:
        """Frame of one row per training record in an ellipsoid of another label, the most doubtful label first.

        `other_regions` names these ellipsoids, `own_regions` those of its own label that it lies in, in the same
        problems; the latter is empty for isolated records only. `n_near_own` counts the records of its own label
        among the 10 nearest other training records, `near_label` is the most frequent label among them. Rows are
        sorted by `n_near_own`, then by the purity of the purest ellipsoid of another label.
        """
        listed = {name: [", ".join(v) for v in self._impure[name]] for name in ("own_regions", "other_regions")}
        return self._frames.frame(self._impure | listed)

    @property
    def isolated(self) -> Any:
        """Frame of one row per training record in no ellipsoid, with its label in that problem."""
        return self._frames.frame(self._isolated)

    @property
    def outliers(self) -> Any:
        """Frame of one row per training record without which an ellipsoid is much smaller, the largest drop first.

        Examined are the regions and the ellipsoid of each whole class ("all of ..."). `log_volume_drop` is the drop of
        the log volume without the record and its exact copies, `limit` the drop from which a record is listed:
        `outlier_limit`. Several outliers side by side mask each other and are not found; nor is any in an ellipsoid
        of fewer than ``3 (rank + 1)`` records.
        """
        return self._frames.frame(self._outliers)

    @cached_property
    def disjuncts(self) -> tuple[Disjunct, ...]:
        """The small disjuncts, as `Disjunct`, largest first.

        Candidates are the records of each class that are in its left-over, in ellipsoids of at most twice the size of
        a small disjunct, or isolated. Those of which at least 3 of the 5 nearest training records are of the class
        are linked when each is among the other's 10 nearest. A connected group is a disjunct if

        - it has at least 5 records, at most a third of its class, and at most 2 (d + 1), 15 or 10 % of its class,
          whichever is most;
        - at least 80 % of the nearest records around it (twice its number, at least 20) are of other classes;
        - it is no chance cluster: of all records as near to the group as the median distance between nearest
          neighbours in it, more are of the class than the share of the class around it explains, with a binomial
          probability below 1e-6.
        """
        found = [disjunct for c in range(len(self.model.classes)) for disjunct in self._disjuncts_of(c)]
        return tuple(sorted(found, key=lambda disjunct: (-len(disjunct.rows), disjunct.rows)))

    @cached_property
    def n_outside(self) -> int:
        """Number of training records outside of all ellipsoids, each of them held out by itself.

        It estimates the share of new records outside, which had no part in the ellipsoids, either.
        """
        points = self.model.points
        repeated = np.zeros(len(points), dtype=bool)
        repeated[repeated_rows(points)] = True
        outside = [problem.held_out_outside(points, repeated) for problem in self._problems]
        return int(np.count_nonzero(np.logical_and.reduce(outside)))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings on all regions, each with evidence and a remedy: whether new records will be in any."""
        return tuple(outside_findings(self.n_outside, *self.model.points.shape))

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
            raise InputError("unknown-region", name=name, names=some)
        edges = zip(*(self._graph[c] for c in ("margin", "region_a", "region_b")), strict=True)
        return [b if a == name else a for _, a, b in sorted(edges) if name in (a, b)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON."""
        n, d = self.model.points.shape
        tables = {name: records(getattr(self, f"_{name}")) for name in ("regions", "graph")}
        tables["disjuncts"] = [
            asdict(x) | {"rows": list(x.rows), "regions": list(x.regions), "text": x.text} for x in self.disjuncts
        ]
        tables |= {name: records(getattr(self, f"_{name}")) for name in ("impure", "isolated", "outliers")}
        tables["findings"] = [finding.to_dict() for finding in self.findings]
        numbers = {"n_records": n, "n_features": d, "n_outside": self.n_outside}
        return {**numbers, "classes": self.model.classes.tolist(), **tables}

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
        title = f"Fitted landscape of {n} records with {d} {plural('feature', d)}"
        shown = [f"  {name + ':':<10} {text}" for name, text in lines.items()]
        return "\n".join([title, *shown, *(f"  {finding}" for finding in self.findings)])

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
        regions = [(c, *region) for c, problem in enumerate(self._problems) for region in problem.first_label_regions()]
        edges = list(self._edges_across_problems(regions)) if regions else []
        return _columns("region_a region_b n_common margin same_label", edges)

    def _edges_across_problems(self, regions: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
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
        near_own, near_label = labels_around(self.model, np.array(sorted(own), dtype=np.int64))
        purity = dict(zip(self._regions["region"], self._regions["purity"], strict=True))
        rows = [
            (*self._record(i), own[i], others[i], n_near, label)
            for i, n_near, label in zip(sorted(own), near_own, near_label, strict=True)
        ]
        rows.sort(key=lambda row: (row[4], -max(purity[name] for name in row[3]), row[0]))
        return _columns("row label own_regions other_regions n_near_own near_label", rows)

    @cached_property
    def _isolated(self) -> _Columns:
        rows = [
            (*self._record(i), problem.rules.labels[side])
            for problem in self._problems
            for side, alone in enumerate(problem.isolated)
            for i in alone.tolist()
        ]
        return _columns("row label isolated_as", sorted(rows, key=lambda row: row[0]))

    @cached_property
    def _outliers(self) -> _Columns:
        rows = [
            (*self._record(int(records[i])), name, drop, limit)
            for name, records in self._groups_with_ellipsoid()
            for i, drop, limit in volume_outliers(self.model.points[records], self._unit)
        ]
        return _columns(
            "row label region log_volume_drop limit", sorted(rows, key=lambda row: (-row[3], row[0], row[2]))
        )

    def _groups_with_ellipsoid(self) -> Iterator[tuple[str, IntArray]]:
        """Yield the name of each ellipsoid, of whole classes too, and the records that it is built on."""
        for c, label in enumerate(self.model.classes):
            yield f"all of {label}", np.flatnonzero(self.model.codes == c)
        for problem in self._problems:
            yield from zip(problem.rules.names, problem.members, strict=True)

    @cached_property
    def _unit(self) -> FloatArray:
        """Unit of length of each feature, that of the partitions."""
        return units_of_length(self.model.points)

    def _record(self, i: int) -> tuple[int, Any]:
        return int(self.model.rows[i]), plain(self.model.classes[self.model.codes[i]])

    def _disjuncts_of(self, c: int) -> Iterator[Disjunct]:
        problem, side = (self._problems[c], 0) if len(self._problems) > 1 else (self._problems[0], c)
        few = 2.0 * largest_disjunct(int(self.model.class_count[c]), self.model.points.shape[1])
        label = plain(self.model.classes[c])
        for cluster in small_clusters(self.model, problem.disjunct_candidates(side, few), c):
            rows = tuple(np.sort(self.model.rows[cluster.members]).tolist())
            yield Disjunct(label, rows, *problem.regions_of(side, cluster), cluster.foreign)


def _columns(names: str, rows: Sequence[tuple[Any, ...]]) -> _Columns:
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names.split()]
    return dict(zip(names.split(), columns, strict=True))


def _listed(rows: list[int]) -> str:
    distinct = list(dict.fromkeys(rows))
    if not distinct:
        return "none"
    n = len(distinct)
    return f"{n} {plural('record', n)} ({plural('row', n)} {shortened(distinct, 10)})"
