"""Partitions, rules and densities to arrays and JSON, and back."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.stack import EllipsoidStack
from sepc.model.bitsets import n_words, points_of_each
from sepc.model.calibration import Calibration, LinearTerms
from sepc.model.category_shares import Categories, CategoryShares
from sepc.model.constants import MOST_CORRECTION
from sepc.model.counts import Isolated, RecordCounts, TrainingCounts, members_of
from sepc.model.decision import deciding_problem
from sepc.model.densities import LocalDensities
from sepc.model.fitted_model import TrainingRecords
from sepc.model.local_counts import LocalCounts
from sepc.model.merging import is_any_merged
from sepc.model.partition_model import N_PARTS, DensityFit, identity_calibration
from sepc.model.relations import Relations
from sepc.model.rules import Rules
from sepc.model.stored_counts import GAUGE_GRID, StoredCounts
from sepc.partitions.blocks import Block, Hyperplane, Partition
from sepc.persist.named_arrays import ArrayReader, ArrayWriter, require, require_integer

Header = dict[str, Any]

# Prefix of the counts of training points in a file.
COUNTS = "counts"

_LARGEST_PRODUCT = float(np.finfo(np.float64).max)


def pack_partition(writer: ArrayWriter, p: Partition, dim: int) -> Header:
    """Put a partition of points with `dim` features into arrays; return the rest of it."""
    n, blocks = len(p.blocks), p.blocks
    ellipsoids = [block.ellipsoid for block in blocks]
    writer.put("centers", np.array([E.center for E in ellipsoids]).reshape(n, dim))
    writer.put("axes", np.array([E.axes for E in ellipsoids]).reshape(n, dim, dim))
    writer.put("radii", np.array([E.radii for E in ellipsoids]).reshape(n, dim))
    writer.put("sides", np.array([block.side for block in blocks], dtype=np.int64))
    writer.put("iterations", np.array([block.iteration for block in blocks], dtype=np.int64))
    writer.put("members", _joined([block.members for block in blocks]))
    writer.put("member_ends", _ends([block.members for block in blocks]))
    writer.put("isolated", _joined(p.isolated))
    writer.put("isolated_ends", _ends(p.isolated))
    writer.put("normals", np.array([h.normal for h in p.hyperplanes]).reshape(-1, dim))
    writer.put("offsets", np.array([h.offset for h in p.hyperplanes], dtype=np.float64))
    return {"n_iter": int(p.n_iter), "stopped": p.stopped, "n_imp": int(p.n_imp)}


def unpack_partition(
    reader: ArrayReader, header: Header, dim: int, n_rows: int, n_sides: int, numbers_end: int | None = None
) -> Partition:
    """Return a partition of at most `n_rows` points, with row numbers below `numbers_end`, by default `n_rows`."""
    end = n_rows if numbers_end is None else numbers_end
    centers = reader.numbers("centers", (None, dim))
    n = len(centers)
    axes, radii = reader.numbers("axes", (n, dim, dim)), reader.positive("radii", (n, dim))
    sides, iterations = reader.integers("sides", (n,), 0, n_sides), reader.integers("iterations", (n,), 0, n_rows + 2)
    reader.integers("members", (None,), 0, end)
    members = reader.split("members", reader.integers("member_ends", (n,), 0, n_rows + 1))
    reader.integers("isolated", (None,), 0, end)
    isolated = reader.split("isolated", reader.integers("isolated_ends", (n_sides,), 0, n_rows + 1))
    normals = reader.numbers("normals", (None, dim), _LARGEST_PRODUCT)
    offsets = reader.numbers("offsets", (len(normals),), _LARGEST_PRODUCT)
    require(isinstance(header["stopped"], str), "reason to stop")
    return Partition(
        blocks=tuple(
            Block(int(sides[k]), members[k], Ellipsoid(centers[k], axes[k], radii[k]), int(iterations[k]))
            for k in range(n)
        ),
        isolated=tuple(isolated),
        hyperplanes=tuple(Hyperplane(*plane) for plane in zip(normals, offsets.tolist(), strict=True)),
        n_iter=require_integer(header["n_iter"]),
        stopped=header["stopped"],
        n_imp=require_integer(header["n_imp"]),
    )


def pack_counts(writer: ArrayWriter, counts: TrainingCounts, training_rows: bool, growing: bool) -> None:
    """Put counts of training points into arrays, of grown ellipsoids too if `growing`; no points."""
    for name, array in counts.isolated._asdict().items():
        writer.put(f"isolated_{name}", array)
    if isinstance(counts, RecordCounts) and training_rows:
        writer.put("patterns", counts.patterns())
        return
    stored = StoredCounts.of(counts, growing) if isinstance(counts, RecordCounts) else counts
    if not isinstance(stored, StoredCounts):
        raise TypeError(f"{type(stored).__name__} cannot be saved")
    for name in ("patterns", "pattern_counts", "held", "totals"):
        writer.put(name, getattr(stored, name))
    if stored.outside is not None:
        gauges = [of_side for outside in stored.outside for of_side in outside]
        writer.put("gauges", np.concatenate([np.empty(0), *gauges]))
        writer.put("gauge_ends", _ends(gauges))
    if stored.grid_counts is not None:
        writer.put("grid_counts", stored.grid_counts)


def unpack_rules(
    reader: ArrayReader,
    p: Partition,
    labels: Sequence[str],
    points: FloatArray,
    side: NDArray[np.integer],
    counted: Any,
    grows: bool,
) -> Rules:
    """Return the rules of a partition, saved with its training points."""
    n_sides = len(p.isolated)
    stack, isolated = _stack(p, points.shape[1]), _isolated(reader, points.shape[1], len(points), n_sides)
    patterns = reader.bits("patterns", (len(points), n_words(len(stack))), len(stack))
    members = members_of(patterns, len(stack))
    return Rules(RecordCounts(stack, points, side, n_sides, counted, members, isolated), _sides(p), labels, grows)


def unpack_stored_rules(
    reader: ArrayReader, p: Partition, labels: Sequence[str], dim: int, n_rows: int, all_counted: bool, grows: bool
) -> Rules:
    """Return the rules of a partition of `n_rows` points, saved without these."""
    require(not grows or "gauges" in reader or "grid_counts" in reader, "gauges")
    stack, n_sides = _stack(p, dim), len(p.isolated)
    patterns = reader.bits("patterns", (None, n_words(len(stack))), len(stack))
    pattern_counts = reader.integers("pattern_counts", (len(patterns), n_sides), 0, n_rows + 1)
    require(pattern_counts.sum() <= n_rows, "number of voters")
    held = reader.integers("held", (len(stack), n_sides), 0, n_rows + 1)
    of_counted = points_of_each(patterns, pattern_counts, len(stack))
    require(bool((held == of_counted if all_counted else held >= of_counted).all()), "numbers of points held")
    counts = StoredCounts(
        stack=stack,
        held=held,
        totals=reader.integers("totals", (n_sides,), 0, n_rows + 1),
        all_counted=all_counted,
        isolated=_isolated(reader, dim, n_rows, n_sides),
        patterns=patterns,
        pattern_counts=pattern_counts,
        outside=_outside(reader, len(stack), n_rows, n_sides) if "gauges" in reader else None,
        grid_counts=_grid_counts(reader, len(stack), n_rows, n_sides) if "grid_counts" in reader else None,
    )
    return Rules(counts, _sides(p), labels, grows)


def pack_densities(writer: ArrayWriter, densities: LocalDensities) -> None:
    """Put local densities into arrays."""
    for name in ("center", "unit", "coefficients", "codes", "log_weights"):
        writer.put(name, getattr(densities, name))
    writer.put("tails", [densities.degrees_of_freedom])
    if densities.shares is not None:
        categories = densities.shares.categories
        writer.put("category_features", categories.features)
        writer.put("category_ends", _ends(categories.groups))
        writer.put("category_no", categories.no)
        writer.put("category_yes", categories.yes)
        writer.put("share_slopes", densities.shares.slopes)
        writer.put("share_constants", densities.shares.constants)


def unpack_densities(reader: ArrayReader, dim: int, n_classes: int) -> LocalDensities:
    """Return local densities of points with `dim` features."""
    codes = reader.integers("codes", (None,), 0, n_classes)
    require(len(codes) > 0 and bool((np.diff(codes) >= 0).all()), "components are not class by class")
    shares = _shares(reader, dim, len(codes)) if "category_features" in reader else None
    dim -= 0 if shares is None else len(shares.categories.features)
    return LocalDensities(
        center=reader.numbers("center", (dim,)),
        unit=reader.positive("unit", (dim,)),
        coefficients=reader.numbers("coefficients", ((dim + 1) * (dim + 2) // 2, len(codes))),
        codes=codes,
        log_weights=reader.numbers("log_weights", (len(codes),)),
        n_classes=n_classes,
        shares=shares,
        degrees_of_freedom=float(reader.positive("tails", (1,))[0]),
    )


def pack_groups(writer: ArrayWriter, groups: IntArray | None) -> None:
    """Put the component of each region into an array, if any are merged."""
    if groups is not None and is_any_merged(groups):
        writer.put("groups", groups)


def unpack_groups(reader: ArrayReader, densities: LocalDensities, partitions: Sequence[Partition]) -> IntArray:
    """Return the component of each region, shape (n_regions,)."""
    n = len(densities.codes)
    groups = reader.integers("groups", (None,), 0, n) if "groups" in reader else np.arange(n)
    numbers, first = np.unique(groups, return_index=True)
    in_order = len(numbers) == len(densities.codes) and bool((np.diff(first) > 0).all())
    codes = densities.codes[groups]
    require(in_order and bool((np.diff(codes) >= 0).all()), "merged regions")
    problems, sides = deciding_problem(np.arange(densities.n_classes), len(partitions))
    for k, (problem, side) in enumerate(zip(problems.tolist(), sides.tolist(), strict=True)):
        n_ellipsoids = sum(block.side == side for block in partitions[problem].blocks)
        # The isolated points of a class are one more.
        require(0 <= np.count_nonzero(codes == k) - n_ellipsoids <= 1, "merged regions")
    return groups


def _shares(reader: ArrayReader, dim: int, n_components: int) -> CategoryShares:
    features = reader.integers("category_features", (None,), 0, dim)
    ends = reader.integers("category_ends", (None,), 1, len(features) + 1)
    require(len(np.unique(features)) == len(features), "a feature of two categories")
    require(len(ends) > 0 and bool((np.diff(ends) > 0).all()) and ends[-1] == len(features), "ends of categories")
    no, yes = (reader.numbers(name, (len(features),)) for name in ("category_no", "category_yes"))
    require(bool((yes > no).all()), "values of categories")
    return CategoryShares(
        Categories(tuple(np.split(features, ends[:-1])), no, yes),
        slopes=reader.numbers("share_slopes", (len(features), n_components)),
        constants=reader.numbers("share_constants", (len(ends), n_components)),
    )


def pack_calibration(writer: ArrayWriter, calibration: Calibration | None) -> None:
    """Put a calibration into arrays, if there is one."""
    if calibration is not None:
        writer.put("numbers", [calibration.temperature, calibration.unexplained, calibration.level])
        writer.put("correction", calibration.correction)
        writer.put("class_share", calibration.class_share)
        writer.put("left_out", calibration.held_out)
        if calibration.linear is not None:
            writer.put("slopes", calibration.linear.slopes)
            writer.put("ends", [calibration.linear.low, calibration.linear.high])
        for name, part in ("relations", calibration.relations), ("local", calibration.local):
            if part is not None:
                for one in fields(part):
                    writer.under(name).put(one.name, getattr(part, one.name))


def unpack_calibration(reader: ArrayReader, dim: int, n_classes: int, n_rows: int) -> Calibration | None:
    """Return a calibration, perhaps with parts that read `dim` features; None where a file has none."""
    if "numbers" not in reader:
        return None
    temperature, unexplained, level = reader.numbers("numbers", (3,)).tolist()
    correction = reader.numbers("correction", (n_classes,), limit=MOST_CORRECTION)
    share, left_out = reader.numbers("class_share", (n_classes,)), reader.numbers("left_out", (None,))
    require(temperature > 0.0 and 0.0 <= unexplained <= 1.0, "calibration")
    require(bool((share >= 0.0).all()) and abs(share.sum() - 1.0) < 1e-9, "shares of the classes")
    require(len(left_out) <= n_rows and bool((np.diff(left_out) >= 0.0).all()), "densities are not ascending")
    linear = None
    if "slopes" in reader:
        low, high = reader.numbers("ends", (2, dim))
        require(bool((low <= high).all()), "ends of linear terms")
        linear = LinearTerms(reader.numbers("slopes", (dim, n_classes)), low, high)
    relations = _relations(reader.under("relations"), dim, n_classes)
    local = _local_counts(reader.under("local"), dim, n_classes)
    return Calibration(temperature, correction, unexplained, level, share, left_out, linear, relations, local)


def _local_counts(reader: ArrayReader, dim: int, n_classes: int) -> LocalCounts | None:
    """Return the counts at places; None where a file has none."""
    if "radii" not in reader:
        return None
    radii = reader.positive("radii", (None,))
    counts = reader.numbers("counts", (len(radii), n_classes))
    require(len(radii) > 0 and bool((counts >= 0.0).all() and (counts.sum(axis=1) > 0.0).all()), "counts of places")
    return LocalCounts(reader.numbers("centers", (len(radii), dim)), radii, counts)


def _relations(reader: ArrayReader, dim: int, n_classes: int) -> Relations | None:
    """Return relations between columns; None where a file has none."""
    if "columns" not in reader:
        return None
    columns = reader.integers("columns", (None,), 0, dim)
    n = len(columns)
    require(n > 0 and len(np.unique(columns)) == n, "columns of relations")
    precision = reader.numbers("precision", (n, n), limit=1e12)
    require(bool((precision.diagonal() > 0.0).all()), "precision")
    centers = reader.numbers("centers", (None, n), limit=1e12)
    require(1 <= len(centers) <= n_classes, "centers")
    return Relations(
        columns=columns,
        scale=reader.positive("scale", (n,)),
        centers=centers,
        precision=precision,
        usual=reader.positive("usual", (2, 2, n)),
        power=reader.positive("power", (2, 2, n)),
        middle=reader.numbers("middle", (3,)),
        width=reader.positive("width", (3,)),
    )


def pack_fit(writer: ArrayWriter, fit: DensityFit[LocalDensities], is_calibrated: bool, training_rows: bool) -> None:
    """Put densities, their calibration and the densities of the folds into arrays."""
    pack_densities(writer.under("densities"), fit.whole)
    pack_groups(writer, fit.groups)
    if not is_calibrated:
        return
    pack_calibration(writer.under("calibration"), fit.calibration)
    parts = writer.under("parts")
    for k, densities in enumerate(fit.held_out):
        pack_densities(parts.under(f"part{k}"), densities)
    if training_rows:
        parts.put("part", fit.part)


def unpack_fit(
    reader: ArrayReader,
    dim: int,
    class_count: IntArray,
    records: TrainingRecords | None,
    partitions: Sequence[Partition],
    is_calibrated: bool,
) -> DensityFit[LocalDensities]:
    """Return densities, their calibration and the densities of the folds."""
    n_classes = len(class_count)
    densities = unpack_densities(reader.under("densities"), dim, n_classes)
    groups = unpack_groups(reader, densities, partitions)
    calibration = unpack_calibration(reader.under("calibration"), dim, n_classes, int(class_count.sum()))
    require((calibration is not None) == is_calibrated, "calibration")
    if calibration is None:
        return DensityFit(densities, groups, identity_calibration(class_count))
    parts = reader.under("parts")
    readers = [part for part in (parts.under(f"part{k}") for k in range(N_PARTS)) if "codes" in part]
    held_out = tuple(unpack_densities(part, dim, n_classes) for part in readers)
    require(all(len(part.unit) == len(densities.unit) for part in held_out), "categories of a part")
    same_dof = all(part.degrees_of_freedom == densities.degrees_of_freedom for part in held_out)
    require(same_dof, "degrees of freedom of a part")
    if not held_out or records is None:
        return DensityFit(densities, groups, calibration, held_out)
    part_of_each = parts.integers("part", (len(records.codes),), -1, len(held_out))
    return DensityFit(densities, groups, calibration, held_out, part_of_each)


def _outside(reader: ArrayReader, n_ellipsoids: int, n_rows: int, n_sides: int) -> list[list[FloatArray]]:
    require(bool((reader.numbers("gauges", (None,)) > 1.0).all()), "gauges of points outside")
    ends = reader.integers("gauge_ends", (n_sides * n_ellipsoids,), 0, n_ellipsoids * n_rows + 1)
    parts = reader.split("gauges", ends)
    require(all(bool((np.diff(part) >= 0.0).all()) for part in parts), "gauges are not ascending")
    return [parts[k : k + n_sides] for k in range(0, len(parts), n_sides)]


def _grid_counts(reader: ArrayReader, n_ellipsoids: int, n_rows: int, n_sides: int) -> IntArray:
    counts = reader.integers("grid_counts", (n_ellipsoids, n_sides, len(GAUGE_GRID)), 0, n_rows + 1)
    require(bool((np.diff(counts, axis=2) >= 0).all()), "counts on the grid are not ascending")
    return counts


def _isolated(reader: ArrayReader, dim: int, n_rows: int, n_sides: int) -> Isolated:
    points = reader.numbers("isolated_points", (None, dim))
    n = len(points)
    return Isolated(
        points=points,
        named=reader.integers("isolated_named", (n,), 0, n_sides),
        sides=reader.integers("isolated_sides", (n,), -1, n_sides),
        counts=reader.integers("isolated_counts", (n, n_sides), 0, n_rows + 1),
    )


def _stack(p: Partition, dim: int) -> EllipsoidStack:
    return EllipsoidStack([block.ellipsoid for block in p.blocks], dim)


def _sides(p: Partition) -> IntArray:
    return np.array([block.side for block in p.blocks], dtype=np.int64)


def _joined(rows: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


def _ends(parts: Sequence[NDArray[Any]]) -> IntArray:
    return np.cumsum([len(part) for part in parts], dtype=np.int64)
