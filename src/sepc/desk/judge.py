"""The model of a desk: verdicts on rows, and the evidence for one of them."""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sepc.common.frames import plain
from sepc.common.typing import FloatArray
from sepc.desk.batches import Batch
from sepc.explanations.usual_values import Usual, UsualValues
from sepc.explanations.vocabulary import Value, Vocabulary

# Why a row without an answer of the other model gets no label.
NO_ANSWER = "no answer"


class Verdicts(NamedTuple):
    """Verdicts on n rows, one list for each; labels are texts, None where there is no verdict."""

    label: list[str | None]
    trust: list[float | None]
    region: list[str | None]
    refusal: list[str | None]
    stability: list[float | None]
    typicality: list[float | None]
    cost: list[float | None]


class ColumnOfRecord(NamedTuple):
    """One column of a record: its value, and what is usual for each label."""

    name: str
    value: Value
    usual: list[Usual | None]


class Judge:
    """A fitted classifier in force, its number on the desk, its file, and the trust from which labels are accepted.

    Without `min_trust` it accepts by its signed promise, else by costs, else from a trust of 0.95.
    """

    def __init__(self, clf: Any, number: int, min_trust: float | None = None, path: Path | None = None) -> None:
        self.clf, self.number, self.min_trust, self.path = clf, number, min_trust, path

    @cached_property
    def labels(self) -> list[str]:
        """The labels as texts."""
        return [str(plain(label)) for label in self.clf.classes_.tolist()]

    def label_array(self, texts: list[str]) -> NDArray[Any]:
        """Return labels of the model by their texts."""
        return np.asarray(self.clf.classes_)[[self.labels.index(text) for text in texts]]

    def rows(self, table: pa.Table) -> Any:
        """Return the rows of a table as the classifier takes them."""
        if self.clf.core is not self.clf:
            return table
        frame = table.to_pandas()
        return frame if hasattr(self.clf, "feature_names_in_") else frame.to_numpy(dtype=np.float64)

    def assess(self, batch: Batch) -> Any:
        """Return the assessment of rows."""
        return self.clf.assess(self.rows(batch.rows))

    def verdicts(self, batch: Batch) -> Verdicts:
        """Return the verdicts on rows; those without an answer have none."""
        a = self.assess(batch)
        refusals = a.refusals(self.min_trust, groups=batch.groups)
        refusals[batch.unanswered] = NO_ANSWER
        labels = [str(plain(label)) for label in a.label.tolist()]
        columns = [labels, a.trust.tolist(), [str(name) for name in a.region], refusals.tolist()]
        columns += [values.tolist() for values in (a.stability, a.typicality, a.expected_cost)]
        for row in np.flatnonzero(batch.unanswered).tolist():
            for k in (0, 1, 2, 4, 5, 6):
                columns[k][row] = None
        return Verdicts(*([None if value != value else value for value in values] for values in columns))

    def points(self, batch: Batch) -> FloatArray:
        """Return rows as points of the model, shape (n, d)."""
        return np.asarray(self.clf.points(self.rows(batch.rows)))

    def explain(self, batch: Batch, changes: bool = False) -> list[Any]:
        """Return the explanations of the verdicts on rows."""
        return list(self.clf.explain_many(self.rows(batch.rows), changes=changes))

    def columns(self, batch: Batch) -> list[list[ColumnOfRecord]]:
        """Return the columns of each row that the model reads, and what is usual in them by label."""
        model, vocabularies = self.clf.core.by_regions.model_, self._vocabularies(batch)
        usual, codes = UsualValues(model, vocabularies[0]), range(len(self.labels))
        points = self.points(batch)[:, : len(model.features)]
        return [
            [
                ColumnOfRecord(word.name, vocabulary.own_value(word, x), [usual.of(word, code, x) for code in codes])
                for word in vocabulary.words
            ]
            for vocabulary, x in zip(vocabularies, points, strict=True)
        ]

    def _vocabularies(self, batch: Batch) -> list[Vocabulary]:
        encoder = self.clf.table_encoder
        if encoder is None:
            return [Vocabulary(self.clf.core.by_regions.model_.features)] * len(batch)
        return list(encoder.vocabularies(batch.rows.select([column.name for column in encoder.columns_])))


def file_digest(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
