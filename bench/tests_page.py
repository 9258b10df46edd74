"""Whether the tests can fail: coverage of branches by package, and mutants by room.

    make coverage
    python bench/mutate.py --room geometry --jobs 2 --out docs/measured/mutants.csv
    python bench/tests_page.py --record tests

Prints Markdown tables of `build/coverage.json`, which ``make coverage`` writes, and of `docs/measured/mutants.csv`.
"""

import json
from collections import defaultdict
from pathlib import Path

from measure import recording, row, table, versions
from mutate import ROOT, counted, explanations, read

COVERAGE = ROOT / "build" / "coverage.json"
MUTANTS = ROOT / "docs" / "measured" / "mutants.csv"
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def main() -> None:
    if not COVERAGE.exists():
        raise SystemExit(f"{COVERAGE.relative_to(ROOT)} does not exist; expected what `make coverage` writes. Run it.")
    print(versions("numpy", "scipy", "numba", "pytest", "hypothesis"))
    coverage(json.loads(COVERAGE.read_text(encoding="utf-8"))["files"])
    mutants = read(MUTANTS)
    head, *rows = counted(mutants)
    print()
    table("mutants", *head)
    for cells in rows:
        row(*cells)
    survivors([line for line in mutants if line["outcome"] == "survived"])


def coverage(files: dict) -> None:
    """Print statements and branches by package, and those of all."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for path, file in files.items():
        below = Path(path).parts[Path(path).parts.index("sepc") + 1 :]
        for package in (below[0] if len(below) > 1 else "modules", "all"):
            sums[package] = [a + file["summary"][b] for a, b in zip(sums[package], COUNTS, strict=True)]
    table("coverage", "package", "statements", "branches", "statements missed", "branches missed", "covered (%)")
    for package in sorted(sums, key=lambda name: (name == "all", name)):
        lines, reached, branches, taken = sums[package]
        share = 100.0 * (reached + taken) / max(lines + branches, 1)
        row(package, f"{lines:,}", f"{branches:,}", f"{lines - reached:,}", f"{branches - taken:,}", f"{share:.1f}")


def survivors(mutants: list[dict[str, str]]) -> None:
    """Print the mutants that no test noticed, with the reason if there is one."""
    reasons = explanations()
    print()
    table("survivors", "room", "mutant", "why")
    for line in sorted(mutants, key=lambda line: (line["room"], line["mutant"])):
        mutant = line["mutant"].replace("|", r"\|")
        row(line["room"], f"`{mutant}`", reasons.get(line["mutant"], "no test of its room notices it"))


if __name__ == "__main__":
    with recording():
        main()
