"""TrustThreshold: a trust threshold with a promise, for all labels or for each part of the records."""

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields, replace
from html import escape
from typing import Any, Self

import numpy as np

from sepc.common.errors import InputError, warn
from sepc.common.frames import FrameMaker
from sepc.common.text import percent
from sepc.common.typing import FloatArray, IntArray
from sepc.model.acceptance import Promise, require_key
from sepc.model.assessment import Assessment
from sepc.model.calibration import STRANGE
from sepc.model.policy import stated
from sepc.promises.parts import ALL, GROUP, GROUPS, LABEL, REGION, Parts

PROMISED, TOO_FEW, TOO_MANY_WRONG, TOO_DEAR = "promised", "too few records", "too many wrong", "too dear"
WITHDRAWN = "withdrawn"
# Attributes that differ between parts: the columns of the table of parts.
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
class TrustThreshold(Promise):
    """Trust threshold with a promise; `select_min_trust` returns it.

    It goes where a threshold goes: ``clf.predict_or_abstain(X, found)``. By label, region or group it has `parts`, each
    with a threshold of its own, and accepts a label by that of its part. A promise by groups needs these again:
    ``groups=``.

    Attributes
    ----------
    min_trust : float
        Accept a label if its trust is at least this and it is neither strange nor contested. It lies just above the
        highest trust that is refused. Infinite if no threshold passes the tests, and where there are parts: as a number
        it then accepts nothing.
    max_error : float or None
        The promise: among accepted labels the share of wrong ones is at most this. None where a cost is bounded, and
        where it differs by part.
    confidence : float
        Of the promise; of parts, that the promises of all of them hold together.
    n_calibration, n_accepted, n_errors : int
        Calibration records, of a part those that some trust accepts; accepted ones; wrong ones among these.
    coverage : float
        Share of the calibration records that is accepted.
    error_bound : float or None
        Upper bound on the error, or the cost, at this threshold, at the level at which it was tested (for errors that
        of Clopper and Pearson). The promise is the limit.
    message : str
        The same in a sentence.
    class_prior : tuple of float, or None
        Class priors that were stated when it was found; None where those of the training set were taken.
    made_on, made_from : str
        The day, as in 2026-03-01, and the calibration records, where somebody has named them; else empty.
    part : str
        A label, a region such as ``malignant#2`` or ``other regions of malignant``, a group, or a combination of
        groups. Empty for all labels.
    status : {"promised", "too few records", "too many wrong", "too dear", "withdrawn"}
    n_more : int or None
        Number of further records that would suffice if none of all is wrong; None unless they are too few.
    max_cost, cost : float or None
        The promised limit where a cost is bounded, on the mean cost of accepted labels; the mean among the calibration
        records.
    by : {"all", "label", "region", "group", "groups"}
    parts : dict of part to TrustThreshold
        By label, name of the region, or group. Empty for all labels together: a threshold is a promise with one part,
        itself.
    columns : tuple of str
        Names of groups that may overlap.
    costs : tuple of tuple of float, or None
        ``costs[true][given]``, in the order of the classes, where costs are bounded.
    note : str
        Calibration records that equal others or training records, in a sentence; empty where none do.
    group_column : str
        The column of a table that the groups were taken from, by the command line; empty elsewhere.

    Examples
    --------
    >>> TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.")
    TrustThreshold(min_trust=0.9, 150 of 200 accepted, 1 wrong: Fine.)
    >>> ill = TrustThreshold(0.9125, 0.05, 0.95, 160, 120, 1, 0.75, 0.04, "promised", part="ill")
    >>> TrustThreshold.of_parts({"ill": ill}, by="label", n_calibration=200)
    TrustThreshold by label, with a confidence of 95 %; 120 of 200 records accepted:
      ill: promised
    """

    min_trust: float
    max_error: float | None
    confidence: float
    n_calibration: int
    n_accepted: int
    n_errors: int
    coverage: float
    error_bound: float | None
    message: str
    class_prior: tuple[float, ...] | None = None
    made_on: str = ""
    made_from: str = ""
    key: str | None = field(default=None, repr=False)
    stated: Any = field(default=None, repr=False)
    part: str = ""
    status: str = PROMISED
    n_more: int | None = None
    max_cost: float | None = None
    cost: float | None = None
    by: str = ALL
    parts: "dict[Any, TrustThreshold]" = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    costs: tuple[tuple[float, ...], ...] | None = None
    group_column: str = ""
    note: str = ""

    @classmethod
    def of_parts(cls, parts: "dict[Any, TrustThreshold]", *, by: str, n_calibration: int, **others: Any) -> Self:
        """Return the promise of several parts, all of them together.

        Parameters
        ----------
        parts : dict of part to TrustThreshold
        by : {"label", "region", "group", "groups"}
        n_calibration : int
            Calibration records, also those that are refused at any trust.
        **others
            Further attributes.

        Examples
        --------
        >>> few = TrustThreshold(np.inf, 0.05, 0.95, 40, 0, 0, 0.0, None, "No.", part="0", n_more=67)
        >>> TrustThreshold.of_parts({0: few}, by="label", n_calibration=40).is_kept
        False
        """
        of_each = list(parts.values())
        limits = {(part.max_error, part.max_cost) for part in of_each}
        max_error, max_cost = limits.pop() if len(limits) == 1 else (None, None)
        confidence, n_accepted = of_each[0].confidence, sum(part.n_accepted for part in of_each)
        return cls(
            min_trust=np.inf,
            max_error=max_error,
            max_cost=max_cost,
            confidence=confidence,
            n_calibration=n_calibration,
            n_accepted=n_accepted,
            n_errors=sum(part.n_errors for part in of_each),
            coverage=n_accepted / n_calibration,
            error_bound=None,
            message=f"by {'groups' if by in (GROUP, GROUPS) else by}, with a confidence of {percent(confidence)}; "
            f"{n_accepted:,} of {n_calibration:,} records accepted",
            status=PROMISED if any(part.is_kept for part in of_each) else of_each[0].status,
            by=by,
            parts=parts,
            **others,
        )

    @property
    def thresholds(self) -> "tuple[TrustThreshold, ...]":
        """The threshold of each part; itself where it has no parts."""
        return tuple(self.parts.values()) or (self,)

    @property
    def is_kept(self) -> bool:
        """Whether anything is promised."""
        return any(one.min_trust < np.inf for one in self.thresholds)

    @property
    def bounds(self) -> str:
        """Kind of the limit: "error" or "cost"."""
        return "error" if self.costs is None and self.max_cost is None else "cost"

    @property
    def limit(self) -> float:
        """The promised limit: the largest share of wrong labels, or the largest mean cost."""
        limit = self.max_error if self.max_cost is None else self.max_cost
        assert limit is not None
        return limit

    def limit_in_words(self) -> str:
        """Return the limit in a few words, such as "at most 5 % wrong"."""
        return f"at most {percent(self.limit)} wrong" if self.max_cost is None else f"at most {self.limit:g} on average"

    def limits(self, assessment: Assessment, groups: Any = None) -> FloatArray:
        """Return the least trust at which each label is accepted, shape (n,); infinite without a promise."""
        if self.part:
            raise InputError("promise-of-one-part", part=self.part)
        require_key(self.key, assessment.model_key)
        if not self.is_kept:
            return np.full(len(assessment), np.inf)
        trusts = [one.min_trust for one in self.thresholds]
        return np.asarray(np.array([*trusts, np.inf])[self.part_of(assessment, groups)])

    def withdrawn(self, why: str) -> Self:
        """Return the same promise where it no longer holds: it accepts nothing, and has its terms for a new one.

        Examples
        --------
        >>> found = TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.")
        >>> found.withdrawn("The model has changed.")
        TrustThreshold(min_trust=inf, 0 of 200 accepted, 0 wrong: The model has changed.)
        """
        return replace(
            self,
            parts={key: part.withdrawn(why) for key, part in self.parts.items()},
            min_trust=np.inf,
            status=WITHDRAWN,
            message=why,
            n_accepted=0,
            n_errors=0,
            coverage=0.0,
            error_bound=None,
            cost=None,
            n_more=None,
            key=None,
        )

    def part_of(self, assessment: Assessment, groups: Any = None) -> IntArray:
        """Return the number of the part that each record belongs to, shape (n,); -1 for records in none."""
        regions = assessment.main_region if self.by == REGION else None
        names = tuple(one.part for one in self.thresholds)
        return Parts(self.by, names, self.columns).of(assessment.label, regions, groups)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts, ready for JSON.

        `parts` are a list, an infinite `min_trust` is None, and `is_kept` is whether anything is promised.

        Examples
        --------
        >>> TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.").to_dict()["is_kept"]
        True
        """
        parts = [{"id": key} | part._plain(_OF_PART) for key, part in self.parts.items()]
        return self._plain([one.name for one in fields(self)]) | {"parts": parts, "is_kept": self.is_kept}

    def _plain(self, names: Iterable[str]) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in names}
        return values | {"min_trust": None if np.isinf(self.min_trust) else self.min_trust}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the promise that `to_dict` described, perhaps by way of JSON; a ValueError for anything else.

        Examples
        --------
        >>> found = TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.")
        >>> TrustThreshold.from_dict(found.to_dict()) == found
        True
        """
        _require(isinstance(values, dict) and isinstance(values.get("parts", []), list))
        known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        known["min_trust"] = np.inf if values.get("min_trust") is None else values["min_trust"]
        _require(all(one.name in known or one.default is not MISSING or one.name == "parts" for one in fields(cls)))
        rows = known.pop("parts", [])
        _require(all(isinstance(row, dict) and "id" in row and row.get("part") for row in rows))
        parts = {row["id"]: cls.from_dict({"confidence": known["confidence"], **row}) for row in rows}
        _require(len({part.part for part in parts.values()}) == len(rows))
        prior, costs = known.get("class_prior"), known.get("costs")
        found = cls(
            **known
            | {
                "parts": parts,
                "columns": tuple(map(str, known.get("columns", ()))),
                "class_prior": None if prior is None else tuple(map(float, prior)),
                "costs": None if costs is None else tuple(tuple(map(float, row)) for row in costs),
            }
        )
        found._check()
        return found

    def _check(self) -> None:
        """Raise a ValueError for values that no promise has."""
        _require(_is_number(self.confidence, 0.0, 1.0) and self.by in (ALL, LABEL, REGION, GROUP, GROUPS))
        _require(all(isinstance(text, str) for text in (self.part, self.message)))
        _require(self.status in (PROMISED, TOO_FEW, TOO_MANY_WRONG, TOO_DEAR, WITHDRAWN))
        _require(bool(self.parts) == (self.by != ALL))
        if not self.parts:
            _require((self.max_error is None) != (self.max_cost is None))
            _require(_is_number(self.limit, 0.0, 1.0 if self.max_cost is None else np.inf))
            _require(_is_number(self.min_trust, 0.0, 1.0) if self.status == PROMISED else self.min_trust == np.inf)

    def to_frame(self) -> Any:
        """Return one row per part as a pandas data frame.

        Examples
        --------
        >>> few = TrustThreshold(np.inf, 0.05, 0.95, 40, 0, 0, 0.0, None, "No.", part="0", n_more=67)
        >>> found = TrustThreshold.of_parts({0: few}, by="label", n_calibration=40)
        >>> found.to_frame()[["part", "n_calibration", "n_more"]]
          part  n_calibration  n_more
        0    0             40      67
        """
        return FrameMaker().frame({name: [getattr(one, name) for one in self.thresholds] for name in _OF_PART})

    def lines(self) -> list[str]:
        """Return one sentence for each part."""
        return [f"{part.part}: {part.message}" for part in self.parts.values()]

    def __repr__(self) -> str:
        note = [self.note] if self.note else []
        if self.parts:
            return "\n  ".join([f"TrustThreshold {self.message}:", *self.lines(), *note])
        counts = f"{self.n_accepted} of {self.n_calibration} accepted, {self.n_errors} wrong"
        return f"TrustThreshold(min_trust={self.min_trust}, {counts}: {' '.join([self.message, *note])})"

    def _repr_html_(self) -> str:
        if not self.parts:
            return f"<p>{escape(repr(self))}</p>"
        return f"<p>{escape(f'TrustThreshold {self.message}')}</p>{self.to_frame()._repr_html_()}"


def _is_number(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("a promise that nothing can be made of")


def model_of(clf: Any) -> Any:
    """Return the fitted model of a classifier, or of the last step of a pipeline; None where there is none."""
    last = clf.steps[-1][1] if hasattr(clf, "steps") else clf
    return getattr(last, "model_", None)


def stated_of(clf: Any) -> dict[str, Any] | None:
    """Return the class priors and costs that were stated to a classifier, by labels; None if nothing was."""
    model = model_of(clf)
    return None if model is None else stated(getattr(model, "policy", None), model.classes)


def warn_if_nothing_promised(min_trust: Any, min_typicality: float) -> None:
    """Warn if a promise accepts nothing: it could not be kept, was withdrawn, or was made on other terms."""
    if not isinstance(min_trust, Promise):
        return
    if not min_trust.is_kept:
        warn("promise-accepts-nothing", why=getattr(min_trust, "message", "it was withdrawn").rstrip("."))
    elif min_typicality != STRANGE:
        warn("promise-for-typicality", given=min_typicality, made=STRANGE)
