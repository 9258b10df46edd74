"""Curves of single labels against the rest, by their probability, and what of them is accepted."""

from abc import abstractmethod
from collections.abc import Mapping
from itertools import count, islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from sepc.common.errors import InputError
from sepc.common.text import percent
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.plot.base import CurvesDisplay
from sepc.plot.scores import assessed, labels_of, last_step
from sepc.plot.style import GREY, TINY, into_emptiest_place, label_axes, short, style

# Curves that are told apart in one picture.
MOST_CURVES = 8
_MOST_NOTES = 3
_ACCEPTED = "accepted labels"


class Outcome(NamedTuple):
    """Labels that n records have and got, as numbers, shape (n,), and the probabilities of all, shape (n, n_classes).

    `accepted` flags accepted labels, None where that is not known; `weight` are weights or None.
    """

    truth: IntArray
    given: IntArray
    proba: FloatArray
    accepted: BoolArray | None = None
    weight: FloatArray | None = None

    def sum_of(self, flags: BoolArray) -> float:
        """Return the number of flagged records, or the sum of their weights."""
        return float(np.count_nonzero(flags) if self.weight is None else self.weight[flags].sum())

    def shown(self, most: int) -> list[int]:
        """Return the labels to show: of two classes the rarer one, of more those with the smallest AUC."""
        ranked = [k for k in range(self.proba.shape[1]) if 0 < np.count_nonzero(self.truth == k) < len(self.truth)]
        if self.proba.shape[1] == 2:
            return sorted(ranked, key=lambda k: (np.count_nonzero(self.truth == k), -k))[:1]
        area = {k: roc_auc_score(self.truth == k, self.proba[:, k], sample_weight=self.weight) for k in ranked}
        return sorted(sorted(ranked, key=lambda k: (area[k], k))[:most])


class Accepted(NamedTuple):
    """Accepted labels of one class: their share of the labels given, and their place on the axes of the displays.

    `precision` is NaN where none is accepted.
    """

    share: float
    false_positive_rate: float
    recall: float
    precision: float

    @classmethod
    def of(cls, outcome: Outcome, k: int) -> "Accepted | None":
        """Return what is accepted of a label, None where nothing of it is given or known."""
        if outcome.accepted is None or not (outcome.given == k).any():
            return None
        true, taken = outcome.truth == k, outcome.accepted & (outcome.given == k)
        n_taken, n_right = outcome.sum_of(taken), outcome.sum_of(taken & true)
        return cls(
            n_taken / outcome.sum_of(outcome.given == k),
            (n_taken - n_right) / outcome.sum_of(~true),
            n_right / outcome.sum_of(true),
            n_right / n_taken if n_taken else np.nan,
        )

    @classmethod
    def from_dict(cls, shares: dict[str, Any]) -> "Accepted":
        """Return it, as `to_dict` returned it."""
        return cls(**{name: np.nan if share is None else share for name, share in shares.items()})

    def to_dict(self) -> dict[str, float | None]:
        """Return everything ready for JSON."""
        return self._asdict() | {"precision": None if np.isnan(self.precision) else self.precision}


class LabelCurve(NamedTuple):
    """Curve of one label of a model, as scikit-learn computes it.

    `x`, `y` and `thresholds` have the shape (n_thresholds,): what is at least as probable as the threshold counts as
    the label. `number` is that of its class, `share` the share of the records that have the label.
    """

    name: str
    label: Any
    number: int
    x: FloatArray
    y: FloatArray
    thresholds: FloatArray
    area: float
    share: float
    accepted: Accepted | None


def roc(name: str, label: Any, k: int, outcome: Outcome) -> LabelCurve:
    """Return the ROC curve of label number k: recall against the share of other records that are taken for it."""
    true, score = outcome.truth == k, outcome.proba[:, k]
    x, y, thresholds = roc_curve(true, score, sample_weight=outcome.weight)
    area = roc_auc_score(true, score, sample_weight=outcome.weight)
    return _curve(name, label, k, outcome, (x, y, thresholds, float(area)))


def precision_recall(name: str, label: Any, k: int, outcome: Outcome) -> LabelCurve:
    """Return the precision-recall curve of label number k."""
    true, score = outcome.truth == k, outcome.proba[:, k]
    precision, recall, thresholds = precision_recall_curve(true, score, sample_weight=outcome.weight)
    area = average_precision_score(true, score, sample_weight=outcome.weight)
    # The last point, of no record at all, has no threshold.
    return _curve(name, label, k, outcome, (recall, precision, np.append(thresholds, np.inf), float(area)))


def _curve(name: str, label: Any, k: int, outcome: Outcome, curve: tuple[Any, Any, Any, float]) -> LabelCurve:
    share = outcome.sum_of(outcome.truth == k) / outcome.sum_of(np.full(len(outcome.truth), True))
    return LabelCurve(name, label, k, *curve, share, Accepted.of(outcome, k))


class LabelCurvesDisplay(CurvesDisplay):
    """Base of displays with a curve for each of some labels, of one or several models."""

    _area: ClassVar[str]  # its name
    _axes: ClassVar[tuple[str, str]]  # their titles
    _columns: ClassVar[tuple[str, str]]  # their names in `frame`, and in `Accepted`
    _steps: ClassVar[str] = "default"

    @staticmethod
    @abstractmethod
    def _of(name: str, label: Any, k: int, outcome: Outcome) -> LabelCurve:
        """Return the curve of label number k."""

    @abstractmethod
    def _draw_reference(self, ax: Any) -> None:
        """Draw what a probability that says nothing would give."""

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        accepted: Any = None,
        name: str | None = None,
        labels: Any = None,
        shown: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Show the curves of labels by their probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        y_proba : array-like of shape (n, n_classes)
            Probabilities of the classes, the likeliest of which is given.
        accepted : array-like of bool, shape (n,), optional
            Which of the given labels are accepted.
        name : str, optional
            Of the model.
        labels : array-like of shape (n_classes,), optional
            Classes, in the order of the columns; by default the sorted labels of `y_true`.
        shown : array-like, optional
            Labels to show. By default the rarer one of two, and of more the eight with the smallest area under the
            ROC curve.
        sample_weight : array-like of shape (n,), optional
        ax : matplotlib Axes, optional
            Axes with other curves keep them. A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc.plot import RocDisplay
        >>> truth, proba = ["a", "a", "a", "b", "b"], [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.6, 0.4], [0.1, 0.9]]
        >>> display = RocDisplay.from_predictions(truth, proba, accepted=[1, 0, 0, 0, 1], ax=Figure().subplots())
        >>> [(curve.label, round(curve.area, 3), curve.accepted.recall) for curve in display.curves]
        [('b', 0.833, 0.5)]
        """
        proba = np.asarray(y_proba, dtype=np.float64)
        classes = np.unique(np.asarray(y_true)) if labels is None else np.asarray(labels)
        if proba.ndim != 2 or proba.shape[1] != len(classes):
            shape = (np.size(y_true), len(classes))
            raise InputError("metric-shape", name="y_proba", shape=proba.shape, expected=shape)
        flags = None if accepted is None else np.asarray(accepted, dtype=bool)
        outcome = Outcome(
            labels_of(y_true, len(proba), classes), proba.argmax(axis=1), proba, flags, _weights(sample_weight)
        )
        return cls._made({name or "model": outcome}, classes, shown).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        min_trust: Any = None,
        shown: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Show the curves of several classifiers with the same classes on the same records.

        Parameters
        ----------
        models : dict
            Fitted classifiers by name. Accepted labels are shown of those with `assess`.
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            True labels.
        min_trust : float, dict or promise, optional
            As for `Assessment.accepted`, and by default as there.
        shown, sample_weight, ax
            As for `from_predictions`; several models share the eight curves.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sklearn.dummy import DummyClassifier
        >>> from sepc import SEPClassifier
        >>> from sepc.plot import PrecisionRecallDisplay
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1]
        >>> models = {"regions": SEPClassifier().fit(X, y), "prior": DummyClassifier().fit(X, y)}
        >>> display = PrecisionRecallDisplay.from_estimators(models, X, y, ax=Figure().subplots())
        >>> [(curve.name, curve.label, curve.area) for curve in display.curves]
        [('regions', 1, 1.0), ('prior', 1, 0.5)]
        """
        classes = np.asarray(next(iter(models.values())).classes_)
        weight = _weights(sample_weight)
        outcomes = {name: _outcome(clf, X, y, classes, min_trust, weight) for name, clf in models.items()}
        return cls._made(outcomes, classes, shown).plot(ax)

    @classmethod
    def _made(cls, outcomes: Mapping[str, Outcome], classes: NDArray[Any], shown: Any) -> Self:
        first = next(iter(outcomes.values()))
        if shown is None:
            numbers = first.shown(max(1, MOST_CURVES // len(outcomes)))
        else:
            numbers = labels_of(shown, len(shown), classes).tolist()
        absent = [k for k in numbers if not 0 < np.count_nonzero(first.truth == k) < len(first.truth)]
        if absent or not numbers:
            raise InputError("curve-of-one-label", label=classes[absent[0]] if absent else np.unique(classes)[0])
        values = classes.tolist()
        return cls([cls._of(name, values[k], k, outcome) for name, outcome in outcomes.items() for k in numbers])

    def plot(self, ax: Any = None) -> Self:
        """Draw it, beside the curves that the axes already have.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc.plot import RocDisplay
        >>> truth, proba = [0, 0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]
        >>> display = RocDisplay.from_predictions(truth, proba, name="one", ax=Figure().subplots())
        >>> display.plot(Figure().subplots()).lines_[0].get_label()
        'one, 1: 0.750'
        """
        ax = self._on(ax)
        kind = f"{type(self).__name__}-"
        taken = {line.get_gid() for line in ax.get_lines()}
        self._draw_reference(ax)
        numbers = [curve.number for curve in self.curves]
        if len({curve.name for curve in self.curves}) > 1 or any(f"{kind}{k}" in taken for k in numbers):
            numbers = list(islice((k for k in count() if f"{kind}{k}" not in taken), len(self.curves)))
        self.lines_ = [self._draw_curve(one, k, f"{kind}{k}") for one, k in zip(self.curves, numbers, strict=True)]
        marked = [curve.accepted for curve in self.curves]
        self.marks_ = [self._mark(one, k) for one, k in zip(marked, numbers, strict=True) if one is not None]
        is_marked = any(np.isfinite(mark.get_ydata()[0]) for mark in self.marks_)
        if is_marked and _ACCEPTED not in ax.get_legend_handles_labels()[1]:  # a grey entry speaks for all
            ax.plot([], [], "o", color=GREY, markersize=5, label=_ACCEPTED)
        label_axes(ax, *self._axes)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        legend = ax.legend(title=self._area, framealpha=0.8, fontsize=TINY, title_fontsize=TINY)
        drawn = np.vstack([_densely(line) for line in ax.get_lines() if (line.get_gid() or "").startswith(kind)])
        into_emptiest_place(legend, ax, drawn)
        return self

    def frame(self) -> Any:
        """Return one row per model, label and threshold: the two axes, and the lowest probability that counts.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc.plot import PrecisionRecallDisplay
        >>> truth, proba = [0, 0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]
        >>> display = PrecisionRecallDisplay.from_predictions(truth, proba, name="one", ax=Figure().subplots())
        >>> display.frame().round(2).tail(3)
          model  label  recall  precision  threshold
        2   one      1     0.5        0.5        0.4
        3   one      1     0.5        1.0        0.8
        4   one      1     0.0        1.0        inf
        """
        across, up = self._columns
        return self._frame(
            {
                "label": lambda curve: np.array([curve.label] * len(curve.x)),
                across: lambda curve: curve.x,
                up: lambda curve: curve.y,
                "threshold": lambda curve: curve.thresholds,
            }
        )

    def _draw_curve(self, curve: LabelCurve, number: int, gid: str) -> Any:
        look, named = style(number), f"{short(curve.name, 24)}, " if curve.name else ""
        (line,) = self.ax_.plot(
            curve.x,
            curve.y,
            color=look.colour,
            linestyle=look.line,
            linewidth=1.4,
            drawstyle=self._steps,
            label=f"{named}{short(curve.label)}: {curve.area:.3f}",
            gid=gid,
        )
        return line

    def _mark(self, accepted: Accepted, number: int) -> Any:
        """Mark the place of accepted labels, with their share of the labels given where there is room for it."""
        x, y = (getattr(accepted, name) for name in self._columns)
        look = {"color": style(number).colour, "markersize": 6, "markeredgecolor": "white", "zorder": 3}
        (mark,) = self.ax_.plot(x, y, "o", **look)
        if len(self.curves) <= _MOST_NOTES and np.isfinite(y):
            # Towards the middle of the picture.
            place = {"ha": "left" if x < 0.5 else "right", "va": "top" if y > 0.5 else "bottom"}
            away = (7.0 if x < 0.5 else -7.0, -7.0 if y > 0.5 else 7.0)
            text = f"{percent(accepted.share)} accepted"
            self.ax_.annotate(text, (x, y), away, textcoords="offset points", fontsize=TINY, **place)
        return mark


def _densely(line: Any) -> FloatArray:
    """Return points along a line, so that a legend does not hide what lies between two of its corners."""
    x, y = line.get_xydata().T
    at = np.linspace(0.0, len(x) - 1.0, 200)
    return np.column_stack([np.interp(at, np.arange(len(x)), values) for values in (x, y)])


def _weights(sample_weight: Any) -> FloatArray | None:
    return None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)


def _outcome(clf: Any, X: Any, y: Any, classes: NDArray[Any], min_trust: Any, weight: FloatArray | None) -> Outcome:
    if not hasattr(clf, "predict_proba"):
        raise InputError("clf-without-confidence", type=type(clf).__name__)
    proba = np.asarray(clf.predict_proba(X), dtype=np.float64)
    if np.asarray(clf.classes_).tolist() != classes.tolist():
        raise InputError("models-of-other-classes", classes=np.asarray(clf.classes_).tolist(), others=classes.tolist())
    truth = labels_of(y, len(proba), classes)
    if not hasattr(last_step(clf), "assess"):
        return Outcome(truth, labels_of(clf.predict(X), len(proba), classes), proba, None, weight)
    a = assessed(clf, X, "")
    return Outcome(truth, labels_of(a.label, len(proba), classes), proba, np.asarray(a.accepted(min_trust)), weight)
