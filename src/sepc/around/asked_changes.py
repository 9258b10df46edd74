"""The smallest change of a record after which another model gives another label, found by asking it.

The search is that of our own explanations, with the same lengths and limits (`explanations.change_search`). The label
of each record that it tries is what the other model says of it, and how ordinary it is what the regions say. The odds
of a model of trees go in steps, without slopes to follow: so the search also goes along lines to training records, and
at the end moves columns back one by one as far as the other label holds.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.around.constants import MOST_ASKED
from sepc.around.given_scores import GivenScores
from sepc.around.raw_records import RawArrays, RawRecords, RawTables
from sepc.around.trusted_model import TrustedModel
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray
from sepc.explanations.change_limits import ChangeLimits
from sepc.explanations.counterfactual import (
    GIVEN_SCORES,
    NO_ESTIMATOR,
    NO_WAY_BACK,
    NONE_ORDINARY,
    NOT_ASKED,
    Changes,
    Counterfactual,
    changes_of,
)
from sepc.explanations.explanation import known_or_none
from sepc.explanations.vocabulary import Vocabulary
from sepc.model.assessment import Assessment
from sepc.model.decision import Decision
from sepc.model.fitted_model import TrainingRecords

if TYPE_CHECKING:
    from sepc.around.trusted_classifier import TrustedClassifier


class AskingModel:
    """A `TrustedModel` that takes features alone, and asks the other model what it says of them.

    Everything else is that of the model.

    Parameters
    ----------
    model : TrustedModel
    points : callable
        Makes points of the model, by asking, from features, shape (n, d).
    """

    def __init__(self, model: TrustedModel, points: Callable[[FloatArray], FloatArray]) -> None:
        self.model, self.points = model, points
        self.policy = None if model.keeps_labels else model.policy
        self.records = None if model.records is None else self._with_own_labels(model.records)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def _with_own_labels(self, records: TrainingRecords) -> TrainingRecords:
        """Return some training records, evenly spaced, with the labels that they get instead of their own."""
        some = np.unique(np.linspace(0, len(records.codes) - 1, MOST_ASKED).round().astype(int))
        gaps = None if records.gaps is None else records.gaps[some]
        chosen = TrainingRecords(records.points[some], records.codes[some], records.rows[some], gaps)
        codes = self.model.decide(self.points(self.model.original(chosen.as_they_came))).label
        return chosen._replace(codes=codes)

    def decide_with_scores(self, X: FloatArray) -> tuple[Decision, FloatArray | None]:
        """Return decisions on features, with the probabilities of the model whose labels are given, and scores."""
        points = self.points(X)
        decision, scores = self.model.decide_with_scores(points)
        if self.model.keeps_labels:
            decision = decision._replace(proba=np.exp(self.model.asked(points).log_probabilities))
        return decision, scores

    def assess(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point, shape (n, d)."""
        return self.model.assess(self.points(X), frames)


class ChangeFinder:
    """Finder of changes of records.

    Parameters
    ----------
    clf : TrustedClassifier
    limits : ChangeLimits or None
        None if no changes are asked for.
    """

    def __init__(self, clf: "TrustedClassifier", limits: ChangeLimits | None) -> None:
        self.clf, self.limits = clf, limits

    def of(self, row: Any, x: FloatArray, label: int, vocabulary: Vocabulary) -> Changes:
        """Return the changes of a record that has the class `label`.

        `row` is the record as a table of one row, `x`, shape (d,), are its features.
        """
        none_because = NOT_ASKED if self.limits is None else _why_not(self.clf)
        if self.limits is None or none_because is not None:
            return Changes(None, None, none_because)
        raw: RawRecords = (
            RawArrays(row, self.clf.model_.features, self.clf.regions_.columns_read_)
            if self.clf.table_encoder is None
            else RawTables(row, x, vocabulary)
        )
        model: Any = AskingModel(self.clf.model_, lambda X: self.clf.points(raw.of(X)))
        found = changes_of(model, x, label, vocabulary, self.limits)
        smallest, actionable = (self._checked(one, raw, label) for one in (found.smallest, found.actionable))
        none_because = found.none_because if found.smallest is None or smallest is not None else NONE_ORDINARY
        return Changes(smallest, actionable, none_because)

    def _checked(self, change: Counterfactual | None, raw: RawRecords, label: int) -> Counterfactual | None:
        """Return a change if the record, asked about by itself, has another label and is ordinary; else None."""
        if change is None or self.limits is None:
            return None
        record = raw.changed(change)
        if self.clf.predict(record)[0] == self.clf.classes_[label]:
            return None
        typicality = float(self.clf.assess(record).typicality[0])
        if typicality < self.limits.min_typicality:
            return None
        return replace(change, typicality=known_or_none(typicality))


def _why_not(clf: "TrustedClassifier") -> str | None:
    """Return why no other record can be asked about; None if it can."""
    if clf.estimator_ is None:
        return NO_ESTIMATOR
    if isinstance(clf.estimator_, GivenScores):
        return GIVEN_SCORES
    return None if clf._has_way_back else NO_WAY_BACK
