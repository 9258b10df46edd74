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
from sepc.model.incomplete import rows_by_gaps

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


def differences(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return, of numbers for each class, shape (n, ..., n_classes), those of the label less those of the rival.

    `codes`, shape (n, 2), are the classes of both.
    """
    pairs = np.take_along_axis(values, codes.reshape(len(codes), *[1] * (values.ndim - 2), 2), axis=-1)
    return np.asarray(pairs[..., 0] - pairs[..., 1])


def chain_terms(
    densities: LocalDensities,
    points: FloatArray,
    columns: Sequence[IntArray],
    log_odds: Callable[[FloatArray, IntArray], FloatArray],
    most_orders: int = 32,
) -> FloatArray:
    """Return the contributions of columns to v(all) - v(none) at points, shape (n, n_columns).

    Points, shape (n, d), are in the units of the densities, and `columns` are the numbers of each one's features there.
    `log_odds` turns logarithms of the joint densities of the classes at some points, shape (k, ..., n_classes), and
    the numbers of these points, shape (k,), into v. The mean is over at most `most_orders` orders.
    """
    terms, (means, covariances) = np.zeros((len(points), len(columns))), densities.moments()
    weights = densities.log_weights + 0.5 * np.linalg.slogdet(covariances)[1]
    size = covariances.size * len(densities.unit) + 1
    for rows, _ in rows_by_gaps(points):
        known = densities.known_of(points[rows[0]])
        features = [own[known[own]] for own in columns]
        live = np.array([k for k, own in enumerate(features) if len(own)], dtype=np.int64)
        if not len(live):
            continue
        number = np.full(points.shape[1], -1)
        number[densities.numbers] = np.arange(len(densities.unit))
        numbers = [own[own >= 0] for own in (number[features[k]] for k in live)]
        logs, beyond = _of_categories(densities, points[rows], [features[k] for k in live])
        scaled = (points[rows][:, densities.numbers] - densities.center) / densities.unit
        away = np.clip(scaled, -FARTHEST, FARTHEST)[:, None] - means
        n_orders = 0
        with one_blas_thread():
            for orders in _orders(len(live), min(most_orders, int(_EFFORT / size)), covariances.size):
                moved = _OrderedFactors.of(covariances, [np.concatenate([numbers[k] for k in o]) for o in orders])
                n = _sums(np.array([len(own) for own in numbers])[orders], axis=1)[..., None]
                # As many points at once as fill a table.
                of_a_point = len(orders) * (points.shape[1] + 1) * len(weights)
                for some in chunk_slices(len(rows), max(_TABLE // of_a_point, 1)):
                    squares, log_scales = moved.squares(away[some]), np.take_along_axis(moved.log_scales, n, axis=1)
                    squares = np.take_along_axis(squares, n[None], axis=2)
                    logs_of_t = np.log1p(
                        (squares + _sums(beyond[some][:, orders], axis=2)[..., None]) / densities.degrees_of_freedom
                    )
                    joint = weights + _sums(logs[some][:, orders], axis=2) - log_scales
                    joint -= 0.5 * (densities.degrees_of_freedom + n) * logs_of_t
                    steps = np.diff(log_odds(_by_class(densities, joint), rows[some]), axis=2)
                    for k, order in enumerate(orders):
                        terms[rows[some][:, None], live[order]] += steps[:, k]
                n_orders += len(orders)
        terms[rows] /= n_orders
    return terms


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


def _sums(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return the sums of the first 0, 1, ... entries along an axis."""
    none = np.zeros((*values.shape[:axis], 1, *values.shape[axis + 1 :]), dtype=values.dtype)
    return np.concatenate([none, np.cumsum(values, axis=axis)], axis=axis)


class _OrderedFactors(NamedTuple):
    """Inverse Cholesky factors of covariances whose columns are in several orders.

    Attributes
    ----------
    order : ndarray of int, shape (n_orders, n)
    inverse : ndarray of shape (n_components, n_orders, n, n)
    log_scales : ndarray of shape (n_orders, n + 1, n_components)
        Those of the first 0, 1, ... columns.
    """

    order: IntArray
    inverse: FloatArray
    log_scales: FloatArray

    @classmethod
    def of(cls, covariances: FloatArray, orders: Sequence[IntArray]) -> "_OrderedFactors":
        order = np.array(orders, dtype=np.int64).reshape(len(orders), -1)
        factors = _cholesky(covariances[:, order[:, :, None], order[:, None]])
        log_scales = _sums(np.log(np.diagonal(factors, axis1=2, axis2=3)).transpose(1, 2, 0), axis=1)
        return cls(order, np.asarray(np.linalg.inv(factors), dtype=np.float64), log_scales)

    def squares(self, away: FloatArray) -> FloatArray:
        """Return squared distances in the first 0, 1, ... columns, shape (n_points, n_orders, n + 1, n_components).

        `away`, shape (n_points, n_components, d), are the differences of points from the means. Each is multiplied by
        itself: a point has the same bits whatever other points are passed along.
        """
        whitened = np.matmul(self.inverse, away[:, :, self.order][..., None])[..., 0]
        return _sums(np.square(whitened).transpose(0, 2, 3, 1), axis=2)


def _cholesky(covariances: FloatArray) -> FloatArray:
    """Return Cholesky factors; where rounding makes a nearly singular covariance indefinite, those of one beside it."""
    try:
        return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    except np.linalg.LinAlgError:
        diagonal = np.diagonal(covariances, axis1=-2, axis2=-1)
        ridge = 1e-8 * diagonal[..., None] * np.eye(covariances.shape[-1])
        return np.asarray(np.linalg.cholesky(covariances + ridge), dtype=np.float64)


def _of_categories(
    densities: LocalDensities, points: FloatArray, columns: Sequence[IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of the shares of values, (n, n_columns, n_components), and squares beyond 0 and 1."""
    logs, beyond = np.zeros((len(points), len(columns), len(densities.codes))), np.zeros((len(points), len(columns)))
    if densities.shares is None:
        return logs, beyond
    shares, filled = densities.shares, np.nan_to_num(points)
    held, squares = shares.categories.possible(filled), shares.categories.squares_beyond(filled)
    for at, constant in zip(shares.categories.slices, shares.constants, strict=True):
        group = shares.categories.features[at]
        for k, own in enumerate(columns):
            if np.isin(group, own).all():
                logs[:, k] += np.matmul(held[:, None, at], shares.slopes[at])[:, 0] + constant
                beyond[:, k] += squares[:, at].sum(axis=1)
    return logs, beyond


def _by_class(densities: LocalDensities, logs: FloatArray) -> FloatArray:
    """Return logarithms of joint densities of the classes, (..., n_classes), from those of components."""
    out = np.full((*logs.shape[:-1], densities.n_classes), -np.inf)
    for k, own in densities.of_classes():
        out[..., k] = np.logaddexp.reduce(logs[..., own], axis=-1)
    return out


def evidences_of(
    model: FittedModel,
    X: FloatArray,
    codes: IntArray,
    proba: FloatArray,
    log_odds: FloatArray,
    found: Sequence[Contributions] | None,
    vocabularies: Sequence[Vocabulary],
) -> list[Evidence]:
    """Return the evidence for labels against their rivals, by their numbers `codes`, (n, 2), at records X, (n, d).

    `proba`, shape (n, n_classes), are the model's probabilities. `found` are the contributions; None for a model that
    counts records. Each record has a vocabulary.
    """
    shared, pairs, tables = _Shared(model, vocabularies[0]), codes.tolist(), []
    for i, (vocabulary, (label, rival)) in enumerate(zip(vocabularies, pairs, strict=True)):
        terms = [None] * len(vocabulary.words) if found is None else found[i].columns.tolist()
        tables.append(
            [
                ColumnEvidence(
                    word.name,
                    vocabulary.own_value(word, X[i]),
                    term,
                    shared.usual.of(word, label, X[i]),
                    shared.usual.of(word, rival, X[i]),
                )
                for word, term in zip(vocabulary.words, terms, strict=True)
            ]
        )
    orders = [sorted(range(len(table)), key=lambda k: -abs(table[k].contribution or 0.0)) for table in tables]
    if found is not None:
        for table, named in zip(tables, _named(shared, X, pairs, tables, orders, vocabularies), strict=True):
            for k in named:
                table[k] = table[k]._replace(is_named=True)
    return [
        Evidence(
            plain(model.classes[rival]),
            float(proba[i, rival]),
            float(log_odds[i]),
            tuple(tables[i][k] for k in orders[i]),
            {COUNTS: float(log_odds[i])} if found is None else found[i].others,
        )
        for i, (_, rival) in enumerate(pairs)
    ]


class _Shared:
    """What texts on several records have in common: usual values, and which columns say nearly the same."""

    def __init__(self, model: FittedModel, vocabulary: Vocabulary) -> None:
        self.model, self.usual = model, UsualValues(model, vocabulary)
        self._alike: dict[tuple[int, int], bool] = {}

    def alike(self, one: Word, other: Word) -> bool:
        """Return whether two columns of numbers say nearly the same of the training records."""
        if self.model.records is None or one.is_level or other.is_level:
            return False
        pair = one.at.start, other.at.start
        if pair not in self._alike:
            with np.errstate(invalid="ignore", divide="ignore"):
                correlation = np.corrcoef(self.model.records.points[:, pair].T)
            self._alike[pair] = bool(np.abs(correlation).min() >= _ALIKE)
        return self._alike[pair]


def _named(
    shared: _Shared,
    X: FloatArray,
    pairs: Sequence[Sequence[int]],
    tables: Sequence[Sequence[ColumnEvidence]],
    orders: Sequence[Sequence[int]],
    vocabularies: Sequence[Vocabulary],
) -> Iterator[list[int]]:
    """Yield the columns of each record that a text names, for the label and against it; pairs are label and rival."""
    usual, words = shared.usual, vocabularies[0].words
    sides = [_large_ones(usual, *of_record) for of_record in zip(X, pairs, tables, orders, strict=True)]
    tried = [[(k, sign) for side, sign in zip(both, (1, -1), strict=True) for k in side] for both in sides]
    moved = [X]
    for x, pair, some, vocabulary in zip(X, pairs, tried, vocabularies, strict=True):
        if some:
            # Those for the label are moved towards the rival, those against it towards the label.
            towards = [_moved(usual, words[k], x, pair[::-sign][0]) for k, sign in some]
            moved.append(vocabulary.within_reach(np.array(towards)))
    proba, first = shared.model.decide(np.concatenate(moved)).proba, len(X)
    for i, (both, some) in enumerate(zip(sides, tried, strict=True)):
        trust = proba[first : first + len(some), pairs[i][0]].tolist()
        first += len(some)
        before = float(proba[i, pairs[i][0]])
        holds = {k for (k, sign), after in zip(some, trust, strict=True) if sign * (before - after) > 0.0}
        chosen: list[int] = []
        for side in both:
            apart: list[int] = []
            for k in side:
                if k in holds and len(apart) < _NAMED and not any(shared.alike(words[k], words[j]) for j in apart):
                    apart.append(k)
            chosen += apart
        yield chosen


def _large_ones(
    usual: UsualValues, x: FloatArray, pair: Sequence[int], table: Sequence[ColumnEvidence], order: Sequence[int]
) -> list[list[int]]:
    """Return the columns of one record with large contributions that read well, for the label and against it."""
    sides = []
    for sign in (1.0, -1.0):
        size = {k: sign * (table[k].contribution or 0.0) for k in order}
        least = max(_LEAST, _LEAST_SHARE * max(size.values(), default=0.0))
        large = [k for k in order if size[k] >= least][:_TRIED]
        codes = pair if sign > 0.0 else pair[::-1]
        sides.append([k for k in large if _reads_well(usual, usual.vocabulary.words[k], x, table[k], codes)])
    return sides


def _reads_well(usual: UsualValues, word: Word, x: FloatArray, column: ColumnEvidence, codes: Sequence[int]) -> bool:
    """Return whether a value is clearly more usual for the first of two classes than for the second."""
    pair = column.usual, column.rival_usual
    own, other = pair if (column.contribution or 0.0) > 0.0 else pair[::-1]
    if own is None or other is None or column.value is None:
        return False
    if own.share is not None and other.share is not None:
        return own.share >= min(_TIMES_AS_FREQUENT * other.share, other.share + _MORE_FREQUENT)
    if own.in_words() == other.in_words():
        return False
    low, middle, high = usual.quantiles[:, list(codes), word.at.start]
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
