"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

_unfinished: set[Path] = set()


def discard_unfinished() -> None:
    """Remove the files that are being written, of a process that is about to end."""
    for part in list(_unfinished):
        part.unlink(missing_ok=True)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces the one at `path` only when it is complete.

    An error or an interruption leaves the old file unchanged, and no other behind. What is not a regular file, such as
    a pipe, is written to directly.
    """
    given, target = Path(path), Path(os.path.realpath(path))  # the target of a symbolic link is replaced, not the link
    if given.exists() and not given.is_file():
        with given.open("wb") as file:
            yield file
        return
    part = target.with_name(f".{uuid4().hex}.tmp")  # not the name and a suffix, which could be too long
    _unfinished.add(part)
    try:
        with _opened(part, given) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(target.stat().st_mode)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
        _unfinished.discard(part)


def _opened(part: Path, given: Path) -> BinaryIO:
    try:
        return part.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(given)) from error
