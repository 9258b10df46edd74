"""How the benchmarks measure, and how they print and record what they find."""

import ctypes
import os
import platform
import shlex
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import partial
from importlib import metadata
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

RECORD: dict[str, Any] = {"tables": {}, "figures": {}}


def cpu_seconds(call, *arguments) -> float:
    start = process_time()
    call(*arguments)
    return process_time() - start


def take_turns(one: tuple, other: tuple) -> tuple[float, float]:
    """Return the median CPU seconds of two calls that take turns, repeated 5 to 2000 times for about two seconds."""
    first = cpu_seconds(*one) + cpu_seconds(*other)
    repeats = int(min(2000, max(5, 2.0 / first)))
    times = [(cpu_seconds(*one), cpu_seconds(*other)) for _ in range(repeats)]
    return median(t for t, _ in times), median(t for _, t in times)


def against(ours: tuple, peer: tuple) -> str:
    """Return a peer's CPU seconds and our speed relative to it, from calls that take turns."""
    slow, fast = cpu_seconds(*peer), cpu_seconds(*ours)
    turns = int(min(20, max(1, 1.0 / slow)))
    # For as long as the peer takes, within reason: the first calls after it pay for the caches that it has filled.
    calls = int(min(100, max(5, slow / fast)))
    times = [(median(cpu_seconds(*ours) for _ in range(calls)), cpu_seconds(*peer)) for _ in range(turns)]
    return f"{median(t for _, t in times):.3g} s, {median(t / o for o, t in times):,.0f} x"


def versions(*packages: str) -> str:
    """Return what the measurements belong to, as a line of text."""
    packaged = ", ".join(f"{package} {metadata.version(package)}" for package in packages)
    RECORD["versions"] = f"Python {platform.python_version()}, {packaged}"
    return f"{platform.machine()}, {RECORD['versions']}\n"


def loop_speed() -> float:
    return median(cpu_seconds(lambda: sum(i for i in range(10_000_000))) for _ in range(3))


def fresh(code: str, **environment: str) -> float:
    """CPU seconds that code takes in a new interpreter, without the interpreter's own start."""
    timed = f"from time import process_time as t; s = t()\n{code}\nprint(t() - s)"
    done = subprocess.run(
        [sys.executable, "-c", timed], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return float(done.stdout)


def peak_allocation(job, before) -> int:
    """Return by how many bytes what is allocated grows at most during a job.

    Exact, which Linux's count of resident pages is not: it lags behind by some 100 kB, more than a small set. What
    comes `before`, under the same watch, takes what libraries, compiled code and the watch itself take once.
    """
    import memray  # not for those who only measure time

    with TemporaryDirectory() as folder:
        for name, call in (("before", before), ("job", job)):
            path = Path(folder, name)
            with memray.Tracker(path, file_format=memray.FileFormat.AGGREGATED_ALLOCATIONS):
                call()
        return memray.FileReader(path).metadata.peak_memory


def peak_in_use(job) -> int:
    """Return by how many bytes all that is in use grows at most during a job: objects, and what arrays hold."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak_growth(job) -> int:
    """Return by how many bytes the resident memory of this process grows at most during a job, some 100 kB off."""
    ctypes.CDLL(None).malloc_trim(0)  # else a job would grow into what an earlier one has left
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    job()
    return resident("VmHWM") - before


def resident(field: str) -> int:
    """Return what Linux reports of this process's memory, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{field}:")[1].split()[0])


def table(name: str, *columns: str) -> None:
    """Begin a table: print its head, and record it by its name."""
    if name in RECORD["tables"]:
        raise ValueError(f"There are two tables {name!r}; expected a name for each.")
    RECORD["tables"][name] = {"columns": list(columns), "rows": []}
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))


def row(*cells: object) -> None:
    """Add a row to the last table."""
    texts = [str(cell) for cell in cells]
    RECORD["tables"][next(reversed(RECORD["tables"]))]["rows"].append(texts)
    print("| " + " | ".join(texts) + " |", flush=True)


def figure(name: str, value: float) -> None:
    """Print and record a number that stands in no table."""
    RECORD["figures"][name] = value
    print(f"\n{name}: {value}")


@contextmanager
def recording() -> Iterator[None]:
    """Record tables and figures in a result file if a script is called with ``--record NAME``.

    With ``--show``, which computes nothing, the file keeps what it says of command, commit and versions.
    """
    if "--record" not in sys.argv:
        yield
        return
    import figures  # not for those who only print

    place = sys.argv.index("--record")
    name = sys.argv[place + 1]
    del sys.argv[place : place + 2]
    script = Path(sys.argv[0]).resolve()
    about = {
        "command": shlex.join(["python", script.relative_to(figures.ROOT).as_posix(), *sys.argv[1:]]),
        "commit": commit(),
        "date": date.today().isoformat(),
        "versions": "",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "code": figures.code_digest(script),  # before the run: the code may be edited meanwhile
    }
    yield
    about["versions"] = RECORD.pop("versions")
    if "--show" in sys.argv:
        about = {key: figures.result(name)[key] for key in figures.HEADER}
    figures.write(name, about | RECORD)


def commit() -> str:
    """Return the commit that is measured, and whether there is more than that."""
    git = partial(subprocess.run, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    changed = git(["git", "status", "--porcelain", "../src", "."]).stdout.strip()
    return git(["git", "rev-parse", "--short", "HEAD"]).stdout.strip() + (" with changes" if changed else "")
