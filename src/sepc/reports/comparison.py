"""Two models on the same records: results side by side, where they differ, and whether chance explains it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from sepc.common.intervals import exact_interval
from sepc.common.typing import BoolArray, FloatArray
from sepc.metrics import expected_calibration_error
from sepc.reports.baselines import class_numbers, mean_log_loss


@dataclass(frozen=True, eq=False)
class ModelVerdicts:
    """Verdicts of one model on n records.

    Attributes
    ----------
    labels : ndarray of str, shape (n,)
    trust : ndarray of shape (n,)
    accepted : ndarray of bool, shape (n,)
    proba : ndarray of shape (n, n_classes)
    classes : ndarray of str, shape (n_classes,)
    """

    labels: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    proba: FloatArray
    classes: NDArray[Any]

    def results(self, truth: NDArray[Any], known: BoolArray) -> dict[str, Any]:
        """Return the results on the records whose true label is known, ready for JSON; what needs labels is None."""
        n, n_accepted = len(known), int(np.count_nonzero(self.accepted))
        found: dict[str, Any] = {"accepted": n_accepted, "coverage": n_accepted / n if n else None}
        if not known.any():
            return found
        right = self.labels[known] == truth[known]
        accepted = self.accepted[known]
        numbers = class_numbers(truth[known], self.classes)
        return {
            **found,
            **_counted("right", right),
            **_counted("accepted_right", right[accepted]),
            "log_loss": mean_log_loss(self.proba[known], numbers),
            "calibration_error": expected_calibration_error(right, np.ones_like(right), self.trust[known]),
            "mean_trust": float(self.trust[known].mean()),
        }


def _counted(name: str, flags: BoolArray) -> dict[str, Any]:
    n, hits = len(flags), int(np.count_nonzero(flags))
    interval = list(exact_interval(hits, n)) if n else None
    return {name: hits, f"{name}_of": n, f"{name}_share": hits / n if n else None, f"{name}_interval": interval}


class LabelPair(NamedTuple):
    """Records on which one model says one label and the other another; who is right where it is known."""

    label_a: str
    label_b: str
    n: int
    a_right: int
    b_right: int
    neither: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two models on the same records.

    Attributes
    ----------
    a, b : ModelVerdicts
    truth : ndarray of object, shape (n,)
        True labels as texts, None where they are not known.
    """

    a: ModelVerdicts
    b: ModelVerdicts
    truth: NDArray[Any]

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
        """McNemar's exact test, two-sided: chance of so uneven numbers if both models were right as often.

        None if no true label is known; 1 if no record speaks for either model.
        """
        if not self.known.any():
            return None
        a, b = self.only_right
        return min(1.0, 2.0 * float(bdtr(min(a, b), a + b, 0.5))) if a + b else 1.0

    def who_is_right(self) -> list[str]:
        """Return "A", "B", "neither" or "" (not known) for each record on which the labels differ."""
        rows = np.flatnonzero(self.differ)
        told = []
        for a, b, true in zip(self.a.labels[rows], self.b.labels[rows], self.truth[rows], strict=True):
            told.append("" if true is None else "A" if a == true else "B" if b == true else "neither")
        return told

    def pairs(self) -> list[LabelPair]:
        """Return the pairs of labels by which the models differ, the most frequent first."""
        who, rows = np.array(self.who_is_right(), dtype=object), np.flatnonzero(self.differ)
        said = list(zip(self.a.labels[rows].tolist(), self.b.labels[rows].tolist(), strict=True))
        found = []
        for a, b in dict.fromkeys(said):
            here = who[[pair == (a, b) for pair in said]]
            found.append(LabelPair(a, b, len(here), *(int(np.sum(here == one)) for one in ("A", "B", "neither"))))
        return sorted(found, key=lambda pair: (-pair.n, pair.label_a, pair.label_b))

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
            "a": self.a.results(self.truth, known),
            "b": self.b.results(self.truth, known),
            "n_differ": int(np.count_nonzero(self.differ)),
            "only_a_right": a if has_labels else None,
            "only_b_right": b if has_labels else None,
            "p_value": self.p_value,
            "pairs": [pair._asdict() for pair in self.pairs()],
        }


def in_words(p_value: float, only_right: Sequence[int]) -> str:
    """Return what McNemar's test says of two models."""
    better = "A" if only_right[0] > only_right[1] else "B"
    p = f"p = {p_value:.2g}" if p_value >= 0.0001 else "p below 0.0001"
    surely = f"{better} is right more often, and chance hardly explains it"
    return f"{p} by the exact test of McNemar: {surely if p_value < 0.05 else 'chance can explain the difference'}"
