"""Raw tables in a graph: the rules of a fitted `TableEncoder`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from sepc.common.errors import InputError
from sepc.serving.graphs.graph import ML, Graph, Tensor
from sepc.tables.cells import MISSING, MISSING_TEXTS, OTHER
from sepc.tables.columns import CATEGORY, Column, feature_slices
from sepc.tables.encoder import TableEncoder

# What `str.strip` takes away.
_BLANKS = "".join(chr(c) for c in range(0x3001) if chr(c).isspace())
# Texts of one regular expression, and their bytes: longer ones are none that ONNX Runtime takes.
_AT_ONCE, _LONGEST = 200, 10_000


class Encoded(NamedTuple):
    """Features of rows, shape (n, n_features), and how typical the gaps of each row are, shape (n,)."""

    features: Tensor
    gap_typicality: Tensor


class _Encoded(NamedTuple):
    """Features of a column, shape (n, n_features), and where it has a gap, and no value, shape (n,)."""

    features: Tensor
    is_gap: Tensor
    is_missing: Tensor


def columns_of(encoder: TableEncoder) -> list[Column]:
    """Return the columns that a graph takes: those with features."""
    return [column for column, _ in feature_slices(encoder.columns_)]


def encoded(g: Graph, encoder: TableEncoder, cells: Mapping[str, Tensor]) -> Encoded:
    """Return the features of rows by their cells, shape (n,) for each column."""
    columns = columns_of(encoder)
    parts = [(_category if c.kind == CATEGORY else _number)(g, c, cells[c.name]) for c in columns]
    features = g.concat([part.features for part in parts], 1)
    if any(column.keeps_gaps for column in columns):
        n_missing = sum((g.floats(part.is_missing) for part in parts[1:]), g.floats(parts[0].is_missing))
        features = g.where(g.expanded(n_missing >= float(len(parts)), 1), np.nan, features)
    n_gaps = sum((g.integers(part.is_gap) for part in parts[1:]), g.integers(parts[0].is_gap))
    counts = encoder.gap_counts_
    at_least = np.append(np.cumsum(counts[::-1])[::-1], 0) / counts.sum()
    return Encoded(features, g.take(at_least, g.minimum(n_gaps, np.array(len(counts)))))


def _number(g: Graph, column: Column, x: Tensor) -> _Encoded:
    is_missing = g.isnan(x)
    filled = x - column.origin
    if not column.keeps_gaps:
        filled = g.where(is_missing, column.fill, filled)
    features = [filled] * column.varies + [g.floats(is_missing)] * column.flagged
    is_gap = is_missing & np.array(not column.keeps_gaps)
    return _Encoded(g.stack(features, 1), is_gap, is_missing)


def _category(g: Graph, column: Column, cells: Tensor) -> _Encoded:
    """Return the features of a category, by a table of those that each of its values has."""
    levels, pooled = ([text for text in texts if text != MISSING] for texts in (column.levels, column.pooled))
    known = [*levels, *pooled]
    if too_long := [text for text in known if len(text.encode()) > _LONGEST]:
        raise InputError("graph-text-too-long", name=column.name, text=too_long[0][:40], most=_LONGEST)
    # Behind the known texts come a missing one, and one that the fit has not seen.
    unseen = "x" + max((*known, OTHER), key=len)
    examples = np.array([*known, "", unseen], dtype=object)
    code = _code(g, cells, levels, pooled)
    table, gaps = column.encode(examples), column.gaps(examples)
    return _Encoded(g.take(table, code), g.take(gaps, code), code.equals(np.array(len(known))))


def _code(g: Graph, texts: Tensor, levels: list[str], pooled: list[str]) -> Tensor:
    """Return the number of each text, shape (n,): of missing ones, and behind these of unseen ones, the last two."""
    known = [*levels, *pooled]
    missing, unseen = len(known), len(known) + 1
    keys = {text: code for code, text in enumerate(known)}
    keys |= dict.fromkeys([*MISSING_TEXTS, *map(str.upper, MISSING_TEXTS), "NaN", "NaT"], missing)
    exact = g.op(
        "LabelEncoder",
        texts,
        domain=ML,
        keys_strings=list(keys),
        values_int64s=list(keys.values()),
        default_int64=unseen,
    )

    def without_blanks() -> Tensor:
        code = exact
        # Pooled texts have the same features, whichever it is.
        for some in [*([number] for number in range(len(levels))), *_short(known, range(len(levels), len(known)))]:
            patterns = [_escaped(known[number]) for number in some]
            code = g.where(_matches(g, texts, patterns), np.array(some[0]), code)
        return g.where(_matches(g, texts, list(map(_in_any_case, sorted(MISSING_TEXTS)))), np.array(missing), code)

    is_unseen = g.op("ReduceMax", g.floats(exact.equals(np.array(unseen))), keepdims=0) > 0.0
    return g.if_any(is_unseen, without_blanks, exact, TensorProto.INT64)


def _short(known: list[str], numbers: Iterable[int]) -> Iterator[list[int]]:
    """Yield numbers of texts that fit into one regular expression."""
    some, size = list[int](), 0
    for number in numbers:
        length = len(known[number].encode())
        if some and (len(some) == _AT_ONCE or size + length > _LONGEST):
            yield some
            some, size = [], 0
        some.append(number)
        size += length
    if some:
        yield some


def _matches(g: Graph, texts: Tensor, patterns: list[str]) -> Tensor:
    blanks = f"[{''.join(map(_escaped, _BLANKS))}]*"
    return g.op("RegexFullMatch", texts, pattern=f"{blanks}(?:{'|'.join(patterns)}){blanks}")


def _escaped(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):x}}}" for c in text)


def _in_any_case(text: str) -> str:
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else _escaped(c) for c in text)
