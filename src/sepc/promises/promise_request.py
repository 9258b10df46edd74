"""Requests for a promise: its parts, and the limit of each."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.typing import FloatArray
from sepc.common.validation import require_share
from sepc.model.partition_model import DensityModel
from sepc.model.policy import Policy
from sepc.promises.calibration_verdicts import CalibrationVerdicts, PartRecords
from sepc.promises.criteria import CostLimit, Criterion, ErrorLimit, shared_risks
from sepc.promises.parts import (
    ALL,
    EVERYTHING,
    GROUP,
    GROUPS,
    LABEL,
    NO_GROUP,
    REGION,
    Groups,
    Parts,
    all_regions,
    other_regions,
    required_regions,
)
from sepc.promises.trust_threshold import model_of


class PromiseRequest(NamedTuple):
    """A request for a promise: parts, the limit of each, and the matrix of costs where these are bounded."""

    parts: Parts
    criteria: list[Criterion]
    costs: FloatArray | None

    def records(self, cal: CalibrationVerdicts, groups: Any = None) -> PartRecords:
        """Return calibration records by part, with the loss of each label: 1 if it is wrong, or its cost."""
        part = self.parts.of(cal.label, cal.main_region, groups if self.parts.by in (GROUP, GROUPS) else None)
        loss = cal.wrong.astype(np.float64) if self.costs is None else cal.costs(self.costs)
        return PartRecords(part, cal.trust, loss, cal.wrong, cal.eligible)


class _Limits(NamedTuple):
    """One limit, or one for each part, and the matrix of costs where these are bounded."""

    limits: Any
    matrix: FloatArray | None
    classes: list[str]

    def criterion(self, limit: float, label: str | None = None) -> Criterion:
        """Return the limit of one part; costs are those of one label if the part has only that."""
        if self.matrix is None:
            return ErrorLimit(limit)
        given = self.matrix if label is None else self.matrix[:, self.classes.index(label)]
        return CostLimit(limit, float(given.min()), float(given.max()))

    def of(self, keys: Sequence[str]) -> list[float]:
        """Return the limit of each key, checked."""
        what = "max_error" if self.matrix is None else "max_cost"
        if not isinstance(self.limits, Mapping):
            return [self._checked(self.limits, what)] * len(keys)
        given = {None if key is None else str(plain(key)): value for key, value in self.limits.items()}
        unknown = [key for key in given if key is not None and key not in keys]
        if unknown:
            raise InputError("limit-of-unknown-part", name=what, part=unknown[0], parts=", ".join(map(repr, keys)))
        missing = [key for key in keys if key not in given and None not in given]
        if missing:
            raise InputError("limit-without-entry", name=what, part=missing[0], parts=", ".join(map(repr, keys)))
        return [self._checked(given.get(key, given.get(None)), f"{what}[{key!r}]") for key in keys]

    def _checked(self, value: Any, name: str) -> float:
        if self.matrix is None:
            require_share(value, name, 0.05)
        elif isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 <= value < np.inf:
            raise InputError("cost-limit", name=name, value=value)
        return float(value)


def promise_request(
    clf: Any,
    cal: CalibrationVerdicts,
    by: Any,
    confidence: float,
    max_error: Any,
    max_cost: Any = None,
    costs: Any = None,
    unknown_labels: str = "error",
) -> PromiseRequest:
    """Return a request, checked; the arguments are those of `select_min_trust`."""
    if max_cost is None:
        return PromiseRequest(*_parts_and_limits(clf, cal, by, _Limits(max_error, None, cal.classes), confidence), None)
    matrix = _cost_matrix(clf, costs, unknown_labels)
    return PromiseRequest(*_parts_and_limits(clf, cal, by, _Limits(max_cost, matrix, cal.classes), confidence), matrix)


def _parts_and_limits(
    clf: Any, cal: CalibrationVerdicts, by: Any, limits: _Limits, confidence: float
) -> tuple[Parts, list[Criterion]]:
    if by is None:
        return Parts(ALL, (EVERYTHING,)), [limits.criterion(limits.of([EVERYTHING])[0])]
    if isinstance(by, str) and by == LABEL:
        named = zip(limits.of(cal.classes), cal.classes, strict=True)
        parts = Parts(LABEL, tuple(cal.classes), keys=tuple(cal.keys))
        return parts, [limits.criterion(limit, label) for limit, label in named]
    if isinstance(by, str) and by == REGION:
        return _by_region(clf, cal, limits, confidence)
    groups = Groups.of(by, len(cal.trust))
    names = groups.names()
    if any(name is None for name in names.tolist()):
        row = [name is None for name in names.tolist()].index(True)
        raise InputError("promise-by-gap", row=row)
    found = sorted(set(names.tolist()))
    if not groups.columns:
        return Parts(GROUP, tuple(found)), [limits.criterion(limit) for limit in limits.of(found)]
    of_column = dict(zip([*groups.columns, NO_GROUP], limits.of([*groups.columns, NO_GROUP]), strict=True))
    members = groups.members()
    smallest = [min(of_column[column] for column in members[name]) for name in found]
    return Parts(GROUPS, tuple(found), groups.columns), [limits.criterion(limit) for limit in smallest]


def _by_region(clf: Any, cal: CalibrationVerdicts, limits: _Limits, confidence: float) -> tuple[Parts, list[Criterion]]:
    model = model_of(clf)
    required_regions(cal.main_region if isinstance(model, DensityModel) else None)
    densities, n = model.densities, int(model.class_count.sum())
    limit_of = dict(zip(cal.classes, limits.of(cal.classes), strict=True))
    labels = [cal.classes[code] for code in densities.codes.tolist()]
    criteria = [limits.criterion(limit_of[label], label) for label in labels]
    n_eligible = int(np.count_nonzero(cal.eligible))
    expected = [n_eligible * densities.size(c, n) // n for c in range(len(labels))]
    signed = [share > 0.0 for share in shared_risks(expected, criteria, 1.0 - confidence)]
    names, chosen = [], []
    regions = list(zip(model.region_names(), labels, criteria, signed, strict=True))
    for label in cal.classes:
        own = [(name, criterion) for name, of, criterion, alone in regions if of == label and alone]
        if any(of == label and not alone for _, of, _, alone in regions):
            pool = other_regions(label) if own else all_regions(label)
            own.append((pool, limits.criterion(limit_of[label], label)))
        names += [name for name, _ in own]
        chosen += [criterion for _, criterion in own]
    return Parts(REGION, tuple(names)), chosen


def _cost_matrix(clf: Any, costs: Any, unknown_labels: str) -> FloatArray:
    """Return ``costs[true, given]``, as passed or as stated to the classifier."""
    if unknown_labels != "error":
        raise InputError("unknown-labels-without-price")
    model = model_of(clf)
    policy = getattr(model, "policy", None)
    if costs is not None:
        if not hasattr(clf, "classes_"):
            raise InputError("costs-without-classes", type=type(clf).__name__)
        classes = np.asarray(clf.classes_)
        policy = Policy.of(classes, np.ones(len(classes), dtype=np.int64), None, costs)
    if policy is None or policy.costs is None:
        raise InputError("max-cost-without-costs", type=type(clf).__name__)
    return np.asarray(policy.costs)
