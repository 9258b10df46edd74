"""Explanations of an ensemble's labels: which members and regions speak for them, and which against."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import listed, percent
from sepc.common.typing import FloatArray
from sepc.estimators.ensemble.ensemble_model import EnsembleModel, member_name
from sepc.estimators.ensemble.evidence import Lead
from sepc.explanations.counterfactual import Counterfactual, counterfactual
from sepc.explanations.explanation import (
    Neighbour,
    TextExplanation,
    change_in_words,
    nearest_in_words,
    nearest_records,
)
from sepc.explanations.vocabulary import Vocabulary

_N_IN_TEXT = 2
# Voices that change the odds by less than this factor, as a logarithm, say nothing.
_AUDIBLE = 0.01


class Voice(NamedTuple):
    """The opinion of one member on a point.

    Attributes
    ----------
    member : int
        Its number, from 1.
    features : tuple of str
        What it looks at.
    evidence : float
        What it adds to the log odds of the label against the runner-up; negative if it speaks against it.
    weight : float
        How much its opinion counts.
    label : object
        Its own likeliest label.
    region : str
        The region that the point most likely belongs to.
    n_label, n_others : int
        Training records of the verdict's label, and of other labels, that belong there and did not shape it.

    Examples
    --------
    >>> Voice(1, ("age",), 0.7, 0.2, "low", "1a:low#1", 12, 0).evidence
    0.7
    """

    member: int
    features: tuple[str, ...]
    evidence: float
    weight: float
    label: Any
    region: str
    n_label: int
    n_others: int


@dataclass(frozen=True, slots=True, repr=False)
class EnsembleExplanation(TextExplanation):
    """The explanation of a label that an ensemble gives to one point.

    The log odds of the label against the runner-up are the sum of all evidence, and of the leaning that was learnt.

    Attributes
    ----------
    label, runner_up : object
    trust, odds : float
    reason, region : str
        As in `assess`.
    agreement : float
        Weight of the members whose own label is the same, as a share of all weight.
    leaning : float
        What is added to the log odds before any member speaks.
    voices : tuple of Voice
        Of all members; those that speak most for the label first.
    neighbours : tuple of Neighbour
        The nearest training records.
    counterfactual : Counterfactual or None
    unit : str
        What distances are measured in.

    Examples
    --------
    >>> from sepc import SEPEnsembleClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
    >>> why = SEPEnsembleClassifier(n_estimators=2).fit(X, ["low"] * 4 + ["high"] * 4).explain([1.0])
    >>> why.label, why.runner_up, len(why.voices), why.counterfactual.label
    ('low', 'high', 2, 'high')
    """

    label: Any
    runner_up: Any
    trust: float
    odds: float
    reason: str
    region: str
    agreement: float
    leaning: float
    voices: tuple[Voice, ...]
    neighbours: tuple[Neighbour, ...]
    counterfactual: Counterfactual | None
    unit: str

    def sentences(self) -> Iterator[str]:
        """Yield what is to be said, sentence by sentence."""
        speak_for = [v for v in self.voices if v.evidence >= _AUDIBLE]
        against = [v for v in reversed(self.voices) if v.evidence <= -_AUDIBLE]
        yield (
            f"Predicted {self.label} with a trust of {percent(self.trust)}: of {len(self.voices)} members "
            f"{len(speak_for)} speak for it and {len(against)} for {self.runner_up} instead."
        )
        yield self._say("Most for it", speak_for)
        yield self._say("Most against it", against)
        yield self._caution()
        yield nearest_in_words(self.neighbours, self.unit)
        yield change_in_words(self.counterfactual, self.unit)

    def _say(self, what: str, voices: list[Voice]) -> str:
        said = [
            f"{member_name(v.member - 1, v.features)}, which puts it to region {v.region} beside {v.n_label} held-out "
            f"records of {self.label} and {v.n_others} of other labels, by odds of {np.exp(abs(v.evidence)):.3g}"
            for v in voices[:_N_IN_TEXT]
        ]
        return f"{what} is {listed(said)}." if len(said) == 1 else f"{what} are {listed(said)}." if said else ""

    def _caution(self) -> str:
        if self.reason == "contested":
            return "The members disagree, or others outnumber the label where it is strongest: take a second look."
        if self.reason == "outside":
            return "It lies outside every ellipsoid of the member that is surest: the label rests on what is nearest."
        return ""


def explain_ensemble(model: EnsembleModel, x: FloatArray, vocabulary: Vocabulary | None = None) -> EnsembleExplanation:
    """Explain the verdict on one point.

    Parameters
    ----------
    model : EnsembleModel
    x : ndarray of shape (d,)
        In the original units.
    vocabulary : Vocabulary, optional
        What to speak of; the features by default.

    Returns
    -------
    EnsembleExplanation

    Examples
    --------
    >>> from sepc import SEPEnsembleClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
    >>> model = SEPEnsembleClassifier(n_estimators=2).fit(X, [0] * 4 + [1] * 4)._model
    >>> explain_ensemble(model, np.array([8.5])).label
    1
    """
    vocabulary = vocabulary or Vocabulary(model.features)
    X = x[None]
    a = model.assess(X, FrameMaker())
    evidence = model.evidence(X)
    label, other = evidence.decision.label, evidence.other
    # One copy of the point for each member: all are asked in one go.
    n = len(model.members)
    asked = model.leads(np.repeat(X, n, axis=0), np.repeat(label, n), np.repeat(other, n), np.arange(n))
    leads = {int(lead.rows[0]): lead for lead in asked}
    added = evidence.added[:, 0]
    own = model.classes[evidence.opinions[:, 0].argmax(axis=1)]
    leaning = model.stack.leaning[label[0]] - model.stack.leaning[other[0]]
    return EnsembleExplanation(
        label=plain(a.label[0]),
        runner_up=plain(model.classes[other[0]]),
        trust=float(a.trust[0]),
        odds=float(a.odds[0]),
        reason=str(a.reason[0]),
        region=str(a.region[0]),
        agreement=float(a.agreement[0]),
        leaning=float(leaning),
        voices=tuple(
            _voice(model, m, float(added[m]), plain(own[m]), leads[m], vocabulary)
            for m in np.argsort(-added, kind="stable").tolist()
        ),
        neighbours=nearest_records(model, x, vocabulary),
        # Regions of members are regions of some features only: none that a whole record could be moved into.
        counterfactual=counterfactual(model, x, int(label[0]), vocabulary, ways=()),
        unit=model.unit,
    )


def _voice(model: EnsembleModel, m: int, evidence: float, label: Any, lead: Lead, vocabulary: Vocabulary) -> Voice:
    features = vocabulary.named([model.features[j] for j in model.members[m].plan.features])
    n_label, n_others = lead.counts[0].tolist()
    weight = float(model.stack.weights[m])
    return Voice(m + 1, features, evidence, weight, label, str(lead.regions[0]), n_label, n_others)
