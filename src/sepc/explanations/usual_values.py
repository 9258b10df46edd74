"""Usual values of the columns, by label: what an explanation compares the values of a record with.

A number is usual for a label from its 10 % to its 90 % quantile among the training records of the label; of a category
the share of the label's records that have a value is stated. A model without training records has these numbers from
the components of its densities; a model of counts has none then.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import ndtr

from sepc.common.text import in_words, percent
from sepc.common.typing import FloatArray
from sepc.explanations.vocabulary import Value, Vocabulary, Word
from sepc.model.densities import LocalDensities
from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import DensityModel

# The quantiles: ends of what is usual, and the middle.
_LEVELS = np.array([0.1, 0.5, 0.9])


class Usual(NamedTuple):
    """Usual values of one column among the records of one label.

    Attributes
    ----------
    low, middle, high : float, str or None
        Of numbers and dates: the 10 %, 50 % and 90 % quantiles. Of a category `middle` is the most frequent value.
    share : float or None
        Of a category: the share of the records that have the value of the explained record.
    """

    low: Value = None
    middle: Value = None
    high: Value = None
    share: float | None = None

    def in_words(self) -> str:
        """Return it as a short text, numbers with three digits; empty if nothing is known."""
        if self.share is not None:
            return percent(self.share)
        if self.low is None or self.high is None:
            return ""
        low, high = rounded(self.low), rounded(self.high)
        return low if low == high else f"{low} to {high}"


def rounded(value: Value) -> str:
    """Return a value as text, numbers with three digits."""
    return in_words(float(f"{value:.3g}") if isinstance(value, float) and np.isfinite(value) else value)


class UsualValues:
    """Usual values of all columns of a fitted model, in its vocabulary.

    Attributes
    ----------
    quantiles : ndarray of shape (3, n_classes, d)
        The 10 %, 50 % and 90 % quantiles of the features by class, in original units; NaN where they are not known.
    """

    def __init__(self, model: FittedModel, vocabulary: Vocabulary) -> None:
        self.model, self.vocabulary = model, vocabulary
        if model not in _QUANTILES:
            _QUANTILES[model] = _quantiles(model)
        self.quantiles = _QUANTILES[model]
        self._known: dict[tuple[int, int, bytes], Usual | None] = {}
        self._means: dict[tuple[int, int], FloatArray | None] = {}

    def of(self, word: Word, code: int, x: FloatArray) -> Usual | None:
        """Return what is usual for a class, by its number, in one column of a record x, shape (d,)."""
        # The same of all records that have the same level, and in a number of all.
        key = word.at.start, code, x[word.at].tobytes() if word.is_level else b""
        if key not in self._known:
            self._known[key] = self._of_values(word, code, x) if word.is_level else self._of_number(word, code)
        return self._known[key]

    def _of_number(self, word: Word, code: int) -> Usual | None:
        quantiles = self.quantiles[:, code, word.at.start]
        if np.isnan(quantiles).any():
            return None
        low, middle, high = (self._value(word, number) for number in quantiles.tolist())
        return Usual(low, middle, high)

    def _value(self, word: Word, number: float) -> Value:
        record = np.zeros(self.quantiles.shape[2])  # a feature that marks a number as missing is 0
        record[word.at.start] = number
        return self.vocabulary.value(word, record)

    def _of_values(self, word: Word, code: int, x: FloatArray) -> Usual | None:
        mean, own = self.mean_of_values(word, code), self.model.units(x)[word.at]
        if mean is None or (self.model.records is None and np.isnan(own).any()):
            return None
        if self.model.records is not None:
            records = self._records(word, code)
            has_it = (np.abs(records - own) < 1e-6) | (np.isnan(records) & np.isnan(own))
            share = float(has_it.all(axis=1).mean())
        else:
            assert isinstance(self.model, DensityModel)
            densities, weights = self.model.densities, _weights(self.model.densities, code)
            values = densities.shares
            assert values is not None
            point, at = self.model.units(x)[None], np.isin(values.categories.features, np.r_[word.at])
            shares = [np.exp(values.by_feature(point, c)[0, at].sum()) for c in weights]
            share = float(np.average(shares, weights=list(weights.values())))
        middle = np.zeros(len(x))
        middle[word.at] = mean
        return Usual(middle=self.vocabulary.value(word, middle), share=share)

    def mean_of_values(self, word: Word, code: int) -> FloatArray | None:
        """Return the mean of a category's features in a class, in original units; None where it is not known."""
        key = word.at.start, code
        if key not in self._means:
            self._means[key] = self._mean_of_values(word, code)
        return self._means[key]

    def _mean_of_values(self, word: Word, code: int) -> FloatArray | None:
        model, mean = self.model, np.zeros(len(self.model.features))
        if model.records is not None:
            mean[word.at] = np.nan_to_num(np.nanmean(self._records(word, code), axis=0))
        elif isinstance(model, DensityModel) and _has_shares(model.densities, word):
            weights = _weights(model.densities, code)
            means = [model.densities.mean(c)[word.at] for c in weights]
            mean[word.at] = np.average(means, axis=0, weights=list(weights.values()))
        else:
            return None
        return np.asarray(model.original(mean[None])[0, word.at])

    def _records(self, word: Word, code: int) -> FloatArray:
        assert self.model.records is not None
        return np.asarray(self.model.records.as_they_came[self.model.records.codes == code][:, word.at])


# By model: they cost a pass over the training records.
_QUANTILES: "WeakKeyDictionary[FittedModel, FloatArray]" = WeakKeyDictionary()


def _quantiles(model: FittedModel) -> FloatArray:
    n, d = len(model.classes), len(model.features)
    found = np.full((3, n, d), np.nan)
    if model.records is not None:
        points = model.records.as_they_came
        for k in range(n):
            own = points[model.records.codes == k]
            # Quantiles of one or two records would disclose them.
            known = np.count_nonzero(~np.isnan(own), axis=0) > 2
            found[:, k, known] = np.nanquantile(own[:, known], _LEVELS, axis=0)
    elif isinstance(model, DensityModel):
        found = _by_components(model)
    found = np.asarray(model.original(found.reshape(-1, d))).reshape(found.shape)
    rounding = 1e-9 * model.scales.lengths(np.zeros(d))
    return np.where(np.abs(found) < rounding, 0.0, found)


def _has_shares(densities: LocalDensities, word: Word) -> bool:
    """Return whether the values of a column have shares of their own in the densities."""
    if densities.shares is None:
        return False
    return bool(np.isin(np.arange(word.at.start, word.at.stop), densities.shares.categories.features).all())


def _weights(densities: LocalDensities, code: int) -> dict[int, float]:
    """Return the weight of each component of a class."""
    logs = densities.log_weights + 0.5 * np.linalg.slogdet(densities.moments()[1])[1]
    return {c: float(np.exp(logs[c])) for c in np.flatnonzero(densities.codes == code).tolist()}


def _by_components(model: DensityModel) -> FloatArray:
    """Return the quantiles of the classes as mixtures of normal distributions, in the model's units."""
    densities = model.densities
    means, covariances = densities.moments()
    spread = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2)) * densities.unit
    means = densities.center + densities.unit * means
    found = np.full((3, len(model.classes), len(model.features)), np.nan)
    for k, own in densities.of_classes():
        share = np.array([*_weights(densities, k).values()])
        share /= share.sum()
        low, high = (
            np.repeat(ends[None], 3, axis=0)
            for ends in ((means[own] - 8.0 * spread[own]).min(axis=0), (means[own] + 8.0 * spread[own]).max(axis=0))
        )
        for _ in range(60):  # bisection
            middle = 0.5 * (low + high)
            below = np.einsum("c,qcd->qd", share, ndtr((middle[:, None] - means[own]) / spread[own]))
            is_above = below >= _LEVELS[:, None]
            low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
        found[:, k, densities.numbers] = 0.5 * (low + high)
    return found
