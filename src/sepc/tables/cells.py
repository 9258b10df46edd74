"""Cells of a raw table: columns of pandas, polars, pyarrow or plain arrays as numbers or as codes of texts."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from sepc.common.errors import InputError, SepcError
from sepc.common.frames import as_frame
from sepc.common.typing import LARGEST_COORDINATE, BoolArray, FloatArray, IntArray

try:
    import pandas as pd
except ImportError as error:  # pragma: no cover
    raise SepcError("tables-need-pandas") from error

NUMBER, BOOL, DATE, TEXT = "number", "bool", "date", "text"
MISSING, OTHER = "(missing)", "(other)"
# Texts of missing values, in any case.
MISSING_TEXTS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "?", MISSING})
SECONDS_A_DAY = 86_400.0
LARGEST_EXACT = 1 << 53  # larger whole numbers are not all floats
NUMBER_RULE = f"a finite number, of at most {LARGEST_COORDINATE:g}"


class CellError(InputError):
    """Error of a cell that holds what its column cannot; its field `row` is the number of the data row, from 1."""

    def moved(self, rows: int) -> "CellError":
        """Return the error for a table of which this number of rows was read before."""
        return CellError(self.code, **self.fields | {"row": self.fields["row"] + rows})


class Table(NamedTuple):
    """Columns of a raw table."""

    columns: dict[str, Any]  # series or arrays, as given
    has_names: bool  # whether the names came with the table
    n_rows: int


def read_table(X: Any, wanted: Collection[str] | None = None) -> Table:
    """Return the columns of a frame of any library that narwhals knows, or of rows in an array or in lists.

    Of a frame only those that are `wanted`, if they are given.
    """
    is_arrow = nw.dependencies.is_pyarrow_table(X)  # whose `columns` are arrays
    names = list(map(str, X.column_names if is_arrow else getattr(X, "columns", ())))
    duplicates = sorted(name for name, n in Counter(names).items() if n > 1)
    if duplicates:
        raise InputError("table-columns-duplicated", columns=", ".join(map(repr, duplicates)))
    frame = as_frame(X)
    if frame is None:
        array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
        return Table({f"x{j}": column for j, column in enumerate(array.T)}, False, len(array))
    if not len(names) or not len(frame):
        raise InputError("table-empty", n_rows=len(frame), n_columns=len(names))
    if wanted is not None and 2 * len(wanted) < len(names):
        frame = frame[[name for name in frame.columns if str(name) in wanted]]
    return Table({str(column.name): column.to_native() for column in frame.iter_columns()}, True, len(frame))


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Cells of one column.

    Attributes
    ----------
    kind : {"number", "bool", "date", "text"}
    values : ndarray of shape (n,)
        Numbers; 0 and 1 for a bool; days since 1970-01-01 for a date; NaN if missing. Empty for texts.
    codes : ndarray of int, shape (n,)
        Number of each text in `texts`, -1 if missing.
    texts : ndarray of object, shape (n_texts,)
    fixed : bool
        Whether the column came as a category, of texts even if all of them look like numbers.
    """

    kind: str
    values: FloatArray
    codes: IntArray
    texts: NDArray[np.object_]
    fixed: bool = False

    @classmethod
    def of_values(cls, kind: str, values: FloatArray) -> Self:
        """Return cells of numbers, truths or dates."""
        return cls(kind, values, np.empty(0, np.int64), np.empty(0, object))

    @classmethod
    def of_texts(cls, codes: IntArray, found: Any, fixed: bool = False) -> Self:
        """Return cells of texts, stripped of blanks, with texts of missing values as missing."""
        texts = [text_of(value).strip() for value in found]
        known = np.array([None if text.lower() in MISSING_TEXTS else text for text in texts], dtype=object)
        # The last entry stands for the code -1.
        again, distinct = pd.factorize(np.append(known, np.array([None], dtype=object)))
        return cls(TEXT, np.empty(0), again[np.asarray(codes)], np.asarray(distinct, dtype=object), fixed)


def read_cells(column: Any) -> Cells:
    """Return the cells of a pandas or polars Series, a pyarrow array or an ndarray of shape (n,)."""
    series = as_series(column)
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Cells.of_texts(series.cat.codes.to_numpy(), series.cat.categories, fixed=True)
    if pd.api.types.is_object_dtype(dtype):
        return _object_cells(series)
    if pd.api.types.is_complex_dtype(dtype):
        raise _no_complex_numbers()
    if pd.api.types.is_integer_dtype(dtype) and _is_long(series) and are_long_names(map(str, series.dropna().unique())):
        return Cells.of_texts(*pd.factorize(series))
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return Cells.of_values(BOOL if pd.api.types.is_bool_dtype(dtype) else NUMBER, _floats(series))
    if pd.api.types.is_timedelta64_dtype(dtype):
        return Cells.of_values(NUMBER, series.dt.total_seconds().to_numpy(np.float64) / SECONDS_A_DAY)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return Cells.of_values(DATE, _days(series))
    return Cells.of_texts(*pd.factorize(series))


def as_series(column: Any) -> Any:
    """Return a column of any library that narwhals knows, or an array, as a pandas Series."""
    if isinstance(column, pd.Series):
        return column
    if str(getattr(column, "type", "")) == "double":  # of pyarrow: a short cut for the usual case
        return pd.Series(np.asarray(column))
    series = nw.from_native(column, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return pd.Series(np.asarray(column))
    if series.implementation.is_pandas():
        return column
    if series.dtype in (nw.Categorical, nw.Enum):
        return pd.Series(pd.Categorical(series.cast(nw.String).to_list()))
    if series.dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    return pd.Series(series.to_numpy(), dtype=object if series.dtype == nw.String else None)


def _object_cells(series: Any) -> Cells:
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if kind == "complex":
        raise _no_complex_numbers()
    if kind == "integer" and are_long_names(map(str, series.dropna().unique())):
        return Cells.of_texts(*pd.factorize(series))
    if kind in ("boolean", "integer", "floating", "mixed-integer-float", "decimal", "empty"):
        values = series.where(series.notna(), np.nan).astype(np.float64).to_numpy()
        return Cells.of_values(BOOL if kind == "boolean" else NUMBER, values)
    if kind in ("datetime", "datetime64", "date"):
        return Cells.of_values(DATE, _days(series))
    if kind != "string":
        series = series.map(text_of, na_action="ignore")  # others may not be hashable
    return Cells.of_texts(*pd.factorize(series))


def _is_long(whole: Any) -> bool:
    known = whole.dropna() if hasattr(whole, "dropna") else whole
    return len(known) > 0 and bool(known.max() > LARGEST_EXACT or known.min() < -LARGEST_EXACT)


def are_long_names(texts: Iterable[str]) -> bool:
    """Return whether different texts are names of many digits, of which floats would be equal or inexact."""
    texts = list(texts)
    lossy = {text for text in texts if re.fullmatch(r"[+-]?\d{16,300}", text) and int(float(text)) != int(text)}
    return 2 * len(lossy) > len(texts) or len({float(text) for text in lossy}) < len({int(text) for text in lossy})


def _no_complex_numbers() -> InputError:
    return InputError("complex-data")


def _floats(series: Any) -> FloatArray:
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _days(series: Any, **how: Any) -> FloatArray:
    """Return dates as days since 1970-01-01, those with a time zone by their UTC time; NaN if missing."""
    dates = pd.to_datetime(series, utc=True, **how).dt.tz_convert(None).to_numpy("datetime64[us]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / (1e6 * SECONDS_A_DAY))


def text_of(value: Any) -> str:
    """Return a value as a text; whole numbers without a decimal point, however they are stored."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def date_text(days: float, whole: bool) -> str:
    """Return days since 1970-01-01 as a date, to the second unless only whole days count."""
    stamp = np.datetime64(0, "s") + np.timedelta64(round(days * SECONDS_A_DAY), "s")
    return str(stamp.astype("datetime64[D]") if whole else stamp)


def as_category(cells: Cells) -> Cells:
    """Return cells of any kind as texts."""
    if cells.kind == TEXT:
        return cells
    codes, found = pd.factorize(cells.values)
    if cells.kind == BOOL:
        return Cells.of_texts(codes, [str(bool(value)) for value in found])
    if cells.kind == DATE:
        return Cells.of_texts(codes, [date_text(value, float(value).is_integer()) for value in found])
    return Cells.of_texts(codes, found)


def parsed(texts: NDArray[np.object_], kind: str) -> FloatArray:
    """Return texts as values of a kind, NaN for a text of another kind."""
    if kind == NUMBER:
        return np.asarray(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"), dtype=np.float64)
    if kind == BOOL:
        truths = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        return np.array([truths.get(text.lower(), np.nan) for text in texts], dtype=np.float64)
    series = pd.Series(texts, dtype=object)
    series = series.where(series.astype(str).str.fullmatch(r"\d{4}-\d{2}-\d{2}([T ].*)?"), None)
    return _days(series, format="ISO8601", errors="coerce")


def as_kind(cells: Cells, kind: str, name: str) -> FloatArray:
    """Return cells as values of a kind, NaN if missing; raise a `CellError` for a cell of another kind."""
    rule = {NUMBER: NUMBER_RULE, BOOL: "true or false", DATE: "a date such as 2024-01-31"}[kind]
    if cells.kind == TEXT:
        values = parsed(cells.texts, kind)
        bad = np.append(~(np.abs(values) <= LARGEST_COORDINATE), False)[cells.codes]
        _require_none(bad, name, lambda row: cells.texts[cells.codes[row]], rule)
        return np.append(values, np.nan)[cells.codes]
    values = cells.values
    _require_none(_misfits(cells, kind), name, lambda row: _shown(values[row], cells.kind), rule)
    return values


def _misfits(cells: Cells, kind: str) -> BoolArray:
    """Return which numbers, truths or dates have no value of another kind, or are too large."""
    values = cells.values
    if kind == BOOL and cells.kind == NUMBER:
        return np.asarray(~(np.isnan(values) | (values == 0.0) | (values == 1.0)))
    fits = cells.kind == kind or (kind == NUMBER and cells.kind == BOOL)
    return np.asarray(np.abs(values) > LARGEST_COORDINATE if fits else ~np.isnan(values))


def _shown(value: float, kind: str) -> Any:
    return date_text(value, whole=False) if kind == DATE else bool(value) if kind == BOOL else float(value)


def _require_none(bad: BoolArray, name: str, value: Callable[[int], Any], rule: str) -> None:
    if bad.any():
        row = int(bad.argmax())
        raise CellError("cell-value", column=name, value=value(row), row=row + 1, rule=rule)
