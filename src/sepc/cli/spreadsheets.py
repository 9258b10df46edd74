"""Tables from Excel workbooks, and to them; openpyxl is needed for both."""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa

from sepc.cli.console import note
from sepc.common.errors import InputError
from sepc.tables.cells import text_of

_MOST_ROWS = 1_048_576  # in a sheet of the file format


def read_sheet(
    file: BinaryIO, name: str, sheet: str | None = None, skip_rows: int = 0, skip_footer: int = 0
) -> pa.Table:
    """Return a sheet of a workbook, by its name or number, from 1; by default the first that is not empty.

    After `skip_rows` its first row holds the names of the columns, without regard to empty rows, of which the last
    `skip_footer` are left out. Numbers, dates and truths keep their types; a column of several types becomes text.
    """
    from openpyxl import load_workbook

    _require_workbook(file, name)
    sheets = load_workbook(file, data_only=True).worksheets
    chosen = _first_filled(sheets, name) if sheet is None else _named(sheets, sheet, name)
    _require_results(file, chosen, name)
    rows = _rows(chosen, skip_rows)
    rows = rows[: max(len(rows) - skip_footer, 0)]
    if not rows:
        raise InputError("sheet-empty", name=name, sheet=chosen.title, skip_rows=skip_rows)
    first, *rows = rows
    width = max(k for row in (first, *rows) for k, cell in enumerate(row, 1) if cell is not None)
    names = ["" if cell is None else text_of(cell).strip() for cell in first[:width]]
    columns = [_column([row[k] for row in rows]) for k in range(width)]
    return pa.Table.from_arrays(columns, names)


def _first_filled(sheets: Sequence[Any], name: str) -> Any:
    filled = [sheet for sheet in sheets if _rows(sheet)]
    if not filled:
        raise InputError("file-empty", name=name)
    if len(filled) > 1:
        note("other-sheets", name=name, n=len(filled), sheet=filled[0].title)
    return filled[0]


def _named(sheets: Sequence[Any], which: str, name: str) -> Any:
    by_name = {sheet.title: sheet for sheet in sheets}
    by_number = {str(number): sheet for number, sheet in enumerate(sheets, 1)}
    found = (by_number | by_name).get(which)
    if found is None:
        raise InputError("sheet-unknown", name=name, sheet=which, sheets=", ".join(map(repr, by_name)))
    return found


def _require_workbook(file: BinaryIO, name: str) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            is_workbook = "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile as error:
        raise InputError("file-unreadable", name=name, reason=str(error)) from error
    if not is_workbook:
        raise InputError("zip-no-workbook", name=name)
    file.seek(0)


def _rows(sheet: Any, skip_rows: int = 0) -> list[tuple[Any, ...]]:
    """Return the rows of a sheet that are not empty, without the first ones."""
    values = getattr(sheet, "values", ())  # a sheet of charts has none
    return [row for row in islice(values, skip_rows, None) if any(cell is not None for cell in row)]


def _require_results(file: BinaryIO, sheet: Any, name: str) -> None:
    """Raise an error for a formula that was never calculated: it would look like a gap."""
    from openpyxl import load_workbook

    file.seek(0)
    for row in load_workbook(file)[sheet.title].iter_rows():
        for cell in row:
            if cell.data_type == "f" and sheet[cell.coordinate].value is None:
                raise InputError("formula-without-result", name=name, cell=cell.coordinate, sheet=sheet.title)


def _column(cells: Sequence[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int} and all(abs(cell) < 1 << 63 for cell in cells if cell is not None):
        return pa.array(cells, pa.int64() if kinds else pa.string())
    if kinds <= {int, float}:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds <= {datetime, date}:
        return pa.array(cells, pa.timestamp("us"))
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str:
    """Return a cell as a text; a duration as hours, minutes and seconds."""
    if not isinstance(cell, timedelta):
        return text_of(cell)
    minutes, seconds = divmod(round(cell.total_seconds()), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


@contextmanager
def written_sheet(file: BinaryIO, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that writes record batches to the only sheet of a workbook."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    workbook = Workbook(write_only=True)
    sheet = workbook.create_sheet("verdicts")
    n_rows = 0

    def in_cell(value: Any) -> Any:
        if isinstance(value, float) and value != value:
            return None
        if value is None or isinstance(value, (bool, int, float, date)):
            return value
        if len(text := str(value)) > 32_767:  # the file format's limit
            raise ValueError(f"a text of {len(text):,} characters")
        cell = WriteOnlyCell(sheet, text)
        cell.data_type = "s"  # never a formula
        return cell

    def append(values: Sequence[Any]) -> None:
        nonlocal n_rows
        n_rows += 1
        if n_rows > _MOST_ROWS:
            raise InputError("sheet-too-long", most=_MOST_ROWS)
        try:
            sheet.append([in_cell(value) for value in values])
        except (ValueError, IllegalCharacterError) as error:  # long texts, time zones, control characters
            raise InputError("workbook-row", row=n_rows - 1, reason=str(error)) from error

    def write(batch: pa.RecordBatch) -> None:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            append(row)

    try:
        append(schema.names)
        yield write
    finally:
        workbook.save(file)  # after an error too, to close its temporary files
