"""Packed files: gzip, bzip2, xz, and ZIP archives of one file."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from sepc.common.errors import InputError

# Errors of files that are cut off or damaged, besides OSError.
BROKEN: tuple[type[Exception], ...] = (EOFError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
_OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_SUFFIXES = (".gz", ".bz2", ".xz", ".zip")


def unpacked(file: Any, name: str) -> tuple[Any, str]:
    """Return an open file or what is packed in it, by its first bytes, and its name without what says how."""
    head = file.peek(6)
    inner = name[: -len(PurePath(name).suffix)] if PurePath(name).suffix.lower() in _SUFFIXES else name
    opener = next((opener for start, opener in _OPENERS.items() if head.startswith(start)), None)
    if opener is not None:
        return opener(file, "rb"), inner
    if head.startswith(b"PK\x03\x04"):
        return _only_member(seekable(file), name)
    return file, name


def seekable(file: Any) -> Any:
    """Return a file in which one can go back."""
    return file if file.seekable() else io.BufferedReader(io.BytesIO(file.read()))


def _only_member(file: Any, name: str) -> tuple[Any, str]:
    """Return the only file in an archive, or the archive itself if it is a workbook."""
    archive = zipfile.ZipFile(file)
    members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if any(one.filename == "xl/workbook.xml" for one in members):
        file.seek(0)
        return file, name
    if len(members) != 1:
        raise InputError("zip-files", name=name, n=len(members), files=[one.filename for one in members[:5]])
    if members[0].flag_bits & 1:
        raise InputError("zip-encrypted", name=name)
    return archive.open(members[0]), members[0].filename
