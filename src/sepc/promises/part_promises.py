"""Promises by parts: of each label, region or group one, all of them together with a stated confidence."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np

from sepc.common.frames import FrameMaker
from sepc.common.text import many, percent
from sepc.common.typing import FloatArray, IntArray
from sepc.model.assessment import Assessment
from sepc.model.promise import Promise, require_key
from sepc.promises.parts import ALL, GROUP, GROUPS, REGION, Parts
from sepc.promises.trust_threshold import TrustThreshold

# What all parts have in common is told once.
_OF_PART = (
    "part",
    "status",
    "min_trust",
    "max_error",
    "max_cost",
    "n_calibration",
    "n_accepted",
    "n_errors",
    "coverage",
    "cost",
    "error_bound",
    "n_more",
    "message",
)


@dataclass(frozen=True, slots=True, repr=False)
class PartPromises(Promise):
    """Promises by label, region or group; `select_min_trust` returns it where it is asked for parts, or for a cost.

    It goes where a trust threshold goes: ``clf.predict_or_abstain(X, promises)`` accepts a label if it is promised of
    its part. Promises by groups need these again: ``groups=``.

    Attributes
    ----------
    by : {"all", "label", "region", "group", "groups"}
    bounds : {"error", "cost"}
        What is bounded.
    confidence : float
        With which all promises hold together.
    n_calibration : int
        Calibration records, also those that are refused at any trust.
    parts : dict of part to TrustThreshold
        By label as it is, by name of the region, or by group; `min_trust` is None where nothing can be promised.
    columns : tuple of str
        Names of groups that may overlap.
    costs : tuple of tuple of float, or None
        ``costs[true][given]``, in the order of the classes, where costs are bounded.
    group_column : str
        The column of a table that the groups were taken from, by the command line; empty elsewhere.
    made_on, made_from : str
        The day, as in 2026-03-01, and the calibration records, where somebody has named them; else empty.

    Examples
    --------
    >>> ill = TrustThreshold(0.9125, 0.05, 0.95, 160, 120, 1, 0.75, 0.04, "promised", part="ill")
    >>> PartPromises("label", "error", 0.95, 200, {"ill": ill})
    PartPromises by label, with a confidence of 95 %; 120 of 200 records accepted:
      ill: promised
    """

    by: str
    bounds: str
    confidence: float
    n_calibration: int
    parts: dict[Any, TrustThreshold]
    columns: tuple[str, ...] = ()
    costs: tuple[tuple[float, ...], ...] | None = None
    group_column: str = ""
    made_on: str = ""
    made_from: str = ""
    key: str | None = field(default=None, repr=False)
    stated: Any = field(default=None, repr=False)

    @property
    def n_accepted(self) -> int:
        """Calibration records that are accepted."""
        return sum(part.n_accepted for part in self.parts.values())

    @property
    def coverage(self) -> float:
        """Share of the calibration records that is accepted."""
        return self.n_accepted / self.n_calibration

    def limits(self, assessment: Assessment, groups: Any = None) -> FloatArray:
        """Return the trust from which on each label is accepted, shape (n,); infinite where nothing is promised."""
        require_key(self.key, assessment.model_key)
        trusts = [np.inf if part.min_trust is None else part.min_trust for part in self.parts.values()]
        return np.asarray(np.array([*trusts, np.inf])[self.part_of(assessment, groups)])

    def part_of(self, assessment: Assessment, groups: Any = None) -> IntArray:
        """Return the number of the part that each record belongs to, shape (n,); -1 for records in none."""
        regions = assessment.main_region if self.by == REGION else None
        names = tuple(part.part for part in self.parts.values())
        return Parts(self.by, names, self.columns).of(assessment.label, regions, groups)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts, ready for JSON; `parts` as a list.

        Examples
        --------
        >>> PartPromises("label", "error", 0.95, 40, {}).to_dict()["confidence"]
        0.95
        """
        told = {name: getattr(self, name) for name in self.__slots__}
        return told | {"parts": [{"id": key, **row} for key, row in zip(self.parts, self._rows(), strict=True)]}

    def _rows(self) -> Iterator[dict[str, Any]]:
        for part in self.parts.values():
            every = asdict(part)
            yield {name: every[name] for name in _OF_PART}

    def to_frame(self) -> Any:
        """Return one row per part as a pandas data frame.

        Examples
        --------
        >>> few = TrustThreshold(None, 0.05, 0.95, 40, 0, 0, 0.0, None, "No.", None, part="0", n_more=67)
        >>> PartPromises("label", "error", 0.95, 40, {0: few}).to_frame()[["part", "n_calibration", "n_more"]]
          part  n_calibration  n_more
        0    0             40      67
        """
        rows = list(self._rows())
        return FrameMaker().frame({name: [row[name] for row in rows] for name in _OF_PART})

    def lines(self) -> list[str]:
        """Return one sentence for each part."""
        return [f"{part.part}: {part.message}" for part in self.parts.values()]

    def _head(self) -> str:
        by = "" if self.by == ALL else f" by {'groups' if self.by in (GROUP, GROUPS) else self.by}"
        return (
            f"PartPromises{by}, with a confidence of {percent(self.confidence)}; {self.n_accepted:,} of "
            f"{many(self.n_calibration, 'record')} accepted"
        )

    def __repr__(self) -> str:
        return "\n  ".join([f"{self._head()}:", *self.lines()])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._head())}</p>{self.to_frame()._repr_html_()}"
