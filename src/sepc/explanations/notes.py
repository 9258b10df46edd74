"""Notes on records: their missing values, class priors and costs."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import plain
from sepc.common.text import in_words, listed, many, percent, plural, shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.explanations.neighbours import scaled_distances
from sepc.explanations.vocabulary import Value, Vocabulary, Word
from sepc.model.fitted_model import FittedModel
from sepc.model.incomplete import expected

# Smallest difference of trust that a text mentions.
_WORTH_SAYING = 0.005
# Of more missing columns the worth of each alone is not looked for.
_MOST_ALONE = 10


class BeyondNote(NamedTuple):
    """The column by which a record is beyond reach, its value, and the smallest and the largest one of training."""

    column: str
    value: Value
    low: Value
    high: Value

    def in_words(self) -> str:
        """Return a sentence."""
        value, low, high = in_words(self.value), in_words(self.low), in_words(self.high)
        return f"{self.column} is {value}, beyond what training justifies: its values there reach from {low} to {high}."


def beyond_note(model: FittedModel, x: FloatArray, vocabulary: Vocabulary) -> BeyondNote | None:
    """Return the note on a point in original units, shape (d,); None where it is within reach."""
    reach = model.outline.reach
    j = int(reach.farthest(x[None])[0])
    if j < 0:
        return None
    word = next(word for word in vocabulary.words if word.at.start <= j < word.at.stop)
    low, high = x.copy(), x.copy()
    low[j], high[j] = reach.low[j], reach.high[j]
    return BeyondNote(word.name, vocabulary.own_value(word, x), *(vocabulary.value(word, end) for end in (low, high)))


def out_of_range_in_words(
    model: FittedModel, counts: Mapping[str, tuple[int, int]], vocabulary: Vocabulary
) -> list[str]:
    """Return texts on the numbers of values below and above the range of training, those of most values first."""
    low, high = model.outline.reach[:2]
    texts = []
    for name, (below, above) in sorted(counts.items(), key=lambda item: -sum(item[1])):
        j = list(model.features).index(name)
        word = next(word for word in vocabulary.words if word.at.start <= j < word.at.stop)
        ends = (np.where(np.arange(len(low)) == j, end, low) for end in (low, high))
        smallest, largest = (in_words(vocabulary.value(word, end)) for end in ends)
        sides = [f"{many(below, 'record')} below {smallest}"] * (below > 0)
        sides += [f"{many(above, 'record')} above {largest}"] * (above > 0)
        texts.append(f"{word.name} ({' and '.join(sides)})")
    return texts


class MissingNote(NamedTuple):
    """Missing values of one record, and their effect on the trust.

    Attributes
    ----------
    features : tuple of str
        Features or columns without a value.
    n_features : int
        Number of all features or columns.
    trust : float
        Trust in the label by the known values.
    expected_trust : float or None
        Expected trust if all values were known: the mean over values of the nearest training records, moved by the
        difference of conditional means. None without training records that have all of them.
    most_worth : str or None
        The one whose value would raise the trust most; None if none would, or if there are more than ten.
    worth : float or None
        Expected trust with this value alone.
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

    @property
    def helps(self) -> bool:
        """Whether a higher trust could be expected with the missing values."""
        return self.expected_trust is not None and self.expected_trust >= self.trust + _WORTH_SAYING

    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the note."""
        n = len(self.features)
        if self.is_all:
            yield "All values of the record are missing: nothing but the shares of the labels speaks for this one."
            return
        them = "all of them" if n > 1 else "it"
        yield (
            f"Of {many(self.n_features, 'value')} {n} {'are' if n > 1 else 'is'} missing "
            f"({shortened(self.features, 5)}); the label rests on the {plural('other', self.n_features - n)}."
        )
        if self.expected_trust is None:
            return
        if not self.helps:
            yield f"With {them} no higher trust could be expected."
            return
        alone = ""
        if n > 1 and self.worth is not None:
            alone = f", with {self.most_worth} alone one of {percent(self.worth)}"
        yield f"With {them} a trust of {percent(self.expected_trust)} could be expected{alone}."


def missing_notes(
    model: FittedModel, X: FloatArray, trust: FloatArray, vocabulary: Vocabulary
) -> list[MissingNote | None]:
    """Return the missing values of points in original units, and their effect on the trust; None without any.

    `trust`, shape (n,), is that in their labels.
    """
    gaps, words = np.isnan(X), vocabulary.words
    missing = {
        i: tuple(word for word in words if gaps[i, word.at].any()) for i in np.flatnonzero(gaps.any(axis=1)).tolist()
    }
    notes: list[MissingNote | None] = [None] * len(X)
    for i, absent in missing.items():
        notes[i] = MissingNote(tuple(word.name for word in absent), len(words), float(trust[i]))
    partly = {i: absent for i, absent in missing.items() if len(absent) < len(words)}
    if model.records is not None and partly:
        for i, (with_all, worth) in _expected_trusts(model, X, partly).items():
            notes[i] = _with_worth(notes[i], missing[i], with_all, worth)  # type: ignore[arg-type]
    return notes


def _with_worth(note: MissingNote, words: tuple[Word, ...], with_all: float, worth: list[float]) -> MissingNote:
    note = note._replace(expected_trust=with_all)
    if not worth:
        return note
    best = int(np.argmax(worth))
    if worth[best] < note.trust + _WORTH_SAYING:
        return note
    # The expected trust with all values is no less than with one of them.
    return note._replace(expected_trust=max(with_all, worth[best]), most_worth=words[best].name, worth=worth[best])


def _expected_trusts(
    model: FittedModel, X: FloatArray, missing: dict[int, tuple[Word, ...]]
) -> dict[int, tuple[float, list[float]]]:
    """Return the mean trust over imputed values of all missing columns, and of each alone, unless these are many.

    `missing` has them by row of X; rows for which no training record has all of them are left out.
    """
    assert model.records is not None
    points, blocks, n_blocks = model.records.points, list[FloatArray](), dict[int, int]()
    mean = points.mean(axis=0)
    # A small ridge keeps covariances of few records regular.
    covariance = (points - mean).T @ (points - mean) / len(points) + 1e-6 * np.eye(points.shape[1])
    for i, words in missing.items():
        tried = _possible_values(model, X[i], words, mean, covariance)
        if len(tried):
            sets = [words, *([(word,) for word in words] if len(words) <= _MOST_ALONE else [])]
            blocks += [_with_values(X[i], tried, some) for some in sets]
            n_blocks[i] = len(sets)
    if not blocks:
        return {}
    trusts = np.split(model.decide(np.concatenate(blocks)).trust, np.cumsum([len(block) for block in blocks])[:-1])
    means = iter([float(trust.mean()) for trust in trusts])
    return {i: (next(means), [next(means) for _ in range(n - 1)]) for i, n in n_blocks.items()}


def _possible_values(
    model: FittedModel, x: FloatArray, words: tuple[Word, ...], mean: FloatArray, covariance: FloatArray
) -> FloatArray:
    """Return imputations of a point, shape (n, d), by the nearest training records that have its missing values.

    Numbers are the conditional mean given the known ones, plus its residuals in these records. Features that are 0 or 1
    are those of these records. `mean` and `covariance` are those of the training records.
    """
    assert model.records is not None
    points, z, gaps = model.records.points, model.units(x), np.zeros(len(x), dtype=bool)
    for word in words:
        gaps[word.at] = True  # the indicator of a missing value changes, too
    order: IntArray = np.argsort(scaled_distances(model.records.as_they_came, z), kind="stable")
    if model.records.gaps is not None:
        order = order[~model.records.gaps[order][:, gaps].any(axis=1)]
    near = points[order[:50]]
    if not len(near):
        return near
    residuals = near - expected(near, np.repeat(gaps[None], len(near), axis=0), mean, covariance).points
    moved = model.original(expected(np.where(gaps, mean, z)[None], gaps[None], mean, covariance).points + residuals)
    original = model.original(near)
    is_indicator = (np.isclose(original, 0.0) | np.isclose(original, 1.0)).all(axis=0)
    return np.where(is_indicator, np.rint(original), moved)


def _with_values(x: FloatArray, tried: FloatArray, words: tuple[Word, ...]) -> FloatArray:
    """Return a point with imputed values of some columns, shape (n, d)."""
    X = np.repeat(x[None], len(tried), axis=0)
    for word in words:
        X[:, word.at] = tried[:, word.at]
    return X


class PolicyNote(NamedTuple):
    """Class priors and expected costs, for one verdict.

    Attributes
    ----------
    class_prior, class_share : dict of label to float, or None
        Stated priors of the classes, and their shares in training; None where nothing was stated.
    costs : dict of label to float, or None
        Expected cost of giving each label.
    asking : float or None
        Expected cost of asking a person.
    """

    class_prior: dict[Any, float] | None
    class_share: dict[Any, float] | None
    costs: dict[Any, float] | None
    asking: float | None

    def sentences(self, label: Any) -> Iterator[str]:
        """Yield the sentences of the note for a verdict with this label."""
        if self.class_prior is not None and self.class_share is not None:
            stated = ", ".join(f"{name} {percent(share)}" for name, share in self.class_prior.items())
            trained = ", ".join(percent(share) for share in self.class_share.values())
            yield f"Class shares, as stated: {stated} (in training {trained})."
        if self.costs is not None:
            others = sorted((cost, str(name)) for name, cost in self.costs.items() if name != label)
            alternatives = listed([f"{name} {cost:.3g}" for cost, name in others[:3]])
            yield f"It can be expected to cost {self.costs[label]:.3g}, {alternatives}."
            if self.asking is not None:
                less = "less" if self.asking < self.costs[label] else "no less"
                yield f"Asking a person can be expected to cost {less}, {self.asking:.3g}."


def policy_note(model: FittedModel, proba: FloatArray) -> PolicyNote | None:
    """Return the note on a point with these probabilities, shape (n_classes,); None without a policy."""
    policy = model.policy
    if policy is None:
        return None
    labels = [plain(label) for label in model.classes]
    trained = (model.class_count / model.class_count.sum()).tolist()
    given = proba[None]
    asking = policy.cost_of_asking(given)
    return PolicyNote(
        class_prior=None if policy.prior is None else dict(zip(labels, policy.prior.tolist(), strict=True)),
        class_share=None if policy.prior is None else dict(zip(labels, trained, strict=True)),
        costs=None if policy.costs is None else dict(zip(labels, (given @ policy.costs)[0].tolist(), strict=True)),
        asking=None if asking is None else float(asking[0]),
    )
