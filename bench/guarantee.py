"""Whether the promises of select_min_trust and predict_set hold, and what they cost.

Known distributions, in which the error at each threshold is known: the trust is ``T = Q(U)`` for a uniform U, and the
label is wrong with probability ``r(U)``, so that the error among the surest share c is the mean of r on ``U > 1 - c``.
Prints Markdown tables; (!) marks more broken promises than chance explains, by a binomial margin of 1 %.

Two naive ways stand beside: the lowest threshold whose share of errors on the calibration records is small enough, and
the same with Clopper and Pearson's bound at a level divided by the number of distinct trusts (Bonferroni). Then
promises by parts, label sets, and two real classifiers.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from guarantee_parts import by_groups, by_parts
from measure import figure, recording, row, table, versions
from scipy.special import bdtr
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier, select_min_trust
from sepc.estimators.label_sets import LabelScores, LabelSetMixin
from sepc.promises import safe_thresholds

CONFIDENCE = 0.95
ERRORS = (0.01, 0.05, 0.1)
SIZES = (100, 500, 2000)
FINE = 200_000  # cells of the quantile scale on which true errors are computed


class World(NamedTuple):
    """Trust and probability of an error, each as a function of the quantile of the trust."""

    trust: Callable
    risk: Callable


def atoms(*pairs: tuple[float, float]) -> Callable:
    values, shares = map(np.array, zip(*pairs, strict=True))
    return lambda u: values[np.minimum(np.searchsorted(np.cumsum(shares), u), len(values) - 1)]


TIED = atoms((0.6, 0.08), (0.8, 0.08), (0.9, 0.08), (0.95, 0.16), (1.0, 0.60))
STEPS = atoms((0.5, 0.2), (0.7, 0.2), (0.9, 0.55), (0.95, 0.05))

WORLDS = {
    "calibrated, 5 % of labels wrong": World(lambda u: 1 - 0.2 * (1 - u) ** 3, lambda u: 0.2 * (1 - u) ** 3),
    "calibrated, 17 % wrong": World(lambda u: 1 - (1 - u) ** 2 / 2, lambda u: (1 - u) ** 2 / 2),
    "rare class: wrong where unsure, 2 % in all": World(
        lambda u: 1 - 0.5 * (1 - u) ** 24, lambda u: 0.5 * (1 - u) ** 24
    ),
    "overconfident: 4 % wrong at a trust near 1": World(lambda u: u**0.1, lambda u: 0.04 + 0.2 * (1 - u)),
    "tied: 60 % have trust 1, of which 0.4 % wrong": World(
        TIED, lambda u: np.select([TIED(u) == v for v in (1.0, 0.95, 0.9, 0.8)], [0.004, 0.03, 0.1, 0.2], 0.4)
    ),
    "tied below 1, the surest not the best": World(
        STEPS, lambda u: np.select([STEPS(u) == v for v in (0.95, 0.9, 0.7)], [0.11, 0.004, 0.15], 0.4)
    ),
    "not monotone: 20 % wrong among the surest 3 %": World(
        lambda u: u, lambda u: np.where(u > 0.97, 0.2, np.where(u > 0.4, 0.003, 0.4))
    ),
    "error just above the limit at every trust": World(lambda u: u, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print(versions("numpy", "scipy", "scikit-learn"))
    thresholds(runs)
    by_parts(runs)
    by_groups(runs)
    label_sets(runs)
    real_cases()


def thresholds(runs: int) -> None:
    limit = binom.isf(0.01, runs, 1 - CONFIDENCE) / runs
    print(
        f"### Thresholds: {runs} calibration sets each, confidence {CONFIDENCE}\n\n"
        f"Broken: share of runs whose threshold has a true error above max_error; stated {1 - CONFIDENCE:.2f}, by "
        f"chance at most {limit:.3f}. None: share without a threshold. Accepted: mean share of new records that is "
        "accepted. Best: the same for the lowest threshold that is right, which only the distribution tells.\n"
    )
    ways = ("ours", "empirical", "Bonferroni")
    names = [f"{what}, {way}" for what in ("broken", "none", "accepted") for way in ways]
    table("thresholds", "distribution", "n", "max_error", *names, "best")
    for name, world in WORLDS.items():
        for n in SIZES:
            if world.risk is not None:
                truth = Truth(world)
                for max_error, outcomes in compare(truth, n, runs, ERRORS).items():
                    show(name, truth, max_error, n, outcomes, limit)
                continue
            for max_error in ERRORS:
                truth = Truth(world._replace(risk=lambda u, e=max_error: 1.001 * e + 0 * u))
                show(name, truth, max_error, n, compare(truth, n, runs, (max_error,))[max_error], limit)
    figure("settings", len(WORLDS) * len(SIZES) * len(ERRORS))


def show(name: str, truth: "Truth", max_error: float, n: int, outcomes: list, limit: float) -> None:
    share, error = np.moveaxis(np.array(outcomes), 2, 0)
    broken = ((share > 0) & (error > max_error)).mean(axis=0)
    row(
        name,
        n,
        max_error,
        *(f"{b:.3f}{' (!)' if b > limit else ''}" for b in broken),
        *(f"{x:.2f}" for x in (share == 0).mean(axis=0)),
        *(f"{x:.3f}" for x in share.mean(axis=0)),
        f"{truth.best(max_error):.3f}",
    )


class Truth:
    """A world, with the share and the true error of what each threshold accepts."""

    def __init__(self, world: World) -> None:
        u = (np.arange(FINE) + 0.5) / FINE
        self.world = world
        self.trust = world.trust(u)
        self.error = np.cumsum(world.risk(u)[::-1])[::-1] / np.arange(FINE, 0, -1)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return trusts, and which labels are wrong."""
        u = rng.random(n)
        return self.world.trust(u), rng.random(n) < self.world.risk(u)

    def accepts(self, values: np.ndarray, j: int | None) -> tuple[float, float]:
        """Return the share that a threshold just above the value after the j-th accepts, and its error."""
        if j is None:
            return 0.0, 0.0
        first = int(np.searchsorted(self.trust, values[j + 1], side="right")) if j + 1 < len(values) else 0
        return (1 - first / FINE, self.error[first]) if first < FINE else (0.0, 0.0)

    def best(self, max_error: float) -> float:
        """Return the share that the lowest right threshold accepts."""
        starts = np.flatnonzero(np.append(True, self.trust[1:] > self.trust[:-1]) & (self.error <= max_error))
        return 1 - starts[0] / FINE if len(starts) else 0.0


def compare(truth: Truth, n: int, runs: int, max_errors: tuple[float, ...]) -> dict[float, list]:
    rng = np.random.default_rng(0)
    outcomes: dict[float, list] = {max_error: [] for max_error in max_errors}
    for _ in range(runs):
        trust, wrong = truth.draw(n, rng)
        values, accepted, errors = safe_thresholds.accepted_and_losses(trust, wrong)
        for max_error in max_errors:
            p = bdtr(errors, accepted, max_error)
            found = safe_thresholds.lowest_safe_threshold(trust, wrong, max_error, CONFIDENCE)
            lasts = (
                None if found is None else int(np.searchsorted(accepted, found.n_accepted)),
                last(errors <= max_error * accepted),
                last(p <= (1 - CONFIDENCE) / len(values)),
            )
            outcomes[max_error].append([truth.accepts(values, j) for j in lasts])
    return outcomes


def last(passes: np.ndarray) -> int | None:
    return int(np.flatnonzero(passes)[-1]) if passes.any() else None


def label_sets(runs: int, n_new: int = 200) -> None:
    print(
        f"### Label sets: {runs} calibration sets each, coverage 0.9 stated\n\n"
        f"Probabilities from a model that overrates frequent classes; {n_new} new records a run, all ways on the same. "
        "Margin: three standard errors over the runs; (!) marks a coverage that is lower by more.\n"
    )
    table(
        "label sets",
        "class shares",
        "tied",
        "n",
        "way",
        "coverage",
        "margin",
        "rarest class",
        "its margin",
        "mean size",
        "empty",
    )
    coverage: dict[str, list[float]] = {}
    for shares in ((0.5, 0.5), (0.9, 0.1), (0.7, 0.25, 0.05)):
        for grid in (None, 10):
            for n in SIZES:
                for of, value in sets_of(np.array(shares), grid, n, runs, n_new).items():
                    coverage.setdefault(of, []).append(round(value, 3))
    figure("lowest coverage", min(coverage["overall"] + coverage["per class"]))
    figure("highest coverage", max(coverage["overall"] + coverage["per class"]))
    for way in ("overall", "per class"):
        figure(f"lowest coverage of the rarest class, {way}", min(coverage[f"rarest, {way}"]))


def sets_of(shares: np.ndarray, grid: int | None, n: int, runs: int, n_new: int) -> dict[str, float]:
    """Print the rows of a setting; return the coverage of both ways, and that of the rarest class."""
    rng = np.random.default_rng(0)
    seen = {per_class: np.zeros((runs, 4)) for per_class in (False, True)}
    rare = np.empty(runs)
    for i in range(runs):
        y, proba = draw_probabilities(rng, n + n_new, shares, grid)
        told = LabelScores(proba[np.arange(n), y[:n]], y[:n], len(shares))
        new = y[n:]
        rare[i] = np.count_nonzero(new == len(shares) - 1)
        for per_class, rows in seen.items():
            sets = proba[n:] >= told.thresholds(0.9, per_class)
            hit = sets[np.arange(n_new), new]
            size = sets.sum(axis=1)
            rows[i] = hit.mean(), hit[new == len(shares) - 1].sum(), size.mean(), np.mean(size == 0)
    coverage = {}
    for per_class, rows in seen.items():
        overall, margin = rows[:, 0].mean(), 3 * rows[:, 0].std() / np.sqrt(runs)
        rarest = rows[:, 1].sum() / rare.sum()
        rarest_margin = 3 * (rows[:, 1] - rarest * rare).std() * np.sqrt(runs) / rare.sum()
        # Only within classes is anything promised of the rarest.
        cells = f"{overall:.3f}{alarm(overall, margin)}", f"{margin:.3f}"
        cells += f"{rarest:.3f}{alarm(rarest, rarest_margin) if per_class else ''}", f"{rarest_margin:.3f}"
        way = "per class" if per_class else "overall"
        row(
            shares.tolist(),
            "yes" if grid else "no",
            n,
            way,
            *cells,
            f"{rows[:, 2].mean():.2f}",
            f"{rows[:, 3].mean():.3f}",
        )
        coverage |= {way: overall, f"rarest, {way}": rarest}
    return coverage


def alarm(coverage: float, margin: float) -> str:
    return " (!)" if coverage < 0.9 - margin else ""


def draw_probabilities(
    rng: np.random.Generator, n: int, shares: np.ndarray, grid: int | None
) -> tuple[np.ndarray, np.ndarray]:
    y = np.searchsorted(np.cumsum(shares), rng.random(n)).clip(max=len(shares) - 1)
    scores = rng.normal(size=(n, len(shares))) + np.log(shares)
    scores[np.arange(n), y] += 1.5
    proba = np.exp(scores)
    proba /= proba.sum(axis=1, keepdims=True)
    return y, proba if grid is None else np.round(proba * grid) / grid


def real_cases() -> None:
    print(
        "### SEPClassifier\n\nMany random splits of the records that were not fitted to into calibration and new ones. "
        "For the breast cancer data these are 169, so that the error counted on them exceeds max_error by chance more "
        "often than the true one does. The Gaussians have 100,000.\n"
    )
    table(
        "real",
        "data",
        "max_error",
        "n",
        "splits",
        "error above max_error",
        "none",
        "accepted",
        "error",
        "label sets: coverage, mean size",
        "per class: lowest coverage",
    )
    warnings.simplefilter("ignore")
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    clf = SEPClassifier().fit(X[order[:200]], y[order[:200]])
    X, y = X[order[200:]], y[order[200:]]
    splits = [np.split(np.random.default_rng(s).permutation(len(X)), [200]) for s in range(200)]
    report("breast cancer, 200 fitted to", clf, X, y, splits, (0.05, 0.1))
    rng = np.random.default_rng(0)
    X, y = gaussians(400, rng)
    clf = SEPClassifier(n_imp=0.05).fit(X, y)
    X, y = gaussians(300_000, rng)
    new = np.arange(200_000, 300_000)
    splits = [(np.arange(500) + 500 * s, new) for s in range(400)]
    report("two Gaussians, 4 features, 400 fitted to", clf, X, y, splits, (0.05, 0.1))


def gaussians(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.standard_normal((n, 4))
    X[:, 0] += 2.5 * y
    return X, y


class Lookup(LabelSetMixin, BaseEstimator):
    """A fitted classifier whose records are row numbers, so that each is judged once for all splits."""

    @classmethod
    def of(cls, clf: SEPClassifier, X: np.ndarray) -> "Lookup":
        """Return the verdicts of a classifier on some records."""
        self = cls()
        self.classes_ = clf.classes_
        self.labels, self.trust, self.proba = clf.predict(X), clf.trust_score(X), clf.predict_proba(X)
        return self

    def fit(self, X, y):  # noqa: ARG002, D102
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):  # noqa: D102
        return self.labels[X]

    def trust_score(self, X):  # noqa: D102
        return self.trust[X]

    def predict_proba(self, X):  # noqa: D102
        return self.proba[X]


def report(name: str, clf: SEPClassifier, X: np.ndarray, y: np.ndarray, splits: list, max_errors: tuple) -> None:
    known = Lookup.of(clf, X)
    wrong, trust = known.labels != y, known.trust
    for max_error in max_errors:
        outcomes, sets = [], []
        for cal, new in splits:
            found = select_min_trust(known, cal, y[cal], max_error=max_error).min_trust
            accepted = trust[new] >= found
            outcomes.append((accepted.mean(), wrong[new][accepted].mean() if accepted.any() else 0.0, np.isinf(found)))
            known.calibrate(cal, y[cal])
            overall, within = (known.predict_set(new, 0.9, per_class).sets for per_class in (False, True))
            own = np.arange(len(new)), y[new]
            lowest = [within[own][y[new] == c].mean() for c in known.classes_]
            sets.append((overall[own].mean(), overall.sum(axis=1).mean(), *lowest))
        share, error, none = np.array(outcomes).T
        coverage, size, *by_class = np.mean(sets, axis=0)
        some = ~none.astype(bool)
        row(
            name,
            max_error,
            len(splits[0][0]),
            len(splits),
            f"{np.mean(error > max_error):.3f}",
            f"{none.mean():.2f}",
            f"{share.mean():.3f}",
            f"{error[some].mean():.4f}" if some.any() else "-",
            f"{coverage:.3f}, {size:.2f}",
            f"{min(by_class):.3f}",
        )


if __name__ == "__main__":
    with recording():
        main()
