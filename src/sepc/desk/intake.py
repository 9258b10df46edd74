"""Which rows of a batch go to people: refused ones, and a random sample of all."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sepc.common.errors import InputError
from sepc.common.text import in_words
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.desk.batches import Batch
from sepc.desk.events import Events
from sepc.desk.judge import Judge, Verdicts
from sepc.desk.views import ORDERS
from sepc.feedback.audits import draws_of

_MOST_TEXT = 2000  # characters of a record that a search looks through
_LAST = 9e99  # the place of a record whose key is not known
# One stream of random numbers for audits, one for second opinions, one for places in the queue.
_AUDIT, _SECOND, _PLACE = 0, 1, 2


class Terms(NamedTuple):
    """What a desk asks beside refused records.

    `audit` is the share of all rows in a random sample: its accepted records are the audit, and what it holds makes
    promises. `second` is the share of asked records that two people decide. `blind` hides the verdict of audits, and of
    as many refused records. Labels are accepted from `min_trust` on, by default as the model has promised, else 0.95.

    Examples
    --------
    >>> from sepc.desk import Terms
    >>> Terms(audit=0.1)._replace(second=0.2)
    Terms(audit=0.1, second=0.2, blind=True, min_trust=None)
    """

    audit: float = 0.05
    second: float = 0.0
    blind: bool = True
    min_trust: float | None = None

    def check(self) -> "Terms":
        """Return itself; raise an `InputError` for shares that are none."""
        for name in ("audit", "second", "min_trust"):
            share = getattr(self, name)
            if share is None and name == "min_trust":
                continue
            if not isinstance(share, (int, float)) or not 0.0 <= share <= 1.0:
                raise InputError("desk-share", name=name, share=share)
        return self


def terms_of(events: Events) -> Terms:
    """Return the terms in force."""
    last = events.of_kind("terms")
    return Terms(**last[-1].body) if last else Terms()


def asked_of(batch: Batch, verdicts: Verdicts, judge: Judge, terms: Terms) -> dict[str, list[Any]]:
    """Return the columns of the asked records of a batch, as the event of its rows has them (`views.GIVEN`)."""
    points = judge.points(batch)
    refused = np.array([why is not None for why in verdicts.refusal], dtype=bool)
    drawn = draws_of(points, _AUDIT)
    sampled = (drawn < terms.audit) & ~batch.unanswered
    rows = np.flatnonzero(refused | sampled)
    audits = sampled & ~refused
    blind = _blind(refused & ~batch.unanswered, audits, sampled, drawn) & terms.blind
    keys = _keys(verdicts, refused, blind, draws_of(points, _PLACE))
    texts = _texts(batch.shown, rows)
    columns = {
        "place": rows,
        "row": rows + batch.first,
        **{name: np.array(values, dtype=object)[rows] for name, values in verdicts._asdict().items()},
        "grp": np.full(len(rows), None) if batch.groups is None else batch.groups[rows],
        "chance": np.where(refused, 1.0, terms.audit)[rows],
        "is_audit": audits[rows].astype(int),
        "sampled": sampled[rows].astype(int),
        "blind": blind[rows].astype(int),
        "second": (draws_of(points, _SECOND) < terms.second)[rows].astype(int),
        **{f"key_{name}": keys[name][rows] for name in ORDERS},
        "text": np.array(texts, dtype=object),
    }
    return {name: values.tolist() for name, values in columns.items()}


def _blind(refused: BoolArray, audits: BoolArray, sampled: BoolArray, drawn: FloatArray) -> BoolArray:
    """Return the sample, and refused records as many as audits: that one is blind does not say why it is here."""
    blind = audits | sampled
    others = np.flatnonzero(refused & ~blind)
    missing = max(int(audits.sum()) - int((sampled & refused).sum()), 0)
    blind[others[np.argsort(drawn[others], kind="stable")][:missing]] = True
    return blind


def _keys(verdicts: Verdicts, refused: BoolArray, blind: BoolArray, drawn: FloatArray) -> dict[str, Any]:
    """Return what the queue is ordered by: of a blind record that of a refused one at random, which says nothing."""
    costs = [None if cost is None else -cost for cost in verdicts.cost]  # the costliest first
    own = {name: costs if name == "cost" else getattr(verdicts, name) for name in ORDERS}
    stand_in = _stand_ins(np.flatnonzero(refused), blind, drawn)
    return {name: np.array([_LAST if key is None else key for key in keys])[stand_in] for name, keys in own.items()}


def _stand_ins(refused: IntArray, blind: BoolArray, drawn: FloatArray) -> IntArray:
    found = np.arange(len(blind))
    if len(refused):
        found[blind] = refused[(drawn[blind] * len(refused)).astype(int)]
    return found


def _texts(shown: pa.Table, rows: IntArray) -> list[str]:
    """Return the values of rows as one text each, for searches."""
    columns = [column.take(rows).to_pylist() for column in shown.columns]
    joined = (
        " ".join(in_words_or_text(value) for value in values if value is not None)
        for values in zip(*columns, strict=True)
    )
    return [text[:_MOST_TEXT] for text in joined]


def in_words_or_text(value: Any) -> str:
    """Return a value of a table as a text."""
    return in_words(value) if isinstance(value, (str, float, bool, type(None))) else str(value)
