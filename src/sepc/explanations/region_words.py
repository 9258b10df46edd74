"""Descriptions of regions in words: the columns in which a region differs most from the rest of its class and others.

A region with mean m is "high" in a column where m is above the mean of the other records of its class and above that of
the other classes, "low" where it is below both; the smaller difference counts. Where m lies between the two, as for the
part of a class that lies next to another class, the region is compared with its own class alone, and half of the
difference counts: "low weight among ill". A category is named by the value that is more frequent than elsewhere. Up to
three columns are named, the largest difference first, and only one of columns that say nearly the same.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sepc.common.text import in_words, listed
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.vocabulary import Vocabulary, Word
from sepc.model.partition_model import DensityModel, PartitionModel

# Differences in standard deviations: the smallest that is named, and that as a share of the largest.
_LEAST, _LEAST_SHARE = 0.3, 0.5
_MOST_COLUMNS, _ALIKE = 3, 0.9

_FOUND: "WeakKeyDictionary[PartitionModel, dict[tuple[str, ...], dict[str, str]]]" = WeakKeyDictionary()


def region_words(model: PartitionModel, vocabulary: Vocabulary | None = None) -> dict[str, str]:
    """Return the description of each region by its name, and by that of the component it belongs to.

    A description may be empty: then nothing sets the region apart. They are kept with the model. `vocabulary` has the
    columns, by default the features.
    """
    vocabulary = vocabulary or Vocabulary(model.features)
    of_model = _FOUND.setdefault(model, {})
    names = tuple(word.name for word in vocabulary.words)
    if names not in of_model:
        of_model[names] = _described(model, vocabulary)
    return of_model[names]


class _Means(NamedTuple):
    """Means of regions of several classes, (n_regions, d), their weights and classes, (n_regions,), and all names."""

    names: list[list[str]]
    labels: list[str]
    means: FloatArray
    weights: FloatArray
    codes: IntArray


def _described(model: PartitionModel, vocabulary: Vocabulary) -> dict[str, str]:
    correlation, spread = _correlation(model)
    found: dict[str, str] = {}
    for some in _means(model):
        for k, names in enumerate(some.names):
            text = _description(some, k, model, vocabulary, correlation, spread)
            found |= dict.fromkeys(names, text)
    return found


def _means(model: PartitionModel) -> list[_Means]:
    if isinstance(model, DensityModel):
        densities = model.densities
        n = int(model.class_count.sum())
        components = range(len(densities.codes))
        named = zip(model.region_names(), model.regions_by_component(), strict=True)
        return [
            _Means(
                [list(dict.fromkeys([name, *regions])) for name, regions in named],
                [str(model.classes[code]) for code in densities.codes.tolist()],
                np.array([densities.mean(c) for c in components]),
                np.array([max(densities.size(c, n), 1) for c in components], dtype=np.float64),
                densities.codes,
            )
        ]
    return [
        _Means(
            [[name] for name in rules.names],
            [rules.labels[side] for side in rules.sides.tolist()],
            np.array([rules.stack[k].center for k in range(len(rules.names))]),
            np.maximum(rules.counts.sum(axis=1), 1.0),
            rules.sides,
        )
        for rules in model.rules
        if rules.names
    ]


def _correlation(model: PartitionModel) -> tuple[FloatArray, FloatArray]:
    """Return absolute correlations of the features, (d, d), and standard deviations in the model's units, (d,)."""
    if model.records is not None:
        covariance = np.atleast_2d(np.cov(model.records.points.T, bias=True))
    elif isinstance(model, DensityModel) and model.densities.shares is None:
        densities = model.densities
        means, covariances = densities.moments()
        weights = np.array([densities.size(c, 10**6) for c in range(len(means))]) + 1.0
        weights /= weights.sum()
        away = means - weights @ means
        covariance = np.einsum("c,cij->ij", weights, covariances) + (away.T * weights) @ away
        covariance = covariance * np.outer(densities.unit, densities.unit)
    else:
        covariance = np.eye(len(model.features))
    spread = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    spread[spread == 0.0] = 1.0
    return np.abs(covariance / np.outer(spread, spread)), spread


def _description(
    some: _Means, k: int, model: PartitionModel, vocabulary: Vocabulary, correlation: FloatArray, spread: FloatArray
) -> str:
    same = some.codes == some.codes[k]
    is_rest = same & (np.arange(len(same)) != k)
    rest, others = _mean(some, is_rest), _mean(some, ~same)
    if rest is None and others is None:
        return ""
    places = np.array([some.means[k], others if rest is None else rest, rest if others is None else others])
    original = model.original(places)
    found = [_difference(word, places / spread, original, vocabulary) for word in vocabulary.words]
    order = sorted(range(len(found)), key=lambda j: -found[j].size)
    least = max(_LEAST, _LEAST_SHARE * found[order[0]].size)
    chosen: list[int] = []
    for j in order:
        at = vocabulary.words[j].at.start
        numbers = [vocabulary.words[i].at.start for i in chosen if not vocabulary.words[i].is_level]
        is_new = vocabulary.words[j].is_level or (correlation[at, numbers] < _ALIKE).all()
        if found[j].size >= least and is_new and len(chosen) < _MOST_COLUMNS:
            chosen.append(j)
    everywhere, in_class = (
        listed([found[j].text for j in chosen if found[j].among_class is wanted]) for wanted in (False, True)
    )
    in_class = f"{in_class} among {some.labels[k]}" if in_class else ""
    return f"{everywhere}, and {in_class}" if everywhere and in_class else everywhere or in_class


def _mean(some: _Means, which: BoolArray) -> FloatArray | None:
    return np.average(some.means[which], axis=0, weights=some.weights[which]) if which.any() else None


class _Difference(NamedTuple):
    """How much a region differs in one column, in standard deviations, and how, in words."""

    size: float
    text: str
    among_class: bool = False


def _difference(word: Word, means: FloatArray, original: FloatArray, vocabulary: Vocabulary) -> _Difference:
    """Return how a region differs in a column.

    `means`, shape (3, d), are those of the region, the rest of its class and the other classes in standard deviations;
    `original` are the same in original units.
    """
    if not word.is_level:
        from_class, from_others = (means[0, word.at.start] - means[1:, word.at.start]).tolist()
        text = f"{'high' if from_class > 0.0 else 'low'} {word.name}"
        if from_class * from_others > 0.0:
            return _Difference(min(abs(from_class), abs(from_others)), text)
        return _Difference(0.5 * abs(from_class), text, True)
    values = vocabulary.values(word)
    if not len(values):
        return _Difference(0.0, "")
    n = values.shape[1]
    held = np.clip(original[:, word.at], 0.0, 1.0)
    shares = held @ values.T if n > 1 else np.where(values[:, 0] > 0.5, held, 1.0 - held)
    more = (shares[0] - shares[1:]).min(axis=0)
    best = int(more.argmax())
    record = np.zeros(original.shape[1])
    record[word.at] = values[best]
    how = "mostly" if shares[0, best] >= 0.5 else "often"
    # A difference of shares of 0.5 is about one standard deviation.
    return _Difference(2.0 * float(more[best]), f"{word.name} {how} {in_words(vocabulary.value(word, record))}")
