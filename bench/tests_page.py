"""Writes down whether the tests can fail: coverage of branches by package, and mutants by room.

    make coverage
    python bench/mutate.py --room geometry --jobs 16 --out docs/measured/results/mutants.csv
    python bench/tests_page.py --coverage build/coverage.json

brings `docs/measured/results/tests.json` up to date, and the tables in `docs/measured/tests.md` with it. Without
``--coverage`` the counts of the last time stay.
"""

import argparse
import json
import re
import subprocess
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

from measure import versions
from mutate import EXPLAINED, ROOT, counted, explanations, read

RESULTS = ROOT / "docs" / "measured" / "results" / "tests.json"
PAGE = ROOT / "docs" / "measured" / "tests.md"
MUTANTS = RESULTS.with_name("mutants.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--coverage", type=Path, help="of `coverage json`; packages that it has not read stay as they are"
    )
    options = parser.parse_args()
    tables = json.loads(RESULTS.read_text())["tables"] if RESULTS.exists() else {}
    if options.coverage:
        tables["coverage"] = coverage_table(json.loads(options.coverage.read_text())["files"], options.packages)
    mutants = read(MUTANTS)
    tables["mutants"] = {"columns": list(counted(mutants)[0]), "rows": counted(mutants)[1:]}
    tables["survivors"] = survivors(mutants)
    RESULTS.write_text(
        json.dumps(
            {
                "command": "python bench/tests_page.py",
                "commit": git("rev-parse", "--short", "HEAD"),
                "date": datetime.now(UTC).date().isoformat(),
                "versions": versions("numpy", "scipy", "numba", "pytest", "hypothesis").strip(),
                "machine": "any; no times",
                "tables": tables,
                "figures": {},
            },
            indent=1,
        )
        + "\n"
    )
    page = PAGE.read_text()
    for name, table in tables.items():
        block = re.compile(rf"(<!-- table {name} -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
        page = block.sub(lambda found, table=table: found[1] + as_markdown(table), page)
    PAGE.write_text(page)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def coverage_table(files: dict, packages: list[str] | None) -> dict:
    """Return lines and branches by package, and those of all."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for path, file in files.items():
        below = Path(path).parts[Path(path).parts.index("sepc") + 1 :]
        if packages and below[0] not in packages:
            continue
        counts = file["summary"]
        four = ("num_statements", "covered_lines", "num_branches", "covered_branches")
        for package in (below[0] if len(below) > 1 else "modules", "all"):
            sums[package] = [a + counts[b] for a, b in zip(sums[package], four, strict=True)]
    rows = []
    for package, (lines, reached, branches, taken) in sorted(
        sums.items(), key=lambda item: (item[0] == "all", item[0])
    ):
        share = (reached + taken) / max(lines + branches, 1)
        rows.append([package, f"{lines:,}", f"{branches:,}", f"{lines - reached:,}", f"{branches - taken:,}"])
        rows[-1].append(f"{100.0 * share:.1f}")
    columns = ["package", "statements", "branches", "statements missed", "branches missed", "covered (%)"]
    return {"columns": columns, "rows": rows}


def survivors(mutants: list[dict[str, str]]) -> dict:
    """Return the mutants that no test noticed, with the reason if there is one."""
    reasons = explanations()
    rows = [
        [
            line["room"],
            f"`{line['mutant'].replace('|', chr(92) + '|')}`",
            reasons.get(line["mutant"], "no test notices it"),
        ]
        for line in sorted(mutants, key=lambda line: (line["room"], line["mutant"]))
        if line["outcome"] == "survived"
    ]
    return {"columns": ["room", "mutant", f"why ({EXPLAINED.name})"], "rows": rows}


def as_markdown(table: dict) -> str:
    lines = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
