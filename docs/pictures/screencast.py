"""Draw docs/pictures/screencast.svg: a terminal from ``sepc demo`` to ``sepc report``, with what really is printed.

``python docs/pictures/screencast.py`` runs each command in an empty folder. The lines light up one after the
other; where motion is not wanted, they all do from the beginning.
"""

import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from textwrap import wrap

# Commands, and which lines of their answers are shown.
COMMANDS = {
    "sepc demo --out .": slice(0, 5),
    "sepc fit data.csv --target diagnosis --holdout 0.25 -o model.sepc": slice(3, None),
    "sepc predict model.sepc new.csv --min-trust 0.95 -o verdicts.csv": slice(0, None),
    "sepc explain model.sepc new.csv --row 17": slice(0, 6),
    "sepc report data.csv --target diagnosis -o report.html": slice(2, None),
}
COLUMNS = 112
SIZE, LEADING, MARGIN = 13, 18, 18
TYPING, READING = 1.2, 2.5  # seconds from a command to its answer, and from there to the next command
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def main() -> None:
    """Write screencast.svg beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        said = [(command, shown(answer(command, folder), lines)) for command, lines in COMMANDS.items()]
    Path(__file__).with_name("screencast.svg").write_text(drawn(said), encoding="utf-8")


def answer(command: str, folder: str) -> str:
    """Return what a command prints on both streams."""
    program, *arguments = command.split()
    line = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(line, cwd=folder, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def shown(text: str, lines: slice) -> list[str]:
    """Return some lines of an answer as a terminal of so many columns breaks them."""
    broken = [part for line in text.splitlines() if line.strip() for part in wrap(line, COLUMNS)]
    return broken[lines] if lines.stop is None else [*broken[lines], "..."]


def drawn(said: list[tuple[str, list[str]]]) -> str:
    """Return the picture: each command and its answer, with the time at which they appear."""
    texts, now, row = [], 0.0, 1
    for command, lines in said:
        texts.append(_line(row, f"$ {command}", "command", now))
        now, row = now + TYPING, row + 1
        for line in lines:
            texts.append(_line(row, line, "answer", now))
            row += 1
        now += READING
    width = 2 * MARGIN + round(COLUMNS * SIZE * 0.602)
    height = 2 * MARGIN + row * LEADING
    style = f"""
    text {{ font: {SIZE}px {FONT}; white-space: pre; fill: #d6deeb; }}
    .command {{ fill: #9ecbff; font-weight: bold; }}
    .line {{ animation: appear 0.2s both; }}
    @keyframes appear {{ from {{ opacity: 0.35; }} to {{ opacity: 1; }} }}
    @media (prefers-reduced-motion: reduce) {{ .line {{ animation: none; }} }}"""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>A terminal: sepc demo, fit, predict, explain and report, and what they print</title>",
            f"<style>{style}\n</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#10151f"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _line(row: int, text: str, kind: str, seconds: float) -> str:
    y = MARGIN + row * LEADING
    return (
        f'<text class="line {kind}" x="{MARGIN}" y="{y}" style="animation-delay: {seconds:.1f}s">{escape(text)}</text>'
    )


if __name__ == "__main__":
    main()
