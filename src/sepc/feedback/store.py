"""One file that holds what a monitor has seen: NumPy's archive without pickle, written whole or not at all."""

import hashlib
import json
import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.errors import InputError
from sepc.files import written_whole
from sepc.model import Model

_FORMAT, _VERSION = "sepc feedback", 1

Arrays = dict[str, NDArray[Any]]


def fingerprint(clf: Any) -> str:
    """Return a text that two fitted classifiers share only if they are the same in all that a monitor reads.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1]
    >>> one, two, other = (fingerprint(SEPClassifier(n_imp=n).fit(X, y)) for n in (0, 0, 1))
    >>> one == two, one == other
    (True, False)
    """
    model: Model = clf._model
    allowed = [p.n_imp for p in clf.partitions_]
    digest = hashlib.sha256(json.dumps([repr(model.classes.tolist()), model.features, model.trust, allowed]).encode())
    arrays: list[Any] = [model.mean, model.scale, model.class_count, model.points, model.codes]
    for rules in model.rules:
        ellipsoids = [rules.stack[k] for k in range(len(rules.stack))]
        arrays += [rules.isolated, *(field for E in ellipsoids for field in (E.center, E.axes, E.radii))]
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a file; if that fails, what was there before stays as it was.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write(f"{folder}/seen", {"fingerprint": "f"}, {"a": np.arange(3)})
    ...     read(f"{folder}/seen", "f")[1]["a"].tolist()
    [0, 1, 2]
    """
    text = json.dumps({"format": _FORMAT, "version": _VERSION, **header})
    packed: dict[str, Any] = {"header": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    with written_whole(path) as file:
        np.savez(file, **packed)


def read(path: str | os.PathLike[str], fingerprint: str) -> tuple[dict[str, Any], Arrays]:
    """Read a file that belongs to the model with this fingerprint."""
    content = Path(path).read_bytes()
    try:
        header, arrays = _unpacked(content)
    except Exception as error:  # a damaged archive may fail in any way
        raise damaged(path) from error
    if header["format"] != _FORMAT or header["version"] != _VERSION:
        raise InputError(
            f"{str(path)!r} is a {header['format']!r} of version {header['version']}; expected a {_FORMAT!r} of "
            f"version {_VERSION}. Read it with the version of sepc that wrote it."
        )
    if header["fingerprint"] != fingerprint:
        raise InputError(
            f"{str(path)!r} holds what was observed with another model than clf; expected the classifier that the "
            "monitor was made for. Load that one, or start a new monitor."
        )
    return header, arrays


def damaged(path: str | os.PathLike[str]) -> InputError:
    """Return the error for a file that cannot be read.

    Examples
    --------
    >>> damaged("seen.npz")
    InputError("'seen.npz' is damaged or was not written by FeedbackMonitor.save. Take a copy, or start a new monitor.")
    """
    return InputError(
        f"{str(path)!r} is damaged or was not written by FeedbackMonitor.save. Take a copy, or start a new monitor."
    )


def _unpacked(content: bytes) -> tuple[dict[str, Any], Arrays]:
    # NumPy alone would not notice a damaged shape, since it then stops before the end, where the check sum is.
    if zipfile.ZipFile(BytesIO(content)).testzip() is not None:
        raise ValueError("check sum")
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    if not {"format", "version", "fingerprint"} <= set(header):
        raise ValueError("header")
    return header, arrays
