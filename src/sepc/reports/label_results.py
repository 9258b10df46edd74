"""Results of each label on test records, and what an accuracy hides of rare ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from sepc.common.errors import InputError
from sepc.common.text import many, percent
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.metrics import ClassResult, class_report
from sepc.model.partition_model import DensityModel
from sepc.promises.calibration_verdicts import CalibrationVerdicts
from sepc.promises.preview import held_out_verdicts
from sepc.promises.trust_threshold import model_of

# More labels than this are named in one sentence, without reasons.
_MOST_REASONS = 3


@dataclass(frozen=True, eq=False)
class LabelResults:
    """Labels given to n test records.

    `labels` are texts: the classes, and after them true labels that training never had. `truth` and `given` are their
    numbers, shape (n,), `proba` the probabilities of the classes, shape (n, n_classes).
    """

    labels: Sequence[str]
    truth: IntArray
    given: IntArray
    proba: FloatArray
    trust: FloatArray
    accepted: BoolArray

    @classmethod
    def of(
        cls, classes: Sequence[Any], truth: Any, given: Any, proba: FloatArray, trust: FloatArray, accepted: BoolArray
    ) -> Self:
        """Return the results for labels as they are."""
        codes: dict[Any, int] = {label: code for code, label in enumerate(classes)}
        true_codes = np.array([codes.setdefault(label, len(codes)) for label in truth], dtype=np.int64)
        given_codes = np.array([codes[label] for label in given], dtype=np.int64)
        return cls([str(label) for label in codes], true_codes, given_codes, proba, trust, accepted)

    @cached_property
    def classes(self) -> list[ClassResult]:
        """Result of each label."""
        known = np.arange(self.proba.shape[1])
        found = class_report(self.truth, self.given, self.proba, labels=known, accepted=self.accepted)
        return [one._replace(label=self.labels[one.label]) for one in found]

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the recalls of the labels that test records have."""
        return float(np.mean([one.recall for one in self.classes if one.recall is not None]))

    def to_dict(self, min_trust: float, clf: Any = None) -> dict[str, Any]:
        """Return the results ready for JSON; for `notes`, see there."""
        return {
            "balanced_accuracy": self.balanced_accuracy,
            "classes": [one._asdict() for one in self.classes],
            "label_notes": self.notes(min_trust, clf),
        }

    def notes(self, min_trust: float, clf: Any = None) -> list[str]:
        """Return sentences on an accuracy that shows nothing, and on labels that are never given, or never accepted.

        They give reasons where `clf` is the fitted classifier.
        """
        training = _Training(clf)
        never = [code for code, one in enumerate(self._known) if one.n_records and not one.n_given]
        refused = [code for code, one in enumerate(self._known) if one.n_given and not one.n_accepted]
        told = self._no_better_than_majority()
        if len(never) > _MOST_REASONS:
            told.append(f"the model never predicts {self._named(never)}, which some records have")
        else:
            told += [self._why_never(code, training) for code in never]
        if len(refused) > _MOST_REASONS:
            told.append(f"no label {self._named(refused)} is accepted with a trust of at least {min_trust:g} here")
        else:
            told += [self._why_refused(code, min_trust, training) for code in refused]
        return [f"{text}." for text in told]

    @property
    def _known(self) -> list[ClassResult]:
        return self.classes[: self.proba.shape[1]]

    def _no_better_than_majority(self) -> list[str]:
        n, n_right = len(self.truth), int(np.count_nonzero(self.truth == self.given))
        most = max(self.classes, key=lambda one: one.n_records)
        if n_right > most.n_records or most.n_records == n:
            return []
        beside = "no more than" if n_right == most.n_records else "less than"
        return [
            f"the model is right on {n_right:,} of {many(n, 'record')} ({percent(n_right / n)}), {beside} the "
            f"{most.n_records:,} ({percent(most.n_records / n)}) that have the majority label {most.label}: this "
            "accuracy shows nothing of the other labels; their recall and AUC do"
        ]

    def _named(self, codes: Sequence[int]) -> str:
        return ", ".join(self.labels[code] for code in codes)

    def _why_never(self, code: int, training: "_Training") -> str:
        n, of = self.classes[code].n_records, len(self.truth)
        return (
            f"the model never predicts {self.labels[code]}: {n:,} of {many(of, 'record')} {_has(n)} it, and its "
            f"highest probability is {percent(float(self.proba[:, code].max()))}{training.in_words(code, '; ')}"
        )

    def _why_refused(self, code: int, min_trust: float, training: "_Training") -> str:
        label, trust = self.labels[code], self.trust[self.given == code]
        n_sure = int(np.count_nonzero(trust >= min_trust))
        if n_sure:
            return (
                f"no label {label} is accepted here: {n_sure:,} of {len(trust):,} have a trust of at least "
                f"{min_trust:g}, and are refused for other reasons"
            )
        ceiling = training.ceiling(code)
        if ceiling < min_trust:
            reason = f"can reach a trust of {min_trust:g} here, because the calibration limits it to {percent(ceiling)}"
        else:
            highest = f"the highest of {len(trust):,} is" if len(trust) > 1 else "the only one has"
            reason = f"reaches a trust of {min_trust:g} here; {highest} {percent(float(trust.max()))}"
        return f"no label {label} {reason}{training.in_words(code, ': ')}"


def _has(n: int) -> str:
    return "has" if n == 1 else "have"


class _Training:
    """What training shows of labels: all of it is empty without a fitted classifier."""

    def __init__(self, clf: Any) -> None:
        self._clf = clf

    @cached_property
    def _held_out(self) -> CalibrationVerdicts | None:
        try:
            return held_out_verdicts(self._clf)
        except InputError:
            return None

    def ceiling(self, code: int) -> float:
        """Return what no trust of a label exceeds by the calibration; 1 where it sets no limit."""
        model = model_of(self._clf)
        if not isinstance(model, DensityModel) or not model.is_calibrated or model.policy is not None:
            return 1.0
        return float(model.calibration.ceilings()[code])

    def in_words(self, code: int, after: str) -> str:
        """Return what held-out training records show of a label, as the end of a sentence, after some characters."""
        if self._held_out is None:
            return ""
        label = self._held_out.keys[code]
        has = np.array([true == label for true in self._held_out.truth])
        got = np.asarray(self._held_out.label == label)
        n_has, n_got, n_right = (int(np.count_nonzero(flags)) for flags in (has, got, has & got))
        start = f"{after}{n_has:,} of {many(len(has), 'training record')} {_has(n_has)} it, and"
        if not n_got:
            return f"{start} no partition without them gives it to any"
        results = f"{percent(n_right / n_got)}; highest trust {percent(float(self._held_out.trust[got].max()))}"
        return f"{start} of the {n_got:,} that get it from partitions without them {n_right:,} do ({results})"
