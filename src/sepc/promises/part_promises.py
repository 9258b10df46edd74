"""Promises by parts: of each label, region or group one, all of them together with a stated confidence."""

from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np

from sepc.common.frames import FrameMaker
from sepc.common.text import many, percent
from sepc.common.typing import FloatArray, IntArray
from sepc.model.assessment import Assessment
from sepc.model.promise import Promise, require_key
from sepc.promises.parts import ALL, GROUP, GROUPS, Parts

PROMISED, TOO_FEW, TOO_MANY_WRONG, TOO_DEAR = "promised", "too few records", "too many wrong", "too dear"
_BY_GROUPS = (GROUP, GROUPS)


@dataclass(frozen=True, slots=True)
class PartPromise:
    """What is promised of one part, or why nothing is.

    Attributes
    ----------
    part : str
        A label, a region such as ``malignant#2`` or ``other regions of malignant``, a group, or a combination of
        groups.
    status : {"promised", "too few records", "too many wrong", "too dear"}
    limit : float
        Largest share of wrong labels, or largest expected cost, among those that are accepted.
    min_trust : float or None
        Trust from which on its labels are accepted; None where nothing is promised.
    n_calibration, n_accepted, n_errors : int
        Its calibration records but for those that are refused at any trust; accepted ones; wrong ones among these.
    cost : float or None
        Mean cost of the accepted ones, where costs are bounded.
    bound : float or None
        Upper bound on error or cost at this threshold, at the level at which it was tested; at most `limit`.
    n_more : int or None
        How many more records would do if none were wrong; None unless they are too few.

    Examples
    --------
    >>> print(PartPromise("ill", "promised", 0.05, 0.9125, 160, 120, 1, None, 0.04, None))
    ill: promised from a trust of 0.9125 on; 120 of 160 accepted, 1 wrong
    """

    part: str
    status: str
    limit: float
    min_trust: float | None
    n_calibration: int
    n_accepted: int
    n_errors: int
    cost: float | None
    bound: float | None
    n_more: int | None

    def __str__(self) -> str:
        if self.min_trust is not None:
            wrong = f"{self.n_errors} wrong" if self.cost is None else f"at a cost of {self.cost:.3g} each"
            return (
                f"{self.part}: promised from a trust of {self.min_trust:.4g} on; {self.n_accepted} of "
                f"{self.n_calibration} accepted, {wrong}"
            )
        if self.n_more is not None:
            return (
                f"{self.part}: too few records, {self.n_calibration}; {self.n_more} more would do if none of them was "
                "wrong"
            )
        surest = f"of the surest of its {many(self.n_calibration, 'record')}"
        why = f"labels {surest} cost too much" if self.status == TOO_DEAR else f"too many {surest} are wrong"
        return f"{self.part}: {why}"


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
    parts : tuple of PartPromise
        One for each part.
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
    >>> part = PartPromise("ill", "promised", 0.05, 0.9125, 160, 120, 1, None, 0.04, None)
    >>> few = PartPromise("well", "too few records", 0.05, None, 40, 0, 0, None, None, 67)
    >>> PartPromises("label", "error", 0.95, 200, (part, few))
    PartPromises by label, with a confidence of 95 %; 120 of 200 records accepted:
      ill: promised from a trust of 0.9125 on; 120 of 160 accepted, 1 wrong; at most 5 % wrong
      well: too few records, 40; 67 more would do if none of them was wrong
    """

    by: str
    bounds: str
    confidence: float
    n_calibration: int
    parts: tuple[PartPromise, ...]
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
        return sum(part.n_accepted for part in self.parts)

    @property
    def coverage(self) -> float:
        """Share of the calibration records that is accepted."""
        return self.n_accepted / self.n_calibration

    def __getitem__(self, part: Any) -> PartPromise:
        """Return the promise of a part, by name.

        Examples
        --------
        >>> few = PartPromise("0", "too few records", 0.05, None, 40, 0, 0, None, None, 67)
        >>> PartPromises("label", "error", 0.95, 40, (few,))[0].n_more
        67
        """
        for one in self.parts:
            if one.part == str(part):
                return one
        raise KeyError(part)

    def limits(self, assessment: Assessment, groups: Any = None) -> FloatArray:
        """Return the trust from which on each label is accepted, shape (n,); infinite where nothing is promised."""
        require_key(self.key, assessment.model_key)
        trusts = [np.inf if part.min_trust is None else part.min_trust for part in self.parts]
        return np.asarray(np.array([*trusts, np.inf])[self.part_of(assessment, groups)])

    def part_of(self, assessment: Assessment, groups: Any = None) -> IntArray:
        """Return the number of the part that each record belongs to, shape (n,); -1 for records in none."""
        regions = assessment.main_region if self.by == "region" else None
        return self._names.of(assessment.label, regions, groups)

    @property
    def _names(self) -> Parts:
        return Parts(self.by, tuple(part.part for part in self.parts), self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts, ready for JSON.

        Examples
        --------
        >>> PartPromises("label", "error", 0.95, 40, ()).to_dict()["confidence"]
        0.95
        """
        return asdict(self)

    def to_frame(self) -> Any:
        """Return one row per part as a pandas data frame.

        Examples
        --------
        >>> few = PartPromise("0", "too few records", 0.05, None, 40, 0, 0, None, None, 67)
        >>> PartPromises("label", "error", 0.95, 40, (few,)).to_frame()[["part", "status", "n_more"]]
          part           status  n_more
        0    0  too few records      67
        """
        rows = [asdict(part) for part in self.parts]
        return FrameMaker().frame({name: [row[name] for row in rows] for name in PartPromise.__slots__})

    def lines_short(self) -> list[str]:
        """Return what is promised of each part, in a few words."""
        return [f"{part.part}: {self._promised(part)}" for part in self.parts]

    def lines(self) -> list[str]:
        """Return one sentence for each part."""
        return [str(part) if part.min_trust is None else f"{part}; {self._promised(part)}" for part in self.parts]

    def _promised(self, part: PartPromise) -> str:
        return f"at most {percent(part.limit)} wrong" if self.bounds == "error" else f"at most {part.limit:g} each"

    def heading(self) -> str:
        """Return what holds of all parts, as the start of a sentence."""
        by = "" if self.by == ALL else f" by {'groups' if self.by in _BY_GROUPS else self.by}"
        return (
            f"PartPromises{by}, with a confidence of {percent(self.confidence)}; {self.n_accepted} of "
            f"{many(self.n_calibration, 'record')} accepted"
        )

    def __repr__(self) -> str:
        return "\n  ".join([f"{self.heading()}:", *self.lines()])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.heading())}</p>{self.to_frame()._repr_html_()}"
