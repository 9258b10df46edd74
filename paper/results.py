"""Results of experiments: values over seeds, kept in files, and as a document ready for a page."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from paper.experiment import Experiment, Table
from paper.paper_readings import READINGS
from paper.shared_measures import ACCEPTANCE
from paper.statements import RULE, Kind, Values, spread, spread_in_words
from sepc import __version__
from sepc.common.atomic_files import written_whole

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one experiment.

    Attributes
    ----------
    experiment : Experiment
    full : bool
        Whether it was run in its full form.
    values : dict of str to list of float
        One number for each seed, for each measure.

    Examples
    --------
    >>> from paper import EXPERIMENTS
    >>> xor = EXPERIMENTS["xor"]
    >>> Result.of(xor, False, [xor.run(0)]).values["plain.n"]
    [2.0]
    """

    experiment: Experiment
    full: bool
    values: dict[str, list[float]]

    @classmethod
    def of(cls, experiment: Experiment, full: bool, runs: Iterable[dict[str, float]]) -> "Result":
        """Gather runs, one for each seed, without digits that differ from machine to machine."""
        every = list(runs)
        return cls(experiment, full, {name: [_rounded(run[name]) for run in every] for name in experiment.measures()})

    @property
    def n_runs(self) -> int:
        """Number of seeds that were run."""
        return len(next(iter(self.values.values())))

    def save(self, path: Path) -> None:
        """Keep it in a file, to go on from after an interruption."""
        write_json(path, {"version": __version__, "full": self.full, "values": _with_gaps(self.values)})

    @classmethod
    def load(cls, path: Path, experiment: Experiment, full: bool) -> "Result | None":
        """Return what was kept, or None if it is not there, of another version, or of another form."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        known = isinstance(kept, dict) and (kept.get("version"), kept.get("full")) == (__version__, full)
        return cls._of_kept(kept["values"], experiment, full) if known else None

    @classmethod
    def load_all(cls, path: Path, experiments: Mapping[str, Experiment], full: bool) -> "dict[str, Result]":
        """Return the experiments in a file of `numbers`, but for those of another version, form or measures."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        if kept["version"] != __version__:
            return {}
        found = {}
        for name, one in kept["experiments"].items():
            if name in experiments and (one["form"] == "full") == full:
                values = {measure: row["values"] for measure, row in one["measures"].items()}
                found[name] = cls._of_kept(values, experiments[name], full)
        return {name: result for name, result in found.items() if result is not None}

    @classmethod
    def _of_kept(cls, values: Mapping[str, list[float | None]], experiment: Experiment, full: bool) -> "Result | None":
        n = experiment.full if full else experiment.quick
        if {name: len(column) for name, column in values.items()} != dict.fromkeys(experiment.measures(), n):
            return None
        return cls(experiment, full, _without_gaps(values))


def write_json(path: Path, content: Any) -> None:
    """Write something as JSON, whole or not at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_json(Path(folder) / "a.json", {"a": 1})
    ...     (Path(folder) / "a.json").read_text().split()
    ['{', '"a":', '1', '}']
    """
    with written_whole(path) as file:
        file.write((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def numbers(results: Iterable[Result]) -> dict[str, Any]:
    """Return all numbers and verdicts, ready for JSON."""
    return {"version": __version__, "experiments": {r.experiment.name: _of_result(r) for r in results}}


def _of_result(result: Result) -> dict[str, Any]:
    measures = {}
    for name, values in _with_gaps(result.values).items():
        n, middle, low, high = spread(result.values[name])
        ends = {} if not n else {"median": middle, "low": low, "high": high}
        measures[name] = {**ends, "values": values}
    verdicts = [
        {
            "statement": s.text,
            "reported": s.reported,
            "verdict": verdict.kind.value,
            "borderline": verdict.borderline,
            "reason": s.line(result.values),
            "sentence": verdict.sentence,
        }
        for s in result.experiment.statements
        for verdict in [s.verdict(result.values)]
    ]
    form = "full" if result.full else "quick"
    return {"form": form, "runs": result.n_runs, "statements": verdicts, "measures": measures}


def document(results: Iterable[Result]) -> dict[str, Any]:
    """Return what the page shows, as texts.

    Examples
    --------
    >>> document([])["verdicts"]
    {'matches': 0, 'matches in part': 0, 'differs': 0}
    """
    every = list(results)
    sections = [_section(result) for result in every]
    counts = Counter(s["verdict"] for section in sections for s in section["statements"])
    return {
        "version": __version__,
        "rule": RULE,
        "forms": sorted({"--full" if result.full else "the quick form" for result in every}),
        "readings": [reading.text for reading in READINGS.values()],
        "verdicts": {kind.value: counts[kind.value] for kind in Kind},
        "n_borderline": sum(bool(s["borderline"]) for section in sections for s in section["statements"]),
        "sections": sections,
        "acceptance": [
            (section["title"], table) for section in sections for table in section["tables"] if table["is_acceptance"]
        ],
    }


def _section(result: Result) -> dict[str, Any]:
    experiment, values = result.experiment, result.values
    statements = [
        {
            "text": s.text,
            "reported": s.reported,
            "ours": s.ours(values),
            "line": s.line(values),
            "example": s.example,
            "verdict": v.kind.value,
            "borderline": v.borderline,
            "sentence": v.sentence,
        }
        for s in experiment.statements
        for v in [s.verdict(values)]
    ]
    return {
        "name": experiment.name,
        "title": experiment.title,
        "about": experiment.about,
        "caption": experiment.caption,
        "runs": result.n_runs,
        "statements": statements,
        "tables": [_shown(table, values) for table in experiment.tables],
    }


def _shown(table: Table, values: Values) -> dict[str, Any]:
    rows = [
        (row.text, [spread_in_words(values[f"{row.key}.{column.key}"], column.kind) for column in table.columns])
        for row in table.rows
    ]
    return {
        "title": table.title,
        "note": table.note,
        "columns": [column.text for column in table.columns],
        "rows": rows,
        "is_acceptance": table.rows == ACCEPTANCE.rows and table.columns == ACCEPTANCE.columns,
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _with_gaps(values: Values) -> dict[str, list[float | None]]:
    """Return values with None, which JSON knows, for NaN."""
    return {name: [v if isfinite(v) else None for v in column] for name, column in values.items()}


def _without_gaps(values: Mapping[str, list[float | None]]) -> dict[str, list[float]]:
    return {name: [float("nan") if v is None else float(v) for v in column] for name, column in values.items()}
