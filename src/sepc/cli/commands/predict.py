"""``sepc predict``: predictions for files of any size, one batch of rows after the other."""

import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.cli.console import UsageError, counted, note, progress, say, show_json
from sepc.cli.model_inputs import BatchPredictor, classifier_of, open_for_model, read_model, under_policy
from sepc.cli.model_summary import no_typicality
from sepc.cli.promised import Acceptance
from sepc.cli.reading import PIPE, Source
from sepc.cli.writing import format_of, require_writable, written_table
from sepc.common.errors import InputError, SepcWarning
from sepc.common.frames import plain
from sepc.common.text import many, percent, shortened
from sepc.model.acceptance import REFUSALS
from sepc.model.assessment import Assessment

_NUMBER, _TEXT = pa.float64(), pa.string()
# The added columns of every answer, but for the type of the label; others follow in `_CountedPredictions.types`.
ADDED_COLUMNS = {
    "label": None,
    "trust": _NUMBER,
    "reason": _TEXT,
    "region": _TEXT,
    "distance": _NUMBER,
    "typicality": _NUMBER,
    "stability": _NUMBER,
    "accepted": pa.bool_(),
    "refusal": _TEXT,
}
# Different values that are remembered for each column: a file may hold more than fit into memory.
_REMEMBERED = 1000


def run(options: Namespace) -> None:
    """Write a file of predictions."""
    output = options.output or PIPE
    if options.json and output == PIPE:
        raise UsageError("--json prints what was done, and verdicts go the same way; expected -o FILE for these.")
    format_of(output)
    require_writable(output, options.model, options.data)
    if options.per_class and options.coverage is None:
        raise UsageError("--per-class is about sets of labels; expected --coverage with it.")
    model = under_policy(read_model(options.model), options)
    sets = None if options.coverage is None else _LabelSetColumns(model, options.coverage, options.per_class)
    with open_for_model(options, model) as (source, predictor):
        acceptance = Acceptance(model, options)
        acceptance.require_groups(source.schema.names, source.name)
        predictions = _CountedPredictions(predictor, acceptance, sets)
        names = added_names(source.schema.names, predictions.types)
        _write(output, source, list(names.values()), predictions)
    changed = [f"{name} for {ours}" for ours, name in names.items() if ours != name]
    if changed:
        note(f"the table has columns of our names already; ours are called {', '.join(changed)}.")
    predictions.tell()
    if options.json:
        show_json({"output": output, "columns": names, **predictions.to_dict()})


def added_names(taken: Collection[str], ours: Iterable[str]) -> dict[str, str]:
    """Return the names of added columns, changed where a column of the input has them already."""
    names = {}
    for usual in ours:
        name = usual
        while name in taken:
            name = f"sepc_{name}"
        names[usual] = name
    return names


def _write(output: str, source: Source, names: list[str], predictions: "_CountedPredictions") -> None:
    types = list(predictions.types.values())
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

    def __init__(self, predictor: BatchPredictor, acceptance: Acceptance, sets: "_LabelSetColumns | None") -> None:
        self.predictor, self.acceptance, self.sets = predictor, acceptance, sets
        self.types = ADDED_COLUMNS | {"label": predictor.label_type}
        if acceptance.promise is not None:
            self.types["promise"] = _TEXT
        if predictor.has_costs:
            self.types |= {"expected_cost": _NUMBER, "asking_cost": _NUMBER}
        if sets is not None:
            self.types |= {"label_set": _TEXT, "label_set_size": pa.int64()}
        self.n_rows = 0
        self.labels: Counter[Any] = Counter(dict.fromkeys(predictor.classes, 0))
        self.reasons: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unseen: dict[str, Counter[str]] = {}

    def columns(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the added columns for a batch of rows, in the order of their types."""
        table = self.predictor.table(batch, self.n_rows)
        a: Assessment = self.predictor.assess(table, self.n_rows)
        groups = self.predictor.groups(batch, self.acceptance.group_column)
        refusals = self._refusals(a, groups)
        self._count(a, refusals)
        for column, values in self.predictor.unseen(table).items():
            self._remember(self.unseen.setdefault(column, Counter()), values)
        accepted = [why is None for why in refusals]
        columns = [a.label, a.trust, a.reason, a.region, a.distance, a.typicality, a.stability, accepted, refusals]
        if self.acceptance.promise is not None:
            columns.append(self.acceptance.promised(a, refusals, groups))
        if self.predictor.has_costs:
            columns += [a.expected_cost, a.asking_cost]
        if self.sets is not None:
            columns += self.sets.columns(self.predictor, table)
        return columns

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
    named = shortened((f"{value!r} ({n})" for value, n in values.most_common()), 5)
    return f"column {column!r} has values that the model has never seen: {named}."


class _LabelSetColumns:
    """Sets of labels that a calibrated model gives, as two columns: the labels, joined by a mark in none; and how many.

    Parameters
    ----------
    model : TablePipeline, SEPClassifier or SEPEnsembleClassifier
    coverage : float
    per_class : bool
        Arguments of `predict_set`.
    """

    def __init__(self, model: Any, coverage: float, per_class: bool) -> None:
        if classifier_of(model)._calibration is None:
            raise InputError(
                "the model was fitted without rows to calibrate sets of labels with; expected some that it has not "
                "learned from. Fit it with --holdout or --test."
            )
        self.coverage, self.per_class = coverage, per_class
        labels = [str(plain(label)) for label in model.classes_]
        marks = ("|" * n for n in count(1))
        self.between = next(mark for mark in marks if not any(mark in label for label in labels))
        self.sizes: Counter[int] = Counter()
        self.always: tuple[Any, ...] = ()

    def columns(self, predictor: BatchPredictor, table: pa.Table) -> tuple[list[str], list[int]]:
        """Return the labels of each row's set as a text, and their number."""
        found = predictor.label_sets(table, self.coverage, self.per_class)
        sizes = found.size.tolist()
        self.sizes.update(sizes)
        self.always = found.always
        return [self.between.join(map(str, labels)) for labels in found.labels()], sizes

    def tell(self) -> None:
        """Say what was done."""
        within = "within each class" if self.per_class else "over all"
        several = sum(n for size, n in self.sizes.items() if size > 1)
        say(
            f"label sets that hold the true label in {percent(self.coverage)} of rows like those held back, "
            f"{within}: {self.sizes[1]:,} with one label, {several:,} with several, {self.sizes[0]:,} empty"
        )
        if self.always:
            named = ", ".join(map(str, self.always))
            note(f"too few rows were held back for such a promise, so that every set holds {named}.")

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, ready for JSON."""
        return {
            "coverage": self.coverage,
            "per_class": self.per_class,
            "between": self.between,
            "sizes": dict(sorted(self.sizes.items())),
            "always": list(map(plain, self.always)),
        }
