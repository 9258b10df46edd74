"""The command line in tests: tables of texts, and ways to run a command."""

import csv
import io
import shlex
import subprocess
import sys

import numpy as np

from sepc.cli import main

COLUMNS = ("size", "weight", "colour", "note")
COMMANDS = (
    "landscape",
    "fit",
    "promise",
    "predict",
    "explain",
    "report",
    "compare",
    "feedback",
    "desk",
    "serve",
    "export",
    "inspect",
    "demo",
    "completion",
)


def records(n, seed=0):
    """Return rows of texts: two numbers, one with gaps, a category, a free text, and the label."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        big = rng.random() < 0.5
        size = rng.normal(6.0 if big else 0.0)
        weight = "" if rng.random() < 0.05 else f"{rng.normal(3.0 if big else 0.0):.3f}"
        colour = rng.choice(["red", "blue"] if big else ["green", "blue"])
        rows.append([f"{size:.4f}", weight, str(colour), "same", "yes" if big else "no"])
    return rows


def as_csv(rows, names=(*COLUMNS, "label"), delimiter=","):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows([names, *rows])
    return out.getvalue()


GOOD = as_csv(records(40))


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def do(line):
    """Run a command in this process; return its exit code."""
    return main(shlex.split(line))


def files(folder):
    return {path.name for path in folder.iterdir() if not path.is_symlink()}


def run(*arguments, **options):
    """Run the command line in a process of its own."""
    return subprocess.run([sys.executable, "-m", "sepc", *arguments], capture_output=True, **options)
