"""Shares of a label's probability by region, and what adds up to its log odds against its rival.

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
from sepc.common.text import listed, many, percent
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import has_gaps, known_share
from sepc.explanations.evidence import Contributions, chain_terms, contributions, differences, log_ratio
from sepc.explanations.places import FeatureShare
from sepc.explanations.vocabulary import Vocabulary
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

    @property
    def is_region(self) -> bool:
        """Whether it is a region, neither the background component nor the records nearby."""
        return self.region not in (BACKGROUND, NEARBY)

    def in_words(self, is_stated: bool = False, description: str = "") -> str:
        """Return it as part of a sentence; `is_stated`: class priors were stated."""
        if self.region == NEARBY:
            return f"the {many(self.records, 'record')} of {self.label} right around it"
        if self.is_background:
            return f"the {'stated' if is_stated else 'training'} shares of the labels"
        about = f" with {description}" if description else ""
        if self.region.endswith("@"):
            return f"{many(self.records, 'record')} of {self.label} outside every region{about and f' ({about[6:]})'}"
        name = f"region {self.region.removesuffix('+')}"
        name += f" and {self.n_regions - 1} like it" if self.n_regions > 1 else ""
        return f"{name} ({many(self.records, 'record')}{about})"


class _Regions:
    """Components and labels of a model, as shares of a probability name them."""

    def __init__(self, model: DensityModel) -> None:
        self.n, self.codes = int(model.class_count.sum()), model.densities.codes
        self.labels, self.is_calibrated = [plain(label) for label in model.classes], model.is_calibrated
        named = zip(model.region_names(), model.regions_by_component(), self.codes.tolist(), strict=True)
        self.known = [
            (name, self.labels[code], model.densities.size(c, self.n), len(regions))
            for c, (name, regions, code) in enumerate(named)
        ]

    def shares(
        self, k: int, by_regions: FloatArray, by_background: FloatArray, nearby: FloatArray, counts: FloatArray
    ) -> list[RegionShare]:
        """Return the shares of the probability of class k at a point, the largest first.

        `by_regions`, shape (n_components,), are those of the components; of the background component, and of the
        records nearby, there is one number for each class.
        """
        found = [
            RegionShare(name, label, float(by_regions[c]), records, n_regions)
            for c, (name, label, records, n_regions) in enumerate(self.known)
            if self.codes[c] == k
        ]
        if self.is_calibrated:
            found.append(RegionShare(BACKGROUND, self.labels[k], float(by_background[k]), self.n))
        if nearby[k] > 0.0:
            found.append(RegionShare(NEARBY, self.labels[k], float(nearby[k]), round(counts[k])))
        return sorted(found, key=lambda s: -s.share)


class Reasons(NamedTuple):
    """Shares of the probabilities of a label and of its rival, and what adds up to the log odds between them."""

    shares: tuple[RegionShare, ...]
    log_odds: float
    contributions: Contributions


def reasons(model: DensityModel, X: FloatArray, codes: IntArray, vocabulary: Vocabulary) -> list[Reasons]:
    """Return the reasons for labels at X, (n, d), against their rivals; `codes`, (n, 2), are the numbers of both."""
    densities, Z, calibration = model.densities, model.units(X), model.calibration
    logs, joint, known = densities.by_component(Z), densities.log_joint(Z), known_share(Z)
    background = calibration.background(log_density(joint))[:, None]
    by_regions = calibration.by_regions(joint, known, Z)
    weight, counts = _nearby(model, Z)
    nearby = weight * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    by_all = (1.0 - weight) * ((1.0 - background) * by_regions + background * calibration.class_share) + nearby
    shift = np.ones(by_all.shape[1]) if model.policy is None else model.policy.shift
    # As arrays of single records: sums of products may depend on their number.
    stated = np.array([shift if (shift == 1.0).all() else shift / float(one @ shift) for one in by_all])
    of_regions = stated * (1.0 - weight) * (1.0 - background) * by_regions
    of_components = of_regions[:, densities.codes] * np.exp(logs - joint[:, densities.codes])
    of_background, nearby_stated = stated * (1.0 - weight) * background * calibration.class_share, stated * nearby
    regions = _Regions(model)
    shares = [
        tuple(share for k in pair for share in regions.shares(k, *of_record))
        for pair, *of_record in zip(codes.tolist(), of_components, of_background, nearby_stated, counts, strict=True)
    ]
    found = _contributions(model, Z, joint, nearby, weight, codes, vocabulary)
    return [Reasons(of_record, *one) for of_record, one in zip(shares, found, strict=True)]


def _nearby(model: DensityModel, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights, (n, 1), and counts of labels, (n, n_classes), of the places that points, (n, d), are at."""
    local = model.calibration.local
    if local is None:
        return np.zeros((len(Z), 1)), np.zeros((len(Z), len(model.classes)))
    place, weight = local.at(Z)
    return weight[:, None], local.counts[place]


def _contributions(
    model: DensityModel,
    Z: FloatArray,
    joint: FloatArray,
    nearby: FloatArray,
    weight: FloatArray,
    codes: IntArray,
    vocabulary: Vocabulary,
) -> list[tuple[float, Contributions]]:
    """Return the log odds of labels against their rivals, and the contributions that add up to them.

    `nearby`, shape (n, n_classes), are the shares of the labels at places times their weights, shape (n, 1).
    """
    calibration, known = model.calibration, known_share(Z)
    temperature = np.broadcast_to(calibration.temperature_at(known), (len(Z), 1))
    columns = [np.arange(word.at.start, word.at.stop) for word in vocabulary.words]
    terms = chain_terms(
        model.densities, Z, columns, lambda joint, rows: differences(joint, codes[rows]) / temperature[rows, :, None]
    )
    log_share = joint / temperature + calibration.correction_at(known)
    if calibration.linear is not None:
        log_share = log_share + calibration.linear.log_odds(Z)
        linear = calibration.linear.by_feature(Z, codes[:, 0], codes[:, 1])
        terms += np.column_stack([linear[:, own].sum(axis=1) for own in columns])
    log_share = log_share - np.logaddexp.reduce(log_share, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        share = calibration.background(log_density(joint))[:, None]
        whole = np.logaddexp(log_share + np.log1p(-share), np.log(share) + np.log(calibration.class_share))
        final = np.logaddexp(whole + np.log1p(-weight), np.log(nearby))
    by_regions, without_nearby, by_all = (differences(one, codes) for one in (log_share, whole, final))
    shift = None if model.policy is None else model.policy.shift
    return [
        contributions(
            terms[i],
            class_shares=log_ratio(model.class_count[pair]),
            stated=0.0 if shift is None else log_ratio(shift[pair]),
            by_regions=float(by_regions[i]),
            without_nearby=float(without_nearby[i]),
            by_all=float(by_all[i]),
        )
        for i, pair in enumerate(codes)
    ]


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

    With the difference of log weights the terms of a point add up to the log odds of its two components. Points, of
    shape (n, d), are in the units of the densities; missing values have a term of 0, and log weights are then those of
    the marginal densities. `label` and `rival` are numbers of classes, shape (n,). The linear terms of a calibration
    are parts of these terms.
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


def shares_in_words(
    shares: Sequence[RegionShare],
    trust: float,
    is_stated: bool,
    descriptions: dict[str, str],
    subject: str = "The trust",
) -> Iterator[str]:
    """Yield sentences on the regions behind a label's probability, and on those of its strongest rival.

    `shares` has those of the label first, then those of its rival; `is_stated`: class priors were stated. The first
    sentence is on the `subject`.
    """
    own, others = ([s for s in shares if (s.label == shares[0].label) is wanted] for wanted in (True, False))
    yield f"{subject} is {percent(trust)}{_parts(own, 3, is_stated, descriptions)}."
    rival = f"The strongest rival is {others[0].label} with {percent(probability(others))}"
    yield f"{rival}{_parts(others, 2, is_stated, descriptions)}."


def probability(shares: Sequence[RegionShare]) -> float:
    """Return the probability that shares of one label add up to."""
    return float(sum(s.share for s in shares))


def _large(shares: Sequence[RegionShare]) -> list[RegionShare]:
    return [s for s in shares if s.share >= _LEAST_IN_TEXT]


def _parts(shares: Sequence[RegionShare], n_regions: int, is_stated: bool, descriptions: dict[str, str]) -> str:
    """Return the largest shares of one label as the end of a sentence."""
    large = _large(shares)
    regions = [s for s in large if s.is_region][:n_regions]
    named = [s for s in large if not s.is_region or s in regions]
    rest = [s for s in shares if s not in named and s.is_region]
    parts = [(s.share, s.in_words(is_stated, descriptions.get(s.region, ""))) for s in named]
    if named and probability(rest) >= _LEAST_IN_TEXT:
        parts.append((probability(rest), many(len(rest), "other region")))
    if len(parts) < 2:
        return "".join(f" from {who}" for _, who in parts)
    return f": {listed([f'{percent(share)} from {who}' for share, who in parts])}"
