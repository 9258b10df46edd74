"""The model that is served, and its verdicts on rows."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sepc import __version__
from sepc.around import GivenScores, TrustedClassifier
from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker, plain
from sepc.common.typing import BoolArray
from sepc.common.validation import takes_missing_values
from sepc.desk.judge import NO_ANSWER, Judge
from sepc.model.acceptance import Terms, refusals
from sepc.model.assessment import Assessment
from sepc.model.calibration import STRANGE
from sepc.serving.server.inputs import Columns, ReadTable, Rows, beginning

_TEXTS, COSTS = ("refusal", "reason", "region"), ("expected_cost", "asking_cost")
OUTPUTS = ("label", "trust", "probabilities", "typicality", "accepted", *_TEXTS, *COSTS)
# Where a record lies takes longer to find than all else: it is looked up for those who ask.
USUAL = frozenset(OUTPUTS) - {"reason", "region"}


def require_outputs(names: Sequence[str]) -> frozenset[str]:
    """Return names of outputs, "all" for all; raise an `InputError` for one that there is not."""
    if names == ["all"]:
        return frozenset(OUTPUTS)
    unknown = [name for name in names if name not in OUTPUTS]
    if unknown:
        raise InputError("serve-output", name=beginning(unknown[0]), names=", ".join(OUTPUTS))
    return frozenset(names)


class Acceptance(NamedTuple):
    """From which trust and typicality on labels are accepted; without a trust by the promise, else costs, else 0.95."""

    min_trust: float | None = None
    min_typicality: float = STRANGE


class Limits(NamedTuple):
    """Bytes of a request, the seconds that it may take, its rows, and those that it may ask to explain."""

    body: int = 64 << 20
    seconds: float = 30.0
    rows: int = 100_000
    explained: int = 100


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts on n rows: columns of n values each, None or NaN where there is none; and those that are asked for."""

    columns: dict[str, Any]
    labels: list[str]
    outputs: frozenset[str]

    def part(self, start: int, stop: int) -> "Verdicts":
        """Return those on some consecutive rows."""
        part = {name: values[start:stop] for name, values in self.columns.items()}
        return Verdicts(part, self.labels, self.outputs)

    def asked(self) -> dict[str, Any]:
        """Return the columns that are asked for."""
        found = {name: values for name, values in self.columns.items() if name in self.outputs}
        if not found:  # costs, of a model without them
            raise InputError("serve-output", name=min(self.outputs), names=", ".join(self.columns))
        return found

    def records(self) -> list[dict[str, Any]]:
        """Return one dict for each row, ready for JSON."""
        columns = {name: _jsonable(values) for name, values in self.asked().items()}
        if "probabilities" in columns:
            columns["probabilities"] = [dict(zip(self.labels, row, strict=True)) for row in columns["probabilities"]]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def table(self) -> pa.Table:
        """Return them as a table, with a column for the probability of each label."""
        columns = self.asked()
        proba = columns.pop("probabilities", None)
        if proba is not None:
            columns |= {f"probability of {label}": proba[:, k] for k, label in enumerate(self.labels)}
        # Texts may all be None.
        kinds = dict.fromkeys(_TEXTS, pa.string())
        return pa.table({name: pa.array(v, kinds.get(name), from_pandas=True) for name, v in columns.items()})


def _jsonable(values: Any) -> list[Any]:
    """Return values as JSON has them: None in place of NaN."""
    if not isinstance(values, np.ndarray):
        return list(values)
    found: list[Any] = values.tolist()
    if np.isnan(values).any():
        found = [_jsonable(row) for row in values] if values.ndim > 1 else [None if x != x else x for x in found]
    return found


@dataclass(frozen=True)
class Served:
    """A model from a file, as it is served; `read` makes rows of tables."""

    clf: Any
    path: Path
    digest: str
    name: str
    read: ReadTable
    accepts: Acceptance
    limits: Limits
    loaded: float = 0.0

    @property
    def version(self) -> str:
        """What distinguishes this file from others, in short."""
        return self.digest[:12]

    @cached_property
    def labels(self) -> list[str]:
        """The labels as texts."""
        return [str(plain(label)) for label in self.clf.classes_.tolist()]

    @cached_property
    def group_column(self) -> str | None:
        """The column of the promise's groups, where labels are accepted by it."""
        promise = self.clf.promise
        holds = self.accepts == Acceptance() and promise is not None and promise.is_kept
        return promise.group_column or None if holds else None

    @cached_property
    def columns(self) -> Columns:
        """The columns that the model reads."""
        clf, core, encoder = self.clf, self.clf.core, self.clf.table_encoder
        kinds = dict.fromkeys(
            map(str, core.by_regions.model_.features), "number"
        )  # none of those that it does not read
        if encoder is not None:
            kinds = {column.name: column.kind for column in encoder.columns_ if column.features}
        elif isinstance(core, TrustedClassifier):
            kinds = dict.fromkeys(map(str, clf.feature_names_in_), "number")
        if isinstance(getattr(core, "estimator_", None), GivenScores):
            kinds |= {one: "text" if one == core.estimator_.label else "number" for one in core.estimator_.columns}
        if self.group_column is not None:
            kinds |= {self.group_column: "group"}
        are_plain = core is clf and not isinstance(core, TrustedClassifier) and self.group_column is None
        return Columns(kinds, are_plain, bool(takes_missing_values(clf)), self.limits.rows, partial(self.read, self))

    @cached_property
    def about(self) -> dict[str, Any]:
        """What `/model` says, ready for JSON."""
        core, promise = self.clf.core, self.clf.promise
        return {
            "name": self.name,
            "version": self.version,
            "kind": type(core).__name__,
            "title": core.about_.name,
            "tags": core.about_.tags,
            "fitted_on": core.about_.fitted_on or None,
            "classes": [plain(label) for label in self.clf.classes_.tolist()],
            "columns": [{"name": name, "kind": kind} for name, kind in self.columns.kinds.items()],
            "takes_missing_values": self.columns.takes_gaps,
            "promise": None if promise is None else {"kept": promise.is_kept, "text": getattr(promise, "message", "")},
            **self.accepts._asdict(),
            "key": core.model_.key(),
            "file": {"name": self.path.name, "sha256": self.digest},
            "loaded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.loaded)),
            "sepc": __version__,
        }

    def assess(self, values: Any) -> Assessment:
        """Return the assessment of points or of a table."""
        if isinstance(values, pa.Table):
            return self.clf.assess(Judge(self.clf, 0).rows(values))  # type: ignore[no-any-return]
        # Checked already: what `assess` of the classifier does beside costs more than the verdict on one row.
        a: Assessment = self.clf.model_.assess(values, FrameMaker())
        a.promise = self.clf.promise
        return a

    def verdicts(self, rows: Rows, outputs: frozenset[str] = USUAL) -> Verdicts:
        """Return the verdicts on rows."""
        a = self.assess(rows.values)
        refusal = refusals(a, Terms(*self.accepts, groups=rows.groups)).tolist()
        assert a.decision is not None
        columns: dict[str, Any] = {
            "label": a.label.tolist(),
            "trust": a.trust,
            "probabilities": a.decision.proba,
            "typicality": np.asarray(a.typicality, dtype=np.float64),
            "accepted": [why is None for why in refusal],
            "refusal": refusal,
        }
        if "reason" in outputs:
            columns["reason"] = a.reason.tolist()
        if "region" in outputs:
            columns["region"] = [None if name is None else str(name) for name in a.region]
        if a.has_costs:
            columns |= {name: getattr(a, name) for name in COSTS}
        if rows.unanswered is not None:
            columns = {name: _answered(name, values, rows.unanswered) for name, values in columns.items()}
        return Verdicts(columns, self.labels, outputs)

    def explain(self, rows: Rows, changes: bool) -> list[Any]:
        """Return the explanations of the verdicts on rows; rows of the training file count from 1, as in ``sepc``."""
        numbers = getattr(self.clf, "row_numbers_", None)
        found = self.clf.explain_many(Judge(self.clf, 0).rows(self.table(rows)), changes=changes)
        return [why.with_rows_from(1 if numbers is None else numbers) for why in found]

    def table(self, rows: Rows) -> pa.Table:
        """Return rows as a table."""
        if isinstance(rows.values, pa.Table):
            return rows.values
        return pa.table(dict(zip(self.columns.names, rows.values.T, strict=True)))


def _answered(name: str, values: Any, unanswered: BoolArray) -> Any:
    """Return a column without what would be said of rows for which the other model has no answer."""
    if isinstance(values, np.ndarray):
        return np.where(unanswered if values.ndim == 1 else unanswered[:, None], np.nan, values)
    instead = {"accepted": False, "refusal": NO_ANSWER, "reason": NO_ANSWER}.get(name)
    return [instead if lacks else value for value, lacks in zip(values, unanswered.tolist(), strict=True)]


def verdicts_on_all(served: Served, requests: Sequence[Rows], outputs: frozenset[str]) -> list[Verdicts | Exception]:
    """Return the verdicts on the rows of each request, or the error; the requests have rows of one kind.

    They are judged together: the verdict on a row does not depend on others, and one alone takes as long as a hundred.
    """
    try:
        together = served.verdicts(_joined(requests), outputs)
    except Exception as error:  # of one of them, which is found by judging each alone
        return (
            [error] if len(requests) == 1 else [one for r in requests for one in verdicts_on_all(served, [r], outputs)]
        )
    ends = np.cumsum([0, *map(len, requests)]).tolist()
    return [together.part(*ends[k : k + 2]) for k in range(len(requests))]


def _joined(requests: Sequence[Rows]) -> Rows:
    if len(requests) == 1:
        return requests[0]
    values: Any = [rows.values for rows in requests]
    joined = pa.concat_tables(values) if isinstance(values[0], pa.Table) else np.concatenate(values)
    lacking = [np.zeros(len(rows), dtype=bool) if rows.unanswered is None else rows.unanswered for rows in requests]
    groups = [rows.groups for rows in requests if rows.groups is not None]
    unanswered = np.concatenate(lacking)
    together = np.concatenate(groups) if groups else None
    return Rows(joined, requests[0].shown, together, unanswered if unanswered.any() else None)
