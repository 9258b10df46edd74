"""Cost of the calibration: fit, `predict_proba` and saved model of the default, in times of those of "raw".

CPU time in one thread, medians of fits that take turns; the last column is the default's fit in times of a random
forest's of 300 trees. Prints a Markdown table. Real sets are read from the folder that SEPC_DATA names.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from measure import recording, row, table, versions
from sets import numbers
from sklearn.ensemble import RandomForestClassifier

from sepc import SEPClassifier, save

SETS = ("wdbc", "vertebral_2c", "banknote", "spambase")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS, help="some of the sets")
    parser.add_argument("--repeats", type=int, default=7, help="how often")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(versions("numpy", "scipy", "scikit-learn"))
    table(
        "ratios",
        "set",
        "fit: default / raw",
        "predict_proba",
        "saved model",
        "fit: raw / forest",
        "fit: default / forest",
    )
    for name in options.sets:
        X, y = numbers(name)
        default, raw = SEPClassifier(), SEPClassifier(trust="raw")
        forest = RandomForestClassifier(300, random_state=0)
        fits = seconds(options.repeats, *(partial(model.fit, X, y) for model in (default, raw, forest)))
        asked = seconds(3 * options.repeats, *(partial(model.predict_proba, X) for model in (default, raw)))
        sizes = [size(model) for model in (default, raw)]
        ratios = fits[0] / fits[1], asked[0] / asked[1], sizes[0] / sizes[1], fits[1] / fits[2], fits[0] / fits[2]
        row(name, *(f"{ratio:.2f}" for ratio in ratios))


def seconds(repeats: int, *jobs) -> list[float]:
    """Return the median CPU time of each job; they take turns, once before it counts."""
    found = [[] for _ in jobs]
    for turn in range(repeats + 1):
        for job, times in zip(jobs, found, strict=True):
            start = process_time()
            job()
            if turn:
                times.append(process_time() - start)
    return [median(times) for times in found]


def size(model) -> int:
    """Return the bytes of the saved model."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.sepc"
        save(model, path)
        return path.stat().st_size


if __name__ == "__main__":
    with recording():
        main()
