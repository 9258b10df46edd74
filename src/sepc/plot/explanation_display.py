"""ExplanationDisplay: what each column adds to the log odds of a label, and where its value lies among the records."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.text import in_words, percent
from sepc.common.typing import FloatArray
from sepc.explanations.usual_values import UsualValues
from sepc.explanations.vocabulary import Vocabulary, Word
from sepc.plot.base import Display
from sepc.plot.scores import features_of, last_step, prepared, require_positive
from sepc.plot.style import GREY, SMALL, TINY, class_styles, label_axes, legend_entry, literal, short

# Training records of each label in a strip, and the length of a bar for all records of a label.
_MOST_DOTS, _BAR = 120, 0.62


class Strip(NamedTuple):
    """Where a value lies among the training records of the label and of its rival.

    Attributes
    ----------
    value : float
        Place of the record's value, from 0 to 1; beyond them if it is far off, NaN if it is missing. None for a
        category.
    usual : ndarray of shape (2, 3)
        Places of the 10 %, 50 % and 90 % quantiles of the label, and of its rival; of a category the shares of their
        records that have the same value, shape (2,).
    dots : tuple of two ndarray
        Places of training records; empty for a category, and where there are no training records.
    """

    value: float | None
    usual: FloatArray
    dots: tuple[FloatArray, FloatArray]


@dataclass(eq=False, repr=False)
class ExplanationDisplay(Display):
    """One verdict: contributions of the columns to the log odds as bars, beside strips with the record's values.

    Each bar begins where the one above it ends, so that the last one is the log odds; bars to the right are for the
    label. A strip has dots for training records, thick lines from the 10 % to the 90 % quantile of both labels, and a
    black diamond for the record; of a category it has two bars, the shares of both labels' records with its value.

    Parameters
    ----------
    rows : sequence of str
        Names of the columns with their values, and of what is no column.
    contributions : ndarray of shape (n_rows,)
        NaN where a model of counts has none.
    strips : sequence of Strip or None
        One for each row; None for what is no column, and where nothing is known.
    pair : tuple of two labels
        The label and its rival.
    trust : float
    classes : ndarray of shape (n_classes,)

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes given; the bars and the strips have axes of their own in it.
    bar_ax_, strip_ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["a"] * 3 + ["b"] * 3)
    >>> ExplanationDisplay.from_estimator(clf, [1.5], ax=Figure().subplots()).rows
    ['x0 1.5', 'class shares', 'label correction', 'background']
    """

    rows: list[str]
    contributions: FloatArray
    strips: list[Strip | None]
    pair: tuple[Any, Any]
    trust: float
    classes: NDArray[Any]

    @classmethod
    def from_estimator(
        cls, clf: Any, x: Any, *, explanation: Any = None, max_columns: int = 10, ax: Any = None
    ) -> Self:
        """Show why a classifier gives one record its label.

        Parameters
        ----------
        clf : SEPClassifier, SEPEnsembleClassifier or TrustedClassifier
            Fitted; or a pipeline that ends in one.
        x : array-like of shape (n_features,) or (1, n_features)
            One record, as `explain` takes it.
        explanation : Explanation, EnsembleExplanation or TrustedExplanation, optional
            The explanation of this record, if it was made before.
        max_columns : int, default=10
            Number of columns to draw, those with the largest contributions; the others are one row together.
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> display = ExplanationDisplay.from_estimator(clf, [7.0], ax=Figure().subplots())
        >>> display.pair, bool(abs(display.contributions.sum() - clf.explain([7.0]).evidence.log_odds) < 1e-9)
        ((1, 0), True)
        """
        require_positive(max_columns, "max_columns")
        classifier = last_step(clf)
        if not hasattr(classifier, "explain"):
            raise InputError("display-needs-regions", type=type(classifier).__name__, display=cls.__name__)
        one = x if getattr(x, "ndim", 1) == 2 or hasattr(x, "columns") else _as_row(x)
        why = explanation
        if why is None:
            why = clf.explain(one) if hasattr(clf, "explain") else classifier.explain(prepared(clf, one))
        features, model = features_of(clf, one).reshape(-1), classifier.by_regions.model_
        encoder = getattr(clf, "table_encoder", None)
        vocabulary = Vocabulary(model.features) if encoder is None else encoder.vocabulary(one)
        return cls(*_shown(model, vocabulary, features, why, max_columns)).plot(ax)

    def frame(self) -> Any:
        """Return one row per bar: its name and its contribution.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> labels = ("ill", "well")
        >>> ExplanationDisplay(["age 61"], np.array([0.7]), [None], labels, 0.67, np.array(labels)).frame()
              row  contribution
        0  age 61           0.7
        """
        return FrameMaker().frame({"row": self.rows, "contribution": self.contributions})

    def _draw(self, ax: Any) -> None:
        ax.set_axis_off()
        self.bar_ax_, self.strip_ax_ = ax.inset_axes((0.0, 0.0, 0.56, 1.0)), ax.inset_axes((0.6, 0.0, 0.4, 1.0))
        styles = class_styles(self.classes)
        looks = [styles[label] for label in self.pair]
        self._draw_bars([look.colour for look in looks])
        for row, strip in enumerate(self.strips):
            if strip is not None:
                self._draw_strip(row, strip, looks)
        handles = [
            legend_entry(label, color=look.colour, linewidth=4) for label, look in zip(self.pair, looks, strict=True)
        ]
        self.strip_ax_.legend(
            handles=[*handles, legend_entry("this record", color="black", marker="D", linestyle="", markersize=4)],
            fontsize=TINY,
            frameon=False,
            ncols=3,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            borderaxespad=0.1,
            columnspacing=1.0,
            handlelength=1.2,
        )
        for axes in (self.bar_ax_, self.strip_ax_):
            axes.set_ylim(len(self.rows) + 0.6, -0.6)
        self.strip_ax_.set(xlim=(-0.03, 1.03), xticks=[], yticks=[])
        below = sum(strip is not None for strip in self.strips) - 0.1
        self.strip_ax_.text(0.5, below, "values of the training records", fontsize=SMALL, ha="center", va="center")
        self.strip_ax_.spines[:].set_visible(False)

    def _draw_bars(self, colours: list[str]) -> None:
        known = np.nan_to_num(self.contributions)
        ends = np.cumsum(known)
        total, starts = float(ends[-1]), ends - known
        ax, at = self.bar_ax_, np.arange(len(self.rows) + 1)
        self.bars_ = ax.barh(
            at,
            [*known, total],
            0.62,
            [*starts, 0.0],
            color=[colours[0] if part >= 0.0 else colours[1] for part in [*known, total]],
        )
        self.bars_[-1].set(edgecolor="black", linewidth=1.2)
        for row, end in enumerate(ends):
            ax.plot([end, end], [row + 0.31, row + 0.69], color=GREY, linewidth=0.8)
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        ax.set_yticks(at, [*(short(name, 34) for name in self.rows), f"log odds {total:.2f}"])
        label_axes(ax, f"for {self.pair[1]}  ←  log odds  →  for {self.pair[0]}", "")
        ax.set_title(literal(f"{self.pair[0]}, trust {percent(self.trust)}"), fontsize=SMALL, loc="left")
        ax.use_sticky_edges = False
        ax.margins(x=0.04)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0.0)

    def _draw_strip(self, row: int, strip: Strip, looks: list[Any]) -> None:
        ax = self.strip_ax_
        for k, look in enumerate(looks):
            up = row + (-0.17, 0.17)[k]
            if strip.value is None:
                for end, colour in ((1.0, "#cccccc"), (float(strip.usual[k]), look.colour)):
                    ax.plot([0.0, _BAR * end], [up, up], color=colour, linewidth=4.0, solid_capstyle="butt")
                continue
            if len(strip.dots[k]):
                ax.plot(
                    strip.dots[k],
                    np.full(len(strip.dots[k]), up),
                    look.marker,
                    color=look.colour,
                    markersize=2.0,
                    alpha=0.35,
                    markeredgewidth=0.0,
                )
            low, middle, high = strip.usual[k]
            if np.isfinite(low):
                ax.plot([low, high], [up, up], color=look.colour, linewidth=3.0, alpha=0.75, solid_capstyle="butt")
                ax.plot([middle], [up], "|", color="white", markersize=5.0, markeredgewidth=1.4)
        if strip.value is None:
            shares = " and ".join(percent(float(share)) for share in strip.usual)
            ax.text(1.0, row, shares, fontsize=TINY, ha="right", va="center")
        elif np.isfinite(strip.value):
            inside = float(np.clip(strip.value, 0.0, 1.0))
            marker = "D" if inside == strip.value else ">" if strip.value > 1.0 else "<"
            ax.plot([inside], [row], marker, color="black", markersize=5.0, markeredgecolor="white", zorder=5)


def _as_row(x: Any) -> Any:
    if hasattr(x, "to_frame"):
        return x.to_frame().T
    return x if hasattr(x, "keys") else np.asarray(x, dtype=object if _has_texts(x) else np.float64).reshape(1, -1)


def _has_texts(x: Any) -> bool:
    return any(isinstance(value, str) or value is None for value in np.asarray(x, dtype=object).ravel().tolist())


def _shown(model: Any, vocabulary: Vocabulary, x: FloatArray, why: Any, most: int) -> tuple[Any, ...]:
    """Return the arguments of a display of an explanation `why` of a record x, shape (d,)."""
    evidence, usual = why.evidence, UsualValues(model, vocabulary)
    codes = [model.classes.tolist().index(label) for label in (why.label, evidence.rival)]
    words = {word.name: word for word in vocabulary.words}
    shown, rest = evidence.columns[:most], evidence.columns[most:]
    rows = [f"{one.column} {in_words(one.value)}" for one in shown]
    parts = [np.nan if one.contribution is None else one.contribution for one in shown]
    strips = [_strip(usual, words[one.column], x, codes) for one in shown]
    others = dict(evidence.others)
    if rest:
        others = {f"{len(rest)} other columns": sum(one.contribution or 0.0 for one in rest), **others}
    return (
        [*rows, *others],
        np.array([*parts, *others.values()]),
        [*strips, *([None] * len(others))],
        (why.label, evidence.rival),
        why.trust,
        model.classes,
    )


def _strip(usual: UsualValues, word: Word, x: FloatArray, codes: list[int]) -> Strip | None:
    """Return the strip of one column; None where nothing is known of it."""
    nothing = np.empty(0)
    if word.is_level:
        found = [usual.of(word, code, x) for code in codes]
        if any(one is None or one.share is None for one in found):
            return None
        return Strip(None, np.array([one.share for one in found if one is not None]), (nothing, nothing))
    model, j = usual.model, word.at.start
    quantiles = usual.quantiles[:, codes, j].T
    dots = [nothing, nothing]
    if model.records is not None:
        values = model.original(model.records.as_they_came)[:, j]
        of_labels = [np.sort(values[(model.records.codes == code) & ~np.isnan(values)]) for code in codes]
        dots = [own[np.linspace(0, len(own) - 1, min(len(own), _MOST_DOTS)).astype(int)] for own in of_labels]
    every = np.concatenate([quantiles.ravel(), *dots])
    every = every[np.isfinite(every)]
    if not len(every):
        return None
    low, high = float(every.min()), float(every.max())
    width = (high - low) or 1.0
    return Strip(
        float((x[j] - low) / width), (quantiles - low) / width, ((dots[0] - low) / width, (dots[1] - low) / width)
    )
