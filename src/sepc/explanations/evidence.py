"""Evidence of the columns for a label against its strongest rival: contributions that add up to the log odds.

Of the columns S that are known of a record, a model of class densities has the log odds v(S) between the two labels:
all other columns are integrated out. The contribution of a column is its Shapley value,

    phi(j) = mean over the orders of the columns of v(those before j, and j) - v(those before j),

so that columns which say the same share what they say, a missing value says nothing, and all contributions add up to
v(all) - v(none). It is a mean over a fixed set of orders, each with its reverse: one Cholesky factor of a covariance
whose columns are in this order has the distances of all v(S) on the way. What is no column has a row of its own:

- class shares: the log odds of the labels in training, or by the stated class priors,
- label correction: what the calibration adds to a label, and what a temperature takes from the class shares,
- background: what the background component, whose labels are as frequent as in training, takes back,
- records nearby: what the held-out records right around it add, where their labels differ from all that.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import in_words, listed
from sepc.common.typing import FloatArray, IntArray
from sepc.explanations.usual_values import Usual, UsualValues
from sepc.explanations.vocabulary import Value, Vocabulary, Word
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.threads import one_blas_thread
from sepc.model.densities import FARTHEST, LocalDensities
from sepc.model.fitted_model import FittedModel

CLASS_SHARES, LABEL_CORRECTION, BACKGROUND_ROW, COUNTS = "class shares", "label correction", "background", "counts"
NEARBY_ROW = "records nearby"
# Numbers in a table of covariances whose columns are in several orders.
_TABLE = 1 << 20
# Products for the factors of all orders; there are two orders at least.
_EFFORT = 5e7
# Columns that are tried by moving them, and those that a text names.
_TRIED, _NAMED = 12, 3
# A text names a column with at least this share of the largest contribution, and no smaller contribution than this.
_LEAST_SHARE, _LEAST = 0.15, 0.05
# A text names a value of a category if it is 1.5 times as frequent with one label as with the other, or 10 % of the
# records more; and a number where the middles of both labels are apart by this share of what is usual, or where the
# value is usual for one and beyond that of the other by this share; in no case far beyond what is usual for both.
_TIMES_AS_FREQUENT, _MORE_FREQUENT = 1.5, 0.1
_APART, _BEYOND_OTHER, _BEYOND_OWN = 0.25, 0.2, 0.5
# Of columns that are as correlated as this a text names one.
_ALIKE = 0.9


class ColumnEvidence(NamedTuple):
    """Contribution of one column to the log odds of a label against its strongest rival.

    Attributes
    ----------
    column : str
    value : object
        The record's; None if it is missing.
    contribution : float or None
        Positive for the label, negative for the rival; None in a model that counts records, where a column only shows
        in which region the record lies.
    usual, rival_usual : Usual or None
        Usual values of the label, and of the rival; None where they are not known.
    is_named : bool
        Whether a text names it. Such a column holds what it says: moving the value half-way to the middle of the rival
        lowers the trust where it is for the label, and half-way to the middle of the label raises it where it is
        against; and the value is clearly more usual for the label that it is evidence for.
    """

    column: str
    value: Value
    contribution: float | None
    usual: Usual | None
    rival_usual: Usual | None
    is_named: bool = False

    def in_words(self, label: Any, rival: Any, is_first: bool = True) -> str:
        """Return the value beside what is usual for the two labels."""
        pair = [(label, self.usual), (rival, self.rival_usual)]
        known = [(name, usual) for name, usual in pair if usual is not None and usual.in_words()]
        value = f"{self.column} is {in_words(self.value)}"
        if not known:
            return value
        if known[0][1].share is not None:
            return f"{value} (as have {' and '.join(f'{usual.in_words()} of {name}' for name, usual in known)})"
        usually = "usually " if is_first else ""
        return f"{value} ({usually}{', '.join(f'{usual.in_words()} for {name}' for name, usual in known)})"


class Evidence(NamedTuple):
    """Everything that makes the log odds of a label against its strongest rival.

    Attributes
    ----------
    rival : object
        The most probable other label.
    rival_probability : float
    log_odds : float
        Logarithm of the label's probability over the rival's.
    columns : tuple of ColumnEvidence
        One for each column, the largest contribution first, whatever its sign.
    others : dict of str to float
        Contributions of what is no column: ``class shares``, ``label correction``, ``background`` and, at some points,
        ``records nearby``; ``counts`` in a model that counts records.
    """

    rival: Any
    rival_probability: float
    log_odds: float
    columns: tuple[ColumnEvidence, ...]
    others: dict[str, float]

    def named(self, sign: float) -> tuple[ColumnEvidence, ...]:
        """Return the columns that a text names: those for the label with a sign of 1, with -1 those against it."""
        return tuple(c for c in self.columns if c.is_named and c.contribution is not None and c.contribution * sign > 0)

    def sum_in_words(self, label: Any) -> str:
        """Return a sentence on what adds up to the log odds."""
        if COUNTS in self.others:
            return ""
        whole = sum(c.contribution or 0.0 for c in self.columns)
        parts = [(whole, "the columns"), *((part, f"the {name}") for name, part in self.others.items())]
        added = listed([f"{part:+.2f} from {name}" for part, name in parts if abs(part) >= 0.005])
        return f"The log odds of {label} against {self.rival} are {self.log_odds:.2f}: {added}."

    def table(self) -> Any:
        """Return one row per column, and one for each other contribution, as a data frame."""
        rows = [(c.column, c.value, _words(c.usual), _words(c.rival_usual), c.contribution) for c in self.columns] + [
            (name, None, "", "", contribution) for name, contribution in self.others.items()
        ]
        names = ("column", "value", "usual", "rival_usual", "contribution")
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        if any(isinstance(value, (str, bool)) for value in columns["value"]):
            columns["value"] = ["" if value is None else in_words(value) for value in columns["value"]]
        columns["contribution"] = [np.nan if c is None else c for c in columns["contribution"]]
        return FrameMaker().frame(columns)


def _words(usual: Usual | None) -> str:
    return "" if usual is None else usual.in_words()


class Contributions(NamedTuple):
    """Contributions of columns, shape (n_words,), and of what is no column; all add up to the log odds."""

    columns: FloatArray
    others: dict[str, float]


def contributions(
    terms: FloatArray, class_shares: float, stated: float, by_regions: float, without_nearby: float, by_all: float
) -> tuple[float, Contributions]:
    """Return the log odds, and what adds up to them.

    Parameters
    ----------
    terms : ndarray of shape (n_columns,)
    class_shares, stated : float
        Log odds of the labels in training, and what stated class priors add to them.
    by_regions, without_nearby, by_all : float
        Log odds by the training set's priors: without the background component, with it, and with the records nearby.
    """
    others = {
        CLASS_SHARES: class_shares + stated,
        LABEL_CORRECTION: by_regions - class_shares - float(terms.sum()),
        BACKGROUND_ROW: without_nearby - by_regions,
    }
    if by_all != without_nearby:
        others[NEARBY_ROW] = by_all - without_nearby
    return by_all + stated, Contributions(terms, others)


def log_ratio(pair: NDArray[Any]) -> float:
    """Return the logarithm of the first of two positive numbers over the second."""
    return float(np.log(pair[0]) - np.log(pair[1]))


def chain_terms(
    densities: LocalDensities,
    point: FloatArray,
    columns: Sequence[IntArray],
    log_odds: Callable[[FloatArray], FloatArray],
    most_orders: int = 32,
) -> FloatArray:
    """Return the contributions of columns to v(all) - v(none) at a point, shape (n_columns,).

    The point, shape (d,), is in the units of the densities, and `columns` are the numbers of each one's features there.
    `log_odds` turns logarithms of the joint densities of the classes, shape (..., n_classes), into v. The mean is over
    at most `most_orders` orders.
    """
    known = densities.known_of(point)
    features = [own[known[own]] for own in columns]
    live = np.array([k for k, own in enumerate(features) if len(own)], dtype=np.int64)
    terms = np.zeros(len(columns))
    if not len(live):
        return terms
    number = np.full(len(point), -1)
    number[densities.numbers] = np.arange(len(densities.unit))
    numbers = [own[own >= 0] for own in (number[features[k]] for k in live)]
    logs, beyond = _of_categories(densities, point, [features[k] for k in live])
    means, covariances = densities.moments()
    away = np.clip((point[densities.numbers] - densities.center) / densities.unit, -FARTHEST, FARTHEST) - means
    weights, dof = densities.log_weights + 0.5 * np.linalg.slogdet(covariances)[1], densities.degrees_of_freedom
    n_orders, most_orders = 0, min(most_orders, int(_EFFORT / (covariances.size * len(densities.unit) + 1)))
    with one_blas_thread():
        for orders in _orders(len(live), most_orders, covariances.size):
            squares, log_scales = _prefixes(
                covariances, away, [np.concatenate([numbers[k] for k in o]) for o in orders]
            )
            n = _sums(np.array([len(own) for own in numbers])[orders])
            which = np.arange(len(orders))[:, None]
            logs_of_t = np.log1p((squares[which, n] + _sums(beyond[orders])[..., None]) / dof)
            joint = weights + _sums(logs[orders]) - log_scales[which, n] - 0.5 * (dof + n[..., None]) * logs_of_t
            v = log_odds(_by_class(densities, joint))
            np.add.at(terms, live[orders], np.diff(v, axis=1))
            n_orders += len(orders)
    return terms / n_orders


def _orders(n: int, most: int, size: int) -> Iterator[IntArray]:
    """Yield orders of n columns, shape (n_orders, n): rotations, evenly spaced, and their reverses, at most `most`.

    Those of one array are tried at once, with a table of `size` numbers each.
    """
    n_rotated = max(min(n, most // 2), 1)
    shifts = np.linspace(0, n, n_rotated, endpoint=False).astype(int)
    orders = (shifts[:, None] + np.arange(n)) % n
    if n > 1:
        orders = np.concatenate([orders, orders[:, ::-1]])
    for some in chunk_slices(len(orders), max(_TABLE // max(size, 1), 1)):
        yield orders[some]


def _sums(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of the first 0, 1, ... entries along the second axis."""
    out = np.zeros((values.shape[0], values.shape[1] + 1, *values.shape[2:]), dtype=values.dtype)
    np.cumsum(values, axis=1, out=out[:, 1:])
    return out


def _prefixes(covariances: FloatArray, away: FloatArray, orders: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
    """Return squared distances and log scales in the first 0, 1, ... numbers, (n_orders, n + 1, n_components)."""
    some = np.array(orders, dtype=np.int64).reshape(len(orders), -1)
    if not some.size:
        return np.zeros((2, len(orders), 1, len(away)))  # type: ignore[return-value]
    factors = _cholesky(covariances[:, some[:, :, None], some[:, None]])
    whitened = np.linalg.solve(factors, away[:, some, None])[..., 0]
    parts = np.square(whitened), np.log(np.diagonal(factors, axis1=2, axis2=3))
    squares, log_scales = (_sums(part.transpose(1, 2, 0)) for part in parts)
    return squares, log_scales


def _cholesky(covariances: FloatArray) -> FloatArray:
    """Return Cholesky factors; where rounding makes a nearly singular covariance indefinite, those of one beside it."""
    try:
        return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    except np.linalg.LinAlgError:
        diagonal = np.diagonal(covariances, axis1=-2, axis2=-1)
        ridge = 1e-8 * diagonal[..., None] * np.eye(covariances.shape[-1])
        return np.asarray(np.linalg.cholesky(covariances + ridge), dtype=np.float64)


def _of_categories(
    densities: LocalDensities, point: FloatArray, columns: Sequence[IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of the shares of a point's values, (n_columns, n_components), and squares beyond 0 and 1."""
    logs, beyond = np.zeros((len(columns), len(densities.codes))), np.zeros(len(columns))
    if densities.shares is None:
        return logs, beyond
    shares, filled = densities.shares, np.nan_to_num(point)[None]
    held, squares = shares.categories.possible(filled)[0], shares.categories.squares_beyond(filled)[0]
    for at, constant in zip(shares.categories.slices, shares.constants, strict=True):
        group = shares.categories.features[at]
        for k, own in enumerate(columns):
            if np.isin(group, own).all():
                logs[k] += held[at] @ shares.slopes[at] + constant
                beyond[k] += squares[at].sum()
    return logs, beyond


def _by_class(densities: LocalDensities, logs: FloatArray) -> FloatArray:
    """Return logarithms of joint densities of the classes, (..., n_classes), from those of components."""
    out = np.full((*logs.shape[:-1], densities.n_classes), -np.inf)
    for k, own in densities.of_classes():
        out[..., k] = np.logaddexp.reduce(logs[..., own], axis=-1)
    return out


def evidence_of(
    model: FittedModel,
    x: FloatArray,
    codes: tuple[int, int],
    proba: FloatArray,
    log_odds: float,
    found: Contributions | None,
    vocabulary: Vocabulary,
) -> Evidence:
    """Return the evidence for a label against its rival, by their numbers `codes`, at a record x, shape (d,).

    `proba`, shape (n_classes,), are the model's probabilities. `found` are the contributions; None for a model that
    counts records.
    """
    usual, (label, rival) = UsualValues(model, vocabulary), codes
    terms = [None] * len(vocabulary.words) if found is None else found.columns.tolist()
    columns = [
        ColumnEvidence(
            word.name, vocabulary.own_value(word, x), term, usual.of(word, label, x), usual.of(word, rival, x)
        )
        for word, term in zip(vocabulary.words, terms, strict=True)
    ]
    order = sorted(range(len(columns)), key=lambda k: -abs(columns[k].contribution or 0.0))
    if found is not None:
        for k in _named(model, x, codes, usual, columns, order):
            columns[k] = columns[k]._replace(is_named=True)
    others = {COUNTS: log_odds} if found is None else found.others
    return Evidence(
        plain(model.classes[rival]), float(proba[rival]), log_odds, tuple(columns[k] for k in order), others
    )


def _named(
    model: FittedModel,
    x: FloatArray,
    codes: tuple[int, int],
    usual: UsualValues,
    columns: Sequence[ColumnEvidence],
    order: Sequence[int],
) -> list[int]:
    """Return the columns that a text names, those for the label and those against it; `codes` are label and rival."""
    words = usual.vocabulary.words
    sides = []
    for sign in (1.0, -1.0):
        size = {k: sign * (columns[k].contribution or 0.0) for k in order}
        least = max(_LEAST, _LEAST_SHARE * max(size.values(), default=0.0))
        large = [k for k in order if size[k] >= least][:_TRIED]
        pair = codes if sign > 0.0 else (codes[1], codes[0])
        sides.append([k for k in large if _reads_well(usual, words[k], x, columns[k], pair)])
    tried = [(k, sign) for side, sign in zip(sides, (1, -1), strict=True) for k in side]
    if not tried:
        return []
    # Those for the label are moved towards the rival, those against it towards the label.
    moved = np.array([_moved(usual, words[k], x, codes[::-sign][0]) for k, sign in tried])
    trust = model.decide(np.vstack([x[None], usual.vocabulary.within_reach(moved)])).proba[:, codes[0]]
    holds = {k for (k, sign), after in zip(tried, trust[1:].tolist(), strict=True) if sign * (trust[0] - after) > 0.0}
    chosen: list[int] = []
    for side in sides:
        apart: list[int] = []
        for k in side:
            if k in holds and len(apart) < _NAMED and not any(_alike(model, words[k], words[j]) for j in apart):
                apart.append(k)
        chosen += apart
    return chosen


def _reads_well(usual: UsualValues, word: Word, x: FloatArray, column: ColumnEvidence, codes: tuple[int, int]) -> bool:
    """Return whether a value is clearly more usual for the first of two classes than for the second."""
    pair = column.usual, column.rival_usual
    own, other = pair if (column.contribution or 0.0) > 0.0 else pair[::-1]
    if own is None or other is None or column.value is None:
        return False
    if own.share is not None and other.share is not None:
        return own.share >= min(_TIMES_AS_FREQUENT * other.share, other.share + _MORE_FREQUENT)
    if own.in_words() == other.in_words():
        return False
    low, middle, high = usual.quantiles[:, codes, word.at.start]
    value, width = x[word.at.start], np.maximum(high - low, np.finfo(float).tiny)
    beyond = np.maximum(np.maximum(low - value, value - high), 0.0)
    nearer = (beyond[0], abs(value - middle[0])) < (beyond[1], abs(value - middle[1]))
    apart = abs(middle[0] - middle[1]) >= _APART * width.mean() or (
        beyond[0] == 0.0 and beyond[1] >= _BEYOND_OTHER * width[1]
    )
    return bool(nearer and apart and beyond[0] <= _BEYOND_OWN * width[0])


def _moved(usual: UsualValues, word: Word, x: FloatArray, code: int) -> FloatArray:
    """Return a record with a value half-way to the middle of a class, or the most usual value of a category there."""
    moved = np.array(x)
    if word.is_level:
        mean = usual.mean_of_values(word, code)
        moved[word.at] = x[word.at] if mean is None else mean
    else:
        moved[word.at.start] = 0.5 * (x[word.at.start] + usual.quantiles[1, code, word.at.start])
    return moved


def _alike(model: FittedModel, one: Word, other: Word) -> bool:
    """Return whether two columns of numbers say nearly the same of the training records."""
    if model.records is None or one.is_level or other.is_level:
        return False
    first, second = (model.records.points[:, word.at.start] for word in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        return bool(np.abs(np.corrcoef(first, second)).min() >= _ALIKE)
