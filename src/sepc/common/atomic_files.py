"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write that takes its place only once all is written; until then what was there stays.

    An error or an interruption leaves nothing behind. What is no plain file, a pipe say, is written to at once.

    Parameters
    ----------
    path : path-like

    Yields
    ------
    binary file
    """
    given, target = Path(path), Path(os.path.realpath(path))  # a link goes on pointing to the file
    if given.exists() and not given.is_file():
        with given.open("wb") as file:
            yield file
        return
    part = target.with_name(f".{uuid4().hex}.tmp")  # of a length of its own: the name may be as long as names can be
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


def _opened(part: Path, given: Path) -> BinaryIO:
    try:
        return part.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(given)) from error
