"""ConfusionDisplay: confusion matrix of a classifier that may abstain."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker, plain
from sepc.common.text import percent
from sepc.common.typing import FloatArray
from sepc.plot.base import Display
from sepc.plot.scores import predictions
from sepc.plot.style import TINY, cell_size, fitting_size, ink_on, label_axes, points_of, short


@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """Confusion matrix with one more column: records on which the classifier abstains.

    Parameters
    ----------
    matrix : ndarray of shape (n_classes, n_classes + 1)
        Rows are true labels, columns the given ones; the last one is for abstentions.
    classes : ndarray of shape (n_classes,)
    normalize : {"true", "pred", "all"} or None, default=None
        Entries as shares of the row, of the column or of all records; None for counts.
    answered, right : float
        Share of the records that were given a label, and of right ones among these (NaN if there are none).

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    im_ : matplotlib AxesImage
    text_ : ndarray of matplotlib Text, shape (n_classes, n_classes + 1)

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ConfusionDisplay.from_predictions(
    ...     ["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", None], ax=Figure().subplots()
    ... )
    >>> display.matrix.tolist()
    [[1, 1, 0], [0, 1, 1]]
    >>> display.frame().head(3)
      true predicted  value
    0  cat       cat      1
    1  cat       dog      1
    2  cat       NaN      0
    """

    matrix: NDArray[Any]
    classes: NDArray[Any]
    _: KW_ONLY
    normalize: str | None = None
    answered: float = np.nan
    right: float = np.nan

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        abstain_label: Any = None,
        labels: Any = None,
        normalize: str | None = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Show given labels against true ones.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_pred : array-like of shape (n,)
            As `SEPClassifier.predict_or_abstain` returns them.
        abstain_label : object, default=None
            Entry of `y_pred` for an abstention; None stands for NaN, too.
        labels : array-like of shape (n_classes,), optional
            All classes, in the order of rows and columns; by default the sorted labels of both.
        normalize : {"true", "pred", "all"} or None, default=None
            Show shares of the row, of the column or of all records; None for counts.
        sample_weight : array-like of shape (n,), optional
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> truth, given = [0, 0, 1, 1], [0, "?", 1, 0]
        >>> display = ConfusionDisplay.from_predictions(truth, given, abstain_label="?", ax=Figure().subplots())
        >>> display.matrix.tolist(), display.answered
        ([[1, 0, 1], [1, 1, 0]], 0.75)
        """
        from sklearn.metrics import confusion_matrix

        if normalize not in (None, "true", "pred", "all"):
            raise InputError("normalize", normalize=normalize)
        truth, given = _values(y_true), _values(y_pred)
        if len(truth) != len(given) or not truth:
            raise InputError("predictions-length", n_true=len(truth), n_pred=len(given))
        abstained = np.array([_is_same(value, abstain_label) for value in given])
        classes = _classes(labels, truth, [value for value, no in zip(given, abstained, strict=True) if not no])
        number = {label: k for k, label in enumerate(classes.tolist())}
        rows = np.array([number[value] for value in truth])
        columns = np.array([len(number) if no else number[value] for value, no in zip(given, abstained, strict=True)])
        options = {"labels": range(len(number) + 1), "sample_weight": sample_weight}
        matrix = confusion_matrix(rows, columns, normalize=normalize, **options)[:-1]
        counts = confusion_matrix(rows, columns, **options)[:-1]
        n, n_given = counts.sum(), counts[:, :-1].sum()
        right = float(np.trace(counts) / n_given) if n_given else np.nan
        display = cls(matrix, classes, normalize=normalize, answered=float(n_given / n), right=right)
        return display.plot(ax)

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: Any,
        *,
        min_trust: Any = 0.95,
        normalize: str | None = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Show any classifier, with abstentions below a trust.

        Parameters
        ----------
        clf : fitted classifier
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            True labels.
        min_trust : float or dict, default=0.95
            Trust from which a label is given (the largest probability, for classifiers without a trust score); a dict
            gives one number for each label. 0 gives all labels but those that `predict_or_abstain` refuses at any
            trust, as strange or contested.
        normalize, sample_weight, ax
            As for `from_predictions`.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> X, y, ax = [[1.0], [3.5], [7.0]], [0, 0, 1], Figure().subplots()
        >>> display = ConfusionDisplay.from_estimator(clf, X, y, min_trust=0.75, ax=ax)
        >>> display.matrix.tolist()
        [[1, 0, 1], [0, 1, 0]]
        """
        given = _given(clf, X, min_trust)
        known = set(clf.classes_.tolist())
        extra = sorted(set(_values(y)) - known)
        labels = [*clf.classes_.tolist(), *extra]
        return cls.from_predictions(y, given, labels=labels, normalize=normalize, sample_weight=sample_weight, ax=ax)

    def frame(self) -> Any:
        """Return one row per entry of the matrix; `predicted` is missing for abstentions.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> ConfusionDisplay(np.array([[5, 0, 1], [2, 7, 0]]), np.array(["cat", "dog"])).frame().value.tolist()
        [5, 0, 1, 2, 7, 0]
        """
        k = len(self.classes)
        columns = {
            "true": np.repeat(self.classes, k + 1),
            "predicted": np.array([*self.classes.tolist(), None] * k, dtype=object),
            "value": self.matrix.ravel(),
        }
        return FrameMaker().frame(columns)

    def _draw(self, ax: Any) -> None:
        k = len(self.classes)
        colours = self._colours()
        self.im_ = ax.imshow(colours, aspect="auto", interpolation="nearest")
        ax.axvline(k - 0.5, color="white", linewidth=4.0)
        names = [short(label, 14) for label in self.classes.tolist()]
        given = [*names, "abstained"]
        ax.set_xticks(range(k + 1), given)
        ax.set_yticks(range(k), names)
        label_axes(ax, self._words(), "true label")
        if max(map(len, given)) * 0.6 * points_of(TINY) > cell_size(ax, k + 1, k)[0]:
            ax.tick_params(axis="x", labelrotation=90)
        self._draw_numbers(colours)

    def _words(self) -> str:
        if np.isnan(self.answered):
            return "predicted label"
        of_these = "" if np.isnan(self.right) else f", {percent(self.right)} of these right"
        return f"predicted label\n({percent(self.answered)} answered{of_these})"

    def _colours(self) -> FloatArray:
        """Return the colours of the entries: blue for labels, grey for abstentions."""
        from matplotlib import colormaps

        # Up to 0.9 of the scale: its dark end is too dark to differ from black.
        depth = 0.9 * self.matrix / max(float(self.matrix.max()), np.finfo(float).tiny)
        colours = colormaps["Blues"](depth)
        colours[:, -1] = colormaps["Greys"](0.8 * depth[:, -1])
        return np.asarray(colours)

    def _draw_numbers(self, colours: FloatArray) -> None:
        texts = [[self._number(value) for value in row] for row in self.matrix.tolist()]
        longest = max(len(text) for row in texts for text in row)
        size = max(fitting_size(cell_size(self.ax_, *self.matrix.shape[::-1]), longest), 4.0)
        self.text_ = np.empty(self.matrix.shape, dtype=object)
        for i, j in np.ndindex(self.matrix.shape):
            ink = ink_on(colours[i, j, :3])
            self.text_[i, j] = self.ax_.text(j, i, texts[i][j], ha="center", va="center", color=ink, fontsize=size)

    def _number(self, value: float) -> str:
        return f"{value:g}" if self.normalize is None else f"{value:.2f}"


def _values(y: Any) -> list[Any]:
    return [plain(value) for value in np.asarray(y, dtype=object).ravel().tolist()]


def _is_same(value: Any, other: Any) -> bool:
    """Return whether two values are the same; NaN is None."""
    value, other = (None if isinstance(v, float) and np.isnan(v) else v for v in (value, other))
    return value is other or (other is not None and bool(value == other))


def _classes(labels: Any, truth: list[Any], given: list[Any]) -> NDArray[Any]:
    """Return all classes; refuse other values."""
    found = {*truth, *given}
    if labels is None:
        try:
            return np.array(sorted(found))
        except TypeError as error:
            raise InputError(
                "predictions-of-mixed-kinds", labels=", ".join(repr(value) for value in list(found)[:3])
            ) from error
    classes = _values(labels)
    unknown = found - set(classes)
    if unknown:
        raise InputError("label-not-shown", label=unknown.pop(), classes=classes)
    return np.array(classes)


def _given(clf: Any, X: Any, min_trust: Any) -> NDArray[np.object_]:
    if hasattr(clf, "predict_or_abstain"):
        return np.asarray(clf.predict_or_abstain(X, min_trust=min_trust))
    labels, sure = predictions(clf, X)
    limits = [min_trust[plain(v)] for v in labels] if isinstance(min_trust, dict) else min_trust
    given = labels.astype(object)
    given[sure < limits] = None
    return given
