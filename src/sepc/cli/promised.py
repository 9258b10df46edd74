"""Promises on the command line: made from labelled rows, kept in a model, and accepted by."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.cli.console import note
from sepc.cli.labelled_tables import LabelledTable, require_columns
from sepc.common.errors import InputError
from sepc.common.text import percent
from sepc.model.acceptance import DEFAULT_TRUST
from sepc.model.assessment import Assessment
from sepc.promises import TrustThreshold, preview_promise, select_min_trust
from sepc.promises.parts import ALL, GROUP, GROUPS, LABEL, REGION
from sepc.promises.trust_threshold import stated_of

# What --by can name besides a column.
PARTS = (ALL, LABEL, REGION)
_USUAL_TYPICALITY = 0.01


def group_column(by: str | None) -> str | None:
    """Return the column that ``--by`` names; None if it names none."""
    return None if by is None or by in PARTS else by


def note_other_meaning(by: str | None, columns: Sequence[str]) -> None:
    """Say what ``--by`` means where a column has the same name."""
    if by in PARTS and by in columns:
        note(f"--by {by} goes by the model's own {by}, not by the column of that name; rename the column to go by it.")


def make_promise(
    model: Any, data: LabelledTable, made_from: str, by: str | None, confidence: float, **limit: Any
) -> TrustThreshold:
    """Return the promise that labelled rows allow, which the model has not learned from; see `select_min_trust`.

    Parameters
    ----------
    data : LabelledTable
        With groups, if `by` names a column.
    made_from : str
        What these rows are, for messages.
    **limit : float
        max_error or max_cost.
    """
    if group_column(by) is not None and data.groups is not None:
        groups = data.groups
        missing = [value is None for value in groups.tolist()]
        if any(missing):
            raise InputError(
                f"{data.name}: column {by!r} has no value in row {missing.index(True) + 1}; expected the group of each "
                "row that the promise is made from. Fill it in, or take these rows out."
            )
        found = select_min_trust(model, _rows(model, data), data.labels, confidence=confidence, by=groups, **limit)
        return replace(found, group_column=str(by), made_from=made_from)
    found = select_min_trust(model, _rows(model, data), data.labels, confidence=confidence, by=by, **limit)
    return replace(found, made_from=made_from)


def _rows(model: Any, data: LabelledTable) -> Any:
    return data.table if hasattr(model, "steps") else data.table.to_pandas()


def promise_text(promise: TrustThreshold) -> str:
    """Return a promise as lines of text."""
    source = f" of {promise.made_on}" + (f", from {promise.made_from}" if promise.made_from else "")
    if not promise.parts:
        return f"promise{source}: {promise.message}"
    head = (
        f"promise by {promise.group_column or promise.by}{source}; all together with a confidence of "
        f"{percent(promise.confidence)}; {promise.n_accepted:,} of {promise.n_calibration:,} rows accepted:"
    )
    return "\n".join([head, *(f"  {line}" for line in promise.lines())])


def note_no_promise(model: Any, promise: TrustThreshold, **limit: Any) -> None:
    """Say that nothing could be promised, and how many rows it may take."""
    by = LABEL if promise.by == LABEL else None
    try:
        told = preview_promise(model, confidence=promise.confidence, by=by, **limit)
    except InputError:  # a model that has left nothing out
        more = "more calibration rows, a larger limit or a better model may allow one"
    else:
        other = "" if promise.by in (ALL, LABEL) else " for all labels together"
        more = f"an estimate{other}: {'; '.join(told.lines())}"
    note(f"nothing can be promised; {more}.")


def kept_text(model: Any, data: LabelledTable) -> str | None:
    """Return what the promise of a model accepts of labelled rows; None if it has none, or goes by groups."""
    promise = model.promise
    if promise is None or promise.by in (GROUP, GROUPS):
        return None
    a = model.assess(_rows(model, data))
    accepted = a.accepted(promise)
    n, n_accepted = len(accepted), int(np.count_nonzero(accepted))
    right = int(np.count_nonzero(a.label[accepted] == data.labels[accepted]))
    share = f", right on {right} of {n_accepted} ({percent(right / n_accepted)})" if n_accepted else ""
    return f"by its promise: {n_accepted} of {n} ({percent(n_accepted / n)}) accepted{share}"


class Acceptance:
    """Rule by which labels are accepted: `min_trust`, or the promise that a model keeps."""

    def __init__(self, model: Any, options: Namespace) -> None:
        self.min_typicality = float(options.min_typicality)
        self.promise: TrustThreshold | None = None
        self.holds = True
        self.asked_trust = None if options.min_trust is None else float(options.min_trust)
        if options.min_trust is None and getattr(model, "promise", None) is not None:
            self.promise = model.promise
            self._note_what_voids(model)

    def _note_what_voids(self, model: Any) -> None:
        assert self.promise is not None
        self.holds = self.promise.stated == stated_of(model) and self.min_typicality == _USUAL_TYPICALITY
        if self.promise.stated != stated_of(model):
            note("the promise does not hold here: it was made with other shares of the classes, or other costs.")
        if self.min_typicality != _USUAL_TYPICALITY:
            note(
                f"the promise does not hold with --min-typicality {self.min_typicality:g}: it was made for rows that "
                f"are accepted with {_USUAL_TYPICALITY:g}."
            )

    @property
    def min_trust(self) -> float:
        """Trust from which labels are accepted where there is no promise; with costs none is needed by default."""
        return DEFAULT_TRUST if self.asked_trust is None else self.asked_trust

    @property
    def group_column(self) -> str | None:
        """The column that the promise goes by; None if it goes by none."""
        return None if self.promise is None else self.promise.group_column or None

    def require_groups(self, names: Sequence[str], source: str) -> None:
        """Raise an error where the table has not the column that the promise goes by."""
        if self.group_column is not None:
            require_columns([self.group_column], names, source)
        elif self.promise is not None and self.promise.by in (GROUP, GROUPS):
            raise InputError(
                "the model keeps a promise by groups that are no column of a table, as Python has made it; expected "
                "another one. Pass --min-trust to accept by trust, or make a promise with sepc promise --by COLUMN."
            )

    def refusals(self, a: Assessment, groups: Any) -> NDArray[np.object_]:
        """Return why labels are not accepted, shape (n,); None where they are."""
        return a.refusals(
            self.asked_trust if self.promise is None else self.promise, self.min_typicality, groups=groups
        )

    def promised(self, a: Assessment, refusals: NDArray[np.object_], groups: Any) -> list[str | None]:
        """Return what is promised of each label that is accepted; nothing where the promise does not hold."""
        if not self.holds:
            return [None] * len(a)
        assert self.promise is not None
        parts = [f"{one.part}: {one.limit_in_words()}".removeprefix(": ") for one in self.promise.thresholds]
        told = [[*parts, None][k] for k in self.promise.part_of(a, groups).tolist()]
        return [text if why is None else None for text, why in zip(told, refusals.tolist(), strict=True)]

    def in_words(self) -> str:
        """Return what is asked of a label that is accepted."""
        if self.promise is None:
            return f"a trust of at least {self.min_trust:g}"
        if not self.holds:
            return f"the thresholds of the promise of {self.promise.made_on}, which does not hold here,"
        if not self.promise.parts:
            return (
                f"the promise of {self.promise.made_on} ({self.promise.limit_in_words()}, with a "
                f"confidence of {percent(self.promise.confidence)}; a trust of at least {self.promise.min_trust:g})"
            )
        by = self.promise.group_column or self.promise.by
        return (
            f"the promise of {self.promise.made_on} by {by} (with a confidence of {percent(self.promise.confidence)})"
        )
