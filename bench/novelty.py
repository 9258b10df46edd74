"""How many strange records are accepted: spoilt test records, and those of a class that training has not seen.

Models are fitted to two thirds of the rows of each set; what is done to the rest is the same for all. A model of this
package accepts a record by `assess(...).accepted()`; a forest or a support vector machine by a largest probability of
0.95; a detector of outliers beside a forest also asks that the record be less strange than all but one in a hundred of
the training records. Tables are raw: all models see the features of the same `TableEncoder`.

Prints Markdown tables, the judging half of the sets first: for each change the mean over the sets of the share of
accepted records. Records that a change leaves as they are do not count, nor do those that one of the first six leaves
inside the box of the training records. For a class left out of training, at most five of a set with three or more: the
area under the ROC curve of typicality, for test records of known classes against those of that class.

Each finished job is a line of the file that ``--out`` names; the same command continues after an interruption.
``--redo NAME`` computes the models whose name contains NAME anew.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from time import process_time

import numpy as np
import pandas as pd
from measure import recording, row, table, versions
from results_file import ResultsFile, add_options, chosen
from sets import HALVES, cells, is_number_column, names, of_half, some_rows
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor
from trust import PEERS, scaled, version

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.tables import TableEncoder

MIN_TRUST = 0.95
# A record is strange if fewer of the training records than this share are as strange.
STRANGE_SHARE = 0.01
# Left out of training once each: the largest classes of a set that has at least three.
MOST_LEFT_OUT, LEAST_CLASSES = 5, 3
NEVER_SEEN = "never seen before"


class WithTrust:
    """A classifier of this package, on raw tables."""

    def __init__(self, classifier) -> None:
        self.model = make_table_pipeline(classifier)

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> None:
        """Fit encoder and classifier."""
        self.model.fit(X, y)

    def judge(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which records are accepted, how typical they are, and which of them are strange."""
        a = self.model.assess(X)
        return a.accepted(min_trust=MIN_TRUST, min_typicality=STRANGE_SHARE), a.typicality, a.typicality < STRANGE_SHARE


class WithProbabilities:
    """A peer, which accepts what it has a large probability for; a small one is all that is strange to it."""

    def __init__(self, classifier) -> None:
        self.classifier = classifier

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> None:
        """Fit encoder and classifier."""
        self.encoder = TableEncoder().fit(X)
        self.classifier.fit(self.features(X), y)

    def features(self, X: pd.DataFrame) -> np.ndarray:
        """Return the encoder's numbers."""
        return np.asarray(self.encoder.transform(X))

    def judge(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which records are accepted, how typical they are, and NaN."""
        largest = self.classifier.predict_proba(self.features(X)).max(axis=1)
        return largest >= MIN_TRUST, largest, np.full(len(X), np.nan)


class WithDetector(WithProbabilities):
    """A peer beside a detector of outliers, which refuses what is stranger than nearly all training records."""

    def __init__(self, classifier, detector) -> None:
        super().__init__(classifier)
        self.detector = detector

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> None:
        """Fit encoder, classifier and detector."""
        super().fit(X, y)
        features = self.features(X)
        self.detector.fit(features)
        self.least = np.quantile(self.scores_in_training(features), STRANGE_SHARE)

    def scores_in_training(self, features: np.ndarray) -> np.ndarray:
        """Return the detector's scores of the training records."""
        # Scored like new records, they would be neighbours of themselves.
        if isinstance(self.detector[-1], LocalOutlierFactor):
            return self.detector[-1].negative_outlier_factor_
        return self.detector.score_samples(features)

    def judge(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which records are accepted, how typical they are, and which of them are strange."""
        accepted, _, _ = super().judge(X)
        score = self.detector.score_samples(self.features(X))
        strange = score < self.least
        return accepted & ~strange, score, strange


MODELS: dict[str, Callable] = {
    "sepc ensemble": lambda: WithTrust(SEPEnsembleClassifier()),
    "sepc": lambda: WithTrust(SEPClassifier()),
    "RF": lambda: WithProbabilities(PEERS["RF"]()),
    "SVM": lambda: WithProbabilities(PEERS["SVM"]()),
    "RF + isolation forest": lambda: WithDetector(PEERS["RF"](), scaled(IsolationForest(random_state=0))),
    "RF + local outlier factor": lambda: WithDetector(PEERS["RF"](), scaled(LocalOutlierFactor(novelty=True))),
}


class Change:
    """What is done to test records; the training records say what is usual.

    Parameters
    ----------
    train : DataFrame
    rng : Generator
    """

    def __init__(self, train: pd.DataFrame, rng: np.random.Generator) -> None:
        self.rng = rng
        self.numbers = [name for name in train if pd.api.types.is_numeric_dtype(train[name])]
        self.texts = [name for name in train if name not in self.numbers]
        self.low, self.high = train[self.numbers].min(), train[self.numbers].max()
        self.scale = train[self.numbers].std().to_numpy()
        self.seen = {name: train[name].unique() for name in self.texts}

    def with_numbers(self, X: pd.DataFrame, values: object) -> pd.DataFrame:
        """Return records with other numbers and the same texts."""
        changed = X.copy()
        changed[self.numbers] = values
        return changed

    def times(self, X: pd.DataFrame, factor: float) -> pd.DataFrame:
        """Return records with all numbers so many times as large."""
        return self.with_numbers(X, factor * X[self.numbers])

    def far(self, X: pd.DataFrame, deviations: float) -> pd.DataFrame:
        """Return records that are moved by so many standard deviations in directions at random."""
        directions = self.rng.standard_normal((len(X), len(self.numbers)))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return self.with_numbers(X, X[self.numbers] + deviations * self.scale * directions)

    def blank(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return records without any value."""
        return pd.DataFrame({name: np.nan if name in self.numbers else None for name in X}, index=X.index)

    def never_seen(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return records whose texts are all new."""
        return X.assign(**dict.fromkeys(self.texts, NEVER_SEEN))

    def other_unit(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return records with one number each, at random, a thousand times as large."""
        factors = np.ones((len(X), len(self.numbers)))
        if self.numbers:
            factors[np.arange(len(X)), self.rng.integers(len(self.numbers), size=len(X))] = 1000.0
        return self.with_numbers(X, X[self.numbers] * factors)

    def zeros(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return records whose numbers are all 0."""
        return self.with_numbers(X, 0.0)

    def noise(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return records at random in the box of the training records."""
        shares = self.rng.uniform(size=(len(X), len(self.numbers)))
        changed = self.with_numbers(X, self.low.to_numpy() + (self.high - self.low).to_numpy() * shares)
        return changed.assign(**{name: self.rng.choice(self.seen[name], len(X)) for name in self.texts})

    def permuted(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return records of values that come from others, each column shuffled on its own."""
        return pd.DataFrame({name: self.rng.permutation(X[name].to_numpy()) for name in X}, index=X.index)

    def inside(self, X: pd.DataFrame) -> np.ndarray:
        """Return which records have all numbers within those of training, and texts that it has seen."""
        numbers = X[self.numbers].ge(self.low) & X[self.numbers].le(self.high)
        texts = [X[name].isin(self.seen[name]) for name in self.texts]
        return np.logical_and.reduce([numbers.all(axis=1), *texts])


# To beyond the box of the training records ...
FAR: dict[str, Callable] = {
    "times 10": partial(Change.times, factor=10.0),
    "times 1000": partial(Change.times, factor=1000.0),
    "20 deviations away": partial(Change.far, deviations=20.0),
    "blank": Change.blank,
    "texts never seen": Change.never_seen,
    "one column in another unit": Change.other_unit,
}
# ... and to records that may be inside of it, although there are none like them.
CHANGES = FAR | {"zeros": Change.zeros, "noise in the box": Change.noise, "permuted columns": Change.permuted}

ORDINARY_ACCEPTED, ORDINARY_STRANGE = "ordinary records accepted", "ordinary records refused as strange"
LEFT_OUT = "a class left out of training: ROC area"
KEY = {"set": str, "rows": int, "seed": int, "left_out": str, "model": str, "version": str}
VALUES = (
    *(f"{what} {change}" for change in CHANGES for what in ("counted", "accepted")),
    *(ORDINARY_ACCEPTED, ORDINARY_STRANGE, LEFT_OUT, "fit_s"),
)


def main() -> None:
    options = arguments()
    shown = chosen(names(), options.sets, "--sets")
    models = chosen(MODELS, options.models, "--models")
    data = {name: some_rows(*cells(name), options.most) for name in shown}
    jobs = {
        (name, len(y), seed, str(left_out), model, version(model)): (model, X, y, left_out, seed)
        for seed in range(options.seeds)
        for name, (X, y) in data.items()
        for left_out in ("", *classes_to_leave_out(y))
        for model in models
    }
    done = ResultsFile(options.out, KEY, VALUES).completed(jobs, judge, in_short, options)
    print(versions("sepc", "scikit-learn", "numpy", "scipy"))
    report(shares({job: done[job] for job in jobs if job in done}), shown, models)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", help="names of sets, with commas between; all by default")
    parser.add_argument("--most", type=int, default=1000, help="at most so many rows of a set (default 1000)")
    parser.add_argument("--seeds", type=int, default=1, help="number of splits of each set (default 1)")
    add_options(parser)
    return parser.parse_args()


def classes_to_leave_out(y: np.ndarray) -> list[int]:
    counts = np.bincount(y)
    return np.argsort(-counts, kind="stable")[:MOST_LEFT_OUT].tolist() if len(counts) >= LEAST_CLASSES else []


def as_table(X: np.ndarray) -> pd.DataFrame:
    """Return columns as numbers, or as texts where a cell is none."""
    columns = {f"c{k}": column for k, column in enumerate(X.T, 1)}
    return pd.DataFrame({k: c.astype(float if is_number_column(c) else object) for k, c in columns.items()})


def judge(name: str, X: np.ndarray, y: np.ndarray, left_out: int | str, seed: int) -> dict[str, float]:
    """Return the results of one model on one set: on changed records, or with a class left out of training."""
    train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed)
    records, model = as_table(X), MODELS[name]()
    known = train if left_out == "" else train[y[train] != left_out]
    start = process_time()
    model.fit(records.iloc[known], y[known])
    results = {"fit_s": process_time() - start}
    if left_out == "":
        results |= on_changed(model, records.iloc[train], records.iloc[test], seed)
    else:
        _, typicality, _ = model.judge(records.iloc[test])
        results[LEFT_OUT] = roc_auc_score(y[test] != left_out, typicality)
    return {of: float(results.get(of, np.nan)) for of in VALUES}


def on_changed(model, train: pd.DataFrame, test: pd.DataFrame, seed: int) -> dict[str, float]:
    change = Change(train, np.random.default_rng(seed))
    accepted, _, strange = model.judge(test)
    results = {ORDINARY_ACCEPTED: np.mean(accepted), ORDINARY_STRANGE: np.mean(strange)}
    for name, changed_by in CHANGES.items():
        changed = changed_by(change, test)
        counts = (changed != test).any(axis=1).to_numpy()
        if name in FAR:
            counts = counts & ~change.inside(changed)
        results[f"counted {name}"] = np.sum(counts)
        results[f"accepted {name}"] = np.sum(model.judge(changed[counts])[0]) if counts.any() else 0
    return results


def in_short(results: dict[str, float]) -> str:
    accepted, counted = (sum(results[f"{what} {name}"] for name in CHANGES) for what in ("accepted", "counted"))
    said = f"ROC area {results[LEFT_OUT]:.2f}" if np.isnan(counted) else f"{accepted:.0f} of {counted:.0f} accepted"
    return f"{said}, {results['fit_s']:.1f} s"


def shares(done: dict[tuple, dict[str, float]]) -> dict[tuple[str, str], dict[str, float]]:
    """Return what the tables show, for each set and model: over all seeds and classes that were left out."""
    lines: dict[tuple[str, str], list[dict[str, float]]] = {}
    for job, results in done.items():
        lines.setdefault((job[0], job[4]), []).append(results)
    found = {}
    for key, of in lines.items():
        total = {name: np.nansum([line[name] for line in of]) for name in VALUES}
        found[key] = {
            name: total[f"accepted {name}"] / counted if (counted := total[f"counted {name}"]) else np.nan
            for name in CHANGES
        } | {name: mean_of(line[name] for line in of) for name in (ORDINARY_ACCEPTED, ORDINARY_STRANGE, LEFT_OUT)}
    return found


def mean_of(values: Iterable[float]) -> float:
    """Return the mean of those values that are numbers; NaN if none is."""
    given = [value for value in values if not np.isnan(value)]
    return float(np.mean(given)) if given else np.nan


def report(found: dict, sets: list[str], models: list[str]) -> None:
    """Print a table for each half of the sets, for all of them and for WDBC alone."""
    groups = {half: of_half(sets, half) for half in HALVES}
    groups |= {"all": sets, "wdbc": ["wdbc"] if "wdbc" in sets else []}
    for title, members in groups.items():
        if not members:
            continue
        print(f"### Sets: {title}. Share accepted at a trust of {MIN_TRUST}, mean over the sets\n")
        table(title, "records", "sets", *models)
        for name in (*CHANGES, ORDINARY_ACCEPTED, ORDINARY_STRANGE, LEFT_OUT):
            values = [[found[s, m][name] if (s, m) in found else np.nan for s in members] for m in models]
            n_sets = int(np.any(np.isfinite(values), axis=0).sum())
            row(name, n_sets, *(f"{mean_of(of):.3f}".replace("nan", "") for of in values))
        print()


if __name__ == "__main__":
    with recording():
        main()
