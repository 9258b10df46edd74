"""Probes to arrays and JSON, and back: the few records on which another model is known again."""

import math
import re
from typing import Any

import numpy as np

from sepc.common.frames import as_frame, plain
from sepc.persist.named_arrays import ArrayReader, ArrayWriter, require, require_texts
from sepc.persist.saved_parts import Header

_NAME = "probes"
# Columns of other types, such as dates with a time zone, are not kept.
_DATE = re.compile(r"datetime64\[(s|ms|us|ns)\]")
_TYPES = re.compile(rf"bool|u?int\d+|float\d+|object|str|string|boolean|U?Int\d+|Float\d+|{_DATE.pattern}")
_NO_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def pack_probes(writer: ArrayWriter, probes: Any, training_rows: bool) -> Header | None:
    """Put probes into arrays; return the rest of them. None for what a file cannot hold, or must not.

    Without training rows probes stay in which no value belongs to another: those of tables of several columns.
    """
    shape: Any = getattr(probes, "shape", ())
    if probes is None or not (training_rows or (len(shape) == 2 and shape[1] > 1)):
        return None
    if isinstance(probes, np.ndarray) and probes.dtype.kind in "biufU":
        writer.put_unchanged(_NAME, probes.reshape(len(probes), -1))
        return {"kind": "array", "shape": list(probes.shape)}
    try:
        packed = _packed(probes)
        return packed if _is_same(unpack_probes(ArrayReader({}), packed), probes) else None
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError, ImportError):  # of a type that is not known
        return None


def unpack_probes(reader: ArrayReader, packed: Header | None) -> Any:
    """Return the probes that were saved; None if there are none."""
    if packed is None:
        return None
    kind = packed["kind"]
    if kind == "array":
        return reader.unchanged(_NAME).reshape(packed["shape"])
    if kind == "texts":
        return require_texts(packed["values"])
    if kind == "objects":
        rows = [[_value(value) for value in row] for row in packed["values"]]
        found = np.empty((len(rows), len(rows[0])), dtype=object)
        found[:] = rows
        return found
    names, columns = packed["names"], packed["columns"]
    require(len(set(names)) == len(names) and all(type(name) is str for name in names), "names of columns")
    if kind == "polars":
        import polars as pl

        return pl.DataFrame([_polars_column(*one) for one in zip(names, columns, strict=True)])
    require(kind == "pandas", "kind of probes")
    import pandas as pd

    return pd.DataFrame({name: _pandas_column(column) for name, column in zip(names, columns, strict=True)})


def _packed(probes: Any) -> Header:
    if isinstance(probes, list):
        return {"kind": "texts", "values": require_texts(probes)}
    frame = as_frame(probes)
    if frame is None:
        require(isinstance(probes, np.ndarray) and probes.ndim == 2, "records")
        return {"kind": "objects", "values": [[_for_json(value) for value in row] for row in probes.tolist()]}
    is_polars = frame.implementation.is_polars()
    columns = [probes[name] for name in probes.columns]
    packed = [_packed_polars(column) if is_polars else _packed_pandas(column) for column in columns]
    return {"kind": "polars" if is_polars else "pandas", "names": list(probes.columns), "columns": packed}


def _is_same(one: Any, two: Any) -> bool:
    if isinstance(two, list):
        return bool(one == two)
    if isinstance(two, np.ndarray):
        return repr(one.tolist()) == repr(two.tolist())
    if hasattr(two, "reset_index"):
        two = two.reset_index(drop=True)
        return bool(one.equals(two) and (one.dtypes == two.dtypes).all())
    return bool(one.equals(two) and one.schema == two.schema)


def _for_json(value: Any) -> Any:
    """Return a value for JSON: NaN and infinity as lists of their names."""
    value = plain(value)
    require(value is None or isinstance(value, bool | int | float | str), "value")
    return [str(value)] if isinstance(value, float) and not math.isfinite(value) else value


def _value(packed: Any) -> Any:
    return _NO_NUMBERS[packed[0]] if isinstance(packed, list) else packed


def _packed_pandas(column: Any) -> Header:
    dtype = str(column.dtype)
    if dtype == "category":
        categories = _packed_pandas(column.cat.categories.to_series())
        return {"dtype": dtype, "of": categories, "values": column.cat.codes.tolist(), "ordered": column.cat.ordered}
    if _DATE.fullmatch(dtype):
        column = column.astype("int64")
    elif dtype[0].isupper() or dtype in ("boolean", "string"):  # those whose missing value is pandas.NA
        column = column.astype(object).where(column.notna(), None)
    return {"dtype": dtype, "values": [_for_json(value) for value in column.tolist()]}


def _pandas_column(packed: Header) -> Any:
    import pandas as pd

    if packed["dtype"] == "category":
        categories = pd.Index(_pandas_column(packed["of"]))
        return pd.Series(pd.Categorical.from_codes(packed["values"], categories, ordered=packed["ordered"]))
    require(_TYPES.fullmatch(packed["dtype"]) is not None, "type of a column")
    values = [_value(value) for value in packed["values"]]
    if _DATE.fullmatch(packed["dtype"]):
        return pd.Series(np.array(values, dtype=np.int64).view(packed["dtype"]))
    return pd.Series(values, dtype=packed["dtype"])


def _polars_types() -> dict[str, Any]:
    import polars as pl

    numbers = pl.Float64, pl.Float32, pl.Int64, pl.Int32, pl.Int16, pl.Int8, pl.UInt64, pl.UInt32, pl.UInt16, pl.UInt8
    dates = pl.Date(), pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns")
    types = *(kind() for kind in (*numbers, pl.Boolean, pl.String, pl.Categorical)), *dates
    return {str(one): one for one in types}


def _packed_polars(column: Any) -> Header:
    values = column.to_physical() if column.dtype.is_temporal() else column
    return {"dtype": str(column.dtype), "values": [_for_json(value) for value in values.to_list()]}


def _polars_column(name: str, packed: Header) -> Any:
    import polars as pl

    dtype, values = _polars_types()[packed["dtype"]], [_value(value) for value in packed["values"]]
    return (
        pl.Series(name, values, dtype=pl.Int64).cast(dtype) if dtype.is_temporal() else pl.Series(name, values, dtype)
    )
