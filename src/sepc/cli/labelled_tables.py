"""Tables with labels, read as a whole, and checks of the columns that options name."""

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from sepc.around import GivenScores
from sepc.cli.cell_values import CellParser, is_missing, is_text, require_flat, require_no_strays, require_none
from sepc.cli.console import UsageError, note, progress
from sepc.cli.given_answers import answer_labels, given_by, require_answers
from sepc.cli.messages import printed
from sepc.cli.reading import Source, open_table
from sepc.cli.written_numbers import is_number_somehow
from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.messages import message
from sepc.common.text import nearly_same, plural, shortened
from sepc.common.typing import LARGEST_COORDINATE, BoolArray, FloatArray
from sepc.landscapes.findings import Finding
from sepc.landscapes.value_findings import padded_code_finding
from sepc.tables.cells import NUMBER_RULE
from sepc.tables.notation import TextNotation

# Dates that range over more, such as those of birth, are not when the rows were made.
_DAYS_OF_RECORDS = 3 * 366


@dataclass(frozen=True)
class LabelledTable:
    """Features and labels of n rows."""

    name: str  # of the file, for messages
    table: pa.Table  # the columns to learn from
    labels: NDArray[Any]  # whole numbers or texts, shape (n,); None where one is missing
    row_numbers: NDArray[np.int64] | None = None  # in the file, from 1, shape (n,); None for all rows
    notation: TextNotation = field(default_factory=TextNotation)  # of the file, for a model to remember
    weights: FloatArray | None = None  # sample weights, shape (n,)
    groups: NDArray[np.object_] | None = None  # texts for promises by groups, shape (n,); None where one is missing
    n_unlabelled: int = 0  # rows of the file that were left out, since they have no label
    findings: tuple[Finding, ...] = ()  # on numbers that are written like codes

    def has_label(self) -> BoolArray:
        """Return which rows have a label, shape (n,)."""
        return np.array([label is not None for label in self.labels.tolist()])

    def rows(self, which: NDArray[Any]) -> "LabelledTable":
        """Return some of the rows, by number or by flag."""
        numbers = np.flatnonzero(which) if which.dtype == bool else which
        labels = _as_array(self.labels[numbers].tolist())
        return replace(
            self,
            table=self.table.take(pa.array(numbers)),
            labels=labels,
            row_numbers=self.numbers_in_file[numbers],
            weights=None if self.weights is None else self.weights[numbers],
            groups=None if self.groups is None else self.groups[numbers],
        )

    @property
    def numbers_in_file(self) -> NDArray[np.int64]:
        """Numbers of the rows in the file, from 1, shape (n,)."""
        return np.arange(1, len(self.labels) + 1) if self.row_numbers is None else self.row_numbers

    def frame(self) -> Any:
        """Return the table as a pandas frame, indexed by the numbers of the rows in the file, from 1."""
        return self.table.to_pandas().set_axis(self.numbers_in_file, axis=0)

    def with_labels_of(self, classes: Iterable[Any]) -> "LabelledTable":
        """Return the rows with labels of the type that a model has: 1 for a model of numbers, else "1"."""
        known = {str(plain(label)).strip(): plain(label) for label in classes}
        labels = [label if label is None else known.get(str(label), label) for label in self.labels.tolist()]
        return replace(self, labels=_as_array(labels))


def _as_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array, of numbers if all of them are."""
    whole = all(isinstance(label, int) for label in labels)
    return np.array(labels, dtype=np.int64 if whole and labels else object)


def read_labelled_table(
    options: Namespace,
    path: str | None = None,
    category: Sequence[str] = (),
    notation: TextNotation | None = None,
    group_column: str | None = None,
    given: GivenScores | None = None,
) -> LabelledTable:
    """Read the file of `options`, or another one by the same options, without the columns of ``--drop``.

    Parameters
    ----------
    options : Namespace
    path : str, optional
        Of another file, read without weights.
    category : sequence of str, optional
        Categorical columns besides those of `options`.
    notation : TextNotation, optional
        Notation that a model remembers of its training file.
    group_column : str, optional
        Column of groups, which may also be a feature.
    given : GivenScores, optional
        Columns of another model's answers; by default those of `options`.
    """
    given = given_by(options) if given is None else given
    answers = [] if given is None else given.columns
    before = notation or TextNotation()
    drop, named = getattr(options, "drop", []), getattr(options, "categorical_features", [])
    weight = [] if getattr(options, "sample_weight", None) is None else [options.sample_weight]
    _require_different_uses(options.target, drop, named, weight, answers)
    category = [*named, *category]
    with open_by_options(options, path or options.data, before) as source:
        grouped = [] if group_column is None else [group_column]
        wanted = [options.target, *drop, *category, *weight[: path is None], *grouped, *answers]
        require_columns(wanted, source.schema.names, source.name)
        names = _names_without(source, [options.target, *drop, *weight])
        table = _all_rows(source)
    cell_parser = CellParser.of(options, source.delimiter, before)
    labels = parse_labels(table.column(options.target).combine_chunks(), cell_parser, options.target)
    has_label = np.array([label is not None for label in labels.tolist()])
    drops = getattr(options, "unlabelled", None) == "drop" and not has_label.all()
    # What dropped rows hold is not looked at; the others keep their numbers.
    used = pa.array(has_label | (not drops))
    columns = {name: _where(used, table.column(name).combine_chunks()) for name in names}
    said = {} if given is None or given.label is None else {given.label: columns.pop(given.label)}
    values = _values(columns, cell_parser, category)
    classes = getattr(given, "classes_", [label for label in labels.tolist() if label is not None])
    values |= {name: answer_labels(column, cell_parser, name, classes) for name, column in said.items()}
    weights = None
    if weight and not path:
        column = table.column(*weight).combine_chunks()
        zero = pa.scalar("0").cast(column.type)
        weights = _weights(compute.if_else(used, column, zero), cell_parser, *weight)
    notation = TextNotation(source.delimiter, cell_parser.notations)
    groups = None if group_column is None else group_texts(table.column(group_column).combine_chunks(), cell_parser)
    found = LabelledTable(
        name=source.name,
        table=pa.table(values),
        labels=labels,
        notation=notation,
        weights=weights,
        groups=groups,
        findings=tuple(_findings_on_texts(columns, values)),
    )
    found = _labelled_rows(found, has_label, options.target) if drops else found
    if given is not None:
        require_answers(given, found.table, found.labels, found.numbers_in_file)
    return found


def _where(used: pa.Array, column: pa.Array) -> pa.Array:
    """Return a column with no value in the rows that are not used."""
    if compute.all(used).as_py():
        return column
    return column.take(compute.if_else(used, pa.array(np.arange(len(used))), None))


def _labelled_rows(data: LabelledTable, has_label: BoolArray, target: str) -> LabelledTable:
    """Return the rows with a label; print a note on the others."""
    if not has_label.any():
        raise InputError("rows-without-any-label", name=data.name, column=target, n_rows=len(has_label))
    without = (np.flatnonzero(~has_label) + 1).tolist()
    note(
        "unlabelled-dropped",
        name=data.name,
        column=target,
        n=len(without),
        rows=f"{plural('row', len(without))} {shortened(without, 5)}",
    )
    return replace(data.rows(has_label), n_unlabelled=len(without))


def parse_labels(column: pa.Array, cell_parser: CellParser, name: str) -> NDArray[Any]:
    """Return labels: whole numbers if all are, else texts without blanks around them; None where one is missing."""
    require_flat(name, column)
    text = compute.utf8_trim_whitespace(cell_parser.texts(column))
    text = compute.if_else(is_missing(text), None, text)
    different = text.unique().drop_null()
    _require_class_labels(different, name)
    _require_no_nul(text, name)
    labels = np.asarray(text.to_numpy(zero_copy_only=False), dtype=object)
    are_whole = compute.match_substring_regex(different, r"^(0|-?[1-9]\d{0,17})$")
    if not len(different) or not compute.all(are_whole).as_py():
        _note_similar(different.to_pylist(), name)
        return labels
    whole = compute.cast(text, pa.int64())
    return np.array(whole.to_pylist(), dtype=object if text.null_count else np.int64)


def _require_class_labels(different: pa.Array, name: str) -> None:
    if len(different) <= 50:
        return
    if compute.all(is_number_somehow(different)).as_py():
        raise InputError("target-is-continuous", name=name, n_different=len(different), example=different[0].as_py())


def _require_no_nul(text: pa.Array, name: str) -> None:
    row = compute.index(compute.match_substring(text, "\x00"), True).as_py()
    if row >= 0:
        raise InputError("target-with-nul", name=name, label=text[row].as_py(), row=row + 1)


def _note_similar(labels: Sequence[str], name: str) -> None:
    """Print a note on labels that differ only in case, blanks or the spelling of a number: they may be one class."""
    doubtful = [" and ".join(map(repr, group)) for group in nearly_same(labels)]
    if doubtful:
        note("similar-labels", column=name, labels=shortened(doubtful, 3))


def group_texts(column: pa.Array, cell_parser: CellParser) -> NDArray[np.object_]:
    """Return a column of groups as texts stripped of blanks; None where one is missing."""
    texts = cell_parser.texts(column).to_pylist()
    # 1.0 is 1: programs write whole numbers as floats if a value is missing.
    groups = (None if text is None else re.sub(r"(?<=\d)\.0+$", "", text.strip()) for text in texts)
    return np.fromiter(groups, dtype=object, count=len(texts))


def _weights(column: pa.Array, cell_parser: CellParser, name: str) -> FloatArray:
    """Return a column of weights as numbers."""
    values = _values({name: column}, cell_parser, ())[name]
    if is_text(values) or not pa.types.is_floating(values.type) or values.null_count:
        raise InputError("weight-column-not-numbers", name=name)
    weights = np.asarray(values.to_numpy(), dtype=np.float64)
    negative = np.flatnonzero(weights < 0.0)
    if len(negative):
        raise InputError("weight-column-negative", name=name, weight=weights[negative[0]], row=negative[0] + 1)
    return weights


def open_by_options(options: Namespace, path: str, notation: TextNotation) -> AbstractContextManager[Source]:
    """Open a table by the options of a command, and the notation that a model remembers."""
    separators = getattr(options, "sep", None), notation.separator
    skipped = options.skip_rows, options.skip_footer
    return open_table(path, options.format, options.encoding, *separators, options.sheet, *skipped)


def _require_different_uses(
    target: str, drop: Sequence[str], category: Sequence[str], weight: Sequence[str], answers: Sequence[str]
) -> None:
    """Raise a `UsageError` for options that contradict each other."""
    option = "--scores or --given"
    both = [column for column in answers if column in [*drop, *category, *weight] or answers.count(column) > 1]
    if both:
        raise UsageError("answer-column-used", column=both[0])
    if target in answers:
        raise UsageError("option-names-target", option=option, target=target)
    for option, columns in (("--drop", drop), ("--categorical-features", category), ("--sample-weight", weight)):
        if target in columns:
            raise UsageError("option-names-target", option=option, target=target)
    both = [column for column in category if column in drop]
    if both:
        raise UsageError("column-dropped-and-categorical", column=both[0])
    both = [column for column in weight if column in [*drop, *category]]
    if both:
        raise UsageError("column-weighted-and-used", column=both[0])


def _all_rows(source: Source) -> pa.Table:
    batches, n_rows = [], 0
    with progress(printed("reading", name=source.name), source.position, source.size) as show_progress:
        for batch in source.batches:
            batches.append(batch)
            n_rows += batch.num_rows
            show_progress(n_rows)
    if not n_rows:
        raise InputError("file-without-rows", name=source.name)
    return pa.Table.from_batches(batches)


def _names_without(source: Source, without: Sequence[str]) -> list[str]:
    names = source.schema.names
    if "" in names:
        note("unnamed-column", name=source.name, number=names.index("") + 1)
    wanted = [name for name in names if name and name not in without]
    if wanted and all(_looks_like_data(wanted)):
        note("numbers-for-names", name=source.name, column=wanted[0])
    if not wanted:
        raise InputError("no-column-to-learn-from", name=source.name)
    return wanted


def _values(columns: Mapping[str, pa.Array], cell_parser: CellParser, category: Sequence[str]) -> dict[str, pa.Array]:
    """Return columns as categories, if named as such, or else as numbers, dates or texts."""
    others = {name: column for name, column in columns.items() if name not in category}
    cell_parser.look_at(others)
    cell_parser.take_as_learned({name: columns[name] for name in cell_parser.remembered if name in others})
    values = {}
    for name, column in columns.items():
        if name in category:
            values[name] = cell_parser.texts(column).dictionary_encode()
            continue
        values[name] = cell_parser.values(name, column)
        if is_text(values[name]):
            require_no_strays(values[name], name)
        if pa.types.is_floating(values[name].type):
            is_large = compute.greater(compute.abs(values[name]), LARGEST_COORDINATE)
            require_none(name, values[name], is_large, 0, NUMBER_RULE)
    return values


def _findings_on_texts(columns: Mapping[str, pa.Array], values: Mapping[str, pa.Array]) -> Iterator[Finding]:
    """Yield findings on texts that are read as numbers, though they are written with zeros in front."""
    for name, text in columns.items():
        if is_text(text) and pa.types.is_floating(values[name].type):
            text = compute.utf8_trim_whitespace(text.filter(compute.is_valid(values[name])))
            if compute.any(compute.match_substring_regex(text, r"^0\d{3}")).as_py():
                finding = padded_code_finding(name, text.unique().to_pylist())
                yield from [] if finding is None else [finding]


def require_labels(data: LabelledTable, target: str) -> None:
    """Raise an `InputError` if a row has no label."""
    missing = np.flatnonzero(~data.has_label())
    if len(missing):
        raise InputError(
            "rows-without-label",
            name=data.name,
            column=target,
            n_missing=len(missing),
            n_rows=len(data.labels),
            row=missing[0] + 1,
        )


def require_columns(wanted: Iterable[str], columns: Sequence[str], name: str) -> None:
    """Raise an `InputError` that names missing columns, and similar names."""
    needed = list(wanted)
    missing = [column for column in needed if column not in columns]
    if not missing:
        return
    hint = _hint(missing, columns)
    if columns and any(_looks_like_data(columns)):
        hint += " " + message("first-line-is-data")
    elif len(columns) == 1:
        hint += " " + message("first-line-is-no-name")
    if len(missing) > 2 and 2 * len(missing) > len(needed):
        hint += " " + message("wrong-file", n=len(missing), n_needed=len(needed))
    raise InputError("file-columns-missing", name=name, columns=shortened(map(repr, missing), 5), hint=hint)


def _hint(missing: Sequence[str], columns: Sequence[str]) -> str:
    """Return what the missing columns may be called, or the columns that are there."""
    pairs = [(near, column) for column in missing for near in get_close_matches(column, columns, 1)]
    if not pairs:
        return message("columns-known", columns=shortened(map(repr, columns), 12))
    if len(missing) == 1:
        return message("did-you-mean", columns=repr(pairs[0][0]))
    return message("similar-names", pairs=shortened([f"{near!r} for {column!r}" for near, column in pairs], 5))


def _looks_like_data(columns: Sequence[str]) -> list[bool]:
    return [bool(fits) for fits in is_number_somehow(pa.array(columns, pa.string())).to_pylist()]


def dates_of(table: pa.Table, name: str | None) -> Any:
    """Return the dates of the rows: those of the named column, else of the only one with dates of a few years."""
    if name is not None:
        require_columns([name], table.column_names, "the table")
    columns = table.select([name] if name else table.column_names).to_pandas().select_dtypes(["datetime", "datetimetz"])
    if name is not None and columns.empty:
        raise InputError("dates-column-without-dates", name=name)
    if len(columns.columns) != 1:
        return None
    dates = columns.iloc[:, 0].dt.tz_localize(None)
    is_recent = name is not None or dates.max() - dates.min() < np.timedelta64(_DAYS_OF_RECORDS, "D")
    return dates.to_numpy() if is_recent else None
