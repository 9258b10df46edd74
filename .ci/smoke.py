"""Smoke test of built packages: ``python .ci/smoke.py dist/*``; it needs the standard library alone.

Each wheel or sdist is installed with its extra ``all`` into an empty environment, as a user would. The code of the
README and the command line then run in processes that find nothing but what was installed.
"""

import argparse
import csv
import doctest
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from importlib import metadata
from math import inf
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def main() -> None:
    """Test the packages that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", type=Path, metavar="PACKAGE", help="a wheel or an sdist")
    parser.add_argument("--constraint", type=Path, help="file of versions to install (default: the newest of all)")
    parser.add_argument("--within", type=float, default=inf, help="limit in seconds of installation and README")
    parser.add_argument("--inside", choices=CHECKS, help="test what this interpreter has installed")
    options = parser.parse_args()
    if options.inside:
        CHECKS[options.inside]()
    for package in options.packages:
        with tempfile.TemporaryDirectory(prefix="sepc-smoke-", ignore_cleanup_errors=True) as folder:
            check_package(package, Path(folder), options)


def check_package(package: Path, folder: Path, options: argparse.Namespace) -> None:
    """Install a package into an empty environment, and test it from an empty folder."""
    environment, work = folder / "environment", folder / "work"
    work.mkdir()
    venv.create(environment, symlinks=sys.platform != "win32", with_pip=True)
    python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def run(*arguments: object) -> float:
        """Run Python in isolated mode: paths and packages from outside cannot stand in for what is missing."""
        start = time.perf_counter()
        subprocess.run([python, "-I", *map(str, arguments)], check=True, cwd=work)
        return time.perf_counter() - start

    constraint = ["--constraint", options.constraint.resolve()] if options.constraint else []
    installing = run("-m", "pip", "install", "--quiet", *constraint, f"{package.resolve()}[all]")
    run("-m", "pip", "check")
    using = run(Path(__file__).resolve(), "--inside", "readme")
    print(f"{package.name}: installed in {installing:.0f} s, README in {using:.0f} s", flush=True)
    assert installing + using <= options.within, f"more than {options.within:.0f} s"
    for check in ("files", "command_line"):
        run(Path(__file__).resolve(), "--inside", check)


def check_files() -> None:
    """Check what was installed: the typed package and the command, and nothing else of the repository."""
    installed = metadata.files("sepc") or []
    names = {str(file.as_posix()) for file in installed}
    tops = {name.split("/")[0] for name in names} - {".."}
    assert tops == {"sepc", f"sepc-{metadata.version('sepc')}.dist-info"}, tops
    assert {"sepc/py.typed", "sepc/__init__.pyi"} <= names
    import sepc

    assert sepc.__version__ == metadata.version("sepc")
    assert Path(sepc.__file__).is_relative_to(sysconfig.get_path("purelib")), sepc.__file__
    for name in sepc.__all__:
        getattr(sepc, name)


def check_readme() -> None:
    """Run the README's lines of Python, which must print what it says."""
    code = re.search(r"^```pycon\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    example = doctest.DocTestParser().get_doctest(code[1], {}, README.name, README.name, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(example)
    assert result.attempted > 0
    assert result.failed == 0


def check_command_line() -> None:
    """Fit, judge and explain records of a CSV file with the installed command."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    with Path("wine.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*wine.feature_names, "cultivar"])
        writer.writerows([*row, wine.target_names[code]] for row, code in zip(wine.data, wine.target, strict=True))

    def sepc(*arguments: str) -> str:
        command = shutil.which("sepc", path=sysconfig.get_path("scripts"))
        utf8 = {**os.environ, "PYTHONUTF8": "1"}
        return subprocess.run(
            [command, *arguments], check=True, stdout=subprocess.PIPE, encoding="utf-8", env=utf8
        ).stdout

    assert sepc("--version").split() == ["sepc", metadata.version("sepc")]
    sepc("fit", "wine.csv", "--target", "cultivar", "--holdout", "0.25", "-o", "wine.sepc")
    sepc("predict", "wine.sepc", "wine.csv", "--min-trust", "0.95", "-o", "verdicts.csv")
    with Path("verdicts.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(wine.target)
    assert "Predicted class_" in sepc("explain", "wine.sepc", "wine.csv", "--row", "17")
    sepc("report", "wine.csv", "--target", "cultivar", "-o", "report.html")
    assert Path("report.html").stat().st_size > 10_000


CHECKS = {"readme": check_readme, "files": check_files, "command_line": check_command_line}

if __name__ == "__main__":
    main()
