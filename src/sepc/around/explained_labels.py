"""The making of explanations around another model: what adds up to the trust, and how often the model was right."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing

from sepc.around.asked_changes import ChangeFinder
from sepc.around.constants import ENOUGH_HELD_OUT
from sepc.around.trusted_explanation import (
    AUDIBLE,
    BACKGROUND,
    CORRECTION,
    FAR_AWAY,
    REGIONS,
    REST_OF_REGIONS,
    STATED,
    HeldOutRecord,
    TrustedExplanation,
    TrustPart,
)
from sepc.around.trusted_model import Parts, TrustedModel
from sepc.common.frames import plain
from sepc.common.intervals import exact_interval
from sepc.common.typing import FloatArray, IntArray
from sepc.explanations.change_limits import ChangeLimits
from sepc.explanations.evidence import Contributions, Evidence, evidences_of, log_ratio
from sepc.explanations.explanation import Explanation, explain, known_or_none, with_rivals
from sepc.explanations.neighbours import nearest_of_others
from sepc.explanations.notes import MissingNote, policy_note
from sepc.explanations.places import FeatureShare
from sepc.explanations.region_words import region_words
from sepc.explanations.shares import reasons
from sepc.explanations.short_text import Acceptance
from sepc.explanations.vocabulary import Vocabulary
from sepc.geometry.chunks import chunk_slices

if TYPE_CHECKING:
    from sepc.around.trusted_classifier import TrustedClassifier


_AT_ONCE = 128


def explain_trusted(clf: "TrustedClassifier", X: Any, scores: Any, limits: Any) -> list[TrustedExplanation]:
    """Explain the labels of records; `limits` are keywords of `ChangeLimits.of`, None if no change is asked for."""
    points, vocabularies = clf.points(X, scores), clf._vocabularies(X)
    asked, found = None, list[TrustedExplanation]()
    if limits is not None and len(points):
        asked = ChangeLimits.of(vocabularies[0].names, **limits, kept=clf.change_limits).for_columns(vocabularies[0])
    for rows in chunk_slices(len(points), _AT_ONCE):
        some = _safe_indexing(X, np.arange(rows.start, rows.stop))
        found += _explained(clf, some, points[rows], vocabularies[rows], asked)
    return found


def _explained(
    clf: "TrustedClassifier", X: Any, points: FloatArray, vocabularies: list[Any], limits: ChangeLimits | None
) -> list[TrustedExplanation]:
    model, regions = clf.model_, clf.model_.regions
    features, asked, parts = points[:, : len(model.features)], model.asked(points), model.parts(points)
    a, labels = clf._assessed(points, X), model.decide(points).label
    proba = parts.combined if model.policy is None else model.policy.posterior(parts.combined)
    codes, vocabulary = with_rivals(labels, proba), vocabularies[0]
    of_records = zip(asked.log_probabilities, parts.regions.proba, parts.combined, proba, codes, strict=True)
    sums = [_sum_of(clf, *of_record) for of_record in of_records]
    evidence = _evidences(model, features, codes, parts, sums, vocabularies)
    acceptance, by_regions = Acceptance.of(a, clf.promise), explain(regions, features, vocabularies)
    others = nearest_of_others(regions, features, labels, vocabulary)
    held_out = _held_out(model, parts, asked.codes, vocabulary)
    gaps, finder = clf._gaps(X), ChangeFinder(clf, limits)
    found = []
    for i, own in enumerate(by_regions):
        changes = finder.of(_safe_indexing(X, [i]), features[i], int(labels[i]), vocabularies[i])
        missing = None if own.missing is None else MissingNote(*own.missing[:2], float(a.trust[i]))
        found.append(
            TrustedExplanation(
                label=plain(a.label[i]),
                trust=float(a.trust[i]),
                odds=float(a.odds[i]),
                reason=str(a.reason[i]),
                region=str(a.region[i]),
                typicality=known_or_none(a.typicality[i]),
                stability=known_or_none(a.stability[i]),
                model=clf.model_name,
                model_label=plain(model.classes[asked.codes[i]]),
                model_probability=known_or_none(asked.given[i]),
                keeps_label=model.keeps_labels,
                held_out=held_out[i],
                regions=replace(own, neighbours=(), nearest_other=None),
                parts=sums[i],
                evidence=evidence[i]._replace(rival_probability=float(proba[i, codes[i, 1]])),
                acceptance=acceptance[i],
                strange_features=_unusual(own, vocabularies[i], gaps[i]) if a.reason[i] == "strange" else (),
                neighbours=own.neighbours,
                counterfactual=changes.smallest,
                actionable_change=changes.actionable,
                no_change_because=changes.none_because,
                nearest_other=others[i],
                unit=model.unit,
                limits="" if limits is None else limits.in_words(),
                policy=policy_note(model, proba[i]),
                missing=missing,
                beyond=own.beyond,
            )
        )
    return found


def _unusual(own: Explanation, vocabulary: Any, gaps: tuple[str, ...]) -> tuple[FeatureShare, ...]:
    """Return the most unusual values of a strange record: those that are gaps first."""
    first = vocabulary.gaps(gaps) if gaps else ()
    return (*first, *(share for share in own.strange_features if share.feature not in gaps))


def _sum_of(
    clf: "TrustedClassifier",
    answers: FloatArray,
    by_regions: FloatArray,
    combined: FloatArray,
    proba: FloatArray,
    pair: IntArray,
) -> tuple[TrustPart, ...]:
    """Return what adds up to the log odds of a label against its rival, from the probabilities of one record."""
    stack, log_regions = clf.model_.stack, np.log(by_regions)
    says = [float(one[pair[0]] - one[pair[1]]) for one in (answers, log_regions)]
    weights, leaning = stack.weights.tolist(), float(stack.leaning[pair[0]] - stack.leaning[pair[1]])
    added = [weight * said for weight, said in zip(weights, says, strict=True)]
    stacked = log_ratio(stack.posterior([answers[None], log_regions[None]])[0, pair])
    near, stated = log_ratio(combined[pair]), log_ratio(proba[pair])
    # Unless a record is far away, the class shares that take over there are a part of the background.
    far = near - stacked if abs(near - stacked) >= AUDIBLE else 0.0
    background = near - far - sum(added) - leaning
    others = {CORRECTION: leaning, BACKGROUND: background, FAR_AWAY: far, STATED: stated - near}
    names = clf.model_name, REGIONS
    return (
        *(TrustPart(*one) for one in zip(names, says, weights, added, strict=True)),
        *(
            TrustPart(name, None, None, part)
            for name, part in others.items()
            if part or name in (CORRECTION, BACKGROUND)
        ),
    )


def _evidences(
    model: TrustedModel,
    X: FloatArray,
    codes: IntArray,
    parts: Parts,
    sums: list[tuple[TrustPart, ...]],
    vocabularies: list[Vocabulary],
) -> list[Evidence]:
    """Return the evidence for labels against their rivals: the columns by the regions, with the weight of these."""
    weight, terms = float(model.stack.weights[1]), []
    for one, (own, by_regions, *others) in zip(reasons(model.regions, X, codes, vocabularies[0]), sums, strict=True):
        columns = weight * one.contributions.columns
        rest = by_regions.log_odds - float(columns.sum())
        named = {part.part: part.log_odds for part in others}
        terms.append(Contributions(columns, {own.part: own.log_odds, REST_OF_REGIONS: rest, **named}))
    whole = np.array([sum(part.log_odds for part in one) for one in sums])
    return evidences_of(model.regions, X, codes, parts.regions.proba, whole, terms, vocabularies)


def _held_out(model: TrustedModel, parts: Parts, given: IntArray, vocabulary: Vocabulary) -> list[HeldOutRecord]:
    """Return how often the model was right on held-out records of the same component, with the same label."""
    regions, record = model.regions, model.track_record
    names, described = regions.region_names(), region_words(regions, vocabulary)
    components, found = regions.densities.claims_within(parts.Z, parts.regions.label), []
    has_values = ~np.all(np.isnan(parts.Z), axis=1)  # a record without any lies in no region
    for component, label, has_any in zip(components.tolist(), given.tolist(), has_values.tolist(), strict=True):
        everywhere = int(record.right[:, label].sum()), int(record.n[:, label].sum())
        there = int(record.right[component, label]), int(record.n[component, label])
        is_enough = has_any and there[1] >= ENOUGH_HELD_OUT
        name = names[component] if is_enough else None
        right, n = there if is_enough else everywhere
        words = described.get(names[component], "") if is_enough else None
        found.append(HeldOutRecord(name, words, right, n, *exact_interval(right, n), *everywhere))
    return found
