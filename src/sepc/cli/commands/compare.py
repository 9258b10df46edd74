"""``sepc compare``: two models side by side on the rows of a file, and the rows on which they differ."""

import warnings
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import bdtr

from sepc.cli.cell_values import CellParser
from sepc.cli.commands.predict import added_names, answer_delimiter
from sepc.cli.commands.promise import note_unkept
from sepc.cli.console import UsageError, aligned, note, note_text, progress, say, show, show_json
from sepc.cli.label_tables import label_lines
from sepc.cli.labelled_tables import open_by_options, parse_labels, require_columns
from sepc.cli.messages import printed
from sepc.cli.model_inputs import BatchPredictor, group_column_of, least_trust, notation_of, read_model
from sepc.cli.reading import PIPE, Source
from sepc.cli.writing import format_of, require_writable, written_table
from sepc.common.errors import SepcWarning
from sepc.common.frames import plain
from sepc.common.intervals import Subgroup, exact_interval, frequent_subgroups
from sepc.common.text import percent, shortened
from sepc.common.typing import BoolArray, FloatArray
from sepc.metrics import expected_calibration_error
from sepc.model.acceptance import DEFAULT_TRUST
from sepc.reports.baselines import class_numbers, mean_log_loss
from sepc.reports.label_results import LabelResults

_SHOWN = 10


def run(options: Namespace) -> None:
    """Print both results and the differences; write the rows on which the labels differ."""
    if options.output is not None:
        if options.output == PIPE:
            raise UsageError("compare-output-mixes")
        format_of(options.output)
        require_writable(options.output, options.model, options.other, options.data)
    models = [read_model(path, options, any_kind=True) for path in (options.model, options.other)]
    with open_by_options(options, options.data, notation_of(models[0])) as source:
        rows = _ComparedRows(options, models, source)
        rows.read()
    rows.note_learned()
    if options.min_trust is None:
        for model in models:
            note_unkept(model.promise)
    found = rows.comparison()
    content = found.to_dict()
    groups = frequent_subgroups(found.differ.astype(np.float64), rows.level_columns())
    if options.output is not None:
        rows.write(options.output, found)
        say("differing-written", n=int(np.count_nonzero(found.differ)), path=options.output)
    if options.json:
        files = {"model_a": options.model, "model_b": options.other, "data": source.name}
        by_promise = [_is_by_promise(model, options) for model in models]
        terms = {"min_trust": least_trust(options), "by_promise": by_promise}
        show_json({**files, **terms, **content, "groups": [g._asdict() for g in groups]})
        return
    limit = printed("trust-from", min_trust=least_trust(options))
    if any(_is_by_promise(model, options) for model in models):
        limit = printed("as-promised", otherwise=limit)
    show(_text(options, source.name, found, content, groups, limit))
    for name in "AB":
        for text in content[name.lower()].get("label_notes", ()):
            note_text(f"{name}: {text}")


def _is_by_promise(model: Any, options: Namespace) -> bool:
    return options.min_trust is None and model.promise is not None


@dataclass(frozen=True, eq=False)
class ModelVerdicts:
    """Predictions of one model for n records, with labels as texts."""

    labels: NDArray[Any]  # shape (n,)
    trust: FloatArray  # shape (n,)
    accepted: BoolArray  # shape (n,)
    proba: FloatArray  # shape (n, n_classes)
    classes: NDArray[Any]  # shape (n_classes,)
    model: Any = None  # for the reasons of notes

    def results(self, truth: NDArray[Any], known: BoolArray, min_trust: float) -> dict[str, Any]:
        """Return the results on the records with a `known` true label, ready for JSON."""
        n, n_accepted = len(known), int(np.count_nonzero(self.accepted))
        found: dict[str, Any] = {"accepted": n_accepted, "coverage": n_accepted / n if n else None}
        if not known.any():
            return found
        right = self.labels[known] == truth[known]
        accepted = self.accepted[known]
        numbers = class_numbers(truth[known], self.classes)
        by_label = LabelResults.of(
            classes=self.classes.tolist(),
            truth=truth[known].tolist(),
            given=self.labels[known].tolist(),
            proba=self.proba[known],
            trust=self.trust[known],
            accepted=accepted,
        )
        return {
            **found,
            **_counted("right", right),
            **_counted("accepted_right", right[accepted]),
            "log_loss": mean_log_loss(self.proba[known], numbers),
            "calibration_error": expected_calibration_error(right, np.ones_like(right), self.trust[known]),
            "mean_trust": float(self.trust[known].mean()),
            **by_label.to_dict(min_trust, self.model),
        }


def _counted(name: str, flags: BoolArray) -> dict[str, Any]:
    n, hits = len(flags), int(np.count_nonzero(flags))
    interval = list(exact_interval(hits, n)) if n else None
    return {name: hits, f"{name}_of": n, f"{name}_share": hits / n if n else None, f"{name}_interval": interval}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two models on the same n records."""

    a: ModelVerdicts
    b: ModelVerdicts
    truth: NDArray[Any]  # true labels as texts, shape (n,); None where unknown
    min_trust: float = DEFAULT_TRUST

    @property
    def known(self) -> BoolArray:
        """Whether the true label is known, shape (n,)."""
        return np.array([label is not None for label in self.truth.tolist()], dtype=bool)

    @property
    def differ(self) -> BoolArray:
        """Whether the labels differ, shape (n,)."""
        return np.asarray(self.a.labels != self.b.labels, dtype=bool)

    @property
    def only_right(self) -> tuple[int, int]:
        """Number of records on which only the first model is right, and only the second."""
        a_right, b_right = (one.labels == self.truth for one in (self.a, self.b))
        return int(np.count_nonzero(a_right & ~b_right)), int(np.count_nonzero(b_right & ~a_right))

    @property
    def p_value(self) -> float | None:
        """Two-sided p-value of McNemar's exact test: min(1, 2 P(X <= min(a, b))) for X ~ Binomial(a + b, 1/2).

        Here a and b are the numbers of `only_right`. None if no true label is known.
        """
        if not self.known.any():
            return None
        a, b = self.only_right
        return min(1.0, 2.0 * float(bdtr(min(a, b), a + b, 0.5))) if a + b else 1.0

    def who_is_right(self) -> list[str]:
        """Return "A", "B", "neither" or "" (unknown) for each record on which the labels differ."""
        rows = np.flatnonzero(self.differ)
        return [
            "" if true is None else "A" if a == true else "B" if b == true else "neither"
            for a, b, true in zip(self.a.labels[rows], self.b.labels[rows], self.truth[rows], strict=True)
        ]

    def pairs(self) -> list[dict[str, Any]]:
        """Return the pairs of labels by which the models differ, the most frequent first, with who is right."""
        rows = np.flatnonzero(self.differ)
        labels = zip(self.a.labels[rows].tolist(), self.b.labels[rows].tolist(), strict=True)
        right: dict[tuple[str, str], Counter[str]] = {}
        for pair, who in zip(labels, self.who_is_right(), strict=True):
            right.setdefault(pair, Counter())[who] += 1
        found = [
            {"label_a": a, "label_b": b, "n": n.total(), "a_right": n["A"], "b_right": n["B"], "neither": n["neither"]}
            for (a, b), n in right.items()
        ]
        return sorted(found, key=lambda pair: (-pair["n"], pair["label_a"], pair["label_b"]))

    def most_sure_first(self) -> NDArray[np.int64]:
        """Return the rows on which the labels differ, those first where both models are surest."""
        rows = np.flatnonzero(self.differ)
        surest = np.minimum(self.a.trust, self.b.trust)[rows]
        return rows[np.argsort(-surest, kind="stable")]

    def to_dict(self) -> dict[str, Any]:
        """Return all results, ready for JSON."""
        a, b = self.only_right
        known = self.known
        has_labels = bool(known.any())
        return {
            "n": len(known),
            "n_labelled": int(np.count_nonzero(known)),
            "a": self.a.results(self.truth, known, self.min_trust),
            "b": self.b.results(self.truth, known, self.min_trust),
            "n_differ": int(np.count_nonzero(self.differ)),
            "only_a_right": a if has_labels else None,
            "only_b_right": b if has_labels else None,
            "p_value": self.p_value,
            "pairs": self.pairs(),
        }


def _in_words(p_value: float, only_right: tuple[int, int]) -> str:
    """Return the result of McNemar's test in words."""
    p = printed("p-value", p=p_value) if p_value >= 0.0001 else printed("small-p-value")
    if p_value >= 0.05:
        return printed("chance-by-mcnemar", p=p)
    return printed("better-by-mcnemar", p=p, model="A" if only_right[0] > only_right[1] else "B")


class _ComparedRows:
    """Rows of a table, the predictions of two models for them, and their labels where these are known."""

    def __init__(self, options: Namespace, models: list[Any], source: Source) -> None:
        self.options, self.source = options, source
        self.predictors = [
            BatchPredictor(model, source, CellParser.of(options, source.delimiter, notation_of(model)))
            for model in models
        ]
        of_groups = [] if options.min_trust is not None else [group_column_of(model) for model in models]
        needed = [name for name in (options.target, *of_groups) if name is not None]
        require_columns(needed, source.schema.names, source.name)
        self.batches: list[pa.RecordBatch] = []
        self.verdicts: list[list[tuple[Any, ...]]] = [[], []]
        self.n_learned: Counter[BatchPredictor] = Counter()

    def read(self) -> None:
        """Predict all rows with both models."""
        n_rows = 0
        with progress("compare", self.source.position, self.source.size) as show_progress, warnings.catch_warnings():
            # A warning of unknown typicality was issued when the model was fitted.
            warnings.simplefilter("ignore", SepcWarning)
            for batch in self.source.batches:
                for predictor, verdicts in zip(self.predictors, self.verdicts, strict=True):
                    verdicts.append(self._verdicts(predictor, batch, n_rows))
                self.batches.append(batch)
                n_rows += batch.num_rows
                show_progress(n_rows)

    def _verdicts(self, predictor: BatchPredictor, batch: pa.RecordBatch, rows_before: int) -> tuple[Any, ...]:
        table = predictor.table(batch, rows_before)
        a = predictor.assess(table, rows_before)
        column = group_column_of(predictor.model) if self.options.min_trust is None else None
        groups = predictor.groups(batch, column)
        accepted = a.accepted(self.options.min_trust, self.options.min_typicality, groups=groups)
        known = predictor.learned_from(table)
        self.n_learned[predictor] += 0 if known is None else int(np.count_nonzero(known))
        return _texts(a.label), a.trust, accepted, predictor.probabilities(table)

    def note_learned(self) -> None:
        """Print a note if a model was fitted to rows of the table."""
        numbers = [(name, self.n_learned[one]) for name, one in zip("AB", self.predictors, strict=True)]
        learned = [printed("one-learned", model=name, n=n) for name, n in numbers if n]
        if learned:
            note("compared-learned", models=", ".join(learned))

    def comparison(self) -> Comparison:
        """Return both models' predictions beside the true labels; labels are compared as texts."""
        a, b = (self._verdicts_of(number) for number in range(2))
        return Comparison(a, b, self._truth(len(a.labels)), least_trust(self.options))

    def _verdicts_of(self, number: int) -> ModelVerdicts:
        labels, trust, accepted, proba = (np.concatenate(part) for part in zip(*self.verdicts[number], strict=True))
        predictor = self.predictors[number]
        return ModelVerdicts(labels, trust, accepted, proba, _texts(predictor.classes), predictor.model)

    def _truth(self, n: int) -> NDArray[Any]:
        target = self.options.target
        if target is None:
            return np.full(n, None, dtype=object)
        labels = parse_labels(self._table().column(target).combine_chunks(), self.predictors[0].cell_parser, target)
        known = {str(label) for predictor in self.predictors for label in predictor.classes}
        truth = np.array([None if label is None else str(plain(label)) for label in labels.tolist()], dtype=object)
        unknown = {label for label in truth.tolist() if label is not None} - known
        if unknown:
            note("labels-unknown-to-both", name=self.source.name, labels=", ".join(unknown))
        return truth

    def _table(self) -> pa.Table:
        return pa.Table.from_batches(self.batches, self.source.schema)

    def level_columns(self) -> dict[str, NDArray[Any]]:
        """Return the categorical columns of either model with at most 30 values, as texts."""
        kinds = self.predictors[1].kinds | self.predictors[0].kinds
        columns = {}
        for name in (name for name, kind in kinds.items() if kind in ("category", "bool")):
            values = np.array(self._table().column(name).cast(pa.string()).fill_null("").to_pylist(), dtype=object)
            if len(set(values.tolist())) <= 30:
                columns[name] = values.astype(str)
        return columns

    def write(self, output: str, found: Comparison) -> None:
        """Write the rows on which the labels differ: their number, all columns, and both predictions."""
        rows = np.flatnonzero(found.differ)
        table = self._table().take(pa.array(rows))
        ours = ("row", "label_a", "trust_a", "accepted_a", "label_b", "trust_b", "accepted_b", "right")
        names = list(added_names(table.column_names, ours).values())
        added = [
            pa.array(values)
            for one in (found.a, found.b)
            for values in (one.labels[rows].tolist(), one.trust[rows], one.accepted[rows])
        ]
        columns = [pa.array(rows + 1), *table.columns, *added, pa.array(found.who_is_right())]
        out = pa.table(columns, names=[names[0], *table.column_names, *names[1:]])
        decimal = self.predictors[0].decimal
        with written_table(output, out.schema, answer_delimiter(self.source, decimal), decimal) as write:
            for batch in out.to_batches():
                write(batch)


def _texts(labels: Any) -> NDArray[Any]:
    return np.array([str(plain(label)) for label in labels])


def _text(
    options: Namespace, name: str, found: Comparison, content: dict[str, Any], groups: list[Subgroup], terms: str
) -> str:
    n, n_labelled, n_differ = content["n"], content["n_labelled"], content["n_differ"]
    lines = [
        f"A  {options.model}",
        f"B  {options.other}",
        printed("compared-labelled" if options.target else "compared", name=name, n=n, n_labelled=n_labelled),
        "",
        aligned(_result_rows(content, terms)),
        "",
        *_by_label(content),
        _labels_differ(content),
    ]
    if content["p_value"] is not None and n_differ:
        lines.append(_in_words(content["p_value"], found.only_right))
    if n_differ:
        n_more = len(content["pairs"]) - _SHOWN
        more = [printed("more-pairs", n=n_more)] if n_more > 0 else []
        lines += ["", aligned(_pair_rows(content)), *more, "", *_differing_rows(found)]
    if groups:
        named = shortened((group.text for group in groups), 5, "group", between="; ")
        lines += ["", printed("differ-most", groups=named)]
    return "\n".join(lines)


def _labels_differ(content: dict[str, Any]) -> str:
    a, b, rows = content["only_a_right"], content["only_b_right"], (content["n_differ"], content["n"])
    if a is None or not content["n_differ"]:
        return printed("labels-differ", rows=rows)
    neither = sum(pair["neither"] for pair in content["pairs"])
    return printed("labels-differ-right", rows=rows, a=a, b=b, neither=neither)


def _result_rows(content: dict[str, Any], terms: str) -> list[dict[str, Any]]:
    def row(what: str, text: Any) -> dict[str, Any]:
        return {"": what, "A": text(content["a"]), "B": text(content["b"])}

    rows = [row(f"accepted ({terms})", lambda one: _share(one["accepted"], content["n"]))]
    if not content["n_labelled"]:
        return rows
    return [
        row("right", lambda one: _share(one["right"], one["right_of"])),
        row("  95 % interval", lambda one: _interval(one["right_interval"])),
        *rows,
        row("balanced accuracy", lambda one: percent(one["balanced_accuracy"])),
        row("right among accepted", lambda one: _share(one["accepted_right"], one["accepted_right_of"])),
        row("  95 % interval", lambda one: _interval(one["accepted_right_interval"])),
        row("mean trust", lambda one: percent(one["mean_trust"])),
        row("calibration error", lambda one: percent(one["calibration_error"])),
        row("log loss", lambda one: f"{one['log_loss']:.4f}"),
    ]


def _by_label(content: dict[str, Any]) -> list[str]:
    if not content["n_labelled"]:
        return []
    models = {name: content[name.lower()]["classes"] for name in "AB"}
    return [*label_lines(models, ("recall", "precision", "auc", "n_accepted")), ""]


def _pair_rows(content: dict[str, Any]) -> list[dict[str, Any]]:
    names = {"A says": "label_a", "B says": "label_b", "rows": "n"}
    if content["n_labelled"]:
        names |= {"A right": "a_right", "B right": "b_right", "neither": "neither"}
    rows = content["pairs"][:_SHOWN]
    return [{name: pair[key] for name, key in names.items()} for pair in rows]


def _differing_rows(found: Comparison) -> list[str]:
    who = dict(zip(np.flatnonzero(found.differ).tolist(), found.who_is_right(), strict=True))
    order = found.most_sure_first().tolist()
    rows = [
        {
            "row": i + 1,
            "A says": found.a.labels[i],
            "trust A": float(found.a.trust[i]),
            "B says": found.b.labels[i],
            "trust B": float(found.b.trust[i]),
            **({"true": found.truth[i] or "", "right": who[i]} if found.known.any() else {}),
        }
        for i in order[:_SHOWN]
    ]
    more = [printed("more-differing-rows", n=len(order) - _SHOWN)] if len(order) > _SHOWN else []
    return [printed("differing-rows"), aligned(rows), *more]


def _share(n: int, of: int) -> str:
    return f"{n:,} of {of:,} ({percent(n / of)})" if of else "none"


def _interval(limits: list[float] | None) -> str:
    return "" if limits is None else f"{percent(limits[0])} to {percent(limits[1])}"
