"""``sepc predict``: predictions for files of any size, one batch of rows after the other."""

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.cli.cell_values import CellParser
from sepc.cli.console import counted, note, progress, say, show_json
from sepc.cli.model_inputs import BatchPredictor, read_model
from sepc.cli.reading import PIPE, Source, open_table
from sepc.cli.usage import UsageError
from sepc.cli.writing import format_of, require_writable, written_table
from sepc.common.text import many, percent, shortened
from sepc.model.assessment import Assessment

ADDED_COLUMNS = ("label", "trust", "reason", "region", "accepted")
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
        predictions = _CountedPredictions(predictor, options.min_trust)
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
    ['sepc_label', 'trust', 'reason', 'region', 'accepted']
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
    types = (predictions.predictor.label_type, pa.float64(), pa.string(), pa.string(), pa.bool_())
    schema = pa.schema([*source.schema, *map(pa.field, names, types)])
    delimiter = ";" if source.delimiter == ";" else ","
    with (
        progress("predict", source.position, source.size) as tell,
        written_table(output, schema, delimiter) as write,
    ):
        for batch in source.batches:
            columns = predictions.columns(batch)
            arrays = [pa.array(values, type=kind) for values, kind in zip(columns, types, strict=True)]
            write(pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=schema))
            tell(predictions.n_rows)


class _CountedPredictions:
    """Predictions for the batches of a table, counted by label, reason and acceptance."""

    def __init__(self, predictor: BatchPredictor, min_trust: float) -> None:
        self.predictor, self.min_trust = predictor, min_trust
        self.n_rows, self.n_accepted = 0, 0
        self.labels: Counter[Any] = Counter(dict.fromkeys(predictor.classes, 0))
        self.reasons: Counter[str] = Counter()
        self.unseen: dict[str, Counter[str]] = {}

    def columns(self, batch: pa.RecordBatch) -> tuple[Any, ...]:
        """Return the added columns for a batch of rows."""
        table = self.predictor.table(batch, self.n_rows)
        a: Assessment = self.predictor.assess(table, self.n_rows)
        accepted = a.accepted(self.min_trust)
        self._count(a, accepted)
        for column, values in self.predictor.unseen(table).items():
            self._remember(self.unseen.setdefault(column, Counter()), values)
        return a.label, a.trust, a.reason, a.region, accepted

    def _count(self, a: Assessment, accepted: Any) -> None:
        self.n_rows += len(a)
        self.n_accepted += int(np.count_nonzero(accepted))
        for counter, values in ((self.labels, a.label), (self.reasons, a.reason)):
            found, counts = np.unique(values, return_counts=True)
            counter.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    @staticmethod
    def _remember(counter: Counter[str], values: dict[str, int]) -> None:
        for value, n in values.items():
            if value in counter or len(counter) < _REMEMBERED:
                counter[value] += n

    def tell(self) -> None:
        """Say what was done."""
        share = self.n_accepted / self.n_rows
        say(
            f"{many(self.n_rows, 'row')}; {self.n_accepted:,} ({percent(share)}) accepted with a trust of at least "
            f"{self.min_trust:g}"
        )
        say(f"labels: {counted(self.labels)}")
        say(f"reasons: {counted(dict(self.reasons.most_common()))}")
        for column, values in self.unseen.items():
            note(_in_words(column, values))

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, ready for JSON."""
        return {
            "rows": self.n_rows,
            "accepted": self.n_accepted,
            "min_trust": self.min_trust,
            "labels": dict(self.labels),
            "reasons": dict(self.reasons),
            "unseen": {column: dict(values) for column, values in self.unseen.items()},
        }


def _in_words(column: str, values: Counter[str]) -> str:
    named = shortened((f"{value!r} ({n})" for value, n in values.most_common()), _MAX_LISTED)
    return f"column {column!r} has values that the model has never seen: {named}."
