"""The loop of the review desk: records are decided, the monitor rings, a refit takes over; what it does for a promise.

Records are drawn from a real set: a random row, its numbers moved by a quarter of their standard deviation, and each of
its categories taken from another row once in twenty times. So streams can be as long as needed, and training records,
streams and test records come from one source. A simulated reviewer gives the right label in 95 of 100 cases; those of
the training set and of the first promise come from such a reviewer, too.

A model is fitted, and a promise is made. Then batches come to a desk: refused records, and a random sample of all, are
decided. Then the drift begins: of the records that had the more frequent label 40 of 100 are of a new kind, which has
the other label, and is moved by one and a half standard deviations in three columns. After each batch the monitor is
asked; from its first alarm on there is a refit after every second batch, until one has a promise that accepts
something, which takes over.

Prints Markdown tables. Judged by test records that nobody else sees, as they are before and after the drift: by their
true labels, and by those that such a reviewer gives, of which the promise speaks. Sets are read from the folder that
SEPC_DATA names.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import sets
from measure import recording, row, table, versions
from results_file import outcomes

from sepc import make_table_pipeline, save, select_min_trust
from sepc.desk.batches import Batch
from sepc.desk.desk import Desk, Filters
from sepc.desk.intake import Terms
from sepc.desk.learning import refit, watch
from sepc.desk.opening import about_model, judge_of, open_desk

# The promised limit on the share of wrong labels, by the reviewer's opinion.
SETS = {"wdbc": 0.15, "german_credit": 0.25}
RIGHT, CONFIDENCE, NEW_KIND, MOVED = 0.95, 0.95, 0.4, 1.5
TRAIN, CALIBRATE, TEST, BATCH, BEFORE, AFTER, AUDIT = 400, 400, 4000, 600, 1, 6, 0.2
TRY_AFTER = 2  # batches between two refits
WAYS = ("before the drift", "after it, without the desk", "after it, with the desk")


class Source(NamedTuple):
    """A set to draw records from; `moved` are the columns by which the new kind differs, `rare` is its label."""

    frame: pd.DataFrame
    labels: np.ndarray
    moved: list[str]
    rare: str


class Drawn(NamedTuple):
    """Records, their true labels, and those that a reviewer gives."""

    frame: pd.DataFrame
    labels: np.ndarray
    given: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="repetitions (default 10)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    jobs = {(name, seed): (name, seed) for name in SETS for seed in range(options.seeds)}
    done = dict(outcomes(jobs, one_loop, options.jobs))
    print(versions("sepc", "numpy", "scikit-learn"))
    if failed := [outcome for outcome in done.values() if isinstance(outcome, str)]:
        raise RuntimeError(failed[0])
    print(f"### Error of accepted labels, {options.seeds} repetitions\n")
    wrong = ("wrong, %", "largest, %", "wrong for the reviewer, %")
    table("errors", "set", "labels", "accepted, %", *wrong, "promised, %", "promise kept")
    for name, limit in SETS.items():
        for way in WAYS:
            some = np.array([one[way] for (of, _), one in done.items() if of == name and one[way] is not None])
            kept = f"{np.count_nonzero(some[:, 2] <= limit)} of {len(some)}" if len(some) else ""
            shares = [*some.mean(axis=0)[:2], some[:, 1].max(), some[:, 2].mean()] if len(some) else []
            row(name, way, *([f"{100 * share:.1f}" for share in shares] or [""] * 4), f"{100 * limit:g}", kept)
    print("\n### What it took\n")
    what = ("rows to the alarm", "rows to the new promise", "decided by then", "held back for it")
    table("effort", "set", "alarm before the drift", "alarm after it", "new promise", *what)
    for name in SETS:
        found = [one for (of, _), one in done.items() if of == name]
        counts = [sum(one[event] for one in found) for event in ("false", "alarm", "new promise")]
        medians = [f"{median(values):.0f}" if (values := [one[k] for one in found if k in one]) else "" for k in what]
        row(name, *(f"{count} of {len(found)}" for count in counts), *medians)


def source_of(name: str) -> Source:
    """Return a set as a table: numbers where a column has only these, else texts."""
    X, y = sets.cells(name)
    frame = pd.DataFrame(
        {f"c{j:02}": values.astype(float) if sets.is_number_column(values) else values for j, values in enumerate(X.T)}
    )
    labels = y.astype(str)
    kinds, counts = np.unique(labels, return_counts=True)
    moved = frame.select_dtypes("number").columns[:3].tolist()
    return Source(frame, labels, moved, str(kinds[counts.argmin()]))


def draw(source: Source, n: int, rng: np.random.Generator, drifted: bool = False) -> Drawn:
    """Draw records, before the drift or after it."""
    rows = rng.integers(len(source.labels), size=n)
    columns: dict[str, Any] = {}
    for name, values in source.frame.items():
        if not pd.api.types.is_numeric_dtype(values):
            other = np.where(rng.random(n) < 0.05, rng.integers(len(values), size=n), rows)
            columns[str(name)] = values.to_numpy()[other]
        else:
            columns[str(name)] = values.to_numpy()[rows] + 0.25 * values.std() * rng.standard_normal(n)
    frame, labels = pd.DataFrame(columns), source.labels[rows].copy()
    if drifted:
        is_new = (labels != source.rare) & (rng.random(n) < NEW_KIND)
        labels[is_new] = source.rare
        frame.loc[is_new, source.moved] += MOVED * source.frame[source.moved].std()
    kinds = np.unique(source.labels)
    wrong = rng.random(n) >= RIGHT
    given = np.where(wrong, kinds[1 - np.searchsorted(kinds, labels)], labels)
    return Drawn(frame, labels, given)


def one_loop(name: str, seed: int) -> dict[str, Any]:
    """Return what `judge` finds in each way, and what it took."""
    warnings.simplefilter("ignore")
    rng, source = np.random.default_rng(seed), source_of(name)
    train, calibrate = draw(source, TRAIN, rng), draw(source, CALIBRATE, rng)
    tests = draw(source, TEST, rng), draw(source, TEST, rng, drifted=True)
    clf = make_table_pipeline().fit(train.frame, train.given)
    limit = SETS[name]
    clf["classifier"].sign(
        select_min_trust(clf, calibrate.frame, calibrate.given, max_error=limit, confidence=CONFIDENCE)
    )
    batches = (draw(source, BATCH, rng, drifted=k >= BEFORE) for k in range(BEFORE + AFTER))
    with TemporaryDirectory() as folder:
        new, effort = by_desk(clf, Path(folder), batches)
    judged = {WAYS[0]: judge(clf, tests[0]), WAYS[1]: judge(clf, tests[1])}
    return judged | {WAYS[2]: None if new is None else judge(new, tests[1])} | effort


def judge(clf: Any, drawn: Drawn) -> tuple[float, float, float]:
    """Return the accepted share, and how many of these labels are wrong, and how many a reviewer would not give."""
    a = clf.assess(drawn.frame)
    accepted = a.accepted()
    label = a.label[accepted]
    shares = [float(np.mean(label != truth[accepted])) if len(label) else 0.0 for truth in (drawn.labels, drawn.given)]
    return float(accepted.mean()), shares[0], shares[1]


def by_desk(clf: Any, folder: Path, batches: Iterator[Drawn]) -> tuple[Any, dict[str, Any]]:
    """Return the model that took over, None if none did, and what it took."""
    save(clf, folder / "model.sepc")
    desk = open_desk(folder / "loop.db", folder / "model.sepc")
    desk.agree("ada", Terms(audit=AUDIT))
    effort: dict[str, Any] = {"false": False, "alarm": False, "new promise": False}
    found: dict[str, Any] = {"alarms": []}
    for k, drawn in enumerate(batches, 1 - BEFORE):
        decide_all(desk, drawn, f"batch {k}")
        if not found["alarms"]:
            found = watch(desk.events, desk.judge, silent)
            if found["alarms"]:
                effort["alarm" if k > 0 else "false"] = True
                effort["rows to the alarm"] = BATCH * k
        if not found["alarms"] or k % TRY_AFTER:
            continue
        result = refit(desk.events, desk.judge, silent, str(folder / "new.sepc"), found["since"])
        if result["promise"]["is_kept"]:
            new = judge_of(folder / "new.sepc", result["digest"], 2, None, None)
            about = about_model(2, folder / "new.sepc", result["digest"], new.clf)
            desk.take_over("ada", new, about | {"learned": result["learned"]})
            effort |= {
                "new promise": True,
                "rows to the new promise": BATCH * k,
                "decided by then": desk.progress()["decided"],
                "held back for it": result["promise"]["n_calibration"],
            }
            return new.clf, effort
    return None, effort


def decide_all(desk: Desk, drawn: Drawn, name: str) -> None:
    """Add records to a desk, and decide all that it asks."""
    rows = pa.Table.from_pandas(drawn.frame, preserve_index=False)
    desk.add("ada", name, name, [Batch(rows, rows, None, np.zeros(len(rows), dtype=bool), 1)])
    while (number := desk.take("ada", Filters())) is not None:
        place = desk.record(number).view["place"]
        desk.decide("ada", number, "label", str(drawn.given[place]))


def silent(step: str) -> None:
    """Report no step."""


if __name__ == "__main__":
    with recording():
        main()
