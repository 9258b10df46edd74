"""Damages model files in thousands of ways: each copy is refused with one error, or loads to the same model.

Prints a Markdown table. The files are the fixtures of the tests; ``--n`` copies are made of them in all. A second table
is about files whose digests fit, but whose content was spoilt on purpose: these are refused, or judge records without
a failure. Exits with 1 if anything else happens.
"""

import argparse
import json
import sys
import tempfile
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from measure import figure, recording, row, table, versions

import sepc
from sepc.persist.model_files import FORMAT

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))

from damage import WAYS, damaged_copies, spoilt_arrays, spoilt_headers  # noqa: E402

FIXTURES = TESTS / "persist" / "fixtures"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="damaged copies (default 10000)")
    parser.add_argument("--seed", type=int, default=0, help="of the damage (default 0)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(versions("sepc", "numpy", "scikit-learn"))
    paths = sorted(FIXTURES.glob("v*.sepc"))
    with tempfile.TemporaryDirectory() as folder:
        failures = damage(paths, options, Path(folder) / "model.sepc") + spoil(paths, Path(folder) / "model.sepc")
    if failures:
        sys.exit(1)


def damage(paths: list[Path], options: argparse.Namespace, copy: Path) -> int:
    rng = np.random.default_rng(options.seed)
    found: dict[str, Counter] = {way: Counter() for way in WAYS}
    seconds, peaks = Counter(), Counter()
    for k, path in enumerate(paths):
        sepc.save(sepc.load(path), copy)  # imports are no part of what is measured
        content, saved_again = path.read_bytes(), copy.read_bytes()
        share = options.n // len(paths) + (k < options.n % len(paths))
        for way, altered in damaged_copies(content, share, rng):
            copy.write_bytes(altered)
            outcome, took, peak = outcome_of(copy, saved_again)
            found[way][outcome] += 1
            seconds[way] += took
            peaks[way] = max(peaks[way], peak)
    figure("files", len(paths))
    print(f"### {options.n:,} damaged copies of {len(paths)} model files\n")
    table(
        "damage",
        "damage",
        "copies",
        "refused",
        "the same model",
        "anything else",
        "ms per copy",
        "largest peak of memory, KB",
    )
    for way, counts in found.items():
        n = counts.total()
        other = n - counts["refused"] - counts["same"]
        row(
            way,
            n,
            counts["refused"],
            counts["same"],
            other,
            f"{1e3 * seconds[way] / max(n, 1):.1f}",
            f"{peaks[way] / 1e3:.0f}",
        )
    return sum(counts.total() - counts["refused"] - counts["same"] for counts in found.values())


def outcome_of(path: Path, saved_again: bytes) -> tuple[str, float, int]:
    """Return what comes of loading a file, and the seconds and bytes of memory that it takes.

    What loads is the same model if it is saved as the undamaged one is.
    """
    start = perf_counter()
    tracemalloc.start()
    try:
        clf, outcome = sepc.load(path), "same"
    except sepc.ModelFileError:
        clf, outcome = None, "refused"
    except BaseException as error:
        clf, outcome = None, f"{type(error).__name__}: {error}"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    took = perf_counter() - start
    if clf is not None:
        sepc.save(clf, path)
        outcome = "same" if path.read_bytes() == saved_again else "another model"
    return outcome, took, peak


def spoil(paths: list[Path], copy: Path) -> int:
    print("\n### Content spoilt, digests that fit\n")
    table("spoilt", "file", "copies", "refused", "judges records", "anything else")
    failures = 0
    for path in paths:
        asked = json.loads((path.parent / f"{path.name.split('-')[0]}-expected.json").read_text())
        X = asked[path.stem.partition("-")[2]]["X"]
        counts: Counter = Counter()
        for header, arrays in spoilt_contents(path):
            FORMAT.write(copy, header, arrays)
            counts[judged(copy, X)] += 1
        other = {what: n for what, n in counts.items() if what not in ("refused", "fine")}
        row(path.stem, counts.total(), counts["refused"], counts["fine"], other or 0)
        failures += sum(other.values())
    return failures


def spoilt_contents(path: Path):
    header, arrays = FORMAT.read(path)
    yield from ((spoilt, arrays) for spoilt in spoilt_headers(header))
    for name, array in arrays.items():
        yield header, {other: kept for other, kept in arrays.items() if other != name}
        yield from ((header, arrays | {name: spoilt}) for spoilt in spoilt_arrays(array))


def judged(path: Path, X) -> str:
    try:
        clf = sepc.load(path)
    except sepc.ModelFileError:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    names = getattr(clf, "feature_names_in_", None)
    try:
        clf.assess(
            pd.DataFrame(X, columns=names) if names is not None or isinstance(X, dict) else np.array(X)
        ).to_frame()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "fine"


if __name__ == "__main__":
    with recording():
        main()
