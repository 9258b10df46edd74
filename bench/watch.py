"""How soon FeedbackMonitor finds what has changed, beside ADWIN, which states no rate of false alarms.

Prints Markdown tables. ``--quick`` takes a fifth of the runs.

Each run draws a training set, fits, and makes a monitor: three classes of two groups each, in ten columns. A stream
comes in batches, at first unchanged; then one thing changes. "Before" are the alarms that the monitor had while it
watched the share outside of every ellipsoid and errors alone: the same tests, with the whole rate of false alarms for
each of the two.

ADWIN of river, where it is installed, has its default parameters and is looked at after each record. It watches each
column, or, where all records have labels, the errors of the classifier. Of what it finds the first after the change
counts.

In the last table sick records become rare and errors fewer, while among those that are called sick more are wrong.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from importlib.util import find_spec
from math import log
from statistics import median
from typing import NamedTuple

import numpy as np
from drift import fresh, replay
from joblib import Parallel, delayed
from measure import recording, row, table, versions
from scipy.stats import binom

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.error_watch import ErrorTest
from sepc.feedback.held_out_models import ModelView, is_outside

RATES = (0.1, 0.01)
N_TRAIN, D, BATCH, UNCHANGED, AFTER, LIFE = 600, 10, 25, 500, 2000, 2000
# Shares of the groups, and their places; the last one is that of a new class.
SHARES = (*[1.0 / 6.0] * 6, 0.0)
PLACES = np.zeros((7, D))
for group, (columns, place) in enumerate(
    [((0, 1), 2.5), ((1, 2), -2.5), ((2, 3), 3.0), ((3, 4), -3.0), ((4, 5), 2.5), ((0, 5), -2.5), ((6, 7), 3.0)]
):
    PLACES[group, list(columns)] = place
LABELS = [0, 1, 2, 3]


class Records(NamedTuple):
    """Values, shape (n, d), and true labels and groups, shape (n,)."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray


Draw = Callable[[int, np.random.Generator], Records]


def draw(n: int, rng: np.random.Generator, shares: tuple[float, ...] = SHARES) -> Records:
    group = rng.choice(7, p=shares, size=n)
    return Records(rng.standard_normal((n, D)) + PLACES[group], group // 2, group)


def shifted(n: int, rng: np.random.Generator) -> Records:
    records = draw(n, rng)
    records.X[:, 8] += 1.0
    return records


def with_new_class(share: float) -> Draw:
    return lambda n, rng: draw(n, rng, (*[(1.0 - share) / 6.0] * 6, share))


def flipped(n: int, rng: np.random.Generator) -> Records:
    records = draw(n, rng)
    return records._replace(y=np.where(records.group == 1, 2, records.y))


def patients(sick: float) -> Draw:
    """Return a draw of records of which a share is sick: a quarter of these look well, and few of the others sick."""

    def drawn(n: int, rng: np.random.Generator) -> Records:
        y = (rng.random(n) < sick).astype(np.int64)
        X = rng.standard_normal((n, 2))
        odd = rng.random(n) < np.where(y == 1, 0.25, 0.03)
        X[:, 0] += np.where((y == 1) ^ odd, 3.5, -2.0)
        return Records(X, y, y)

    return drawn


# What changes, and whether all records have labels.
CHANGES: dict[str, tuple[Draw, bool]] = {
    "one column of ten, +1 sd": (shifted, False),
    "new class, 15 %": (with_new_class(0.15), False),
    "new class, 8 %": (with_new_class(0.08), False),
    "new class, 15 %, with labels": (with_new_class(0.15), True),
    "new class, 8 %, with labels": (with_new_class(0.08), True),
    "new class, 5 %, with labels": (with_new_class(0.05), True),
    "one group of six gets another label": (flipped, True),
}


class Judged(NamedTuple):
    """Records, also in the units of the model, what each model says of them, and which are outside by each."""

    records: Records
    rows: np.ndarray
    views: list[ModelView]
    outside: list[np.ndarray]

    @classmethod
    def by(cls, monitor: FeedbackMonitor, records: Records) -> "Judged":
        """Return what the models of a monitor say of records."""
        models = monitor._comparison.models
        outside = [is_outside(clf.model_, clf.assess(records.X)) for clf in models]
        return cls(records, monitor.clf.model_.units(records.X), monitor._comparison.views(records.X), outside)

    def views_of(self, some: slice) -> list[ModelView]:
        """Return what models say of some of the records."""
        return [
            view._replace(
                n_complete=len(view.codes[some]),
                n_outside=int(outside[some].sum()),
                codes=view.codes[some],
                components=view.components[some],
                scores=view.scores[some],
            )
            for view, outside in zip(self.views, self.outside, strict=True)
        ]


class Run(NamedTuple):
    """A monitor after a stream, and its tests of errors at each rate."""

    monitor: FeedbackMonitor
    errors: dict[float, ErrorTest]

    @property
    def drift(self) -> float:
        """When the alarm on records was raised."""
        return number(self.monitor.drift.when)

    def first(self) -> float:
        """Return when the first of the two alarms was raised."""
        return min(self.drift, number(self.errors[0.01].when))

    def drift_before(self, rate: float) -> float:
        """Return when the share outside of every ellipsoid alone would have raised the alarm."""
        test = self.monitor._outside_test
        return number(replay(test.held_out, test.batches, rate).when)

    def errors_before(self) -> float:
        """Return when the alarm on errors was raised before it looked at whether they have risen in all."""
        test = self.errors[0.01]
        there = np.flatnonzero(np.array(test.bets.log_evidence) >= log(test.threshold))
        return (there[0] + 1.0) * BATCH if len(there) else np.inf

    def first_before(self) -> float:
        """Return when the first of the two alarms was raised before."""
        return min(self.drift_before(0.01), self.errors_before())

    def named(self) -> str:
        """Return what the alarm on records names first."""
        parts = self.monitor.drift.parts
        return parts[0].name if parts else "nothing"

    def has_drifted(self, rate: float) -> bool:
        """Return whether the alarm on records would have been raised at another rate."""
        lower = self.monitor.false_alarm_rate / rate
        series = any(one.evidence >= lower * one.threshold for one in self.monitor.report().series)
        return series or self.drift_before(rate / 4.0) < np.inf


def number(when: int | None) -> float:
    return np.inf if when is None else float(when)


def run(monitor: FeedbackMonitor, judged: Judged, labels: bool, rates: tuple[float, ...] = (0.01,)) -> Run:
    """Feed a stream; each alarm that was raised is not looked at again."""
    monitor = deepcopy(monitor)
    errors = {rate: fresh(monitor._error_test, rate, 1.0) for rate in rates}
    watch = monitor._data_watch
    for start in range(0, len(judged.rows), BATCH):
        some = slice(start, start + BATCH)
        views, true = judged.views_of(some), judged.records.y[some]
        monitor._outside_test.add(BATCH, [view.n_outside for view in views])
        if all(record.when is None for record in watch.records()):
            watch.add(judged.rows[some], views, true if labels else None, LABELS, seen=False)
        for test in errors.values() if labels else ():
            if test.when is None:
                test.add(views, true, None)
    return Run(monitor, errors)


def by_adwin(series: np.ndarray) -> list[int]:
    """Return the numbers of records after which ADWIN finds a change in one of several series, shape (n, n_series)."""
    from river.drift import ADWIN

    found = set()
    for one in series.T.astype(np.float64).tolist():
        detector = ADWIN()
        for t, value in enumerate(one, 1):
            detector.update(value)
            if detector.drift_detected:
                found.add(t)
    return sorted(found)


def monitored(seed: int, drawn: Draw, n: int = N_TRAIN) -> tuple[FeedbackMonitor, np.random.Generator]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    training = drawn(n, rng)
    return FeedbackMonitor(SEPClassifier().fit(training.X, training.y)), rng


def changed(before: Draw, after: Draw, rng: np.random.Generator) -> Records:
    return Records(*map(np.concatenate, zip(before(UNCHANGED, rng), after(AFTER, rng), strict=True)))


def delays_of(seed: int) -> dict[str, dict]:
    monitor, rng = monitored(seed, draw)
    out = {}
    for name, (after, labels) in CHANGES.items():
        stream = changed(draw, after, rng)
        done = run(monitor, Judged.by(monitor, stream), labels)
        out[name] = {"now": done.first(), "before": done.first_before(), "named": done.named()}
        out[name]["errors"] = number(done.errors[0.01].when)
        if find_spec("river"):
            wrong = (monitor.clf.predict(stream.X) != stream.y)[:, None]
            found = by_adwin(wrong if labels else stream.X)
            out[name]["ADWIN"] = min((t for t in found if t > UNCHANGED), default=np.inf)
    return out


def false_alarms_of(seed: int) -> dict:
    monitor, rng = monitored(seed, draw)
    stream = draw(LIFE, rng)
    done = run(monitor, Judged.by(monitor, stream), True, RATES)
    out: dict = {("drift", rate): done.has_drifted(rate) for rate in RATES}
    out |= {("errors", rate): done.errors[rate].when is not None for rate in RATES}
    if find_spec("river"):
        wrong = (monitor.clf.predict(stream.X) != stream.y)[:, None]
        out |= {"columns": bool(by_adwin(stream.X)), "wrong": bool(by_adwin(wrong))}
    return out


def shares_of(seed: int) -> dict:
    monitor, rng = monitored(seed, patients(0.5), 900)
    stream = changed(patients(0.5), patients(0.08), rng)
    done = run(monitor, Judged.by(monitor, stream), True)
    wrong = monitor.clf.predict(stream.X) != stream.y
    return {
        "before": wrong[:UNCHANGED].mean(),
        "after": wrong[UNCHANGED:].mean(),
        "errors before": done.errors_before(),
        "errors": number(done.errors[0.01].when),
        "drift": done.drift,
        "told": done.named() == "class shares",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="4 runs instead of 20, and 20 instead of 60")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    runs, streams = (4, 20) if options.quick else (20, 60)
    print(versions("numpy", "scipy", "numba", "scikit-learn", *(["river"] if find_spec("river") else [])))
    delays([*Parallel(options.jobs)(delayed(delays_of)(seed) for seed in range(runs))])
    class_shares([*Parallel(options.jobs)(delayed(shares_of)(seed) for seed in range(runs))])
    false_alarms([*Parallel(options.jobs)(delayed(false_alarms_of)(1000 + seed) for seed in range(streams))])
    if not find_spec("river"):
        print("\nriver is not installed: pip install river puts its ADWIN beside.")


def delays(runs: list[dict]) -> None:
    print(f"### After {UNCHANGED} unchanged records a change; {len(runs)} runs, stated rate 0.01\n")
    columns = [f"{name}: {what}" for name in ("now", "before", "ADWIN") for what in ("found", "delay")]
    table("delay", "change", *columns, "alarm on errors: delay", "false before the change", "drift names first")
    for change in CHANGES:
        cells = []
        for name in ("now", "before", "ADWIN"):
            late = [one[change].get(name, np.nan) - UNCHANGED for one in runs]
            cells += [f"{np.mean(np.isfinite(late)):.2f}", f"{median(late):.0f}"]
        errors = median(one[change]["errors"] - UNCHANGED for one in runs)
        false = sum(one[change]["now"] <= UNCHANGED for one in runs)
        names = Counter(one[change]["named"] for one in runs).most_common()
        told = ", ".join(f"{name} {n}" for name, n in names)
        row(change, *cells, f"{errors:.0f}" if CHANGES[change][1] else "", false, told)
    print()


def class_shares(runs: list[dict]) -> None:
    print(f"### Class shares change and errors fall; {len(runs)} runs, stated rate 0.01\n")
    table("shares", "what", "share or median delay")
    row("wrong before", f"{np.mean([one['before'] for one in runs]):.3f}")
    row("wrong after", f"{np.mean([one['after'] for one in runs]):.3f}")
    row("runs with an alarm on errors, before", f"{np.mean([one['errors before'] < np.inf for one in runs]):.2f}")
    row("runs with an alarm on errors, now", f"{np.mean([one['errors'] < np.inf for one in runs]):.2f}")
    row("runs that name class shares first, now", f"{np.mean([one['told'] for one in runs]):.2f}")
    row("delay of the alarm on records, now", f"{median(one['drift'] - UNCHANGED for one in runs):.0f}")
    print()


def false_alarms(runs: list[dict]) -> None:
    print(f"### Runs with a false alarm within {LIFE} records without any change, {len(runs)} runs\n")
    table("alarms", "alarm", "stated", "at most, by chance", "runs")
    for kind, name in (("drift", "on records"), ("errors", "on errors")):
        for rate in RATES:
            share, limit = np.mean([one[kind, rate] for one in runs]), binom.isf(0.01, len(runs), rate) / len(runs)
            row(name, rate, f"{limit:.3f}", f"{share:.3f}{' (!)' if share > limit else ''}")
    if find_spec("river"):
        for kind, name in (("columns", "ADWIN, each of ten columns"), ("wrong", "ADWIN, errors")):
            row(name, "none", "", f"{np.mean([one[kind] for one in runs]):.3f}")


if __name__ == "__main__":
    with recording():
        main()
