"""Log of observations: an append-only file, from which a monitor resumes.

One line of JSON for each batch, after a header on the model and the monitor. A line on another model, or on another
promise of the same one, begins a section of its own: a monitor counts the batches of its model alone. Each line has a
digest of itself and of the line before, so that lines that were changed, removed or moved are detected. A line without
its newline was cut off by a crash: it is no observation, and the next one overwrites it.
"""

import hashlib
import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.typing import FloatArray, IntArray

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_FORMAT, _VERSION = "sepc observations", 1


class LoggedBatch(NamedTuple):
    """One batch of n observed records, shape (n, d).

    `labels` are None if they are not known. `chance` are the stated chances of being labelled, None if none were
    stated; `all_labelled` whether it was stated that all records get labels. `parts` are the parts of a promise that
    accepted records are in, -1 for refused ones, None without a promise. `seen`: the records were observed before,
    without labels. `day` is the date of observation, as in 2026-03-01; `months` are those of the records, as in
    2026-03, None where their dates are not known.
    """

    records: FloatArray
    labels: list[Any] | None
    chance: FloatArray | None
    all_labelled: bool = False
    parts: IntArray | None = None
    seen: bool = False
    day: str = ""
    months: list[str] | None = None

    def months_of_records(self) -> list[str]:
        """Return the month of each record; that of observation where dates are not known."""
        return [self.day[:7]] * len(self.records) if self.months is None else self.months

    def chances(self) -> FloatArray:
        """Return the chance of each record to be labelled; NaN where not stated."""
        if self.chance is not None:
            return self.chance
        return np.full(len(self.records), 1.0 if self.all_labelled else np.nan)

    @property
    def is_stated(self) -> bool:
        """Whether the chances of its records to be labelled were stated."""
        return self.all_labelled or self.chance is not None


class ObservationLog:
    """Batches in an append-only file, which is created if it does not exist.

    `model` is the fingerprint of the model, `settings` are those of the monitor, ready for JSON; an existing file must
    have a section of the model with these settings, the promise aside. `batches` are those of the model, without parts
    where it had another promise; `n_elsewhere` is the number of records that other models observed, `n_lost` that of
    the bytes of a last batch that was cut off.
    """

    def __init__(self, path: str | os.PathLike[str], model: str, settings: dict[str, Any]) -> None:
        self.path, self.settings = Path(path), settings
        self.batches: list[LoggedBatch] = []
        self.n_lost = self.n_elsewhere = 0
        self._section = {"model": model, "settings": settings}
        self._is_open = True  # whether the file ends in the section of this model and promise
        if not self.path.exists():
            header = {"format": _FORMAT, "version": _VERSION, **self._section}
            first, self._last = _line(header, "")
            with written_whole(self.path) as file:
                file.write(first)
            self._end = len(first)
            return
        self._read()

    def _read(self) -> None:
        whole = self.path.read_bytes()
        lines = whole.split(b"\n")
        self.n_lost = len(lines.pop())
        self._end = len(whole) - self.n_lost
        self._last = ""
        section: dict[str, Any] = {}
        is_known = False
        for number, line in enumerate(lines):
            entry = self._checked(line, number)
            if not number:
                self._require_format(entry)
            if "settings" in entry:
                section = entry
                is_known |= self._is_of_this_model(section)
            elif section.get("model") == self._section["model"]:
                batch = self._batch(entry, number)
                has_promise = section["settings"] == self.settings
                self.batches.append(batch if has_promise else batch._replace(parts=None))
            else:
                self.n_elsewhere += len(self._batch(entry, number).records)
        if not lines:
            raise self._damaged("it has no complete line")
        if not is_known:
            raise InputError("log-of-another-model", path=self.path)
        self._is_open = all(section.get(name) == value for name, value in self._section.items())

    def _checked(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
            check = entry.pop("check")
        except (ValueError, KeyError, AttributeError, UnicodeDecodeError) as error:
            raise self._damaged(f"line {number + 1} is no line of it") from error
        if check != _digest(entry, self._last):
            raise self._damaged(f"line {number + 1} is not what was written there")
        self._last = check
        return dict(entry)

    def _require_format(self, entry: dict[str, Any]) -> None:
        if entry.get("format") != _FORMAT:
            raise self._damaged("it is another kind of file")
        if entry.get("version") != _VERSION:
            raise InputError("log-newer", path=self.path, version=entry.get("version"), known=_VERSION)

    def _is_of_this_model(self, section: dict[str, Any]) -> bool:
        """Return whether a section is of this model; refuse other settings than now, the promise aside."""
        if section.get("model") != self._section["model"]:
            return False
        before, now = _named(section["settings"]), _named(self.settings)
        if before != now:
            raise InputError("log-settings-differ", path=self.path, before=before, now=now)
        return True

    def _batch(self, entry: dict[str, Any], number: int) -> LoggedBatch:
        try:
            records = np.frombuffer(zlib.decompress(b64decode(entry["records"])), dtype="<f8")
            chance = entry["chance"]
            return LoggedBatch(
                records.reshape(entry["shape"]).astype(np.float64),
                entry["labels"],
                None if chance is None else np.array(chance, dtype=np.float64),
                bool(entry["all_labelled"]),
                None if entry["parts"] is None else np.array(entry["parts"], dtype=np.int64),
                bool(entry["seen"]),
                str(entry["day"]),
                entry["months"],
            )
        except (KeyError, ValueError, TypeError, zlib.error) as error:
            raise self._damaged(f"line {number + 1} tells of no batch") from error

    def _damaged(self, why: str) -> InputError:
        return InputError("log-damaged", path=self.path, why=why)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Open and lock the file for writing, if nobody else has written to it."""
        try:
            file = self.path.open("r+b")
        except FileNotFoundError as error:
            raise InputError("log-gone", path=self.path) from error
        with file, _locked(file):
            if os.fstat(file.fileno()).st_size != self._end + self.n_lost:
                raise InputError("log-changed", path=self.path)
            yield file

    def append(self, batch: LoggedBatch) -> None:
        """Append a batch to the file and flush it to disk; with today's date if it has none."""
        batch = batch._replace(day=batch.day or date.today().isoformat())
        labels = None if batch.labels is None else [plain(label) for label in batch.labels]
        odd = [] if labels is None else [label for label in labels if not isinstance(label, (str, int, float, bool))]
        if odd:
            raise InputError("log-label", label=odd[0])
        entry = {
            "day": batch.day,
            "shape": list(batch.records.shape),
            "records": b64encode(zlib.compress(batch.records.astype("<f8").tobytes())).decode(),
            "labels": labels,
            "chance": None if batch.chance is None else batch.chance.tolist(),
            "all_labelled": batch.all_labelled,
            "parts": None if batch.parts is None else batch.parts.tolist(),
            "seen": batch.seen,
            "months": batch.months,
        }
        self._write(*([] if self._is_open else [self._section]), entry)
        self._is_open = True
        self.batches.append(batch._replace(labels=labels))

    def begin(self, model: str, settings: dict[str, Any]) -> None:
        """Begin a section of another model, which can then go on with the file."""
        self._write({"model": model, "settings": settings})
        self._is_open = False

    def _write(self, *entries: dict[str, Any]) -> None:
        """Write lines at the end of the file, and flush them to disk."""
        lines, last = b"", self._last
        for entry in entries:
            line, last = _line(entry, last)
            lines += line
        with self._opened() as file:
            file.truncate(self._end)  # drop a line that was cut off
            file.seek(self._end)
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        self._end, self._last, self.n_lost = self._end + len(lines), last, 0


@contextmanager
def _locked(file: BinaryIO) -> Iterator[None]:
    """Keep other writers out, where the system supports it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_UN)


def _line(entry: dict[str, Any], last: str) -> tuple[bytes, str]:
    check = _digest(entry, last)
    return (json.dumps({**entry, "check": check}) + "\n").encode(), check


def _digest(entry: dict[str, Any], last: str) -> str:
    return hashlib.sha256((last + json.dumps(entry)).encode()).hexdigest()[:32]


def _named(settings: Any) -> str:
    given = settings if isinstance(settings, dict) else {}
    return ", ".join(f"{name}={value}" for name, value in given.items() if name != "promise") or "no settings"
