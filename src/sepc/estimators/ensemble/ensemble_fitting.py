"""Fits of an ensemble: from a checked training set to members and their weights."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.utils.parallel import Parallel, delayed

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.constants import CHUNK, CORE_NUMBERS
from sepc.estimators.ensemble.constants import ALL_AT_MOST, FEW_FEATURES, HALF_AT_MOST, RELEVANCE_FLOOR, ROUND
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.estimators.ensemble.feature_views import PLAIN, SCORES, SEEN_IN, STEPS, FeatureViews
from sepc.estimators.ensemble.growth import Grown, grow, predicted_apart
from sepc.estimators.ensemble.members import Plan, Prediction
from sepc.estimators.ensemble.stacking import learn_stack, learn_strangeness
from sepc.estimators.held_out_parts import groups_of
from sepc.estimators.local_calibration import with_places
from sepc.estimators.progress import Progress
from sepc.estimators.records import Apart, ArrangedSet, Core, class_slices
from sepc.estimators.relating import learn_relations, with_relations
from sepc.geometry.chunks import Extents, chunk_slices
from sepc.model.category_shares import found_categories, moments_about
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.reach import Reach
from sepc.partitions.algorithm import impurity_count


class EnsembleSettings(NamedTuple):
    """Parameters of an ensemble that a fit depends on."""

    n_estimators: int
    n_imp: int | float
    max_features: str | int | float
    n_jobs: int | None

    def check(self) -> None:
        """Refuse what makes no sense before anything is computed."""
        impurity_count(self.n_imp, 1)
        n = self.n_estimators
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise InputError("n-estimators", n_estimators=n)
        self.sizes(1)

    def sizes(self, d: int) -> list[int]:
        """Return the numbers of columns, of d, that members take turns with; a category is one column."""
        size = self.max_features
        if isinstance(size, str) and size == "auto":
            return [min(ALL_AT_MOST, d), min(HALF_AT_MOST, max(2, -(-d // 2))), FEW_FEATURES]
        if isinstance(size, Integral) and not isinstance(size, bool) and size >= 1:
            return [min(int(size), d)]
        if isinstance(size, Real) and not isinstance(size, Integral) and 0.0 < size <= 1.0:
            return [max(1, round(float(size) * d))]
        raise InputError("max-features", max_features=size)


class FittedEnsemble(NamedTuple):
    """A model, and out-of-fold probabilities of the training rows, shape (n, n_classes)."""

    model: EnsembleModel
    out_of_fold_proba: FloatArray


def fit_ensemble(
    training: ArrangedSet,
    features: list[str],
    settings: EnsembleSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> FittedEnsemble:
    """Make the members, and learn their weights; `rng` draws features and folds."""
    X, codes, gaps = training.points, training.codes.astype(np.int64), training.gaps
    views = FeatureViews.of(X)
    by_view = views(X)
    # Members that see scores model categories as features like all others: different models know more together.
    plain = by_view[PLAIN]
    extents = Extents.of([plain[rows] for rows in class_slices(training.class_count)])
    units = views.plain.mean, views.plain.scale
    categories = found_categories(extents, lambda origin: moments_about(origin, plain), *units)
    groups = () if categories is None else categories.groups
    columns = columns_of(X.shape[1], groups)
    sizes = settings.sizes(len(columns))
    # Weights are learnt from 40,000 points, or up to twice as many: more would not change them.
    few = slice(None, None, max(len(codes) // 40_000, 1))
    chances = column_chances(X[few], codes[few], columns)
    equal = groups_of(X, codes)
    at_most, has_numbers = max(ALL_AT_MOST, *sizes), len(columns) > len(groups)
    planned = plans(columns, chances, settings.n_estimators, sizes, at_most, has_numbers, rng)
    some = np.arange(len(codes))[few]
    jobs = (
        delayed(grow)(
            plan,
            by_view[SEEN_IN[plan.view]][:, plan.features],
            codes,
            training.classes,
            settings.n_imp,
            categories.among(plan.features) if categories is not None and plan.view == PLAIN else None,
            None if gaps is None else gaps[:, plan.features],
            equal,
            some,
        )
        for plan in planned
    )
    grown: list[Grown] = []
    for done in Parallel(n_jobs=settings.n_jobs, return_as="generator")(jobs):
        grown.append(done)
        progress.of(0)(len(grown), len(planned))
    if training.apart is None:
        out_of_fold = [one.out_of_fold for one in grown]
    else:
        out_of_fold = _predicted_apart(planned, training.apart, training.classes, settings)
    predictions = np.stack([one.log_probability for one in out_of_fold])
    log_densities = np.stack([one.log_density for one in out_of_fold])
    known = np.flatnonzero(np.isfinite(predictions).all(axis=(0, 2)))
    stack = learn_stack(predictions[:, known], codes[some][known], training.class_count)
    beyond = np.concatenate([views.beyond(X[rows]).max(axis=1) for rows in chunk_slices(len(X), CHUNK)])
    strangeness = learn_strangeness(log_densities[:, known], beyond[some][known], training.class_count)
    judging = known[:: max(len(known) * X.shape[1] // CORE_NUMBERS, 1)]
    mine = some[judging]
    seen = plain[mine] if gaps is None else np.where(gaps[mine], np.nan, plain[mine])
    # What records have in columns that their own labels have chosen shows neither relations nor places.
    is_fair, judged = training.apart is None, None
    if is_fair:
        judged = learn_relations(seen, codes[mine], equal.of_record[mine], categories)
    densities = strangeness.score(log_densities[:, judging], beyond[mine])
    calibration = strangeness.calibration
    proba_of_judging = calibration.with_background(stack.posterior(predictions[:, judging]), densities)
    if is_fair:
        calibration = with_places(calibration, seen, codes[mine], [proba_of_judging])
    if judged is not None:
        scores = np.column_stack([-densities, judged.departures])
        calibration = with_relations(calibration, judged.relations, scores)
    strangeness = replace(strangeness, calibration=calibration)
    of_plain, of_scores = (TrainingRecords(points, codes, training.rows, gaps) for points in by_view)
    records = of_plain, of_scores
    model = EnsembleModel(
        classes=training.classes,
        class_count=training.class_count,
        features=features,
        views=views,
        records_by_view=records,
        outline=Outline.of(extents, Reach.of(X if gaps is None else np.where(gaps, np.nan, X))),
        members=[one.member for one in grown],
        stack=stack,
        strangeness=strangeness,
    )
    background = strangeness.calibration.with_background
    proba = np.empty((len(codes), len(training.classes)))
    for rows in chunk_slices(len(codes), CHUNK):
        if len(some) == len(codes):
            of_rows, densities = predictions[:, rows], log_densities[:, rows]
        else:
            of_rows, densities = _out_of_fold(grown, records, rows)
        proba[rows] = background(stack.posterior(of_rows), strangeness.score(densities, beyond[rows]))
    out_of_fold_proba = np.full((training.n_rows, proba.shape[1]), np.nan)  # NaN for rows that are no point
    out_of_fold_proba[training.rows] = proba
    return FittedEnsemble(model, out_of_fold_proba)


def _predicted_apart(
    planned: Sequence[Plan], apart: Apart, classes: NDArray[Any], settings: EnsembleSettings
) -> list[Prediction]:
    """Return the out-of-fold predictions of members that see each part of the records in columns chosen without it."""
    by_part = [(FeatureViews.of(core.points)(core.points), core) for core in apart.cores]

    def seen_by(plan: Plan) -> list[Core]:
        which, own = SEEN_IN[plan.view], plan.features
        gaps = [None if core.gaps is None else core.gaps[:, own] for _, core in by_part]
        return [Core(views[which][:, own], core.codes, of) for (views, core), of in zip(by_part, gaps, strict=True)]

    jobs = (delayed(predicted_apart)(plan, seen_by(plan), apart.part, classes, settings.n_imp) for plan in planned)
    return list(Parallel(n_jobs=settings.n_jobs)(jobs))


def _out_of_fold(
    grown: list[Grown], by_view: tuple[TrainingRecords, TrainingRecords], rows: slice
) -> tuple[FloatArray, FloatArray]:
    """Return log probabilities and densities of training points by all members, each by the part without the point."""
    views = []
    for records in by_view:
        gaps = None if records.gaps is None else records.gaps[rows]
        views.append(records._replace(points=records.points[rows], gaps=gaps).as_they_came)
    found = [one.member.out_of_fold(one.member.points(views), one.fold[rows]) for one in grown]
    return np.stack([one.log_probability for one in found]), np.stack([one.log_density for one in found])


def columns_of(d: int, groups: Sequence[IntArray]) -> list[IntArray]:
    """Return d features as columns: those of one category together, others by themselves, in their order."""
    alone = np.setdiff1d(np.arange(d), np.concatenate([*groups, np.empty(0, dtype=np.int64)]))
    return sorted([*groups, *alone[:, None]], key=lambda column: int(column[0]))


def plans(
    columns: Sequence[IntArray],
    chances: FloatArray,
    n_members: int,
    sizes: Sequence[int],
    most_features: int,
    has_numbers: bool,
    rng: np.random.Generator,
) -> list[Plan]:
    """Choose views and features of the members.

    Views take turns, and so do `sizes`, numbers of columns. Columns are drawn without replacement by their `chances`,
    those drawn last dropped where all have more than `most_features` features. Without a column of numbers
    (`has_numbers`) there is nothing to cut into steps.
    """
    able = int(np.count_nonzero(chances))
    widths = np.array([len(column) for column in columns])
    out = []
    for k in range(n_members):
        view, turn = _turn(k, ROUND if has_numbers else n_members + 1)
        size = min(sizes[turn % len(sizes)], able)
        drawn = rng.choice(len(chances), size, replace=False, p=chances)
        fitting = max(int(np.searchsorted(np.cumsum(widths[drawn]), most_features, side="right")), 1)
        features = np.sort(np.concatenate([columns[j] for j in drawn[:fitting]]))
        out.append(Plan(view, features, int(rng.integers(2**31))))
    return out


def _turn(k: int, in_round: int) -> tuple[int, int]:
    """Return the view of the k-th member, from 0, and the number of its size among all turns."""
    rounds, place = divmod(k, in_round)
    if place == in_round - 1:
        return STEPS, rounds
    pair, which = divmod(k - rounds, 2)
    return (PLAIN, SCORES)[which], pair


def column_chances(X: FloatArray, codes: IntArray, columns: Sequence[IntArray]) -> FloatArray:
    """Return the chance of each column to be drawn first, shape (n_columns,); their sum is 1.

    It grows with the correlation ratio of the ranks of the features of the column, by class. Columns that do not vary
    are never drawn.
    """
    ranks = rankdata(X, axis=0)
    ranks -= ranks.mean(axis=0)
    total = np.square(ranks).sum(axis=0)
    between = np.zeros(X.shape[1])
    for k in range(codes.max() + 1):
        mine = ranks[codes == k]
        between += len(mine) * np.square(mine.mean(axis=0))
    total, between = (np.array([values[column].sum() for column in columns]) for values in (total, between))
    varies = total > 0.0
    if not varies.any():
        return np.full(len(columns), 1.0 / len(columns))
    relevance = np.sqrt(between / np.where(varies, total, 1.0))
    chances = np.where(varies, relevance + RELEVANCE_FLOOR * relevance.max() + 1e-9, 0.0)
    return np.asarray(chances / chances.sum())
