"""Notes on missing values: what is not known of a record, and what that costs."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepc.common.text import many, percent, plural, shortened
from sepc.common.typing import FloatArray
from sepc.explanations.neighbours import order_by_distance
from sepc.explanations.vocabulary import Vocabulary, Word
from sepc.model.fitted_model import FittedModel
from sepc.model.incomplete import expected, has_gaps

# Training records whose values are tried in the place of those that are missing.
_N_TRIED = 50
# Variance, in units of the features, that keeps covariances of few records away from 0.
_RIDGE = 1e-6
# With more missing values than this nobody is told which of them counts most.
_MOST_VALUES = 10
_N_IN_TEXT = 5
# A trust that is higher by less than this is the same to a person.
_WORTH_TELLING = 0.005


class MissingNote(NamedTuple):
    """What is missing of one record.

    Attributes
    ----------
    features : tuple of str
        What has no value.
    n_features : int
        How many there are of all, known or not.
    trust : float
        Trust in the label by what is there.
    expected_trust : float or None
        The trust that could be expected if all values were there: the mean over what the nearest training records have
        there, moved by as much as these differ in what is known. None without training records that have all of it.
    most_worth : str or None
        The one whose value would raise the trust most; None if none would, or if there are more than ten.
    worth : float or None
        The trust that could be expected with this value alone.
    """

    features: tuple[str, ...]
    n_features: int
    trust: float
    expected_trust: float | None = None
    most_worth: str | None = None
    worth: float | None = None

    @property
    def is_all(self) -> bool:
        """Whether nothing is known of the record."""
        return len(self.features) == self.n_features

    def sentences(self) -> Iterator[str]:
        """Yield what is to be said."""
        n = len(self.features)
        if self.is_all:
            yield "All values of the record are missing: nothing but the shares of the labels speaks for this one."
            return
        them = "all of them" if n > 1 else "it"
        told = shortened(self.features, _N_IN_TEXT)
        yield (
            f"Of {many(self.n_features, 'value')} {n} {'are' if n > 1 else 'is'} missing ({told}); the label rests on "
            f"the {plural('other', self.n_features - n)}."
        )
        if self.expected_trust is None:
            return
        if self.expected_trust < self.trust + _WORTH_TELLING:
            yield f"With {them} no higher trust could be expected."
            return
        alone = ""
        if n > 1 and self.worth is not None:
            alone = f", with {self.most_worth} alone one of {percent(self.worth)}"
        yield f"With {them} a trust of {percent(self.expected_trust)} could be expected{alone}."


def missing_words(vocabulary: Vocabulary, x: FloatArray) -> tuple[Word, ...]:
    """Return what a point of shape (d,) has no value of."""
    return tuple(word for word in vocabulary.words if has_gaps(x[word.at]))


def missing_note(model: FittedModel, x: FloatArray, trust: float, vocabulary: Vocabulary) -> MissingNote | None:
    """Return what is missing of a point, and what that costs; None if nothing is.

    Parameters
    ----------
    model : FittedModel
    x : ndarray of shape (d,)
        In the units that points come in.
    trust : float
        In its label.
    vocabulary : Vocabulary
    """
    words = missing_words(vocabulary, x)
    if not words:
        return None
    note = MissingNote(tuple(word.name for word in words), len(vocabulary.words), trust)
    if model.records is None or len(words) == len(vocabulary.words):
        return note
    tried = _possible_values(model, x, words)
    if not len(tried):
        return note
    with_all = _expected_trust(model, x, tried, words)
    note = note._replace(expected_trust=with_all)
    if len(words) > _MOST_VALUES:
        return note
    worth = [_expected_trust(model, x, tried, (word,)) for word in words]
    best = int(np.argmax(worth))
    if worth[best] < trust + _WORTH_TELLING:
        return note
    # Whoever knows all of them can be expected to know no less than who knows one.
    return note._replace(expected_trust=max(with_all, worth[best]), most_worth=words[best].name, worth=worth[best])


def _possible_values(model: FittedModel, x: FloatArray, words: tuple[Word, ...]) -> FloatArray:
    """Return records that a point may be once all of its values are known, shape (n, d).

    Numbers are what a linear regression on the known ones expects, and what it misses of the values of the nearest
    training records that have them. Features that are 0 or 1 are as in these.
    """
    assert model.records is not None
    points, z, gaps = model.records.points, model.units(x), np.zeros(len(x), dtype=bool)
    for word in words:
        gaps[word.at] = True  # a feature that says that it is missing will say something else
    order = order_by_distance(model, x)
    if model.records.gaps is not None:
        order = order[~model.records.gaps[order][:, gaps].any(axis=1)]
    near = points[order[:_N_TRIED]]
    if not len(near):
        return near
    mean = points.mean(axis=0)
    covariance = (points - mean).T @ (points - mean) / len(points) + _RIDGE * np.eye(len(z))
    in_the_same_gaps = np.repeat(gaps[None], len(near), axis=0)
    missed = near - expected(near, in_the_same_gaps, mean, covariance).points
    moved = model.original(expected(np.where(gaps, mean, z)[None], gaps[None], mean, covariance).points + missed)
    as_they_are = model.original(near)
    is_truth = (np.isclose(as_they_are, 0.0) | np.isclose(as_they_are, 1.0)).all(axis=0)
    return np.where(is_truth, np.rint(as_they_are), moved)


def _expected_trust(model: FittedModel, x: FloatArray, tried: FloatArray, words: tuple[Word, ...]) -> float:
    """Return the mean trust of a point with other records' values in some places."""
    X = np.repeat(x[None], len(tried), axis=0)
    for word in words:
        X[:, word.at] = tried[:, word.at]
    return float(model.decide(X).trust.mean())
