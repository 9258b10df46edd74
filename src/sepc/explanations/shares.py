"""Shares: how much of a label's probability each region gives, and what parts the best one from its rival.

They are the sum that the probability is. With l(c) the logarithm of a component's weight times its density at the
point, J(k) the logarithm of the sum of these over class k, T the temperature, a(k) the correction of class k and b the
background's share,

    p(k) = sum over the components c of k of (1 - b) softmax(J / T + a)(k) exp(l(c) - J(k)), plus b times the share of k

in the training set. So no region is named for a label that does not speak for it. Without a calibration T is 1, a and b
are 0.
Where other shares of the classes are stated, the parts of each label are multiplied by its share over that in training,
and all by one number more, so that probabilities add up to 1 again.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import plain
from sepc.common.text import in_words, listed, many, percent
from sepc.common.typing import FloatArray
from sepc.explanations.feature_terms import feature_terms, squares_to
from sepc.explanations.places import FeatureShare
from sepc.explanations.vocabulary import Value, Vocabulary
from sepc.model.calibration import log_density
from sepc.model.densities import LocalDensities
from sepc.model.density_model import DensityModel
from sepc.model.incomplete import has_gaps, known_share
from sepc.model.partition_model import PartitionModel

BACKGROUND = "background"
_N_STRANGE_FEATURES = 5
_N_REGIONS_IN_TEXT = 3
_N_RIVALS_IN_TEXT = 2
_N_TERMS_IN_TEXT = 3
# What is less would read as 0.0 %.
_LEAST_IN_TEXT = 0.0005
# A term that is smaller than this share of the largest one is not told.
_LEAST_TERM_IN_TEXT = 0.05


class RegionShare(NamedTuple):
    """How much of the probability of a label one region gives.

    Attributes
    ----------
    region : str
        ``benign#2`` is benign's second ellipsoid, ``benign@`` its isolated records, taken together, ``benign#2+``
        several regions that are read as one, of which the second ellipsoid is the first. ``background`` stands for no
        region: labels are as frequent in it as in the training set, or as is stated.
    label : object
        The label that it speaks for.
    share : float
        Part of that label's probability.
    records : int
        How many training records belong to it; after EM iterations the sum of their probabilities to do so, rounded.
    n_regions : int, default=1
        How many regions are read as one in it; isolated records, taken together, count as one.
    """

    region: str
    label: Any
    share: float
    records: int
    n_regions: int = 1

    @property
    def is_background(self) -> bool:
        """Whether it stands for no region."""
        return self.region == BACKGROUND

    def in_words(self, is_new: bool = True, frequent_as: str = "in training") -> str:
        """Return it as part of a sentence; the background is told of at length where it is new."""
        if self.is_background:
            return f"the {BACKGROUND}{f', where labels are as frequent as {frequent_as}' if is_new else ''}"
        records = many(self.records, "isolated record" if self.region.endswith("@") else "record")
        return f"{self.region} ({records}{f' of {self.n_regions} regions' if self.n_regions > 1 else ''})"


class FeatureTerm(NamedTuple):
    """What one feature, of a raw table one column, adds to the log odds between two regions.

    Attributes
    ----------
    feature : str
    term : float
    value : object
        What the record has, where it is a category that is read by the shares of its values; else None.
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
        told = "for it" if self.term > 0.0 else "against it"
        if self.share is not None and self.rival_share is not None:
            value = "missing" if self.value is None else in_words(self.value)
            shares = f"{percent(self.share)} of {region}, {percent(self.rival_share)} of {rival_region}"
            told = f"{value}: {shares}; {told}"
        return f"{self.feature} ({told})"


class Parting(NamedTuple):
    """What parts the region that gives a label most of its probability from the one of its strongest rival.

    Attributes
    ----------
    region, rival_region : str
        Of all the label's regions, and of all the rival's, the one with the largest share; never the background.
    rival_label : object
    log_odds : float
        Logarithm of the first one's weighted density over the second one's, before any calibration: the sum of
        `size_and_width` and of all terms.
    size_and_width : float
        The part that is the same at all points: more records count for a region, and more room counts against it.
    terms : tuple of FeatureTerm
        The part that the distances to the two make up, feature by feature; the largest first. Positive ones speak for
        the label.
    calibration : float
        What calibration adds, and other shares of the classes if they are stated: the logarithm of the first one's
        share over the second one's is the sum of it and of the log odds.
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
        least = max(_LEAST_TERM_IN_TEXT * abs(every[0].term), np.finfo(float).tiny)
        most = [t for t in every[:_N_TERMS_IN_TEXT] if abs(t.term) >= least]
        if not most:
            return f"Nothing parts {self.region} from {self.rival_region} here."
        told = [t.in_words(self.region, self.rival_region) for t in most]
        return f"What parts {self.region} from {self.rival_region} most: {listed(told)}."


class Reasons(NamedTuple):
    """Where the probability of a label comes from: shares of it and of its rival, and what parts their best regions."""

    shares: tuple[RegionShare, ...] = ()
    against: Parting | None = None


def reasons(model: PartitionModel, x: FloatArray, proba: FloatArray, label: int, vocabulary: Vocabulary) -> Reasons:
    """Return where the probability of a label comes from.

    Parameters
    ----------
    model : PartitionModel
    x : ndarray of shape (d,)
        The point, in the units that points come in.
    proba : ndarray of shape (n_classes,)
        Probabilities that the model gives to all labels there.
    label : int
        Number of the label.
    vocabulary : Vocabulary

    Returns
    -------
    Reasons
        Those of a model that only counts are empty.
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
    by_regions = calibration.by_regions(joint, known)[0]
    shift = np.ones(len(proba)) if model.policy is None else model.policy.shift
    by_all = (1.0 - background) * by_regions + background * calibration.class_share
    stated = shift if (shift == 1.0).all() else shift / float(by_all @ shift)
    n, names, regions = int(model.class_count.sum()), model.region_names(), model.regions_by_component()
    shares: list[RegionShare] = []
    for k in (label, rival):
        name = plain(model.classes[k])
        parts = stated[k] * (1.0 - background) * by_regions[k] * np.exp(logs - joint[0, k])
        own = [
            RegionShare(names[c], name, float(parts[c]), densities.size(c, n), len(regions[c]))
            for c in np.flatnonzero(densities.codes == k).tolist()
        ]
        if model.is_calibrated:
            own.append(RegionShare(BACKGROUND, name, float(stated[k] * background * calibration.class_share[k]), n))
        shares += sorted(own, key=lambda s: -s.share)
    found = feature_terms(densities, z[None], np.array([label]), np.array([rival]))
    best, against = int(found.best[0]), int(found.against[0])
    log_weights = densities.marginal(densities.known_of(z)).log_weights if has_gaps(z) else densities.log_weights
    return Reasons(
        tuple(shares),
        Parting(
            region=names[best],
            rival_region=names[against],
            rival_label=plain(model.classes[rival]),
            log_odds=float(logs[best] - logs[against]),
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
    """Return the terms of the features, shape (d,), by what is spoken of; the largest first."""
    # Of a missing value only a feature that says so can speak.
    names = [f"that {word.name} is missing" if has_gaps(x[word.at]) else word.name for word in vocabulary.words]
    told = [FeatureTerm(name, float(terms[w.at].sum())) for name, w in zip(names, vocabulary.words, strict=True)]
    if densities.shares is not None:
        logs = np.full((2, len(z)), np.nan)
        for row, component in zip(logs, components, strict=True):
            row[densities.shares.categories.features] = densities.shares.by_feature(z[None], component)[0]
        own, rival = (np.exp([row[word.at].sum() for word in vocabulary.words]).tolist() for row in logs)
        told = [
            one if np.isnan(a) else one._replace(value=vocabulary.asked(word, x), share=a, rival_share=b)
            for one, word, a, b in zip(told, vocabulary.words, own, rival, strict=True)
        ]
    return tuple(sorted(told, key=lambda t: -abs(t.term)))


def strange_features(model: PartitionModel, x: FloatArray, vocabulary: Vocabulary) -> tuple[FeatureShare, ...]:
    """Return the features that take a point furthest from the region where it is least strange.

    Parameters
    ----------
    model : PartitionModel
    x : ndarray of shape (d,)
        In the units that points come in.
    vocabulary : Vocabulary

    Returns
    -------
    tuple of FeatureShare
        A few, with their shares of the squared distance, the largest first; the reference is the mean of that region's
        records. None of a model that only counts.
    """
    if not isinstance(model, DensityModel):
        return ()
    densities, z = model.densities, model.units(x)
    nearest = int(densities.by_component(z[None])[0].argmax())
    squares = squares_to(densities, nearest, z[None])[0]
    if densities.shares is not None:
        # In the exponent of a density half a square stands where the logarithm of a share is.
        logs = densities.shares.by_feature(z[None], nearest)[0]
        squares[densities.shares.categories.features] -= 2.0 * np.where(np.isnan(logs), 0.0, logs)
    mean = model.original(densities.mean(nearest))
    # Where features compensate each other a column may bring the point nearer: it is not what makes it strange.
    away = [(max(float(squares[word.at].sum()), 0.0), word) for word in vocabulary.words]
    whole = sum(part for part, _ in away)
    most = sorted((pair for pair in away if pair[0] > 0.0), key=lambda pair: -pair[0])[:_N_STRANGE_FEATURES]
    return tuple(
        FeatureShare(word.name, vocabulary.asked(word, x), vocabulary.value(word, mean), part / whole, word.is_level)
        for part, word in most
    )


def speakers_in_words(
    shares: Sequence[RegionShare], label: Any, trust: float, is_stated: bool = False
) -> Iterator[str]:
    """Yield sentences on who speaks for a label, and who for its strongest rival.

    Parameters
    ----------
    shares : sequence of RegionShare
        Those of the label first, then those of its rival.
    label : object
    trust : float
    is_stated : bool, default=False
        Whether the shares of the classes are stated, and not those in training.
    """
    own, others = ([s for s in shares if (s.label == label) is wanted] for wanted in (True, False))
    raw = "" if any(s.is_background for s in shares) else " (not calibrated)"
    as_in = "stated" if is_stated else "in training"
    told = _parts(own, _N_REGIONS_IN_TEXT, True, as_in)
    yield f"Predicted {label} with a trust of {percent(trust)}{raw}{told}."
    told = _parts(others, _N_RIVALS_IN_TEXT, not any(s.is_background for s in _large(own)), as_in)
    yield f"Its strongest rival is {others[0].label} with {percent(probability(others))}{told}."


def probability(shares: Sequence[RegionShare]) -> float:
    """Return the probability that shares of one label add up to."""
    return float(sum(s.share for s in shares))


def _large(shares: Sequence[RegionShare]) -> list[RegionShare]:
    return [s for s in shares if s.share >= _LEAST_IN_TEXT]


def _parts(shares: Sequence[RegionShare], n_regions: int, is_new: bool, frequent_as: str) -> str:
    """Return the largest shares of one label as the end of a sentence; the background may be new in it."""
    large = _large(shares)
    regions = [s for s in large if not s.is_background][:n_regions]
    named = [s for s in large if s.is_background or s in regions]
    rest = [s for s in shares if s not in named and not s.is_background]
    told = [(s.share, s.in_words(is_new, frequent_as)) for s in named]
    if named and probability(rest) >= _LEAST_IN_TEXT:
        told.append((probability(rest), many(len(rest), "other region")))
    if len(told) == 1:
        return f", by {told[0][1]}"
    return f": {listed([f'{percent(share)} by {who}' for share, who in told])}" if told else ""
