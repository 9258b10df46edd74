"""Parts of the records, each with a promise of its own: by label, by region or by group.

The part of a record depends on nothing but the record and the classifier, and every record is in exactly one part. So,
given the number of calibration records of each part, these are independent draws from the part, and parts are
independent: promises that fail with the probabilities r1, r2, ... all hold with probability (1 - r1) (1 - r2) ....

Regions: those whose expected number of calibration records, by their share of the training records, is too small for a
share of the risk are pooled by label. That must not depend on the calibration records: a pool of the regions that few
of these fell into would be biased.

Overlapping groups: the part of a record is the combination of its groups. A promise for each combination holds in each
group, which is a union of combinations. A threshold for each group would promise nothing of records in two groups, a
selected subset of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.typing import BoolArray, IntArray

ALL, LABEL, REGION, GROUP, GROUPS = "all", "label", "region", "group", "groups"
EVERYTHING = "all labels"
NO_GROUP = "none of the groups"


def other_regions(label: Any) -> str:
    """Return the name of the pool of a label's regions without a promise of their own, where others have one."""
    return f"other regions of {label}"


def all_regions(label: Any) -> str:
    """Return the name of the pool of all of a label's regions, where none has a promise of its own."""
    return f"all regions of {label}"


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups that records belong to: one each, or any number where they overlap.

    `values` are texts, shape (n,), None where missing; or flags, shape (n, n_groups), with names in `columns`.
    """

    values: NDArray[Any]
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, groups: Any, n: int) -> "Groups":
        """Return the groups of n records, checked: a group for each, or a table of yes and no."""
        if isinstance(groups, cls):
            return groups
        columns = [str(name) for name in groups.columns] if hasattr(groups, "columns") else None
        values = np.asarray(_as_array(groups) if isinstance(groups, list | tuple) else groups)
        if values.ndim not in (1, 2) or len(values) != n:
            raise InputError("groups-shape", shape=values.shape, n_records=n)
        if values.ndim == 1:
            return cls(np.array([_text(value) for value in values.tolist()], dtype=object))
        names = columns or [f"group {j}" for j in range(values.shape[1])]
        _require_clear_names(names)
        return cls(_yes_or_no(values, names), tuple(names))

    def names(self) -> NDArray[np.object_]:
        """Return the group of each record, or the combination of its groups, shape (n,); None where it is missing."""
        if not self.columns:
            return self.values
        kinds, back = np.unique(self.values, axis=0, return_inverse=True)
        named = [self._name(row) for row in kinds]
        return np.asarray(np.array(named, dtype=object)[back.ravel()])

    def taken(self, rows: IntArray) -> "Groups":
        """Return the groups of some of the records."""
        return replace(self, values=self.values[rows])

    def members(self) -> dict[str, list[str]]:
        """Return the groups of each combination that occurs."""
        return {self._name(row): self._of(row) for row in np.unique(self.values, axis=0)}

    def _name(self, row: BoolArray) -> str:
        """Return the name of a combination; it ends in "only" where there are other groups."""
        return " & ".join(self._of(row)) + (" only" if row.any() and not row.all() else "")

    def _of(self, row: BoolArray) -> list[str]:
        return [column for column, yes in zip(self.columns, row.tolist(), strict=True) if yes] or [NO_GROUP]


def _as_array(groups: Sequence[Any]) -> NDArray[Any]:
    """Return a list as an array of its objects: NumPy would convert all to texts if one is a text."""
    if not len(groups) or not isinstance(groups[0], list | tuple):
        return np.fromiter(groups, dtype=object, count=len(groups))
    if len({len(row) if isinstance(row, list | tuple) else -1 for row in groups}) > 1:
        raise InputError("groups-ragged")
    return np.array(groups, dtype=object)


def _text(value: Any) -> str | None:
    """Return a group as a text, whole numbers alike as floats and integers; None where it is missing."""
    if _is_missing(value) or value != value:
        return None
    value = plain(value)
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _require_clear_names(names: list[str]) -> None:
    """Refuse names of groups by which two combinations could have the same name."""
    unclear = [n for n in names if " & " in n or n.endswith(" only") or n == NO_GROUP or names.count(n) > 1]
    if unclear or not names:
        found = f"the group {unclear[0]!r}" if unclear else "no column"
        raise InputError("group-name", found=found, no_group=NO_GROUP)


def _yes_or_no(values: NDArray[Any], names: list[str]) -> BoolArray:
    if values.dtype == object:
        flat = values.ravel().tolist()
        is_yes, is_no = (
            np.array([not _is_missing(value) and value == flag for value in flat], dtype=bool).reshape(values.shape)
            for flag in (1, 0)
        )
    else:
        is_yes, is_no = values == 1, values == 0
    bad = np.argwhere(~(is_yes | is_no))
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError("group-value", value=values[row, column], row=row, column=names[column])
    return np.asarray(is_yes)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts by name, and the assignment of records to them; `keys` are labels, whose texts are the names."""

    by: str
    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    keys: tuple[Any, ...] = ()

    def of(self, label: NDArray[Any], main_region: NDArray[Any] | None, groups: Any) -> NDArray[np.int64]:
        """Return the part of each record, by its prediction, shape (n,); -1 where it is in none."""
        if groups is not None and self.by not in (GROUP, GROUPS):
            raise InputError("groups-for-another-promise", by=self.by)
        if self.by == ALL:
            return np.zeros(len(label), dtype=np.int64)
        number = {name: k for k, name in enumerate(self.names)}
        if self.by == REGION:
            return self._by_region(label, main_region, number)
        keys = texts_of(label) if self.by == LABEL else self._groups(groups, len(label)).names()
        return np.array([number.get(key, -1) for key in keys.tolist()], dtype=np.int64)

    def _by_region(
        self, label: NDArray[Any], main_region: NDArray[Any] | None, number: dict[str, int]
    ) -> NDArray[np.int64]:
        regions = required_regions(main_region)
        pools = [
            number.get(other_regions(text), number.get(all_regions(text), -1)) for text in texts_of(label).tolist()
        ]
        return np.array([number.get(r, pool) for r, pool in zip(regions.tolist(), pools, strict=True)], dtype=np.int64)

    def _groups(self, groups: Any, n: int) -> Groups:
        if groups is None:
            raise InputError("groups-needed")
        found = Groups.of(groups, n)
        if found.columns != self.columns:
            was, now = (", ".join(columns) or "one group for each record" for columns in (self.columns, found.columns))
            raise InputError("groups-changed", now=now, was=was)
        return found


def texts_of(label: NDArray[Any]) -> NDArray[np.object_]:
    """Return labels as texts, shape (n,)."""
    return np.array([str(plain(one)) for one in label.tolist()], dtype=object)


def required_regions(main_region: NDArray[Any] | None) -> NDArray[Any]:
    """Return the regions of verdicts; raise an error where they have none."""
    if main_region is None or (len(main_region) and main_region[0] is None):
        raise InputError("by-region-needs-regions")
    return main_region
