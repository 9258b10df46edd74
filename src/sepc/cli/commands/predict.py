"""``sepc predict``: predictions for files of any size, one batch of rows after the other."""

import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sepc.cli.commands.inspect import no_typicality
from sepc.cli.commands.promise import note_unkept
from sepc.cli.console import UsageError, counted, note, note_text, progress, say, show_json
from sepc.cli.given_answers import NO_ANSWER, answered
from sepc.cli.labelled_tables import require_columns
from sepc.cli.messages import printed
from sepc.cli.model_inputs import BatchPredictor, open_for_model, read_model, with_policy
from sepc.cli.reading import PIPE, Source
from sepc.cli.writing import format_of, require_writable, written_table
from sepc.common.errors import InputError, SepcWarning
from sepc.common.frames import plain
from sepc.common.text import shortened
from sepc.common.typing import BoolArray
from sepc.model.acceptance import BEYOND, DEFAULT_TRUST, REFUSALS
from sepc.model.assessment import Assessment
from sepc.model.calibration import STRANGE
from sepc.promises import TrustThreshold
from sepc.promises.parts import GROUP, GROUPS

_REFUSALS = {NO_ANSWER: printed("no-answer"), **REFUSALS}
# Columns added to every table, with their types but for the label's; `_CountedPredictions.types` has the others.
ADDED_COLUMNS = {
    "label": None,
    "trust": pa.float64(),
    "reason": pa.string(),
    "region": pa.string(),
    "distance": pa.float64(),
    "typicality": pa.float64(),
    "stability": pa.float64(),
    "accepted": pa.bool_(),
    "refusal": pa.string(),
    "beyond": pa.string(),
}


def run(options: Namespace) -> None:
    """Write a file of predictions."""
    output = options.output or PIPE
    if options.json and output == PIPE:
        raise UsageError("json-needs-output")
    if options.to is not None and options.data == PIPE:
        raise UsageError("desk-to-needs-file")
    format_of(output)
    require_writable(output, options.model, options.data)
    if options.per_class and options.coverage is None:
        raise UsageError("per-class-needs-coverage")
    model = with_policy(read_model(options.model, options), options)
    sets = None if options.coverage is None else _LabelSetColumns(model, options.coverage, options.per_class)
    with open_for_model(options, model) as (source, predictor):
        acceptance = Acceptance(model, options)
        acceptance.require_groups(source.schema.names, source.name)
        predictions = _CountedPredictions(predictor, acceptance, sets)
        names = added_names(source.schema.names, predictions.types)
        _write(output, source, list(names.values()), predictions)
    changed = [printed("renamed-column", name=name, usual=usual) for usual, name in names.items() if usual != name]
    if changed:
        note("renamed-columns", names=", ".join(changed))
    predictions.print_summary()
    if options.to is not None:
        from sepc.cli.commands.desk import send

        send(options)
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
        progress("predict", source.position, source.size) as show_progress,
        written_table(output, schema, answer_delimiter(source, decimal), decimal) as write,
    ):
        for batch in source.batches:
            columns = predictions.columns(batch)
            # Unknown numbers are null, not NaN.
            arrays = [pa.array(values, kind, from_pandas=True) for values, kind in zip(columns, types, strict=True)]
            write(pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=schema))
            show_progress(predictions.n_rows)


def answer_delimiter(source: Source, decimal: str) -> str:
    """Return the delimiter of a written table: that of the file, but for a tab."""
    if source.delimiter in (None, "\t"):
        return ";" if decimal == "," else ","
    return str(source.delimiter)


class Acceptance:
    """Rule of acceptance: `min_trust`, or the signed promise of the model."""

    def __init__(self, model: Any, options: Namespace) -> None:
        self.min_typicality = float(options.min_typicality)
        self.given_trust = None if options.min_trust is None else float(options.min_trust)
        self.promise: TrustThreshold | None = model.promise if options.min_trust is None else None
        self.holds = self.promise is not None and self.promise.is_kept and self.min_typicality == STRANGE
        note_unkept(self.promise)
        if self.promise is not None and self.promise.is_kept and not self.holds:
            note("promised-for-typicality", given=self.min_typicality, made=STRANGE)

    @property
    def min_trust(self) -> float:
        """Trust from which labels are accepted without a promise, or costs."""
        return DEFAULT_TRUST if self.given_trust is None else self.given_trust

    @property
    def group_column(self) -> str | None:
        """The column of the promise's groups, if it has them and holds."""
        return self.promise.group_column or None if self.promise is not None and self.holds else None

    def require_groups(self, names: Sequence[str], source: str) -> None:
        """Raise an error if the table has no column for the promise's groups."""
        if self.group_column is not None:
            require_columns([self.group_column], names, source)
        elif self.promise is not None and self.holds and self.promise.by in (GROUP, GROUPS):
            raise InputError("model-promise-groups-no-column")

    def refusals(self, a: Assessment, groups: Any) -> NDArray[np.object_]:
        """Return why labels are not accepted, shape (n,); None where they are."""
        with warnings.catch_warnings():
            # An unknown typicality is reported once, at the end, not for each batch.
            warnings.simplefilter("ignore", SepcWarning)
            return a.refusals(self.promise or self.given_trust, self.min_typicality, groups=groups)

    def promised(self, a: Assessment, refusals: NDArray[np.object_], groups: Any) -> list[str | None]:
        """Return the promise for each accepted label, in words; None where none holds."""
        if not self.holds:
            return [None] * len(a)
        assert self.promise is not None
        parts = [f"{one.part}: {one.limit_in_words()}".removeprefix(": ") for one in self.promise.thresholds]
        texts = [[*parts, None][k] for k in self.promise.part_of(a, groups).tolist()]
        return [text if why is None else None for text, why in zip(texts, refusals.tolist(), strict=True)]

    def in_words(self) -> str:
        """Return the condition on accepted labels, in words."""
        if self.promise is None:
            return printed("by-trust", min_trust=self.min_trust)
        if not self.holds:
            return printed("by-void-promise", date=self.promise.made_on)
        fields: dict[str, Any] = {"date": self.promise.made_on, "confidence": self.promise.confidence}
        if not self.promise.parts:
            limit, min_trust = self.promise.limit_in_words(), self.promise.min_trust
            return printed("by-promise", limit=limit, min_trust=min_trust, **fields)
        return printed("by-promise-of-parts", by=self.promise.group_column or self.promise.by, **fields)


class _CountedPredictions:
    """Predictions for the batches of a table, counted by label, reason and refusal."""

    def __init__(self, predictor: BatchPredictor, acceptance: Acceptance, sets: "_LabelSetColumns | None") -> None:
        self.predictor, self.acceptance, self.sets = predictor, acceptance, sets
        self.types = ADDED_COLUMNS | {"label": predictor.label_type}
        if acceptance.promise is not None:
            self.types["promise"] = pa.string()
        if predictor.has_costs:
            self.types |= {"expected_cost": pa.float64(), "asking_cost": pa.float64()}
        if sets is not None:
            self.types |= {"label_set": pa.string(), "label_set_size": pa.int64()}
        self.n_rows = 0
        self.labels: Counter[Any] = Counter(dict.fromkeys(predictor.classes, 0))
        self.reasons: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unseen: dict[str, Counter[str]] = {}
        self.out_of_range: dict[str, tuple[int, int]] = {}
        self.beyond: Counter[str] = Counter()

    def columns(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the added columns for a batch of rows, in the order of their types."""
        table, missing = answered(self.predictor.given, self.predictor.table(batch, self.n_rows))
        a: Assessment = self.predictor.assess(table, self.n_rows)
        groups = self.predictor.groups(batch, self.acceptance.group_column)
        refusals = self.acceptance.refusals(a, groups)
        if missing.any():
            refusals[missing] = NO_ANSWER
        self._count(a, refusals, ~missing)
        for column, values in self.predictor.unseen(table).items():
            self._remember(self.unseen.setdefault(column, Counter()), values)
        accepted = [why is None for why in refusals]
        numbers = a.distance, a.typicality, a.stability
        columns = [a.label, a.trust, a.reason, a.region, *numbers, accepted, refusals, a.beyond]
        if self.acceptance.promise is not None:
            columns.append(self.acceptance.promised(a, refusals, groups))
        if self.predictor.has_costs:
            columns += [a.expected_cost, a.asking_cost]
        if self.sets is not None:
            columns += self.sets.columns(self.predictor, table)
        return self._without_answer(columns, missing) if missing.any() else columns

    def _without_answer(self, columns: list[Any], missing: BoolArray) -> list[Any]:
        """Return the columns without what would be said of rows for which the other model has no answer."""
        kept: dict[str, Any] = {"accepted": False, "reason": NO_ANSWER, "refusal": NO_ANSWER}
        whole = [np.array(values, dtype=object) for values in columns]
        for name, values in zip(self.types, whole, strict=True):
            values[missing] = kept.get(name)
        return whole

    def _count(self, a: Assessment, refusals: Any, has_answer: BoolArray) -> None:
        self.n_rows += len(a)
        if not has_answer.all():
            n = int(np.count_nonzero(~has_answer))
            self.reasons[NO_ANSWER] += n
            self.refused[NO_ANSWER] += n
            a, refusals = a.taken(np.flatnonzero(has_answer)), refusals[has_answer]
        self.refused.update(why for why in refusals.tolist() if why is not None)
        self.beyond.update(a.beyond[refusals == BEYOND].tolist())
        for name, (below, above) in a.out_of_range().items():
            m, n = self.out_of_range.get(name, (0, 0))
            self.out_of_range[name] = m + below, n + above
        for counter, values in ((self.labels, a.label), (self.reasons, a.reason)):
            found, counts = np.unique(values, return_counts=True)
            counter.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    @staticmethod
    def _remember(counter: Counter[str], values: dict[str, int]) -> None:
        for value, n in values.items():
            if value in counter or len(counter) < 1000:  # a file may hold more than fit into memory
                counter[value] += n

    @property
    def n_accepted(self) -> int:
        """Number of rows whose label is accepted."""
        return self.n_rows - self.refused.total()

    def print_summary(self) -> None:
        """Print counts and notes."""
        if not self.n_rows:
            note("no-rows")
            return
        say(
            "predicted",
            n=self.n_rows,
            n_accepted=self.n_accepted,
            share=self.n_accepted / self.n_rows,
            condition=self._least,
            min_typicality=self.acceptance.min_typicality,
        )
        if self.refused:
            say("refused", refusals="; ".join(self._refused_in_words()))
        why = no_typicality(self.predictor.model)
        if self.acceptance.min_typicality > 0.0 and why is not None:
            note_text(why)
        say("labels", labels=counted(self.labels))
        say("reasons", reasons=counted(dict(self.reasons.most_common())))
        if self.sets is not None:
            self.sets.print_summary()
        if self.out_of_range:
            note("out-of-range", columns=shortened(self.predictor.out_of_range(self.out_of_range), 5, "column"))
        if self.beyond:
            note("beyond", columns=shortened((f"{name} ({n})" for name, n in self.beyond.most_common()), 5, "column"))
        for column, values in self.unseen.items():
            named = shortened((f"{value!r} ({n})" for value, n in values.most_common()), 5)
            note("unseen-values", column=column, values=named)

    @property
    def _least(self) -> str:
        """The condition on accepted labels, in words."""
        trusted = self.acceptance.in_words()
        if not self.predictor.has_costs:
            return trusted
        cheap = printed("by-asking-cost" if self.predictor.can_ask else "by-cost")
        by_cost_alone = self.acceptance.promise is None and self.acceptance.given_trust is None
        return cheap if by_cost_alone else f"{cheap}, {trusted}"

    def _refused_in_words(self) -> list[str]:
        named = [(self.refused[why], words) for why, words in _REFUSALS.items() if self.refused[why]]
        return [printed("refused-since", n=n, share=n / self.n_rows, reason=words) for n, words in named]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        promise, holds = self.acceptance.promise, self.acceptance.holds
        return {
            "rows": self.n_rows,
            "accepted": self.n_accepted,
            "refused": {why: self.refused[why] for why in _REFUSALS if self.refused[why]},
            "min_trust": self.acceptance.min_trust if promise is None else None,
            "min_typicality": self.acceptance.min_typicality,
            **({} if promise is None else {"promise": promise.to_dict(), "promise_holds": holds}),
            "labels": dict(self.labels),
            "reasons": dict(self.reasons),
            "out_of_range": {
                name: {"below": m, "above": n, "refused": self.beyond[name]}
                for name, (m, n) in self.out_of_range.items()
            },
            "unseen": {column: dict(values) for column, values in self.unseen.items()},
            **({} if self.sets is None else {"label_sets": self.sets.to_dict()}),
        }


class _LabelSetColumns:
    """Sets of labels by `predict_set`: as texts of labels joined by a mark that is in none, and their sizes."""

    def __init__(self, model: Any, coverage: float, per_class: bool) -> None:
        if model.core._calibration is None:
            raise InputError("no-rows-for-sets")
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

    def print_summary(self) -> None:
        """Print counts and notes."""
        say(
            "label-sets",
            coverage=self.coverage,
            within=printed("within-classes" if self.per_class else "over-all"),
            n_one=self.sizes[1],
            n_several=sum(n for size, n in self.sizes.items() if size > 1),
            n_empty=self.sizes[0],
        )
        if self.always:
            note("always-in-sets", labels=", ".join(map(str, self.always)))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        return {
            "coverage": self.coverage,
            "per_class": self.per_class,
            "between": self.between,
            "sizes": dict(sorted(self.sizes.items())),
            "always": list(map(plain, self.always)),
        }
