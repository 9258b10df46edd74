"""Choice of n_imp, the number of impurities to allow, by cross-validation and a stated rule."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from sepc.common.errors import InputError, SepcWarning
from sepc.common.frames import FrameMaker, records
from sepc.common.splits import stratified_parts
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import has_gaps, training_set
from sepc.estimators.classifier import SEPClassifier
from sepc.metrics import augrc, aurc
from sepc.model.incomplete import completed
from sepc.model.verdicts import Rule
from sepc.partitions.algorithm import impurity_count
from sepc.partitions.ordering import canonical_order

OnStep = Callable[[int, int], None]
METRICS = ("aurc", "augrc", "error")
RULES = ("one_se", "best")
# Means of risks that differ by less are equal.
_ROUNDING = 1e-12


class FoldResult(NamedTuple):
    """Measures of one fit on the other folds, taken on the records of one fold.

    Attributes
    ----------
    aurc, augrc : float
        Of the labels, by trust.
    error, outside : float
        Shares of wrong labels, and of records outside every ellipsoid.
    n_ellipsoids : int
    density : float
        Log of the number of training records in an ellipsoid minus its log volume in the original units; the mean over
        the ellipsoids, weighted by these numbers. NaN without ellipsoids.
    """

    aurc: float
    augrc: float
    error: float
    outside: float
    n_ellipsoids: int
    density: float


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class NImpPath:
    """Cross-validated risk over n_imp, and the value chosen; `select_n_imp` returns it.

    Attributes
    ----------
    candidates : tuple of int or float
        Values of n_imp, by their counts.
    counts : tuple of int
        These counts, in the binary problem where they are least.
    results : tuple of tuple of FoldResult
        For each candidate, one for each fold; the folds are the same for all.
    metric : {"aurc", "augrc", "error"}
        The risk that decides.
    rule : {"one_se", "best"}
        How it decides.
    estimator : SEPClassifier
        Unfitted.

    Examples
    --------
    >>> few, many = (FoldResult(a, a, a, 0.0, 9, 0.0) for a in (0.10, 0.14))
    >>> path = NImpPath((0, 5), (0, 5), ((few, many), (many, many)), "aurc", "one_se", SEPClassifier())
    >>> path.best  # 0.14 is within 0.02, one standard error, of the mean 0.12
    5
    """

    candidates: tuple[int | float, ...]
    counts: tuple[int, ...]
    results: tuple[tuple[FoldResult, ...], ...]
    metric: str
    rule: str
    estimator: Any
    frames: FrameMaker = field(default_factory=FrameMaker)

    @property
    def risks(self) -> FloatArray:
        """The risk that decides, shape (n_candidates, n_folds)."""
        return self._table(self.metric)

    @property
    def best_index(self) -> int:
        """Number of the candidate that is chosen."""
        mean, spread = self.risks.mean(axis=1), _standard_error(self.risks)
        least = int(np.argmin(mean))
        allowed = mean[least] + (spread[least] if self.rule == "one_se" else 0.0)
        largest = np.flatnonzero(mean <= allowed + _ROUNDING)[-1]
        return int(np.flatnonzero(np.abs(mean - mean[largest]) <= _ROUNDING)[0])

    @property
    def best(self) -> int | float:
        """The value of n_imp that is chosen."""
        return self.candidates[self.best_index]

    @property
    def density_correlation(self) -> float | None:
        """Correlation of density and accuracy on the held-out fold, over the folds of the chosen candidate.

        None for fewer than three folds, or if one of the two does not vary. See `needed_correlation`.
        """
        density, accuracy = (self._table(name)[self.best_index] for name in ("density", "error"))
        if len(density) < 3 or not np.isfinite(density).all() or not min(np.ptp(density), np.ptp(accuracy)) > _ROUNDING:
            return None
        return float(np.corrcoef(density, 1.0 - accuracy)[0, 1])

    @property
    def needed_correlation(self) -> float | None:
        """Least correlation over the folds that differs from 0 at the 5 % level; None below three.

        By the t test, optimistic: the folds share training records, and are not independent.
        """
        free = len(self.results[0]) - 2
        if free < 1:
            return None
        t = float(stdtrit(free, 0.975))
        return t / float(np.sqrt(free + t * t))

    def frame(self) -> Any:
        """Return one row per candidate: means over the folds, and the standard errors (``_se``) of the risks.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            As the records came in; pandas for plain arrays.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> path = select_n_imp(*load_iris(return_X_y=True), candidates=[0, 2])
        >>> path.frame()[["n_imp", "count", "n_ellipsoids", "chosen"]].round(1)
           n_imp  count  n_ellipsoids  chosen
        0      0      0           7.0    True
        1      2      2           7.4   False
        """
        # A frame's column has one kind of numbers: counts and shares together are floats.
        return self.frames.frame(self._columns() | {"n_imp": np.asarray(self.candidates)})

    @property
    def folds(self) -> Any:
        """Frame of one row per fold, for the chosen candidate.

        `rank` 1 is the training set whose ellipsoids are densest, which by the paper's closing idea partitions best;
        compare `density_correlation`. An ellipsoid that is flat in some direction has a nominal thickness, and so a
        large density.
        """
        return self.frames.frame(self._fold_columns())

    def refit(self, X: Any, y: Any) -> Any:
        """Return the estimator with the chosen n_imp, fitted to all records.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)

        Returns
        -------
        SEPClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> select_n_imp(X, y, candidates=[2], cv=2).refit(X, y).n_imp
        2
        """
        return clone(self.estimator).set_params(n_imp=self.best).fit(X, y)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> sorted(select_n_imp(*load_iris(return_X_y=True), candidates=[2], cv=2).to_dict())[:3]
        ['best', 'density_correlation', 'folds']
        """
        return {
            "best": self.best,
            "metric": self.metric,
            "rule": self.rule,
            "path": records(self._columns()),
            "folds": records(self._fold_columns()),
            "density_correlation": self.density_correlation,
            "needed_correlation": self.needed_correlation,
        }

    def __repr__(self) -> str:
        c, risk = self._columns(), self.metric
        lines = [
            f"  n_imp {value!s:>5}: {risk} {c[risk][i]:.4f} +- {c[f'{risk}_se'][i]:.4f}, "
            f"accuracy {c['accuracy'][i]:.3f}, outside {c['outside'][i]:.2f}, "
            f"{c['n_ellipsoids'][i]:.1f} ellipsoids{'  <- chosen' * c['chosen'][i]}"
            for i, value in enumerate(self.candidates)
        ]
        return "\n".join([f"NImpPath over {len(self.results[0])} folds, n_imp={self.best} by {self.rule}", *lines])

    def _table(self, name: str) -> FloatArray:
        return np.array([[getattr(fold, name) for fold in folds] for folds in self.results], dtype=np.float64)

    def _columns(self) -> dict[str, list[Any]]:
        risks = {name: self._table(name) for name in METRICS}
        columns: dict[str, list[Any]] = {"n_imp": list(self.candidates), "count": list(self.counts)}
        for name, table in risks.items():
            columns |= {name: table.mean(axis=1).tolist(), f"{name}_se": _standard_error(table).tolist()}
        columns["accuracy"] = (1.0 - risks["error"].mean(axis=1)).tolist()
        columns |= {name: self._table(name).mean(axis=1).tolist() for name in ("outside", "n_ellipsoids")}
        columns["chosen"] = [i == self.best_index for i in range(len(self.candidates))]
        return columns

    def _fold_columns(self) -> dict[str, list[Any]]:
        folds = self.results[self.best_index]
        density = [fold.density if np.isfinite(fold.density) else None for fold in folds]
        known = sorted((x for x in density if x is not None), reverse=True)
        return {
            "fold": list(range(len(folds))),
            "n_ellipsoids": [fold.n_ellipsoids for fold in folds],
            "density": density,
            "accuracy": [1.0 - fold.error for fold in folds],
            "rank": [None if x is None else 1 + known.index(x) for x in density],
        }


def select_n_imp(
    X: Any,
    y: Any,
    *,
    candidates: Iterable[int | float] | None = None,
    cv: int = 5,
    random_state: int = 0,
    estimator: Any = None,
    metric: str = "aurc",
    rule: str = "one_se",
    n_jobs: int | None = None,
    on_step: OnStep | None = None,
) -> NImpPath:
    """Choose how many impurities an ellipsoid may hold, by cross-validation.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        An array, or a pandas or polars frame.
    y : array-like of shape (n,)
    candidates : iterable of int or float, optional
        Counts, or shares strictly between 0 and 1, as for `SEPClassifier`. By default 0, 1, 2 and 5, where these are
        at most a fifth of the smallest class, and the shares 0.01, 0.02, 0.05, 0.1 and 0.2. Of candidates with the same
        counts on all of the records the first is kept.
    cv : int, default=5
        Number of folds, at least 2, stratified by class. The only record of a class is in all training sets and in no
        fold.
    random_state : int, default=0
        Seed of the folds, which do not depend on the order of the records.
    estimator : SEPClassifier, optional
        Its other parameters are used; the default is ``SEPClassifier()``.
    metric : {"aurc", "augrc", "error"}, default="aurc"
        The risk: of `sepc.metrics`, by trust, or the share of wrong labels.
    rule : {"one_se", "best"}, default="one_se"
        The largest n_imp whose mean risk over the folds exceeds the least one by at most one standard error of the
        latter; or, by "best", not at all. Of several with the same risk the smallest.
    n_jobs : int or None, default=None
        Number of processes.
    on_step : callable, optional
        Called as ``on_step(n_done, n_total)`` after each fit; an error that it raises ends the run.

    Returns
    -------
    NImpPath

    Notes
    -----
    The risk of the chosen candidate is a little too good, as it was chosen by it: judge the final classifier on records
    that were kept apart. A larger n_imp mostly means fewer ellipsoids, but not where labels overlap so much that a
    small one ends the partition early: look at `n_ellipsoids` in the frame. Where the curve is flat within a standard
    error, but not tied, the choice is the last candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> path = select_n_imp(*load_iris(return_X_y=True), candidates=[0, 2, 0.1], cv=2)
    >>> path.candidates, path.best in path.candidates
    ((0, 2, 0.1), True)
    """
    estimator = SEPClassifier() if estimator is None else estimator
    _check_choices(estimator, metric, rule)
    points, codes, classes = training_set(X, y, clone(estimator))[:3]
    if has_gaps(points):
        points = completed(points)[0]  # they decide the folds
    labels = classes[codes]
    # Records on the smaller side of each binary problem.
    sizes = np.minimum(np.bincount(codes), len(codes) - np.bincount(codes)).tolist()[: 1 if len(classes) == 2 else None]
    if candidates is None:  # more impurities than a fifth of the smaller class leave little to partition
        candidates = [*(n for n in (0, 1, 2, 5) if n <= 0.2 * min(sizes)), 0.01, 0.02, 0.05, 0.1, 0.2]
    values = _sorted_candidates(candidates, sizes)
    fold = _folds(points, codes, cv, random_state)
    tests = [np.flatnonzero(fold == f) for f in range(fold.max() + 1)]
    jobs = (delayed(_fold_result)(estimator, value, X, labels, classes, test) for value in values for test in tests)
    found = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        found.append(result)
        if on_step is not None:
            on_step(len(found), len(values) * len(tests))
    results = tuple(tuple(found[i : i + len(tests)]) for i in range(0, len(found), len(tests)))
    counts = tuple(min(impurity_count(value, size) for size in sizes) for value in values)
    frames = FrameMaker(FrameMaker.like(X).library)
    return NImpPath(tuple(values), counts, results, metric, rule, clone(estimator), frames)


def _fold_result(
    estimator: Any, n_imp: int | float, X: Any, y: NDArray[Any], classes: NDArray[Any], test: IntArray
) -> FoldResult:
    """Fit to all records but those of one fold, and measure on these."""
    train = np.setdiff1d(np.arange(len(y)), test, assume_unique=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SepcWarning)  # the final fit warns of small classes, once
        fitted = clone(estimator).set_params(n_imp=n_imp).fit(_safe_indexing(X, train), y[train])
    a = fitted.assess(_safe_indexing(X, test))
    true, predicted = (np.searchsorted(classes, labels) for labels in (y[test], a.label))
    n_ellipsoids = sum(len(rules.stack) for rules in fitted.model_.rules)
    return FoldResult(
        aurc(true, predicted, a.trust),
        augrc(true, predicted, a.trust),
        float(np.mean(true != predicted)),
        float(np.mean(a.rule == Rule.R3.name)),
        n_ellipsoids,
        _mean_density(fitted.model_) if n_ellipsoids else float("nan"),
    )


def _mean_density(model: Any) -> float:
    """Return the mean density of the ellipsoids in the original units, which are the same for all folds."""
    held = np.concatenate([rules.held.sum(axis=1) for rules in model.rules])
    ellipsoids = [E for rules in model.rules for E in rules.stack.ellipsoids]
    volumes = np.array([E.log_volume + np.log(model.scales.lengths(E.center)).sum() for E in ellipsoids])
    density = np.log(held) - volumes
    return float(np.average(density, weights=held))


def _folds(points: FloatArray, codes: IntArray, cv: int, random_state: int) -> IntArray:
    """Return the fold of each record, -1 for the only one of its class; whatever the order of the records."""
    if isinstance(cv, bool) or not isinstance(cv, Integral) or cv < 2:
        raise InputError("cv", cv=cv)
    if isinstance(random_state, bool) or not isinstance(random_state, Integral) or random_state < 0:
        raise InputError("random-state", random_state=random_state)
    rng = np.random.default_rng(int(random_state))
    sizes = np.bincount(codes)
    if sizes.max() < 2:
        raise InputError("no-class-with-two-records")
    # Each class starts at the fold after the last one of the class before: sizes of folds differ by one at most.
    starts = iter([0, *np.cumsum(sizes[sizes > 1]).tolist()])
    return stratified_parts(
        codes,
        int(cv),
        order=lambda rows: canonical_order(points, rows)[rng.permutation(len(rows))],
        first=lambda _: next(starts),
    )


def _sorted_candidates(candidates: Iterable[int | float], sizes: Sequence[int]) -> list[int | float]:
    """Return the candidates by their counts in the binary problems, each set of counts once."""
    by_counts: dict[tuple[int, ...], int | float] = {}
    for value in candidates if isinstance(candidates, Iterable) else ():
        if value is None:
            raise InputError("n-imp-none-among-candidates")
        counts = tuple(impurity_count(value, size) for size in sizes)
        by_counts.setdefault(counts, int(value) if isinstance(value, Integral) else float(value))
    if not by_counts:
        raise InputError("n-imp-candidates", candidates=candidates)
    return [by_counts[counts] for counts in sorted(by_counts, key=lambda counts: (sum(counts), counts))]


def _check_choices(estimator: Any, metric: str, rule: str) -> None:
    for name, value, known in (("metric", metric, METRICS), ("rule", rule, RULES)):
        if value not in known:
            raise InputError("not-one-of", name=name, value=value, known=", ".join(map(repr, known)))
    if not isinstance(estimator, SEPClassifier):
        raise InputError("estimator-not-sepc", type=type(estimator).__name__)


def _standard_error(table: FloatArray) -> FloatArray:
    """Return the standard error of each row's mean."""
    n = table.shape[1]
    return np.asarray(table.std(axis=1, ddof=1) / np.sqrt(n)) if n > 1 else np.zeros(len(table))
