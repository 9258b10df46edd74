"""The pieces that fitted classifiers are made of, to arrays and JSON and back: partitions, rules, densities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.census import Census, Isolated, RecordCensus, members_of
from sepc.densities import LocalDensities
from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.stack import EllipsoidStack
from sepc.partitioning import Block, Hyperplane, Partition
from sepc.persist.drawers import Inbox, Outbox, require, require_whole
from sepc.rolls import n_words, points_of_each
from sepc.rules import Rules
from sepc.tallies import LADDER, TallyCensus

Header = dict[str, Any]

_LARGEST_PRODUCT = float(np.finfo(np.float64).max)


def pack_partition(out: Outbox, p: Partition, dim: int) -> Header:
    """Put a partition of points with `dim` features into arrays; return the rest of it."""
    n, blocks = len(p.blocks), p.blocks
    ellipsoids = [block.ellipsoid for block in blocks]
    out.put("centers", np.array([E.center for E in ellipsoids]).reshape(n, dim))
    out.put("axes", np.array([E.axes for E in ellipsoids]).reshape(n, dim, dim))
    out.put("radii", np.array([E.radii for E in ellipsoids]).reshape(n, dim))
    out.put("sides", np.array([block.side for block in blocks], dtype=np.int64))
    out.put("iterations", np.array([block.iteration for block in blocks], dtype=np.int64))
    out.put("members", _joined([block.members for block in blocks]))
    out.put("member_ends", _ends([block.members for block in blocks]))
    for name, rows in zip("ab", p.isolated, strict=True):
        out.put(f"isolated_{name}", rows)
    out.put("normals", np.array([h.normal for h in p.hyperplanes]).reshape(-1, dim))
    out.put("offsets", np.array([h.offset for h in p.hyperplanes], dtype=np.float64))
    return {"n_iter": int(p.n_iter), "stopped": p.stopped, "n_imp": int(p.n_imp)}


def unpack_partition(box: Inbox, header: Header, dim: int, n_rows: int) -> Partition:
    """Return a partition of at most `n_rows` points."""
    centers = box.numbers("centers", (None, dim))
    n = len(centers)
    axes, radii = box.numbers("axes", (n, dim, dim)), box.positive("radii", (n, dim))
    sides, iterations = box.whole("sides", (n,), 0, 2), box.whole("iterations", (n,), 0, n_rows + 2)
    box.whole("members", (None,), 0, n_rows)
    members = box.split("members", box.whole("member_ends", (n,), 0, n_rows + 1))
    normals = box.numbers("normals", (None, dim), _LARGEST_PRODUCT)
    offsets = box.numbers("offsets", (len(normals),), _LARGEST_PRODUCT)
    a, b = (box.whole(f"isolated_{name}", (None,), 0, n_rows) for name in "ab")
    require(isinstance(header["stopped"], str), "reason to stop")
    return Partition(
        blocks=tuple(
            Block(int(sides[k]), members[k], Ellipsoid(centers[k], axes[k], radii[k]), int(iterations[k]))
            for k in range(n)
        ),
        isolated=(a, b),
        hyperplanes=tuple(Hyperplane(*plane) for plane in zip(normals, offsets.tolist(), strict=True)),
        n_iter=require_whole(header["n_iter"]),
        stopped=header["stopped"],
        n_imp=require_whole(header["n_imp"]),
    )


def pack_census(out: Outbox, census: Census, training_rows: bool, growing: bool = True) -> None:
    """Put what is counted into arrays; the partition, and the points if they are wanted, are put elsewhere.

    Parameters
    ----------
    out : Outbox
    census : Census
    training_rows : bool
        Whether the points are wanted.
    growing : bool, default=True
        Whether grown ellipsoids will be asked about.
    """
    for name, array in census.isolated._asdict().items():
        out.put(f"isolated_{name}", array)
    if isinstance(census, RecordCensus) and training_rows:
        out.put("patterns", census.patterns())
        return
    tallies = TallyCensus.of(census, growing) if isinstance(census, RecordCensus) else census
    if not isinstance(tallies, TallyCensus):
        raise TypeError(f"{type(tallies).__name__} is a census of no kind that can be saved")
    out.put("patterns", tallies.patterns)
    out.put("pattern_counts", tallies.pattern_counts)
    out.put("held", tallies.held)
    out.put("totals", tallies.totals)
    if tallies.outside is not None:
        gauges = [of_side for pair in tallies.outside for of_side in pair]
        out.put("gauges", np.concatenate([np.empty(0), *gauges]))
        out.put("gauge_ends", _ends(gauges))
    if tallies.ladder is not None:
        out.put("ladder", tallies.ladder)


def unpack_rules(
    box: Inbox, p: Partition, labels: Sequence[str], points: FloatArray, side: NDArray[np.integer], votes: Any
) -> Rules:
    """Return the rules of a partition whose training points are there."""
    stack, isolated = _stack(p, points.shape[1]), _isolated(box, points.shape[1], len(points))
    patterns = box.bits("patterns", (len(points), n_words(len(stack))), len(stack))
    members = members_of(patterns, len(stack))
    return Rules.by(RecordCensus(stack, points, side, votes, members, isolated), _sides(p), labels)


def unpack_tallied_rules(
    box: Inbox, p: Partition, labels: Sequence[str], dim: int, n_rows: int, all_vote: bool
) -> Rules:
    """Return the rules of a partition of `n_rows` points that were left out."""
    stack = _stack(p, dim)
    patterns = box.bits("patterns", (None, n_words(len(stack))), len(stack))
    pattern_counts = box.whole("pattern_counts", (len(patterns), 2), 0, n_rows + 1)
    require(pattern_counts.sum() <= n_rows, "number of voters")
    held = box.whole("held", (len(stack), 2), 0, n_rows + 1)
    counted = points_of_each(patterns, pattern_counts, len(stack))
    require(bool((held == counted if all_vote else held >= counted).all()), "numbers of points held")
    census = TallyCensus(
        stack=stack,
        held=held,
        totals=box.whole("totals", (2,), 0, n_rows + 1),
        all_vote=all_vote,
        isolated=_isolated(box, dim, n_rows),
        patterns=patterns,
        pattern_counts=pattern_counts,
        outside=_outside(box, len(stack), n_rows) if "gauges" in box else None,
        ladder=_ladder(box, len(stack), n_rows) if "ladder" in box else None,
    )
    return Rules.by(census, _sides(p), labels)


def pack_densities(out: Outbox, densities: LocalDensities) -> None:
    """Put local densities into arrays."""
    for name in ("center", "unit", "coefficients", "codes", "log_weights"):
        out.put(name, getattr(densities, name))


def unpack_densities(box: Inbox, dim: int, n_classes: int) -> LocalDensities:
    """Return local densities of points with `dim` features."""
    codes = box.whole("codes", (None,), 0, n_classes)
    require(len(codes) > 0 and bool((np.diff(codes) >= 0).all()), "components are not class by class")
    return LocalDensities(
        center=box.numbers("center", (dim,)),
        unit=box.positive("unit", (dim,)),
        coefficients=box.numbers("coefficients", ((dim + 1) * (dim + 2) // 2, len(codes))),
        codes=codes,
        log_weights=box.numbers("log_weights", (len(codes),)),
        n_classes=n_classes,
    )


def _outside(box: Inbox, n_ellipsoids: int, n_rows: int) -> list[tuple[FloatArray, FloatArray]]:
    require(bool((box.numbers("gauges", (None,)) > 1.0).all()), "gauges of points outside")
    parts = box.split("gauges", box.whole("gauge_ends", (2 * n_ellipsoids,), 0, n_ellipsoids * n_rows + 1))
    require(all(bool((np.diff(part) >= 0.0).all()) for part in parts), "gauges are not ascending")
    return list(zip(parts[::2], parts[1::2], strict=True))


def _ladder(box: Inbox, n_ellipsoids: int, n_rows: int) -> Rows:
    ladder = box.whole("ladder", (n_ellipsoids, 2, len(LADDER)), 0, n_rows + 1)
    require(bool((np.diff(ladder, axis=2) >= 0).all()), "ladder is not ascending")
    return ladder


def _isolated(box: Inbox, dim: int, n_rows: int) -> Isolated:
    points = box.numbers("isolated_points", (None, dim))
    n = len(points)
    return Isolated(
        points=points,
        named=box.whole("isolated_named", (n,), 0, 2),
        sides=box.whole("isolated_sides", (n,), -1, 2),
        counts=box.whole("isolated_counts", (n, 2), 0, n_rows + 1),
    )


def _stack(p: Partition, dim: int) -> EllipsoidStack:
    return EllipsoidStack([block.ellipsoid for block in p.blocks], dim)


def _sides(p: Partition) -> Rows:
    return np.array([block.side for block in p.blocks], dtype=np.int64)


def _joined(rows: Sequence[Rows]) -> Rows:
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


def _ends(parts: Sequence[NDArray[Any]]) -> Rows:
    return np.cumsum([len(part) for part in parts], dtype=np.int64)
