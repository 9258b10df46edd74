"""Archive of arrays and JSON: nothing in it is executed, changes are detected, and memory is bounded by its size.

The file is a zip archive without compression, so that no entry can be larger than the file. Arrays are entries in
NumPy's own format, without pickle. `manifest.json` lists them with their SHA-256 digests, and `manifest.sha256` holds
the digest of the manifest. docs/reference/model-format.md describes it.
"""

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError

Arrays = dict[str, NDArray[Any]]

_MANIFEST, _DIGEST = "manifest.json", "manifest.sha256"
# Booleans, numbers and texts; never objects.
_KINDS = "biufU"
_MOST_DIMENSIONS = 3
# Of all entries, so that the same content gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its name, the only version that can be read, and what messages say of writer and remedy.

    The `error` is raised for all that is wrong with a file.
    """

    name: str
    version: int
    writer: str
    remedy: str
    error: type[InputError]

    def write(self, path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
        """Write a file of a header for JSON and arrays of at most three dimensions; on failure an old file stays."""
        with written_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            whole, shared = _shared(arrays)
            entries = {f"{name}.npy": _put_array(archive, f"{name}.npy", array) for name, array in whole.items()}
            manifest = {
                "format": self.name,
                "version": self.version,
                "content": header,
                "entries": entries,
                "shared": shared,
            }
            text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
            _put(archive, _MANIFEST, text)
            _put(archive, _DIGEST, hashlib.sha256(text).hexdigest().encode("ascii"))

    def read(self, path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
        """Return header and arrays of a file that `write` wrote.

        Altered content is refused before it is parsed. Memory is at most a few times the size of the file.
        """
        with open(path, "rb") as file:
            try:
                manifest, archive = _opened(file)
            except Exception as error:  # a damaged archive may fail in any way
                raise self.damaged(path) from error
            self._require_this_format(path, manifest)
            try:
                return manifest["content"], _arrays(archive, manifest)
            except Exception as error:
                raise self.damaged(path) from error

    def _require_this_format(self, path: str | os.PathLike[str], manifest: dict[str, Any]) -> None:
        name, version = manifest.get("format"), manifest.get("version")
        if (name, version) != (self.name, self.version):
            raise self.error(
                "file-version",
                path=str(path),
                name=name,
                version=version,
                expected=self.name,
                expected_version=self.version,
            )

    def damaged(self, path: str | os.PathLike[str]) -> InputError:
        """Return the error for a file that cannot be read."""
        return self.error("file-damaged", path=str(path), writer=self.writer, remedy=self.remedy)


class _Digested:
    """Writer that computes the digest of the content."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self.file.write(data)


def _put_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> str:
    """Write an array; return its digest."""
    if array.dtype.kind not in _KINDS or array.ndim > _MOST_DIMENSIONS:
        raise ValueError(f"{name} has dtype {array.dtype} and {array.ndim} dimensions")
    info = zipfile.ZipInfo(name, _DATE)
    info.file_size = array.nbytes  # decides beforehand whether the entry needs the ZIP64 format
    with archive.open(info, "w") as entry:
        digested = _Digested(entry)
        npy.write_array(digested, array, version=(1, 0), allow_pickle=False)
    return digested.digest.hexdigest()


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _DATE), content)


def _opened(file: IO[bytes]) -> tuple[dict[str, Any], zipfile.ZipFile]:
    """Return the manifest and its archive."""
    size = os.fstat(file.fileno()).st_size
    archive = zipfile.ZipFile(file)
    _require_plain_entries(archive.infolist(), size)
    text = archive.read(_MANIFEST)
    _require(archive.read(_DIGEST) == hashlib.sha256(text).hexdigest().encode("ascii"), "digest of the manifest")
    manifest = json.loads(text, parse_constant=_refuse_constant)
    _require(isinstance(manifest, dict) and isinstance(manifest.get("content"), dict), "manifest")
    return manifest, archive


def _require_plain_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    for entry in entries:
        is_encrypted = entry.flag_bits & 0x1
        _require(entry.compress_type == zipfile.ZIP_STORED and not is_encrypted, "compressed entry")
        _require(entry.compress_size == entry.file_size, "size of an entry")
    _require(sum(entry.file_size for entry in entries) <= size, "sizes of the entries")
    _require(len({entry.filename for entry in entries}) == len(entries), "entry that is there twice")


def _shared(arrays: Arrays) -> tuple[Arrays, dict[str, list[Any]]]:
    """Concatenate arrays below 32 kB of the same type; return what to write, and names and shapes by shared entry.

    A model may have thousands of small arrays, and the overhead of an entry is larger than most of them.
    """
    whole: Arrays = {}
    shared: dict[str, list[str]] = {}
    for name, array in arrays.items():
        if array.nbytes >= 1 << 15:
            whole[name] = array
        else:
            shared.setdefault(array.dtype.str, []).append(name)
    names = {f"shared{k}": some for k, some in enumerate(shared.values())}
    for (dtype, some), entry in zip(shared.items(), names, strict=True):
        whole[entry] = np.concatenate([arrays[name].ravel() for name in some], dtype=dtype)  # in its byte order
    return whole, {entry: [[name, *arrays[name].shape] for name in some] for entry, some in names.items()}


def _arrays(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> Arrays:
    listed, shared = manifest["entries"], manifest["shared"]
    _require(set(archive.namelist()) == {_MANIFEST, _DIGEST, *listed}, "list of entries")
    whole = {name.removesuffix(".npy"): _array(archive.read(name), digest) for name, digest in listed.items()}
    arrays = {name: array for name, array in whole.items() if name not in shared}
    for entry, places in shared.items():
        sizes = [math.prod(shape) for _, *shape in places]
        _require(whole[entry].shape == (sum(sizes),) and min(sizes) >= 0, "shapes of arrays that share an entry")
        parts = np.split(whole[entry], np.cumsum(sizes)[:-1])
        arrays |= {name: part.reshape(shape).copy() for (name, *shape), part in zip(places, parts, strict=True)}
    return arrays


def _array(content: bytes, digest: str) -> NDArray[Any]:
    _require(hashlib.sha256(content).hexdigest() == digest, "digest")
    file = BytesIO(content)
    _require(npy.read_magic(file) == (1, 0), "version of the array")
    shape, in_columns, dtype = npy.read_array_header_1_0(file)
    start = file.tell()
    _require(dtype.kind in _KINDS and len(shape) <= _MOST_DIMENSIONS, "kind of array")
    # Before anything of that size is allocated.
    _require(math.prod(shape) * dtype.itemsize == len(content) - start, "shape of the array")
    _require(dtype.kind != "b" or set(content[start:]) <= {0, 1}, "flags")
    flat = np.frombuffer(content, dtype, offset=start) if len(content) > start else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if in_columns else "C").copy(order="K")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} in JSON")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)
