"""``sepc predict``: predictions for files of any size, one batch of rows after the other."""

import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.cli.cell_values import CellParser
from sepc.cli.console import counted, note, progress, say, show_json
from sepc.cli.model_inputs import BatchPredictor, read_model
from sepc.cli.model_summary import no_typicality
from sepc.cli.reading import PIPE, Source, open_table
from sepc.cli.usage import UsageError
from sepc.cli.writing import format_of, require_writable, written_table
from sepc.common.errors import SepcWarning
from sepc.common.text import many, percent, shortened
from sepc.model.assessment import REFUSALS, Assessment

ADDED_COLUMNS = (
    "label",
    "trust",
    "reason",
    "region",
    "distance",
    "typicality",
    "stability",
    "accepted",
    "refusal",
)
# So many different values are remembered for each column: a file may hold more than fit into memory.
_REMEMBERED = 1000
_MAX_LISTED = 5


def run(options: Namespace) -> None:
    """Write a file of predictions."""
    output = options.output or PIPE
    if options.json and output == PIPE:
        raise UsageError("--json prints what was done, and verdicts go the same way; expected -o FILE for these.")
    format_of(output)
    require_writable(output, options.model, options.data)
    model = read_model(options.model)
    with open_table(options.data, options.format, options.encoding) as source:
        predictor = BatchPredictor(model, source, CellParser(options.missing, source.delimiter))
        names = added_names(source.schema.names)
        predictions = _CountedPredictions(predictor, options.min_trust, options.min_typicality)
        _write(output, source, names, predictions)
    _note_renamed(names)
    predictions.tell()
    if options.json:
        show_json({"output": output, "columns": dict(zip(ADDED_COLUMNS, names, strict=True)), **predictions.to_dict()})


def added_names(taken: Sequence[str]) -> list[str]:
    """Return the names of the added columns, changed where a column of the input has them already.

    Examples
    --------
    >>> added_names(["age", "label"])
    ['sepc_label', 'trust', 'reason', 'region', 'distance', 'typicality', 'stability', 'accepted', 'refusal']
    """
    names = []
    for name in ADDED_COLUMNS:
        while name in taken:
            name = f"sepc_{name}"
        names.append(name)
    return names


def _note_renamed(names: list[str]) -> None:
    changed = [f"{name} for {usual}" for usual, name in zip(ADDED_COLUMNS, names, strict=True) if usual != name]
    if changed:
        note(f"the table has columns of our names already; ours are called {', '.join(changed)}.")


def _write(output: str, source: Source, names: list[str], predictions: "_CountedPredictions") -> None:
    number, text = pa.float64(), pa.string()
    types = (predictions.predictor.label_type, number, text, text, number, number, number, pa.bool_(), text)
    schema = pa.schema([*source.schema, *map(pa.field, names, types)])
    delimiter = ";" if source.delimiter == ";" else ","
    with (
        progress("predict", source.position, source.size) as tell,
        written_table(output, schema, delimiter) as write,
    ):
        for batch in source.batches:
            columns = predictions.columns(batch)
            # What is not known is empty, not NaN.
            arrays = [pa.array(values, kind, from_pandas=True) for values, kind in zip(columns, types, strict=True)]
            write(pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=schema))
            tell(predictions.n_rows)


class _CountedPredictions:
    """Predictions for the batches of a table, counted by label, reason and refusal."""

    def __init__(self, predictor: BatchPredictor, min_trust: float, min_typicality: float) -> None:
        self.predictor, self.min_trust, self.min_typicality = predictor, min_trust, min_typicality
        self.n_rows = 0
        self.labels: Counter[Any] = Counter(dict.fromkeys(predictor.classes, 0))
        self.reasons: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unseen: dict[str, Counter[str]] = {}

    def columns(self, batch: pa.RecordBatch) -> tuple[Any, ...]:
        """Return the added columns for a batch of rows."""
        table = self.predictor.table(batch, self.n_rows)
        a: Assessment = self.predictor.assess(table, self.n_rows)
        refusals = self._refusals(a)
        self._count(a, refusals)
        for column, values in self.predictor.unseen(table).items():
            self._remember(self.unseen.setdefault(column, Counter()), values)
        accepted = [why is None for why in refusals]
        return a.label, a.trust, a.reason, a.region, a.distance, a.typicality, a.stability, accepted, refusals

    def _refusals(self, a: Assessment) -> Any:
        with warnings.catch_warnings():
            # That nothing is known of the typicality is told once, at the end, not for each batch.
            warnings.simplefilter("ignore", SepcWarning)
            return a.refusals(self.min_trust, self.min_typicality)

    def _count(self, a: Assessment, refusals: Any) -> None:
        self.n_rows += len(a)
        self.refused.update(why for why in refusals.tolist() if why is not None)
        for counter, values in ((self.labels, a.label), (self.reasons, a.reason)):
            found, counts = np.unique(values, return_counts=True)
            counter.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    @staticmethod
    def _remember(counter: Counter[str], values: dict[str, int]) -> None:
        for value, n in values.items():
            if value in counter or len(counter) < _REMEMBERED:
                counter[value] += n

    @property
    def n_accepted(self) -> int:
        """Number of rows whose label is accepted."""
        return self.n_rows - self.refused.total()

    @property
    def unknown_typicality(self) -> str | None:
        """Why nothing is refused as strange, where that could be expected."""
        return no_typicality(self.predictor.model) if self.min_typicality > 0.0 else None

    def tell(self) -> None:
        """Say what was done."""
        share = self.n_accepted / self.n_rows
        say(
            f"{many(self.n_rows, 'row')}; {self.n_accepted:,} ({percent(share)}) accepted with a trust of at least "
            f"{self.min_trust:g} and a typicality of at least {self.min_typicality:g}"
        )
        if self.refused:
            say(f"refused: {'; '.join(self._refused_in_words())}")
        if self.unknown_typicality is not None:
            note(self.unknown_typicality)
        say(f"labels: {counted(self.labels)}")
        say(f"reasons: {counted(dict(self.reasons.most_common()))}")
        for column, values in self.unseen.items():
            note(_in_words(column, values))

    def _refused_in_words(self) -> list[str]:
        named = [(self.refused[why], words) for why, words in REFUSALS.items() if self.refused[why]]
        return [f"{n:,} ({percent(n / self.n_rows)}) since {words}" for n, words in named]

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, ready for JSON."""
        return {
            "rows": self.n_rows,
            "accepted": self.n_accepted,
            "refused": {why: self.refused[why] for why in REFUSALS if self.refused[why]},
            "min_trust": self.min_trust,
            "min_typicality": self.min_typicality,
            "labels": dict(self.labels),
            "reasons": dict(self.reasons),
            "unseen": {column: dict(values) for column, values in self.unseen.items()},
        }


def _in_words(column: str, values: Counter[str]) -> str:
    named = shortened((f"{value!r} ({n})" for value, n in values.most_common()), _MAX_LISTED)
    return f"column {column!r} has values that the model has never seen: {named}."
