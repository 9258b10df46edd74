"""Shares of a label's probability by region, and the main evidence for its best region against that of its rival.

Let l(c) be the logarithm of a component's weight times its density at the point, J(k) the logarithm of the sum of these
over class k, T the temperature, a(k) the correction of class k, s(k) the sum of its linear terms and b the share of the
background component. The probability of class k is the sum

    p(k) = sum over the components c of k of (1 - b) softmax(J / T + a + s)(k) exp(l(c) - J(k)), plus b times the share

of k in the training set. Regions have shares of their own class alone. Without a calibration T is 1; a, s, b are 0.
With other class priors the shares of each label are multiplied by its prior over its share in training, and all by a
factor that makes the probabilities add up to 1.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import plain
from sepc.common.text import in_words, listed, many, percent
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import has_gaps, known_share
from sepc.explanations.places import FeatureShare
from sepc.explanations.vocabulary import Value, Vocabulary
from sepc.model.calibration import LinearTerms, log_density
from sepc.model.densities import FARTHEST, LocalDensities
from sepc.model.incomplete import rows_by_gaps
from sepc.model.partition_model import DensityModel, PartitionModel

BACKGROUND = "background"
NEARBY = "nearby"
# Smaller shares would be shown as 0.0 %.
_LEAST_IN_TEXT = 0.0005


class RegionShare(NamedTuple):
    """Share of the probability of a label by one region.

    Attributes
    ----------
    region : str
        ``benign#2`` is benign's second ellipsoid, ``benign@`` its isolated records, taken together, ``benign#2+``
        several merged regions, of which the second ellipsoid is the first. ``background`` is the background component:
        labels are as frequent in it as in the training set, or as the class priors. ``nearby`` are the held-out records
        right around the point, where their labels differ from what all else predicts.
    label : object
        The label that it is evidence for.
    share : float
        Part of that label's probability.
    records : int
        Number of its training records; after EM iterations the rounded sum of their responsibilities.
    n_regions : int, default=1
        The number of merged regions in it; isolated records, taken together, count as one.
    """

    region: str
    label: Any
    share: float
    records: int
    n_regions: int = 1

    @property
    def is_background(self) -> bool:
        """Whether it is the background component."""
        return self.region == BACKGROUND

    def in_words(self, is_new: bool = True, frequent_as: str = "in training") -> str:
        """Return it as part of a sentence; the background component is explained where `is_new`."""
        if self.region == NEARBY:
            return f"the {many(self.records, 'record')} right around it"
        if self.is_background:
            return f"the {BACKGROUND}{f', where labels are as frequent as {frequent_as}' if is_new else ''}"
        records = many(self.records, "isolated record" if self.region.endswith("@") else "record")
        return f"{self.region} ({records}{f' of {self.n_regions} regions' if self.n_regions > 1 else ''})"


class FeatureTerm(NamedTuple):
    """Term of one feature, of a raw table one column, in the log odds between two regions.

    Attributes
    ----------
    feature : str
    term : float
    value : object
        The record's value of a category with shares of its own; else None.
    share, rival_share : float or None
        The smoothed shares of that value among the records of the two regions.
    """

    feature: str
    term: float
    value: Value = None
    share: float | None = None
    rival_share: float | None = None

    def in_words(self, region: str, rival_region: str) -> str:
        """Return it as part of a sentence on two regions."""
        evidence = "for it" if self.term > 0.0 else "against it"
        if self.share is not None and self.rival_share is not None:
            value = "missing" if self.value is None else in_words(self.value)
            shares = f"{percent(self.share)} of {region}, {percent(self.rival_share)} of {rival_region}"
            evidence = f"{value}: {shares}; {evidence}"
        return f"{self.feature} ({evidence})"


class MainEvidence(NamedTuple):
    """Evidence for the region that gives a label most of its probability, against that of its strongest rival.

    Attributes
    ----------
    region, rival_region : str
        The regions of the label, and of the rival, with the largest share; never the background component.
    rival_label : object
    log_odds : float
        Logarithm of the first one's weighted density over the second one's, with the linear terms: the sum of
        `size_and_width` and of all terms.
    size_and_width : float
        The difference of log weights, which is the same at all points: it rises with the number of records of a region
        and falls with its volume.
    terms : tuple of FeatureTerm
        The difference by the distances to both, and the linear term, by feature; the largest first. Positive ones are
        evidence for the label.
    calibration : float
        The part of temperature, corrections and stated class priors: with the log odds it adds up to the logarithm of
        the first one's share over the second one's.
    """

    region: str
    rival_region: str
    rival_label: Any
    log_odds: float
    size_and_width: float
    terms: tuple[FeatureTerm, ...]
    calibration: float

    def in_words(self) -> str:
        """Return a sentence about the largest terms."""
        every = sorted([*self.terms, FeatureTerm("size and width", self.size_and_width)], key=lambda t: -abs(t.term))
        least = max(0.05 * abs(every[0].term), np.finfo(float).tiny)
        most = [t for t in every[:3] if abs(t.term) >= least]
        if not most:
            return f"Nothing parts {self.region} from {self.rival_region} here."
        terms = [t.in_words(self.region, self.rival_region) for t in most]
        return f"What parts {self.region} from {self.rival_region} most: {listed(terms)}."


class Reasons(NamedTuple):
    """Shares of the probabilities of a label and of its rival, and the main evidence for it."""

    shares: tuple[RegionShare, ...] = ()
    against: MainEvidence | None = None


def reasons(model: PartitionModel, x: FloatArray, proba: FloatArray, label: int, vocabulary: Vocabulary) -> Reasons:
    """Return the reasons for a label (by its number) at x; nothing for a model of counts.

    `proba`, of shape (n_classes,), are the model's probabilities of all labels there.
    """
    if not isinstance(model, DensityModel):
        return Reasons()
    densities, z = model.densities, model.units(x)
    others = np.where(np.arange(len(proba)) == label, -1.0, proba)
    rival = int(others.argmax())
    logs, joint = densities.by_component(z[None])[0], densities.log_joint(z[None])
    calibration, known = model.calibration, known_share(z[None])
    temperature = float(calibration.temperature_at(known)[0, 0])
    correction = calibration.correction_at(known)[0]
    background = float(calibration.background(log_density(joint))[0])
    by_regions = calibration.by_regions(joint, known, z[None])[0]
    shift = np.ones(len(proba)) if model.policy is None else model.policy.shift
    by_all = (1.0 - background) * by_regions + background * calibration.class_share
    place, weight = (0, 0.0)
    nearby = np.zeros(len(proba))
    if calibration.local is not None:
        (place,), (weight,) = (found.tolist() for found in calibration.local.at(z[None]))
        nearby = weight * calibration.local.shares(np.array([place]))[0]
        by_all = (1.0 - weight) * by_all + nearby
    stated = shift if (shift == 1.0).all() else shift / float(by_all @ shift)
    n, names, regions = int(model.class_count.sum()), model.region_names(), model.regions_by_component()
    shares: list[RegionShare] = []
    for k in (label, rival):
        name = plain(model.classes[k])
        parts = stated[k] * (1.0 - weight) * (1.0 - background) * by_regions[k] * np.exp(logs - joint[0, k])
        own = [
            RegionShare(names[c], name, float(parts[c]), densities.size(c, n), len(regions[c]))
            for c in np.flatnonzero(densities.codes == k).tolist()
        ]
        if model.is_calibrated:
            by_background = stated[k] * (1.0 - weight) * background * calibration.class_share[k]
            own.append(RegionShare(BACKGROUND, name, float(by_background), n))
        if calibration.local is not None and nearby[k] > 0.0:
            own.append(
                RegionShare(NEARBY, name, float(stated[k] * nearby[k]), round(calibration.local.counts[place, k]))
            )
        shares += sorted(own, key=lambda s: -s.share)
    pair, linear = (np.array([label]), np.array([rival])), calibration.linear
    found = feature_terms(densities, z[None], *pair, linear)
    best, against = int(found.best[0]), int(found.against[0])
    log_weights = densities.marginal(densities.known_of(z)).log_weights if has_gaps(z) else densities.log_weights
    return Reasons(
        tuple(shares),
        MainEvidence(
            region=names[best],
            rival_region=names[against],
            rival_label=plain(model.classes[rival]),
            log_odds=float(logs[best] - logs[against])
            + (0.0 if linear is None else float(linear.by_feature(z[None], *pair).sum())),
            size_and_width=float(log_weights[best] - log_weights[against]),
            terms=_by_columns(found.values[0], densities, z, x, (best, against), vocabulary),
            calibration=float((1.0 / temperature - 1.0) * (joint[0, label] - joint[0, rival]))
            + float(correction[label] - correction[rival])
            + float(np.log(shift[label]) - np.log(shift[rival])),
        ),
    )


def _by_columns(
    terms: FloatArray,
    densities: LocalDensities,
    z: FloatArray,
    x: FloatArray,
    components: tuple[int, int],
    vocabulary: Vocabulary,
) -> tuple[FeatureTerm, ...]:
    """Return the terms of the features, shape (d,), by columns; the largest first."""
    # For a missing value the only evidence is that of its indicator.
    names = [f"that {word.name} is missing" if has_gaps(x[word.at]) else word.name for word in vocabulary.words]
    found = [FeatureTerm(name, float(terms[w.at].sum())) for name, w in zip(names, vocabulary.words, strict=True)]
    if densities.shares is not None:
        logs = np.full((2, len(z)), np.nan)
        for row, component in zip(logs, components, strict=True):
            row[densities.shares.categories.features] = densities.shares.by_feature(z[None], component)[0]
        own, rival = (np.exp([row[word.at].sum() for word in vocabulary.words]).tolist() for row in logs)
        found = [
            one if np.isnan(a) else one._replace(value=vocabulary.own_value(word, x), share=a, rival_share=b)
            for one, word, a, b in zip(found, vocabulary.words, own, rival, strict=True)
        ]
    return tuple(sorted(found, key=lambda t: -abs(t.term)))


class Terms(NamedTuple):
    """Strongest components of two classes at n points, and the terms of features in the log odds, shape (n, d).

    Positive terms are evidence for the first class.
    """

    best: IntArray
    against: IntArray
    values: FloatArray


def feature_terms(
    densities: LocalDensities,
    points: FloatArray,
    label: IntArray,
    rival: IntArray,
    linear: LinearTerms | None = None,
) -> Terms:
    """Return the terms of features in the log odds between the strongest component of a label and that of its rival.

    The terms of a point are those of `MainEvidence`, in the order of the features: with the difference of log weights
    they add up to the log odds. Points, of shape (n, d), are in the units of the densities; missing values have a term
    of 0, and log weights are then those of the marginal densities. `label` and `rival` are numbers of classes, shape
    (n,). The linear terms of a calibration are parts of these terms.
    """
    if linear is not None:
        found = feature_terms(densities, points, label, rival)
        return found._replace(values=found.values + linear.by_feature(points, label, rival))
    if has_gaps(points):
        found = Terms(np.empty_like(label), np.empty_like(rival), np.zeros_like(points))
        for rows, known, there in _by_pattern(densities, points):
            some = feature_terms(there, points[rows][:, known], label[rows], rival[rows])
            found.best[rows], found.against[rows], found.values[np.ix_(rows, known)] = some
        return found
    logs = densities.by_component(points)
    best, against = (_strongest(densities, logs, codes) for codes in (label, rival))
    own, other = (_log_kernels(densities, logs, points, components) for components in (best, against))
    return Terms(best, against, own - other)


def _by_pattern(densities: LocalDensities, points: FloatArray) -> Iterator[tuple[IntArray, BoolArray, LocalDensities]]:
    """Yield the rows of each pattern of missing values, their known features, and the marginal densities of these."""
    for rows, _ in rows_by_gaps(points):
        known = densities.known_of(points[rows[0]])
        yield rows, known, densities if known.all() else densities.marginal(known)


def _strongest(densities: LocalDensities, logs: FloatArray, codes: IntArray) -> IntArray:
    """Return the component of a class that has the largest share at each point, shape (n,)."""
    return np.asarray(np.where(densities.codes == codes[:, None], logs, -np.inf).argmax(axis=1))


def _log_kernels(densities: LocalDensities, logs: FloatArray, points: FloatArray, components: IntArray) -> FloatArray:
    """Return the logarithm of a component's kernel, as terms of a sum over features, shape (n, d)."""
    found = np.empty_like(points)
    for component in np.unique(components).tolist():
        here = components == component
        squares = squares_to(densities, component, points[here])
        whole = squares.sum(axis=1)
        # The sum of the terms is the number behind the probability, whatever the rounding of the squares.
        log_kernel = logs[here, component] - densities.log_weights[component]
        if densities.shares is not None:
            of_values = densities.shares.by_feature(points[here], component)
            log_kernel -= of_values.sum(axis=1)
        found[here] = squares * (log_kernel / np.where(whole > 0.0, whole, 1.0))[:, None]
        if densities.shares is not None:
            found[np.ix_(here, densities.shares.categories.features)] += of_values
    return found


def squares_to(densities: LocalDensities, component: int, points: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances to a component as sums over features, shape (n, d), some of them negative.

    Indicators of categories, whose values have shares of their own, add to them only beyond 0 and 1; missing features
    add nothing.
    """
    if has_gaps(points):
        squares = np.zeros_like(points)
        for rows, known, there in _by_pattern(densities, points):
            squares[np.ix_(rows, known)] = squares_to(there, component, points[rows][:, known])
        return squares
    center, frame = densities.frame(component)
    reach = FARTHEST * densities.unit
    away = np.clip(points[:, densities.numbers], densities.center - reach, densities.center + reach) - center
    squares = np.zeros_like(points)
    squares[:, densities.numbers] = away * ((away @ frame) @ frame.T)
    if densities.shares is not None:
        categories = densities.shares.categories
        squares[:, categories.features] = categories.squares_beyond(points)
    return squares


def strange_features(model: PartitionModel, x: FloatArray, vocabulary: Vocabulary) -> tuple[FeatureShare, ...]:
    """Return the most unusual values of a point, compared with the region where it is least strange.

    Each has its share of the squared distance, the largest first, and the mean of that region's records as reference.
    Where relations between columns are what makes it strange, it is the share of squared departures, and the reference
    what the other values, or the class, make expected. There are none for a model of counts.
    """
    if not isinstance(model, DensityModel):
        return ()
    densities, z, relations = model.densities, model.units(x), model.calibration.relations
    found = None if relations is None else relations.strangest(z, float(log_density(densities.log_joint(z[None]))[0]))
    if relations is not None and found is not None:
        expected = z.copy()
        expected[relations.columns] = found.expected
        squares = np.zeros(len(z))
        squares[relations.columns] = np.square(found.sizes)
        # Beside a value far off, others are off only by what it makes of them.
        squares[squares < min(1.0, squares.max())] = 0.0
        return _largest(squares, x, model.original(expected), vocabulary, found.from_others)
    nearest = int(densities.by_component(z[None])[0].argmax())
    squares = squares_to(densities, nearest, z[None])[0]
    if densities.shares is not None:
        # The exponent of a density has minus half a square where that of a category has the logarithm of a share.
        logs = densities.shares.by_feature(z[None], nearest)[0]
        squares[densities.shares.categories.features] -= 2.0 * np.where(np.isnan(logs), 0.0, logs)
    mean = model.original(densities.mean(nearest))
    return _largest(squares, x, mean, vocabulary)


def _largest(
    squares: FloatArray, x: FloatArray, reference: FloatArray, vocabulary: Vocabulary, from_others: bool = False
) -> tuple[FeatureShare, ...]:
    """Return the five columns with the largest sums of these squares of the features, shape (d,)."""
    # With correlated features a column may have a negative sum, which is no part of the strangeness.
    away = [(max(float(squares[word.at].sum()), 0.0), word) for word in vocabulary.words]
    whole = sum(part for part, _ in away)
    most = sorted((pair for pair in away if pair[0] > 0.0), key=lambda pair: -pair[0])[:5]
    return tuple(
        FeatureShare(
            word.name,
            vocabulary.own_value(word, x),
            vocabulary.value(word, reference),
            part / whole,
            word.is_level,
            from_others=from_others,
        )
        for part, word in most
    )


def shares_in_words(shares: Sequence[RegionShare], label: Any, trust: float, is_stated: bool) -> Iterator[str]:
    """Yield sentences on the regions behind a label's probability, and on those of its strongest rival.

    `shares` has those of the label first, then those of its rival; `is_stated`: class priors were stated.
    """
    own, others = ([s for s in shares if (s.label == label) is wanted] for wanted in (True, False))
    raw = "" if any(s.is_background for s in shares) else " (not calibrated)"
    as_in = "stated" if is_stated else "in training"
    yield f"Predicted {label} with a trust of {percent(trust)}{raw}{_parts(own, 3, True, as_in)}."
    parts = _parts(others, 2, not any(s.is_background for s in _large(own)), as_in)
    yield f"Its strongest rival is {others[0].label} with {percent(probability(others))}{parts}."


def probability(shares: Sequence[RegionShare]) -> float:
    """Return the probability that shares of one label add up to."""
    return float(sum(s.share for s in shares))


def _large(shares: Sequence[RegionShare]) -> list[RegionShare]:
    return [s for s in shares if s.share >= _LEAST_IN_TEXT]


def _parts(shares: Sequence[RegionShare], n_regions: int, is_new: bool, frequent_as: str) -> str:
    """Return the largest shares of one label as the end of a sentence; `is_new` as in `RegionShare.in_words`."""
    large = _large(shares)
    regions = [s for s in large if not s.is_background][:n_regions]
    named = [s for s in large if s.is_background or s in regions]
    rest = [s for s in shares if s not in named and not s.is_background]
    parts = [(s.share, s.in_words(is_new, frequent_as)) for s in named]
    if named and probability(rest) >= _LEAST_IN_TEXT:
        parts.append((probability(rest), many(len(rest), "other region")))
    if len(parts) == 1:
        return f", by {parts[0][1]}"
    return f": {listed([f'{percent(share)} by {who}' for share, who in parts])}" if parts else ""
