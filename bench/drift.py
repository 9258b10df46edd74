"""False alarms and delays of FeedbackMonitor, in simulated streams.

Prints Markdown tables. ``--quick`` takes fewer runs, ``--tables outside`` or ``--tables labels`` prints one half.

Of records outside: each run draws a training set, fits, makes a monitor and feeds it a stream: at first unchanged, then
shifted in all features at once by a common length, in standard deviations.

The first table compares with a naive alarm: the same test, but the pooled outcomes of cross-validation taken as
independent trials of the classifier that is watched. Its false alarms can exceed what it states (heavy tails), for
partitions of much the same data may differ in their share of strange records by more than those outcomes tell.

Of errors, by labels that were chosen: ten groups on a ring whose labels take turns. Each training set is fitted once,
and many streams are drawn from a large pool of records with the verdicts on them. Labels come for all records; for
refused ones and an audit of 5 % of the accepted ones, evenly or more where the trust is low; or, naively, for refused
ones alone that are passed as if they were all. Then one group of the ten gets the other label, and nothing else
changes. MAPIE's monitor of the accuracy, where MAPIE is installed, has all labels and a reference of as many new
records as there are training records, as one of ours has.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from importlib.util import find_spec
from statistics import median
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from measure import recording, row, table, versions
from scipy.stats import binom

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.audits import audit_of
from sepc.feedback.drift import SequentialRateTest
from sepc.feedback.error_watch import ErrorTest
from sepc.feedback.held_out_models import ModelView
from sepc.feedback.moved_features import belongs

RATES = (0.1, 0.01)
N_TRAIN, BATCH, UNCHANGED, LIFE = 120, 20, 500, 3000
SETS = {
    "two Gaussians, 2 features": ("gauss", 2),
    "two Gaussians, 5 features": ("gauss", 5),
    "heavy tails (Student, 2), 3 features": ("student", 3),
    "two moons": ("moons", 2),
}
SHIFTS = (1.0, 2.0, 4.0)
# Of the streams with chosen labels.
N_RING, POOL, STREAM, WEEK, SHARE = 1000, 20_000, 5000, 50, 0.05
RUNS_PER_SET, BEFORE, AFTER = 50, 1000, 10_000
# By how labels are chosen: what is told of the records, and what no chance is below.
ALL, REFUSED, BY_TRUST, NAIVE = "all", "refused and 5 %", "refused and 5 % by trust", "refused alone, as all"
LEAST = {ALL: 1.0, REFUSED: SHARE, BY_TRUST: SHARE / 2.0, NAIVE: 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="40 runs instead of 400, and of 1000")
    parser.add_argument("--runs", type=int, help="so many runs instead")
    parser.add_argument("--tables", nargs="+", choices=["outside", "labels"], default=["outside", "labels"])
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    of_each = (40, 40) if options.quick else (400, 1000)
    outside_runs, label_runs = (options.runs,) * 2 if options.runs else of_each
    print(versions("numpy", "scipy", "numba", "scikit-learn", *(["mapie"] if find_spec("mapie") else [])))
    if "outside" in options.tables:
        of_outside(outside_runs, options.jobs)
    if "labels" in options.tables:
        of_labels(label_runs, options.jobs)


def of_outside(runs: int, jobs: int) -> None:
    results = {
        name: Parallel(jobs)(delayed(one_run)(*kind, seed) for seed in range(runs)) for name, kind in SETS.items()
    }
    false_alarms(results, runs)
    delays(results)


def false_alarms(results: dict[str, list[dict]], runs: int) -> None:
    print(
        f"### Runs with a false alarm within {LIFE} records without drift, {runs} runs of {N_TRAIN} training records\n"
    )
    table("alarms", "set", "stated", "at most, by chance", "drift", "drift, reference", "error_drift", "naive")
    for name, outcomes in results.items():
        for rate in RATES:
            limit = binom.isf(0.01, runs, rate) / runs
            shares = [np.mean([o[kind, rate] for o in outcomes]) for kind in ("drift", "reference", "errors", "naive")]
            row(name, rate, f"{limit:.3f}", *(f"{share:.3f}{' (!)' if share > limit else ''}" for share in shares))
    print()


def delays(results: dict[str, list[dict]]) -> None:
    print(f"### After {UNCHANGED} unchanged records a shift; stated rate 0.01\n")
    columns = ("detected within 2000", "median delay")
    table(
        "delay", "set", "shift, sd", "outside before", "outside after", *columns, *(f"{c}, reference" for c in columns)
    )
    for title, outcomes in results.items():
        for shift in SHIFTS:
            before, after = (np.mean([o[when, "drift", shift] for o in outcomes]) for when in ("before", "after"))
            cells = []
            for name in ("drift", "reference"):
                found = [o["delay", name, shift] for o in outcomes]
                cells += [f"{np.mean(np.isfinite(found)):.2f}", f"{median(found):.0f}"]
            row(title, shift, f"{before:.2f}", f"{after:.2f}", *cells)


def one_run(kind: str, d: int, seed: int) -> dict:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X, y = draw(kind, d, N_TRAIN, rng)
    clf = SEPClassifier().fit(X, y)
    by_folds = FeedbackMonitor(clf)
    by_reference = FeedbackMonitor(clf, reference=draw(kind, d, N_TRAIN, rng)[0])
    start = {name: m._outside_test.held_out for name, m in (("drift", by_folds), ("reference", by_reference))}
    start["naive"] = start["drift"].sum(axis=0, keepdims=True)
    Z, labels = draw(kind, d, LIFE, rng)
    seen = {"drift": outside(by_folds, Z), "reference": outside(by_reference, Z)}
    seen["naive"] = seen["reference"]
    out: dict = {(name, rate): replay(start[name], seen[name], rate).alarm for name in seen for rate in RATES}
    views = by_folds._comparison.views(Z)
    for rate in RATES:
        test = fresh(by_folds._error_test, rate, 1.0)
        for batch in np.arange(LIFE).reshape(-1, BATCH):
            test.add(taken(views, batch), labels[batch], None)
        out["errors", rate] = test.when is not None
    fine = UNCHANGED // BATCH
    for shift in SHIFTS:
        moved = Z[UNCHANGED : UNCHANGED + 2000] + shift / np.sqrt(Z.shape[1]) * clf.scale_
        for name, monitor in (("drift", by_folds), ("reference", by_reference)):
            after = outside(monitor, moved)
            when = replay(start[name], seen[name][:fine] + after, 0.01).when
            out["delay", name, shift] = np.inf if when is None else when - UNCHANGED
            out["before", name, shift], out["after", name, shift] = share(seen[name][:fine]), share(after)
    return out


def outside(monitor: FeedbackMonitor, Z: np.ndarray) -> list[list[int]]:
    """Return what `observe` counts in each batch, all batches at once."""
    return by_batch([model.assess(Z).rule == "R3" for model in monitor._comparison.models])


def by_batch(flags: list[np.ndarray]) -> list[list[int]]:
    counts = np.array(flags).reshape(len(flags), -1, BATCH).sum(axis=2).T
    return [[BATCH, *hits] for hits in counts.tolist()]


def replay(held_out: np.ndarray, seen: list[list[int]], rate: float):
    test = SequentialRateTest("outside", held_out, rate)
    for n, *hits in seen:
        test.add(n, hits)
    return test.state()


def share(seen: list[list[int]]) -> float:
    counts = np.array(seen)
    return float(counts[:, 1:].mean() / BATCH)


def draw(kind: str, d: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(2, size=n)
    if kind == "moons":
        angle = np.pi * rng.random(n)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        X[y == 1] = [1.0, 0.5] - X[y == 1]
        return X + 0.25 * rng.standard_normal(X.shape), y
    X = rng.standard_normal((n, d)) if kind == "gauss" else rng.standard_t(2, size=(n, d))
    X[:, 0] += 2.0 * y
    return X, y


def of_labels(runs: int, jobs: int) -> None:
    n_sets = max(runs // RUNS_PER_SET, 4)
    found = Parallel(jobs)(delayed(one_ring)(seed, runs // n_sets) for seed in range(n_sets))
    rung = [run for alarms, _ in found for run in alarms]
    print(f"### Runs with a false alarm on errors within {STREAM} records without drift, {len(rung)} runs\n")
    table("chosen", "labels", "stated", "at most, by chance", "false alarms", "labelled")
    for policy in LEAST:
        for rate in RATES:
            limit = binom.isf(0.01, len(rung), rate) / len(rung)
            share = np.mean([run[policy, rate] for run in rung])
            labelled = np.mean([run[policy, "labelled"] for run in rung])
            told = f"{share:.3f}{' (!)' if share > limit else ''}"
            row(policy, rate, f"{limit:.3f}", told, f"{labelled:.2f}")
    delays = [run for _, some in found for run in some]
    print(
        f"\n### After {BEFORE} unchanged records one group of ten gets the other label; {len(delays)} runs, rate 0.01\n"
    )
    table(
        "where",
        "monitor",
        "labels",
        f"detected within {AFTER}",
        "median delay",
        "region or label named",
        "off by, since",
    )
    for monitor, policy in delays[0]:
        each = [run[monitor, policy] for run in delays]
        named = [one.named for one in each if one.named is not None]
        off = [abs(one.since - one.began) for one in each if one.since is not None]
        cells = [f"{np.mean([np.isfinite(one.delay) for one in each]):.2f}", f"{median(one.delay for one in each):.0f}"]
        row(monitor, policy, *cells, f"{np.mean(named):.2f}" if named else "", f"{median(off):.0f}" if off else "")
    if not find_spec("mapie"):
        print("\nMAPIE is not installed: pip install mapie puts its monitor beside.")


class Pool(NamedTuple):
    """Records of a ring, and what models say of them."""

    rows: np.ndarray
    codes: np.ndarray
    group: np.ndarray
    accepted: np.ndarray
    trust: np.ndarray
    views: dict[str, list[ModelView]]


def taken(views: list[ModelView], some: np.ndarray) -> list[ModelView]:
    """Return what models say of some of the records."""
    return [view._replace(codes=view.codes[some], components=view.components[some]) for view in views]


class Found(NamedTuple):
    """Delay in records; whether the part named is that of the drift; since when it was said to be, and when it was.

    The last two are counted in labelled records.
    """

    delay: float
    named: bool | None = None
    since: int | None = None
    began: int = 0


def one_ring(seed: int, runs: int) -> tuple[list[dict], list[dict]]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X, y, _ = ring(N_RING, rng)
    reference, true, _ = ring(N_RING, rng)
    clf = SEPClassifier().fit(X, y)
    monitors = {
        "folds": FeedbackMonitor(clf),
        "reference": FeedbackMonitor(clf, reference=reference, reference_labels=true),
    }
    Z, codes, group = ring(POOL, rng)
    a = clf.assess(Z)
    views = {name: monitor._comparison.views(Z, a) for name, monitor in monitors.items()}
    pool = Pool(Z, codes, group, a.accepted(), a.trust, views)
    tests = {name: monitor._error_test for name, monitor in monitors.items()}
    alarms = []
    for _ in range(runs):
        stream = rng.integers(POOL, size=STREAM)
        out: dict = {}
        for policy in LEAST:
            for rate in RATES:
                test = fresh(tests["folds"], rate, LEAST[policy])
                labelled = fed(test, pool, "folds", stream, pool.codes[stream], policy)[1]
                out[policy, rate], out[policy, "labelled"] = test.when is not None, labelled
        alarms.append(out)
    delays = []
    for _ in range(max(runs // 5, 1)):
        stream = rng.integers(POOL, size=BEFORE + AFTER)
        # The group that gets the other label, in the middle of the ring's odd ones.
        swapped = (pool.group[stream] == 5) & (np.arange(len(stream)) >= BEFORE)
        truth = pool.codes[stream] ^ swapped
        out = {}
        for monitor, policy in (("folds", ALL), ("reference", ALL), ("folds", REFUSED), ("reference", REFUSED)):
            out[monitor, policy] = found_by(tests[monitor], pool, monitor, stream, truth, policy, monitors[monitor])
        if find_spec("mapie"):
            wrong = clf.predict(reference) != true
            out["MAPIE, reference", ALL] = Found(by_mapie(wrong, pool.views["reference"][0].codes[stream] != truth))
        delays.append(out)
    return alarms, delays


def fresh(test: ErrorTest, rate: float, least: float) -> ErrorTest:
    return ErrorTest(test.parts, test.held_out, rate, least)


def fed(
    test: ErrorTest, pool: Pool, monitor: str, stream: np.ndarray, truth: np.ndarray, policy: str
) -> tuple[int, float, int]:
    """Feed a stream until the alarm; return how many records came, the labelled share, and those before the drift."""
    n_labelled = began = 0
    for start in range(0, len(stream), WEEK):
        week = stream[start : start + WEEK]
        accepted, chance = pool.accepted[week], None
        chosen = np.ones(len(week), dtype=bool) if policy == ALL else ~accepted
        if policy in (REFUSED, BY_TRUST):
            audit = audit_of(pool.rows[week], accepted, pool.trust[week], SHARE, start, policy == BY_TRUST)
            chosen, chance = audit.chosen, audit.probability[audit.chosen]
        if chosen.any():
            test.add(
                taken(pool.views[monitor], week[chosen]), truth[start : start + WEEK][chosen].astype(np.int64), chance
            )
        n_labelled += int(np.count_nonzero(chosen))
        began = n_labelled if start + WEEK <= BEFORE else began
        if test.when is not None:
            break
    return start + len(week), n_labelled / (start + len(week)), began


def found_by(
    test: ErrorTest, pool: Pool, name: str, stream: np.ndarray, truth: np.ndarray, policy: str, monitor: FeedbackMonitor
) -> Found:
    test = fresh(test, 0.01, LEAST[policy])
    n, _, began = fed(test, pool, name, stream, truth, policy)
    if test.when is None:
        return Found(np.inf)
    part = test.found[0]
    named = part.kind == "label" and part.name == "1"
    if part.kind == "region":
        mine = belongs(monitor.clf, part, pool.rows[:2000])
        named = bool(np.mean(pool.group[:2000][mine] == 5) > 0.5)
    return Found(n - BEFORE, named, part.since, began)


def by_mapie(reference_wrong: np.ndarray, wrong: np.ndarray) -> float:
    """Return the delay of MAPIE's monitor, looked at after each week."""
    from mapie.exchangeability_testing import RiskMonitoring

    def labels(is_wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(len(is_wrong)), 1.0 - is_wrong

    monitor = RiskMonitoring("accuracy", 0.01, tolerance=0.0, reference_data=labels(reference_wrong), warn=False)
    # Its bounds depend on what came before alone: all weeks at once are the same as one after the other.
    monitor.update(*labels(wrong))
    bounds = monitor.online_risk_lower_bound_sequence_history[WEEK - 1 :: WEEK]
    above = np.flatnonzero(bounds > monitor.threshold)
    return float((above[0] + 1) * WEEK - BEFORE) if len(above) else np.inf


def ring(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return records around ten places on a ring, their labels, which take turns, and the places."""
    group = rng.integers(10, size=n)
    angle = 2.0 * np.pi * group / 10.0
    X = 6.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.9 * rng.standard_normal((n, 2))
    return X, group % 2, group


if __name__ == "__main__":
    with recording():
        main()
