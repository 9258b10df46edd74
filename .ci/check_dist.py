"""Check of a wheel and an sdist: ``python .ci/check_dist.py dist``, after ``python -m build``.

The wheel is for every system and needs no build step at installation; the sdist builds the same wheel, and so does the
working tree; nothing but the package is in it.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(folder: Path) -> None:
    """Check the only wheel and the only sdist of a folder."""
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    assert wheel.name.endswith("-py3-none-any.whl"), f"{wheel.name} is not for every system"
    found = contents(wheel)
    tops = {name.split("/")[0] for name in found}
    assert tops == {"sepc", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"}, tops
    package = ROOT / "src"
    expected = {
        path.relative_to(package).as_posix()
        for path in (package / "sepc").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in found if name.startswith("sepc/")} == expected
    assert "sepc/py.typed" in found
    for source in (sdist, ROOT):
        with tempfile.TemporaryDirectory() as built:
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, source]
            subprocess.run(command, check=True)
            (other,) = Path(built).glob("*.whl")
            assert contents(other) == found, f"{source} builds another wheel than {wheel.name}"
    print(f"{wheel.name}: {len(found)} files, {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name} builds the same")


def contents(wheel: Path) -> dict[str, bytes]:
    """Return what is in each file of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
