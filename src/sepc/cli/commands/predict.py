"""``sepc predict``: predictions for files of any size, one batch of rows after the other."""

import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.cli.console import counted, note, progress, say, show_json
from sepc.cli.label_set_columns import LabelSetColumns
from sepc.cli.model_inputs import BatchPredictor, open_for_model, read_model
from sepc.cli.model_summary import no_typicality
from sepc.cli.policies import under_policy
from sepc.cli.promised import Acceptance
from sepc.cli.reading import PIPE, Source
from sepc.cli.usage import UsageError
from sepc.cli.writing import format_of, require_writable, written_table
from sepc.common.errors import SepcWarning
from sepc.common.text import many, percent, shortened
from sepc.model.acceptance import REFUSALS
from sepc.model.assessment import Assessment

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
SET_COLUMNS = ("label_set", "label_set_size")
COST_COLUMNS = ("expected_cost", "asking_cost")
PROMISE_COLUMNS = ("promise",)
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
    if options.per_class and options.label_sets is None:
        raise UsageError("--per-class is about sets of labels; expected --label-sets with it.")
    model = under_policy(read_model(options.model), options)
    sets = None if options.label_sets is None else LabelSetColumns(model, options.label_sets, options.per_class)
    with open_for_model(options, model) as (source, predictor):
        has_costs = predictor.has_costs
        acceptance = Acceptance(model, options)
        acceptance.require_groups(source.schema.names, source.name)
        usual = (
            *ADDED_COLUMNS,
            *(() if acceptance.promise is None else PROMISE_COLUMNS),
            *(COST_COLUMNS if has_costs else ()),
            *(() if sets is None else SET_COLUMNS),
        )
        names = added_names(source.schema.names, usual)
        predictions = _CountedPredictions(predictor, acceptance, sets)
        _write(output, source, names, predictions)
    _note_renamed(usual, names)
    predictions.tell()
    if options.json:
        show_json({"output": output, "columns": dict(zip(usual, names, strict=True)), **predictions.to_dict()})


def added_names(taken: Sequence[str], usual: Sequence[str] = ADDED_COLUMNS) -> list[str]:
    """Return the names of the added columns, changed where a column of the input has them already."""
    names = []
    for name in usual:
        while name in taken:
            name = f"sepc_{name}"
        names.append(name)
    return names


def _note_renamed(usual: Sequence[str], names: list[str]) -> None:
    changed = [f"{name} for {ours}" for ours, name in zip(usual, names, strict=True) if ours != name]
    if changed:
        note(f"the table has columns of our names already; ours are called {', '.join(changed)}.")


def _write(output: str, source: Source, names: list[str], predictions: "_CountedPredictions") -> None:
    number, text = pa.float64(), pa.string()
    types = [predictions.predictor.label_type, number, text, text, number, number, number, pa.bool_(), text]
    if predictions.acceptance.promise is not None:
        types += [text]
    if predictions.predictor.has_costs:
        types += [number, number]
    if predictions.sets is not None:
        types += [text, pa.int64()]
    schema = pa.schema([*source.schema, *map(pa.field, names, types)])
    decimal = predictions.predictor.decimal
    with (
        progress("predict", source.position, source.size) as tell,
        written_table(output, schema, answer_delimiter(source, decimal), decimal) as write,
    ):
        for batch in source.batches:
            columns = predictions.columns(batch)
            # What is not known is empty, not NaN.
            arrays = [pa.array(values, kind, from_pandas=True) for values, kind in zip(columns, types, strict=True)]
            write(pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=schema))
            tell(predictions.n_rows)


def answer_delimiter(source: Source, decimal: str) -> str:
    """Return what stands between the columns of the answer: the same as in the file, but for a tab."""
    if source.delimiter in (None, "\t"):
        return ";" if decimal == "," else ","
    return str(source.delimiter)


class _CountedPredictions:
    """Predictions for the batches of a table, counted by label, reason and refusal."""

    def __init__(self, predictor: BatchPredictor, acceptance: Acceptance, sets: LabelSetColumns | None) -> None:
        self.predictor, self.acceptance, self.sets = predictor, acceptance, sets
        self.n_rows = 0
        self.labels: Counter[Any] = Counter(dict.fromkeys(predictor.classes, 0))
        self.reasons: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unseen: dict[str, Counter[str]] = {}

    def columns(self, batch: pa.RecordBatch) -> tuple[Any, ...]:
        """Return the added columns for a batch of rows."""
        table = self.predictor.table(batch, self.n_rows)
        a: Assessment = self.predictor.assess(table, self.n_rows)
        groups = self.predictor.groups(batch, self.acceptance.group_column)
        refusals = self._refusals(a, groups)
        self._count(a, refusals)
        for column, values in self.predictor.unseen(table).items():
            self._remember(self.unseen.setdefault(column, Counter()), values)
        accepted = [why is None for why in refusals]
        costs = (a.expected_cost, a.asking_cost) if self.predictor.has_costs else ()
        sets = () if self.sets is None else self.sets.columns(self.predictor.label_sets(table, self.sets.how))
        promised = () if self.acceptance.promise is None else (self.acceptance.promised(a, refusals, groups),)
        verdicts = a.label, a.trust, a.reason, a.region, a.distance, a.typicality, a.stability, accepted, refusals
        return *verdicts, *promised, *costs, *sets

    def _refusals(self, a: Assessment, groups: Any) -> Any:
        with warnings.catch_warnings():
            # That nothing is known of the typicality is told once, at the end, not for each batch.
            warnings.simplefilter("ignore", SepcWarning)
            return self.acceptance.refusals(a, groups)

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
        return no_typicality(self.predictor.model) if self.acceptance.min_typicality > 0.0 else None

    def tell(self) -> None:
        """Say what was done."""
        if not self.n_rows:
            note("the table has column names but no rows; the answer has none either.")
            return
        share = self.n_accepted / self.n_rows
        say(
            f"{many(self.n_rows, 'row')}; {self.n_accepted:,} ({percent(share)}) accepted with {self._least} and a "
            f"typicality of at least {self.acceptance.min_typicality:g}"
        )
        if self.refused:
            say(f"refused: {'; '.join(self._refused_in_words())}")
        if self.unknown_typicality is not None:
            note(self.unknown_typicality)
        say(f"labels: {counted(self.labels)}")
        say(f"reasons: {counted(dict(self.reasons.most_common()))}")
        if self.sets is not None:
            self.sets.tell()
        for column, values in self.unseen.items():
            note(_in_words(column, values))

    @property
    def _least(self) -> str:
        """What is asked of a label that is accepted."""
        trusted = self.acceptance.in_words()
        if not self.predictor.has_costs:
            return trusted
        cheap = "an expected cost no larger than that of " + ("asking a person" if self.predictor.can_ask else "others")
        by_cost_alone = self.acceptance.promise is None and self.acceptance.asked_trust is None
        return cheap if by_cost_alone else f"{cheap}, {trusted}"

    def _refused_in_words(self) -> list[str]:
        named = [(self.refused[why], words) for why, words in REFUSALS.items() if self.refused[why]]
        return [f"{n:,} ({percent(n / self.n_rows)}) since {words}" for n, words in named]

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, ready for JSON."""
        return {
            "rows": self.n_rows,
            "accepted": self.n_accepted,
            "refused": {why: self.refused[why] for why in REFUSALS if self.refused[why]},
            "min_trust": self.acceptance.min_trust if self.acceptance.promise is None else None,
            "min_typicality": self.acceptance.min_typicality,
            **(
                {}
                if self.acceptance.promise is None
                else {"promise": self.acceptance.promise.to_dict(), "promise_holds": self.acceptance.holds}
            ),
            "labels": dict(self.labels),
            "reasons": dict(self.reasons),
            "unseen": {column: dict(values) for column, values in self.unseen.items()},
            **({} if self.sets is None else {"label_sets": self.sets.to_dict()}),
        }


def _in_words(column: str, values: Counter[str]) -> str:
    named = shortened((f"{value!r} ({n})" for value, n in values.most_common()), _MAX_LISTED)
    return f"column {column!r} has values that the model has never seen: {named}."
