"""The model file of a scorer: watched, and taken over when it has changed and can be read."""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sepc.around import TrustedClassifier
from sepc.common.errors import InputError
from sepc.desk.judge import file_digest
from sepc.promises.parts import GROUP, GROUPS
from sepc.serving.server.metrics import Metrics
from sepc.serving.server.scoring import Served

log = logging.getLogger("sepc.serving")
_EVERY = 1.0  # seconds


class ModelFile:
    """The model in force: that of a file, and of the same file once it has changed.

    A request is answered by the model that is in force when it is read. A file that cannot be taken over changes
    nothing but `problem`, which says why.
    """

    def __init__(self, first: Served, load: Callable[[Path], Any], metrics: Metrics) -> None:
        self._load, self._metrics = load, metrics
        self._lock, self._wanted, self._ended = threading.Lock(), threading.Event(), False
        self.problem: str | None = None
        self.changed: list[str] = []
        self._seen = self._stamp(first.path)
        self.served = self._read(first)
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Watch the file."""
        self._thread.start()

    def want(self, *_: Any) -> None:
        """Look at the file soon, changed or not: the handler of a signal."""
        self._wanted.set()

    def end(self) -> None:
        """Watch no longer."""
        self._ended = True
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join(10.0)

    def reload(self) -> bool:
        """Take over the model in the file; return whether it is in force now."""
        with self._lock:
            before, self._seen = self.served, self._stamp(self.served.path)
            try:
                served = self._read(before)
            except Exception as error:  # of any kind: the thread that watches must go on
                self.problem = str(error) or type(error).__name__
                self._metrics.count("reload_failures")
                log.error("the model goes on as it was, since the file cannot be taken over: %s", self.problem)  # noqa: TRY400
                return False
            self.problem = None
            if served.digest != before.digest:
                self.changed = _differences(before, served)
                self.served = served
                self._metrics.count("reloads")
                log.warning("took over version %s. %s", served.version, " ".join(self.changed))
            return True

    def _read(self, before: Served) -> Served:
        path = before.path
        digest = file_digest(path)
        clf = self._load(path)
        if file_digest(path) != digest:  # somebody is writing
            raise InputError("serve-file-changes", path=path)
        if clf.table_encoder is None and not hasattr(clf, "feature_names_in_"):  # fitted to arrays
            if isinstance(clf, TrustedClassifier):  # the other one's answers are in columns with names
                raise InputError("model-without-names", path=path)
            clf.feature_names_in_ = np.array([f"x{j}" for j in range(clf.n_features_in_)], dtype=object)
        served = replace(before, clf=clf, digest=digest, loaded=time.time())
        promise = clf.promise if served.accepts.min_trust is None else None
        if promise is not None and promise.is_kept and promise.by in (GROUP, GROUPS) and not promise.group_column:
            raise InputError("model-promise-groups-no-column")
        _ = served.about, served.labels  # made now, not for the first request
        return served

    def _watch(self) -> None:
        while not self._ended:
            wanted = self._wanted.wait(_EVERY)
            self._wanted.clear()
            if not self._ended and (wanted or self._stamp(self.served.path) != self._seen):
                self.reload()

    @staticmethod
    def _stamp(path: Path) -> tuple[int, ...] | None:
        """Return what changes when a file does; None where it is gone."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _differences(before: Served, now: Served) -> list[str]:
    """Return sentences on what callers have to know of a new model."""
    found = []
    for what, one, other in (
        ("columns", set(before.columns.names), set(now.columns.names)),
        ("labels", set(before.labels), set(now.labels)),
    ):
        new, gone = sorted(other - one), sorted(one - other)
        if new or gone:
            found.append(f"Its {what} differ: new are {new}, gone are {gone}.")
    return found
