"""Predictions and trust of a classifier for calibration records, and their true labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import known_labels


class PartRecords(NamedTuple):
    """Calibration records for tests: number of the part, -1 for none; trust; loss; flags of wrong and eligible ones."""

    part: IntArray
    trust: FloatArray
    loss: FloatArray
    wrong: BoolArray
    eligible: BoolArray

    def taken(self, rows: IntArray | BoolArray) -> "PartRecords":
        """Return some of the records; rows may repeat."""
        return PartRecords._make(values[rows] for values in self)


class CalibrationVerdicts(NamedTuple):
    """Predictions and trust of a classifier for calibration records, and their true labels.

    `keys` are the labels that it knows, `classes` the same as texts; `label` is the prediction; `eligible` flags the
    records that some threshold accepts; `key` is that of the model.
    """

    classes: list[str]
    keys: list[Any]
    label: NDArray[Any]
    truth: list[Any]
    trust: FloatArray
    wrong: BoolArray
    eligible: BoolArray
    main_region: NDArray[Any] | None
    key: str | None

    @classmethod
    def of(cls, clf: Any, X_cal: Any, y_cal: Any, unknown_labels: str) -> "CalibrationVerdicts":
        """Return verdicts on records, checked."""
        missing = [name for name in ("predict", "trust_score") if not callable(getattr(clf, name, None))]
        if missing:
            raise InputError(
                "clf-without-methods",
                type=clf if isinstance(clf, type) else type(clf).__name__,
                missing=" and ".join(missing),
            )
        labels = known_labels(X_cal, y_cal)
        main_region, key = None, None
        if callable(getattr(clf, "assess", None)):
            a = clf.assess(X_cal)
            trust, predicted, eligible = np.asarray(a.trust), np.asarray(a.label), np.asarray(a.accepted(min_trust=0.0))
            main_region, key = getattr(a, "main_region", None), getattr(a, "model_key", None)
        else:
            trust, predicted = np.asarray(clf.trust_score(X_cal)), np.asarray(clf.predict(X_cal))
            eligible = np.full(trust.shape, True)
        if trust.shape != (len(labels),) or not ((trust >= 0.0) & (trust <= 1.0)).all():
            raise InputError("trust-shape", shape=trust.shape, n_records=len(labels))
        known = np.asarray(getattr(clf, "classes_", predicted))
        # Without classes_, a classifier may know labels that it has not predicted here.
        _require_known(labels, known.tolist(), unknown_labels if hasattr(clf, "classes_") else "wrong")
        wrong = np.array([a != b for a, b in zip(labels, predicted.tolist(), strict=True)], dtype=bool)
        trust = trust if trust.dtype == np.float32 else trust.astype(np.float64)
        keys = list(dict.fromkeys(known.tolist()))
        return cls([str(key) for key in keys], keys, predicted, labels, trust, wrong, eligible, main_region, key)

    def taken(self, rows: IntArray) -> "CalibrationVerdicts":
        """Return the verdicts on some of the records."""
        return self._replace(
            label=self.label[rows],
            truth=[self.truth[row] for row in rows.tolist()],
            trust=self.trust[rows],
            wrong=self.wrong[rows],
            eligible=self.eligible[rows],
            main_region=None if self.main_region is None else self.main_region[rows],
        )

    def costs(self, matrix: FloatArray) -> FloatArray:
        """Return the cost of each prediction, shape (n,)."""
        number = {label: k for k, label in enumerate(self.keys)}
        given = np.array([number[label] for label in self.label.tolist()])
        true = np.array([number[label] for label in self.truth])
        return np.asarray(matrix[true, given])


def _require_known(labels: Sequence[Any], known: Sequence[Any], unknown_labels: str) -> None:
    if set(known).isdisjoint(labels):
        raise InputError("calibration-labels-of-another-kind", label=labels[0], known=known[0])
    unknown = [label for label in labels if label not in set(known)]
    if unknown and unknown_labels == "error":
        raise InputError("calibration-label-unknown", label=unknown[0], n_unknown=len(unknown), n_records=len(labels))
