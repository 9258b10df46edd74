"""How many planted regions where a model fails `error_landscape` finds, and how many of its findings are none.

A tree is fitted to some rows of a set, so that its labels depend on the columns. The held-out records get the tree's
label as their true one, or another one with a probability of 0.08, and of 0.8 in a planted region: the model is wrong
there. So the error rate of any set of records is known. Regions are ranges of one, two and three columns, a value of a
category, and an ellipsoid in four columns, around a record at random. A further column holds the category, a site.

A region counts as found if a finding shares at least half of the records of both together with it (Jaccard). A finding
is false if errors are not more frequent in it than elsewhere, by the known probabilities. Beside `error_landscape`:

- error tree, as the Responsible AI toolbox has it: a tree on the errors with at most 31 leaves of 20 records or more;
- Slice Finder: ranges of tenths of each column and values, up to three together (of the 100 best pairs); an effect size
  of 0.4 or more and Welch's test by alpha-investing, the slices of fewer conditions and more records first;
- Domino: a mixture of 25 normal distributions on 10 principal components and the error, whose slices are by the
  components alone.

Tree and mixture test nothing: at most five of their slices count, with twice the error rate of all records or more,
those with the most errors first.

Prints Markdown tables.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from time import process_time

import numpy as np
import pandas as pd
from measure import recording, row, table, versions
from novelty import as_table
from scipy.stats import ttest_ind_from_stats
from sets import cells, in_large_classes
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sepc.landscapes import error_landscape
from sepc.tables import TableEncoder

INSIDE, ELSEWHERE = 0.8, 0.08
SETS = {1000: ("adult", "german_credit", "magic", "segment"), 4000: ("magic", "spambase"), 16000: ("magic",)}
SHARES = (0.02, 0.05, 0.1)
NOTHING = "nothing"
KINDS = ("1 column", "2 columns", "3 columns", "category", "ellipsoid")
MOST_TAKEN = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="planted regions of each kind (default 1)")
    parser.add_argument("--clean", type=int, default=60, help="runs without a region (default 60)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(versions("sepc", "scikit-learn", "numpy", "scipy"))
    judge(*planted("magic", 1000, 0.1, KINDS[0], 0))  # compiled code is loaded
    runs = {
        (n, share, kind): [judge(*planted(name, n, share, kind, k)) for name in SETS[n] for k in range(options.seeds)]
        for n in SETS
        for share in SHARES
        for kind in KINDS
    }
    clean = [judge(*planted(SETS[1000][seed % 4], 1000, 0.0, NOTHING, seed)) for seed in range(options.clean)]
    print("### Planted regions: found, %\n")
    table("found", "records", "share of the region", *METHODS)
    for n in SETS:
        for share in SHARES:
            some = [one for key, of in runs.items() if key[:2] == (n, share) for one in of]
            row(f"{n:,}", f"{100 * share:.0f} %", *cells_of(some, "found"))
    print("\n### Planted regions of 2 % of the records by their kind: found, %\n")
    table("kinds", "region", "records", *METHODS)
    for kind in KINDS:
        for n in SETS:
            row(kind, f"{n:,}", *cells_of(runs[n, 0.02, kind], "found"))
    everything = [one for of in runs.values() for one in of]
    print("\n### All planted regions, and records without one\n")
    table("all", "what", *METHODS)
    row("findings in a run", *(f"{np.mean([run[m]['n'] for run in everything]):.1f}" for m in METHODS))
    row("of their records in the planted region, %", *cells_of(everything, "precision"))
    row("false findings, %", *cells_of(everything, "false"))
    row("runs without a region that find one, %", *cells_of(clean, "any"))
    print("\n### CPU seconds of a run\n")
    table("seconds", "records", *METHODS)
    for n in SETS:
        of_size = [one for key, of in runs.items() if key[0] == n for one in of]
        row(f"{n:,}", *(f"{np.median([run[m]['s'] for run in of_size]):.2f}" for m in METHODS))


def cells_of(runs: list[dict], what: str) -> list[str]:
    """Return the mean over some runs for each method, in per cent."""
    return [f"{100 * np.nanmean([run[method][what] for run in runs]):.0f}" for method in METHODS]


def planted(name: str, n: int, share: float, kind: str, seed: int) -> tuple:
    """Return a model, held-out records, their labels, the planted region and the probability of an error."""
    rng = np.random.default_rng([seed, n, int(100 * share), len(kind), len(name)])
    X, y = cells(name)
    rows = rng.permutation(in_large_classes(np.arange(len(y)), y))
    records = as_table(X[rows])
    n_fit = max(len(rows) - n, len(rows) // 5)
    clf = make_pipeline(TableEncoder(), DecisionTreeClassifier(max_depth=6, random_state=0))
    clf.fit(records[:n_fit][:3000], y[rows][:n_fit][:3000])
    held_out = records[n_fit:].reset_index(drop=True)
    region, held_out["site"] = region_of(kind, held_out, share, rng)
    p = np.where(region, INSIDE, ELSEWHERE)
    model = Model(clf, list(held_out.columns[:-1]))
    labels = model.predict(held_out)
    others = np.roll(clf.classes_, 1)[np.searchsorted(clf.classes_, labels)]
    return model, held_out, np.where(rng.random(len(p)) < p, others, labels), region, p


class Model:
    """A model that reads some of the columns."""

    def __init__(self, clf, columns: list[str]) -> None:
        self.clf, self.columns = clf, columns

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return the labels."""
        return self.clf.predict(X[self.columns])


def region_of(kind: str, X: pd.DataFrame, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a region with about that share of the records, and the site of each record."""
    site = rng.integers(30, size=len(X))
    numbers = X.select_dtypes("number")
    numbers = numbers[[name for name in numbers if numbers[name].nunique() > 20]]
    if kind == NOTHING:
        region = np.zeros(len(X), dtype=bool)
    elif kind == "category":
        region = rng.random(len(X)) < share
        site[region] = 30
    else:
        q = 4 if kind == "ellipsoid" else int(kind[0])
        some = numbers[rng.choice(numbers.columns, min(q, numbers.shape[1]), replace=False)]
        values = (some - some.mean()) / some.std() if kind == "ellipsoid" else some.rank(pct=True)
        away = (values - values.iloc[rng.integers(len(X))]).abs().to_numpy()
        away = np.square(away).sum(axis=1) if kind == "ellipsoid" else away.max(axis=1)
        region = away <= np.quantile(away, share)
    return region, np.array([f"site {k}" for k in site])


def judge(model: Model, X: pd.DataFrame, y: np.ndarray, region: np.ndarray, p: np.ndarray) -> dict:
    """Return the results of each method."""
    results = {}
    for name, find in METHODS.items():
        start = process_time()
        found = find(model, X, y)
        seconds = process_time() - start
        overlaps = [np.sum(one & region) / np.sum(one | region) for one in found]
        results[name] = {
            "s": seconds,
            "n": len(found),
            "any": bool(found),
            "found": max(overlaps, default=0.0) >= 0.5,
            "false": np.mean([p[one].mean() <= p[~one].mean() + 1e-9 for one in found]) if found else 0.0,
            "precision": np.mean([region[one].mean() for one in found]) if found else np.nan,
        }
    return results


def by_sepc(model: Model, X: pd.DataFrame, y: np.ndarray) -> list[np.ndarray]:
    """Return the records of each region."""
    found = error_landscape(model, X, y)
    return [found.members(X, k) for k in range(len(found.regions))]


def by_tree(model: Model, X: pd.DataFrame, y: np.ndarray) -> list[np.ndarray]:
    """Return the leaves of a tree on the errors."""
    wrong, features = model.predict(X) != y, TableEncoder().fit_transform(X)
    leaves = DecisionTreeClassifier(max_leaf_nodes=31, min_samples_leaf=20, random_state=0).fit(features, wrong)
    return taken(leaves.apply(features), wrong)


def by_mixture(model: Model, X: pd.DataFrame, y: np.ndarray) -> list[np.ndarray]:
    """Return the components of a mixture that knows the errors."""
    wrong, features = model.predict(X) != y, StandardScaler().fit_transform(TableEncoder().fit_transform(X))
    places = PCA(min(10, features.shape[1]), random_state=0).fit_transform(features)
    mixture = GaussianMixture(25, covariance_type="diag", reg_covar=1e-3, random_state=0)
    mixture.fit(np.column_stack([places / places[:, 0].std(), 10.0 * wrong]))
    # The share of each component given the place alone.
    distance = np.square(places[:, None] / places[:, 0].std() - mixture.means_[:, :-1]) / mixture.covariances_[:, :-1]
    spread = np.log(mixture.covariances_[:, :-1]).sum(axis=1)
    return taken((2 * np.log(mixture.weights_) - spread - distance.sum(axis=2)).argmax(axis=1), wrong)


def taken(group: np.ndarray, wrong: np.ndarray) -> list[np.ndarray]:
    """Return the groups that count: of twice the error rate of all records, those with the most errors."""
    groups = [group == k for k in np.unique(group)]
    bad = [one for one in groups if wrong[one].mean() >= 2.0 * wrong.mean()]
    return sorted(bad, key=lambda one: -wrong[one].sum())[:MOST_TAKEN]


def by_slices(model: Model, X: pd.DataFrame, y: np.ndarray) -> list[np.ndarray]:
    """Return the slices that Slice Finder's search in a lattice reports."""
    wrong = (model.predict(X) != y).astype(float)
    literals, columns = [], []
    for j, name in enumerate(X):
        is_number = pd.api.types.is_numeric_dtype(X[name])
        values = pd.qcut(X[name], 10, duplicates="drop").astype(str) if is_number else X[name].astype(str)
        for value in sorted(set(values)):
            literals.append((values == value).to_numpy())
            columns.append(j)
    L, of = np.array(literals, dtype=float), np.array(columns)
    found, wealth, before = [], 0.05, [(k,) for k in range(len(L))]
    for level in range(3):
        members = np.array([L[list(one)].all(axis=0) for one in before]) if level else L > 0
        sizes, hits = members.sum(axis=1), members @ wrong
        effects = effect_sizes(hits, sizes, wrong)
        problems = np.flatnonzero((effects >= 0.4) & (sizes >= 5) & (sizes <= len(y) - 5))
        for k in problems[np.argsort(-sizes[problems], kind="stable")].tolist():
            # Alpha-investing, as the paper has it: all wealth is bet on the next slice, and a discovery wins it back.
            alpha = wealth / (1.0 + wealth)
            if welch(hits[k], sizes[k], wrong) <= alpha:
                found.append(members[k])
                wealth += 0.05
            else:
                wealth -= alpha / (1.0 - alpha)
            if len(found) == MOST_TAKEN or wealth <= 0.0:
                return found
        rest = np.flatnonzero((effects < 0.4) & (sizes >= 5))
        rest = rest[np.argsort(-effects[rest], kind="stable")][: None if level == 0 else 100]
        longer = [(*before[k], j) for k in rest.tolist() for j in range(len(L)) if of[j] not in of[list(before[k])]]
        before = sorted({tuple(sorted(one)) for one in longer})
    return found


def effect_sizes(hits: np.ndarray, sizes: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the differences of the error rates within and elsewhere in standard deviations."""
    inside, outside = hits / np.maximum(sizes, 1), (wrong.sum() - hits) / np.maximum(len(wrong) - sizes, 1)
    return np.sqrt(2.0) * (inside - outside) / np.sqrt(inside * (1 - inside) + outside * (1 - outside) + 1e-12)


def welch(hits: float, size: int, wrong: np.ndarray) -> float:
    """Return the p-value of Welch's test that errors are not more frequent than elsewhere."""
    a, b, m = hits / size, (wrong.sum() - hits) / (len(wrong) - size), len(wrong) - size
    spread = np.sqrt([max(a * (1 - a), 1e-9), max(b * (1 - b), 1e-9)])
    return float(
        ttest_ind_from_stats(a, spread[0], size, b, spread[1], m, equal_var=False, alternative="greater").pvalue
    )


METHODS = {"error_landscape": by_sepc, "error tree": by_tree, "Slice Finder": by_slices, "Domino": by_mixture}


if __name__ == "__main__":
    with recording():
        main()
