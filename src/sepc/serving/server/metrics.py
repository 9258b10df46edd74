"""Counts of a scorer, in the text format of Prometheus."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from sepc.serving.server.scoring import Verdicts

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
_ABOUT = {
    "requests": "Requests by endpoint and status.",
    "rows": "Rows that were judged.",
    "verdicts": "Verdicts by label.",
    "accepted": "Verdicts whose label is accepted.",
    "refused": "Verdicts whose label is refused, by reason.",
    "reloads": "Models taken over from the file.",
    "reload_failures": "Files that could not be taken over; the model before goes on.",
    "desk_sent": "Refused records handed to the review desk.",
    "desk_dropped": "Refused records that the review desk did not get.",
    "desk_failures": "Attempts to hand records over that have failed.",
}
_LABELLED = "requests", "verdicts", "refused"


class _Histogram:
    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts, self.total = bounds, np.zeros(len(bounds) + 1, dtype=np.int64), 0.0

    def add(self, values: Any) -> None:
        known = values[values == values]
        self.counts += np.bincount(np.searchsorted(self.bounds, known), minlength=len(self.counts))
        self.total += float(known.sum())

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        counts = np.cumsum(self.counts).tolist()
        for bound, n in zip((*map(str, self.bounds), "+Inf"), counts, strict=True):
            between = "," if labels else ""
            yield f'{name}_bucket{{{labels}{between}le="{bound}"}} {n}'
        yield f"{name}_sum{_braces(labels)} {self.total!r}"
        yield f"{name}_count{_braces(labels)} {counts[-1]}"


class Metrics:
    """Counts since the start, for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in _ABOUT}
        self._shares = {"trust": _Histogram(_SHARES), "typicality": _Histogram(_SHARES)}
        self._seconds: dict[str, _Histogram] = {}

    def count(self, name: str, n: int = 1) -> None:
        """Add to a count without labels."""
        with self._lock:
            self._counts[name][""] += n

    def value(self, name: str, **labels: Any) -> int:
        """Return a count."""
        return self._counts[name][_labels(labels)]

    def request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self._counts["requests"][_labels({"endpoint": endpoint, "status": status})] += 1
            self._seconds.setdefault(endpoint, _Histogram(_SECONDS)).add(np.array([seconds]))

    def judged(self, found: Sequence[Verdicts]) -> None:
        """Count the verdicts on several requests."""
        if not found:
            return
        labels, refusals = (Counter(chain(*(one.columns[name] for one in found))) for name in ("label", "refusal"))
        shares = {name: np.concatenate([one.columns[name] for one in found]) for name in self._shares}
        with self._lock:
            self._counts["rows"][""] += labels.total()
            self._counts["accepted"][""] += refusals.pop(None, 0)
            for name, key, counts in (("verdicts", "label", labels), ("refused", "reason", refusals)):
                self._counts[name].update({_labels({key: what}): n for what, n in counts.items() if what is not None})
            for name, histogram in self._shares.items():
                histogram.add(shares[name])

    def text(self, about: Mapping[str, Any], gauges: Mapping[str, float]) -> str:
        """Return all counts; `about` are the labels of the model, `gauges` further numbers of now."""
        with self._lock:
            return "\n".join([*self._lines(about, gauges), ""])

    def _lines(self, about: Mapping[str, Any], gauges: Mapping[str, float]) -> Iterator[str]:
        for name, words in _ABOUT.items():
            yield from _head(f"{name}_total", words, "counter")
            found = self._counts[name] if name in _LABELLED else {"": self._counts[name][""]}
            yield from (f"sepc_{name}_total{_braces(labels)} {n}" for labels, n in found.items())
        for name, histogram in self._shares.items():
            yield from _head(name, f"{name.capitalize()} of verdicts.", "histogram")
            yield from histogram.lines(f"sepc_{name}")
        yield from _head("request_seconds", "Duration of requests by endpoint.", "histogram")
        for endpoint, histogram in self._seconds.items():
            yield from histogram.lines("sepc_request_seconds", _labels({"endpoint": endpoint}))
        for name, value in {"model_info": 1, **gauges}.items():
            yield from _head(name, f"{name.replace('_', ' ').capitalize()}.", "gauge")
            yield f"sepc_{name}{_braces(_labels(about)) if name == 'model_info' else ''} {value!r}"


def _head(name: str, words: str, kind: str) -> Iterator[str]:
    yield f"# HELP sepc_{name} {words}"
    yield f"# TYPE sepc_{name} {kind}"


def _labels(labels: Mapping[str, Any]) -> str:
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return ",".join(f'{name}="{str(value).translate(escapes)}"' for name, value in labels.items())


def _braces(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""
