"""What more records are worth: log loss, ranking, calibration error, time and memory against the number of records.

Planted densities, whose least possible log loss is known, and two real sets as far as they go. A model is fitted to
the first n records of a draw, so that each step adds records to those before, and is judged by the same test records:
50,000 planted ones, or a quarter of a real set. Prints Markdown tables: the figures for each set, and how far each step
up in n is from "no worse than the step before". Costs are CPU seconds in one thread, and peak memory in copies of the
data. ``--plot`` draws the curves.

Each finished (set, n, draw, model) is a line of the file that ``--out`` names; the same command continues after an
interruption and computes only what is not there. ``--redo NAME`` computes the models whose name contains NAME anew.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from time import process_time

import numpy as np
from measure import peak_growth, recording, row, table, versions
from results_file import ResultsFile, add_options, chosen
from scipy.special import expit, logsumexp
from sets import as_numbers, cells
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.metrics import aurc, expected_calibration_error

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
TEST = 50_000
REAL = ("magic", "adult")
# Above this there is one draw, and models that take long are left out.
MANY = 100_000
# A step up in n may be worse than the one before by this share, or by two standard errors.
WORSE = 0.01

KEY = {"set": str, "n": int, "draw": int, "model": str}
# Of each tenth of the test records, too: they tell the standard error of a difference.
TENTHS = range(10)
TENTHS_OF = {value: [f"{value}_{k}" for k in TENTHS] for value in ("log_loss", "aurc")}
VALUES = ("log_loss", "aurc", "ece", "accuracy", "fit_s", "copies", *TENTHS_OF["log_loss"], *TENTHS_OF["aurc"])


class Planted:
    """A distribution of records, and the log probabilities of their labels.

    Parameters
    ----------
    draw : callable
        Takes a generator and n, returns records of shape (n, d) and labels.
    log_joint : callable
        Takes records, returns the logarithms of each label's share times its density, up to one constant each.
    """

    def __init__(self, draw: Callable, log_joint: Callable) -> None:
        self.draw, self.log_joint = draw, log_joint

    def best(self, X: np.ndarray, y: np.ndarray) -> float:
        """Return the least possible log loss, on these records."""
        joint = self.log_joint(X)
        return float(np.mean(logsumexp(joint, axis=1) - joint[np.arange(len(y)), y]))


def with_probability(points: Callable, probability: Callable) -> Planted:
    """Return two labels with a given probability of the second at each point."""

    def draw(rng, n):
        X = points(rng, n)
        return X, (rng.random(n) < probability(X)).astype(int)

    return Planted(draw, lambda X: np.log(np.column_stack([1 - probability(X), probability(X)])))


def gaussians(means, covariances, shares, labels) -> Planted:
    """Return a mixture of normal distributions, each of one label."""
    means, covariances, shares, labels = map(np.asarray, (means, covariances, shares, labels))
    factors = np.linalg.cholesky(covariances)

    def draw(rng, n):
        k = rng.choice(len(shares), n, p=shares)
        X = means[k] + np.einsum("nij,nj->ni", factors[k], rng.normal(size=(n, means.shape[1])))
        return X, labels[k]

    def log_joint(X):
        logs = np.empty((len(X), len(shares)))
        for k, factor in enumerate(factors):
            z = np.linalg.solve(factor, (X - means[k]).T)
            logs[:, k] = np.log(shares[k]) - np.log(np.diag(factor)).sum() - 0.5 * np.square(z).sum(axis=0)
        of_label = [logsumexp(logs[:, labels == label], axis=1) for label in range(labels.max() + 1)]
        return np.column_stack(of_label)

    return Planted(draw, log_joint)


def spirals() -> Planted:
    """Return two noisy spiral arms."""
    noise = 0.8

    def arm(t):
        return np.column_stack([t * np.cos(t), t * np.sin(t)])

    def draw(rng, n):
        y = rng.integers(0, 2, n)
        t = 3 * np.pi * np.sqrt(rng.random(n))
        return np.where(y == 1, 1, -1)[:, None] * arm(t) + rng.normal(scale=noise, size=(n, 2)), y

    along = arm(3 * np.pi * np.sqrt((np.arange(2000) + 0.5) / 2000))  # as many points in each as in all others

    def log_joint(X):
        logs = []
        for sign in (-1, 1):
            squares = [np.square(some[:, None] - sign * along).sum(axis=2) for some in np.array_split(X, 50)]
            logs.append(logsumexp(np.concatenate(squares) / (-2 * noise**2), axis=1))
        return np.column_stack(logs)

    return Planted(draw, log_joint)


def many_classes() -> Planted:
    """Return ten labels, each of two normal distributions."""
    rng = np.random.default_rng(1)
    factors = 0.5 * rng.normal(size=(20, 8, 8)) + np.eye(8)
    covariances = factors @ factors.transpose(0, 2, 1)
    return gaussians(1.6 * rng.normal(size=(20, 8)), covariances, np.full(20, 0.05), np.arange(20) // 2)


PLANTED: dict[str, Callable[[], Planted]] = {
    "smooth": lambda: with_probability(
        lambda rng, n: rng.normal(size=(n, 6)),
        lambda X: expit(3 * (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] / 2)),
    ),
    "spirals": spirals,
    "checkerboard": lambda: with_probability(
        lambda rng, n: 4 * rng.random((n, 2)), lambda X: np.where(np.floor(X).sum(axis=1) % 2 == 1, 0.9, 0.1)
    ),
    "ten classes": many_classes,
    "rare class": lambda: gaussians(
        [[0, 0, 0, 0, 0], [2, 2, 0, 0, 0], [-2, 1, 0, 1, 0]],
        [np.eye(5), 0.36 * np.eye(5), 0.36 * np.eye(5)],
        [200 / 201, 0.5 / 201, 0.5 / 201],
        [0, 1, 1],
    ),
    "two Gaussians": lambda: gaussians(2 * np.eye(10)[:2] * [[0], [1]], [np.eye(10)] * 2, [0.5, 0.5], [0, 1]),
}


def cat_boost():
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=False, allow_writing_files=False, thread_count=1)


MODELS: dict[str, Callable] = {
    "sepc": SEPClassifier,
    "sepc ensemble": SEPEnsembleClassifier,
    "HGB": lambda: HistGradientBoostingClassifier(random_state=0),
    "CatBoost": cat_boost,
    "RF": lambda: RandomForestClassifier(300, random_state=0),
}
LONG = ("CatBoost", "RF")
LONG_NAMES = {
    "sepc": "`SEPClassifier`",
    "sepc ensemble": "`SEPEnsembleClassifier`",
    "HGB": "HistGradientBoosting",
    "CatBoost": "CatBoost",
    "RF": "forest of 300 trees",
}
# Of the column in which real sets have all of their records.
ALL = f" ({', '.join(REAL)}: all)"


@cache
def real(name: str) -> tuple[np.ndarray, ...]:
    X, labels = cells(name)
    y = np.unique(labels, return_inverse=True)[1]
    return train_test_split(as_numbers(X), y, test_size=0.25, stratify=y, random_state=0)


def records(name: str, n: int, draw: int) -> tuple[np.ndarray, ...]:
    """Return n training records and their labels, and the test records and theirs."""
    if name in REAL:
        X, X_test, y, y_test = real(name)
        order = np.random.default_rng(draw).permutation(len(y))[:n]
        return X[order], y[order], X_test, y_test
    planted = PLANTED[name]()
    # In pieces, so that fewer records of a draw are the first ones of more.
    rng, pieces = np.random.default_rng([draw, 1]), []
    for fewer, more in pairwise((0, *SIZES)):
        if fewer < n:
            pieces.append(planted.draw(rng, more - fewer))
    X, y = (np.concatenate(arrays)[:n] for arrays in zip(*pieces, strict=True))
    return X, y, *planted.draw(np.random.default_rng(0), TEST)


def sizes(name: str) -> list[int]:
    """Return the numbers of records of a set; the last one of a real set is all that it has."""
    if name not in REAL:
        return list(SIZES)
    n = len(real(name)[2])
    return [*(size for size in SIZES if size < 0.8 * n), n]


def fitted(name: str, n: int, draw: int, model: str) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Return the test labels, their probabilities, and what the fit cost."""
    X, y, X_test, y_test = records(name, n, draw)
    clf, seconds = MODELS[model](), []

    def fit() -> None:
        start = process_time()
        clf.fit(X, y)
        seconds.append(process_time() - start)

    grown = peak_growth(fit)
    proba = np.zeros((len(y_test), y_test.max() + 1))
    for rows in np.array_split(np.arange(len(y_test)), 20):
        proba[np.ix_(rows, clf.classes_)] = clf.predict_proba(X_test[rows])
    return y_test, proba, {"fit_s": seconds[0], "copies": grown / X.nbytes}


def judged(name: str, n: int, draw: int, model: str) -> dict[str, float]:
    """Return the results of one fit."""
    y, proba, cost = fitted(name, n, draw, model)
    loss = -np.log(np.clip(proba[np.arange(len(y)), y], 1e-15, 1.0))
    label, trust = proba.argmax(axis=1), proba.max(axis=1)
    tenths = np.array_split(np.random.default_rng(0).permutation(len(y)), len(TENTHS))
    return cost | {
        "log_loss": float(loss.mean()),
        "aurc": 1000 * aurc(y, label, trust),
        "ece": expected_calibration_error(y, label, trust),
        "accuracy": float(np.mean(label == y)),
        **{column: float(loss[part].mean()) for column, part in zip(TENTHS_OF["log_loss"], tenths, strict=True)},
        **{
            column: 1000 * aurc(y[part], label[part], trust[part])
            for column, part in zip(TENTHS_OF["aurc"], tenths, strict=True)
        },
    }


def jobs(names: list[str], models: list[str], largest: int, draws: int) -> Iterator[tuple]:
    for name in names:
        for n in sizes(name):
            for draw in range(draws if n < MANY else 1):
                for model in models:
                    if n <= largest and (n <= MANY or model not in LONG):
                        yield name, n, draw, model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", help="names of sets, with commas between; all by default")
    parser.add_argument("--largest", type=float, default=1e6, help="at most so many records (default 1e6)")
    parser.add_argument("--draws", type=int, default=3, help="draws of fewer than 1e5 records (default 3)")
    add_options(parser)
    parser.add_argument("--quick", action="store_true", help="ours and boosting, up to 3,000 records, one draw")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the curves")
    options = parser.parse_args()
    if options.quick:
        options.models, options.largest, options.draws = options.models or "sepc,sepc ensemble,HGB", 3000, 1
    names = chosen([*PLANTED, *REAL], options.sets, "--sets")
    models = chosen(MODELS, options.models, "--models")
    asked = {job: job for job in jobs(names, models, int(options.largest), options.draws)}
    done = ResultsFile(options.out, KEY, VALUES).completed(asked, judged, told, options)
    print(versions("sepc", "scikit-learn", "numpy", "scipy"))
    show(names, done)
    show_least(names)
    show_steps({job: results for job, results in done.items() if job[0] in names})
    if options.plot:
        draw(options.plot, names, done)


def told(results: dict[str, float]) -> str:
    return f"log loss {results['log_loss']:.4f}, {results['fit_s']:.1f} s"


def mean_of(of_set: dict[tuple, dict[str, float]], n: int, model: str, value: str) -> float:
    """Return the mean over draws; NaN where there are none."""
    found = [results[value] for job, results in of_set.items() if (job[0], job[-1]) == (n, model)]
    return float(np.mean(found)) if found else np.nan


def show(names: list[str], done: dict[tuple, dict[str, float]]) -> None:
    """Print a table for each measure: the means over draws by set, model and number of records."""
    for title, value, digits in (
        ("Log loss", "log_loss", 4),
        ("Calibration error", "ece", 4),
        ("AURC x 1000", "aurc", 2),
        ("CPU seconds of a fit", "fit_s", 1),
        ("Peak memory of a fit, copies of the data", "copies", 1),
    ):
        print(f"\n### {title}\n")
        table(value, "set", "model", *(f"{n:,}{ALL * (n == SIZES[3])}" for n in SIZES))
        for name in names:
            of_set = {job[1:]: results for job, results in done.items() if job[0] == name}
            found = sorted({job[0] for job in of_set})
            for model in MODELS:
                if any(job[-1] == model for job in of_set):
                    means = [mean_of(of_set, n, model, value) for n in found]
                    cells = ["" if np.isnan(x) else f"{x:.{digits}f}" for x in means]
                    row(name, LONG_NAMES[model], *cells, *[""] * (len(SIZES) - len(cells)))


def show_least(names: list[str]) -> None:
    """Print the least possible log loss of planted sets."""
    print("\n### Least possible log loss\n")
    table("least", "set", "log loss")
    for name in names:
        if name in PLANTED:
            planted = PLANTED[name]()
            row(name, f"{planted.best(*planted.draw(np.random.default_rng(0), TEST)):.4f}")


def show_steps(done: dict[tuple, dict[str, float]]) -> None:
    """Show the steps up in n where a model gets worse by more than is allowed."""
    print("\n### Steps up in n after which a model is worse by more than 1 % and by more than two standard errors\n")
    table("steps", "model", "steps", "worse in log loss", "worse in AURC", "where")
    for model in MODELS:
        n_steps, where = 0, {"log_loss": [], "aurc": []}
        for name in [*PLANTED, *REAL]:
            of_set = {job[1:]: results for job, results in done.items() if job[0] == name}
            found = sorted({job[0] for job in of_set if job[-1] == model})
            for fewer, more in pairwise(found):
                n_steps += 1
                for value, tenths in TENTHS_OF.items():
                    before, after = (mean_of(of_set, n, model, value) for n in (fewer, more))
                    step = [np.subtract(*(mean_of(of_set, n, model, of) for n in (more, fewer))) for of in tenths]
                    error = np.std(step, ddof=1) / np.sqrt(len(step))
                    if after > before + max(WORSE * before, 2 * error):
                        where[value].append(f"{name} {fewer:,} to {more:,}: {value} {before:.4g} to {after:.4g}")
        if n_steps:
            row(model, n_steps, *(len(steps) for steps in where.values()), "; ".join(chain(*where.values())))


def draw(path: Path, names: list[str], done: dict[tuple, dict[str, float]]) -> None:
    """Draw log loss and seconds against the number of records, a column for each set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 * len(names), 5.2), layout="constrained")
    axes = figure.subplots(2, len(names), sharex="col", squeeze=False)
    for k, name in enumerate(names):
        of_set = {job[1:]: results for job, results in done.items() if job[0] == name}
        for i, model in enumerate(MODELS):
            found = sorted({job[0] for job in of_set if job[-1] == model})
            if not found:
                continue
            style = {"color": f"C{i}", "marker": "o", "ms": 3, "lw": 2 if "sepc" in model else 1, "label": model}
            for ax, value in zip(axes[:, k], ("log_loss", "fit_s"), strict=True):
                ax.plot(found, [mean_of(of_set, n, model, value) for n in found], **style)
        if name in PLANTED:
            planted = PLANTED[name]()
            least = planted.best(*planted.draw(np.random.default_rng(0), TEST))
            axes[0, k].axhline(least, color="black", ls=":", lw=1, label="least possible")
        axes[0, k].set(title=name, xscale="log")
        axes[1, k].set(xscale="log", yscale="log", xlabel="training records")
    axes[0, 0].set_ylabel("log loss")
    axes[1, 0].set_ylabel("CPU seconds of a fit")
    axes[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    with recording():
        main()
