"""Records that lie beyond the range of training: how many ordinary ones are refused, and how many shifted ones.

Half of the rows of a set tell ranges and reach, the other half are new records, several times. Prints Markdown tables:
for each set the share of the new records with a value out of range, the share that is refused as beyond reach, and the
share of its columns, both ends, where a value is refused that lies a part of the range beyond the end; and the ranges
and the reach of some columns that people know. Sets are read from the folder that SEPC_DATA names, text columns left
out; those of scikit-learn and two generated ones are always there.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse

import numpy as np
from measure import recording, row, table, versions
from sets import names_with_numbers, numbers, some_rows

from sepc.model.reach import Reach

PARTS = (0.1, 0.25, 0.5, 1.0)
# Sets, and the numbers of columns in them that people know.
KNOWN = {"german_credit": {0: "duration (months)", 1: "credit amount", 4: "age"}, "haberman": {0: "age"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="some of the sets")
    parser.add_argument("--splits", type=int, default=10, help="how many")
    options = parser.parse_args()
    print(versions("numpy"))
    further = (f"{part:g} of the range beyond, refused %" for part in PARTS)
    table("each", "set", "rows", "columns", "out of range, %", "refused, %", *further)
    every = []
    for name in options.sets or names_with_numbers():
        X = some_rows(*numbers(name), 5000)[0]
        found = np.mean([refused(X, seed) for seed in range(options.splits)], axis=0)
        every.append(found)
        row(name, len(X), X.shape[1], *(f"{100 * share:.1f}" for share in found))
    print()
    table("all", "of all sets", "out of range, %", "refused, %", *(f"{part:g}" for part in PARTS))
    for what, fold in (("mean", np.mean), ("largest", np.max)):
        row(what, *(f"{100 * share:.1f}" for share in fold(every, axis=0)))
    print()
    table("known", "set", "column", "range", "reach")
    for name, columns in KNOWN.items():
        if name not in names_with_numbers():
            continue
        reach = Reach.of(numbers(name)[0])
        for j, column in columns.items():
            low, high, lowest, highest = (float(ends[j]) for ends in reach)
            row(name, column, f"{low:.4g} to {high:.4g}", f"{lowest:.4g} to {highest:.4g}")


def refused(X: np.ndarray, seed: int) -> list[float]:
    """Return the shares of new records out of range and refused, and of the ends beyond which values are refused."""
    train, new = np.array_split(X[np.random.default_rng(seed).permutation(len(X))], 2)
    reach = Reach.of(train)
    shares = [np.mean(reach.sides(new).any(axis=1)), np.mean(reach.farthest(new) >= 0)]
    width = reach.high - reach.low
    vary = width > 0.0
    for part in PARTS:
        above, below = reach.high + part * width > reach.highest, reach.low - part * width < reach.lowest
        shares.append(np.mean(np.concatenate([above[vary], below[vary]])))
    return [float(share) for share in shares]


if __name__ == "__main__":
    with recording():
        main()
