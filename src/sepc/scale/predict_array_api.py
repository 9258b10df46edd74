"""Predictions for arrays of other libraries, such as PyTorch and CuPy, on the device of the points."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import LARGEST_COORDINATE, IntArray
from sepc.common.validation import require_numbers
from sepc.model.acceptance import Terms, accepted, min_trust_of
from sepc.model.assessment import Assessment
from sepc.model.constants import CONTESTED
from sepc.model.decision import Decision, decide_by_counts, decide_by_probability, deciding_problem
from sepc.model.partition_model import DensityModel, PartitionModel
from sepc.model.verdicts import Verdicts
from sepc.scale.array_api import (
    Array,
    Groups,
    Place,
    distinct,
    groups_of,
    local_overlaps,
    log_joint,
    posterior,
    typicality,
)


def device_points(clf: Any, X: Array) -> "DevicePoints":
    """Return points of an array that stays on its device, checked there, for a fitted classifier."""
    if not isinstance(clf.model_, PartitionModel):
        raise InputError("array-not-read", library=type(X).__module__.partition(".")[0], type=type(clf).__name__)
    if clf.model_.policy is not None:
        raise InputError("array-with-policy", library=type(X).__module__.partition(".")[0])
    place = Place.of(X)
    xp = place.xp
    if "float64" not in xp.__array_namespace_info__().dtypes(device=place.device, kind="real floating"):
        raise InputError("device-without-doubles", device=str(place.device))
    X = validate_data(clf, X, reset=False, dtype=xp.float64, ensure_all_finite=False)
    model = clf.model_
    _require_numbers(X, place, getattr(clf, "feature_names_in_", None))
    if clf.columns_read_ is not None:
        X = xp.take(X, place.put(clf.columns_read_), axis=1)
    Z = X - place.put(model.scales.mean)
    Z /= place.put(model.scales.scale)  # in place: a further copy may not fit into the memory of the device
    for j in model.scales.curves.columns.tolist():
        values = place.fetch(X[:, j]).astype(np.float64)[:, None]  # arrays there have no interpolation
        Z[:, j] = place.put(model.scales.among(np.array([j]))(values)[:, 0])
    return DevicePoints(model, X, Z, place)


def _require_numbers(X: Array, place: Place, names: NDArray[Any] | None) -> None:
    """Check numbers where they are; only rows that break the rule are fetched, for the message."""
    xp = place.xp
    if bool(xp.min(X) >= -LARGEST_COORDINATE) and bool(xp.max(X) <= LARGEST_COORDINATE):
        return
    is_bad = xp.any(~(xp.abs(X) <= LARGEST_COORDINATE), axis=1)
    require_numbers(place.fetch(xp.take(X, xp.nonzero(is_bad)[0], axis=0)), names)


class DevicePoints:
    """Points in an array of another library in double precision: as they came, and in the model's units.

    Points with the same verdict are one case: the few cases are decided here, by the code that decides NumPy arrays,
    and looked up for all points on their device.
    """

    def __init__(self, model: PartitionModel, X: Array, Z: Array, place: Place) -> None:
        self.model, self.X, self.Z, self.place = model, X, Z, place

    @property
    def label(self) -> Array:
        """Label of each point, shape (n,); a NumPy array if the classes are no numbers."""
        return _labels(self.model.classes, self.decision.label, self.place)

    @property
    def proba(self) -> Array:
        """Probability of each label, shape (n, n_classes)."""
        return self.decision.proba

    @property
    def trust(self) -> Array:
        """Trust in the label, shape (n,)."""
        return self.decision.trust

    @cached_property
    def decision(self) -> Decision:
        """Numbers of labels, trust and probabilities."""
        if isinstance(self.model, DensityModel):
            return self._by_joint(self.model)
        decision, _, which = self._by_counts
        label, trust, proba, contested = (self.place.look_up(values, which) for values in decision[:4])
        return Decision(label, trust, proba, contested)

    def _by_joint(self, model: DensityModel) -> Decision:
        """Return what `DensityModel` makes of the log joint densities."""
        xp, calibration, joint = self.place.xp, model.calibration, log_joint(model.densities, self.Z, self.place)
        proba = posterior(calibration, joint, self.Z, self.place)
        in_order = xp.sort(proba, axis=1)
        return Decision(
            xp.argmax(proba, axis=1),
            in_order[:, -1],
            proba,
            in_order[:, -2] >= CONTESTED,
            typicality(calibration, joint, self.Z, self.place),
        )

    def _stability(self) -> Array:
        """Return the share of the held-out mixtures that give the same label, shape (n,)."""
        xp, model = self.place.xp, self.model
        if not isinstance(model, DensityModel) or not model.fit.held_out:
            return xp.full(self.Z.shape[0], xp.nan, dtype=xp.float64, device=self.place.device)
        same = xp.zeros(self.Z.shape[0], dtype=xp.float64, device=self.place.device)
        for part in model.fit.held_out:
            shift = float(np.log(model.densities.unit).sum() - np.log(part.unit).sum())
            proba = posterior(model.calibration, log_joint(part, self.Z, self.place) + shift, self.Z, self.place)
            same = same + xp.astype(xp.argmax(proba, axis=1) == self.decision.label, xp.float64)
        return same / len(model.fit.held_out)

    def assessment(self) -> "ArrayAssessment":
        """Return a full record of each point."""
        model = self.model
        decision, verdicts, which = self._by_density() if isinstance(model, DensityModel) else self._by_counts
        of_cases = Assessment.of(decision, verdicts, model.rules, model.classes, FrameMaker(), key=model.key)
        problem = deciding_problem(decision.label, len(verdicts))[0]
        between = np.stack([v.between_labels for v in verdicts])[problem, np.arange(len(problem))]
        local_overlap = partial(self._local_overlap, np.where(between, problem, -1), which)
        of_points = {"stability": self._stability, "beyond": self._beyond, "sides": self._sides}
        numbers = self.decision, self._is_beyond(), local_overlap
        return ArrayAssessment(of_cases, which, *numbers, of_points, model.features, self.place)

    def _is_beyond(self) -> Array:
        """Return which points are beyond reach, shape (n,)."""
        xp, reach = self.place.xp, self.model.outline.reach
        return xp.any((self.place.put(reach.highest) < self.X) | (self.place.put(reach.lowest) > self.X), axis=1)

    def _sides(self) -> NDArray[np.int8]:
        """Return where values are out of the range of training, shape (n, d), by points that are fetched."""
        return self.model.outline.reach.sides(self.place.fetch(self.X))

    def _beyond(self) -> NDArray[np.object_]:
        """Return the names of the features by which points are beyond reach, shape (n,); these points are fetched."""
        found = np.full(self.X.shape[0], None, dtype=object)
        rows = self.place.xp.nonzero(self._is_beyond())[0]
        points = self.place.fetch(self.place.xp.take(self.X, rows, axis=0))
        found[self.place.fetch(rows)] = self.model.outline.reach.named(points, self.model.features)
        return found

    def _local_overlap(self, problem_of_case: IntArray, which: Array) -> Array:
        """Return the overlap of ellipsoids of different labels at each point, shape (n,).

        `problem_of_case`, shape (n_cases,), is the binary problem whose ellipsoids hold the point; -1 where they are
        not of different labels. `which`, shape (n,), is the case of each point.
        """
        xp, problem = self.place.xp, self.place.look_up(problem_of_case, which)
        problems = np.unique(problem_of_case).tolist()
        rows = [xp.nonzero(problem == k)[0] for k in problems]
        found = [self._local_overlap_in(k, mine) for k, mine in zip(problems, rows, strict=True)]
        return xp.take(xp.concat(found), xp.argsort(xp.concat(rows)))

    def _local_overlap_in(self, problem: int, rows: Array) -> Array:
        xp = self.place.xp
        if problem < 0:
            return xp.full(rows.shape[0], xp.nan, dtype=xp.float64, device=self.place.device)
        rules = self.model.rules[problem]
        return local_overlaps(rules.stack, rules.sides, xp.take(self.Z, rows, axis=0), self.place)

    @cached_property
    def _by_counts(self) -> tuple[Decision, list[Verdicts], Array]:
        """The decision on the cases, the verdicts of each binary problem on them, and the case of each point.

        A case is the verdicts of all binary problems.
        """
        model, groups = self.model, self._groups()
        rows, which = distinct([group.which for group in groups], self.place)
        verdicts = [table.taken(mine) for table, mine in zip(self._judged(groups), rows.T, strict=True)]
        return decide_by_counts(verdicts, model.rules, model.class_count, model.trust), verdicts, which

    def _by_density(self) -> tuple[Decision, list[Verdicts], Array]:
        """Return the same where the label is known: a case is a label and the verdict of the problem that it decides.

        Probabilities and trust of these decisions are placeholders, 1 for the label: a column made of them belongs into
        `ArrayAssessment` and its `to_numpy`.
        """
        groups = self._groups()
        label, own = self.decision.label, groups[0].which
        tables = self._judged(groups)  # here, while the device is busy with the labels
        for k, group in enumerate(groups[1:], start=1):
            own = self.place.xp.where(label == k, group.which, own)
        width = max(len(table.rule) for table in tables)
        rows, which = distinct([label * width + own], self.place)
        labels, cases = np.divmod(rows[:, 0], width)
        if len(tables) == 1:
            verdicts = [tables[0].taken(cases)]
        else:  # verdicts of the other problems are not used
            verdicts = [table.taken(np.where(labels == k, cases, 0)) for k, table in enumerate(tables)]
        return decide_by_probability(np.eye(len(self.model.classes))[labels]), verdicts, which

    def _groups(self) -> list[Groups]:
        """Return the points in groups, for each binary problem."""
        return [groups_of(rules.stack, self.Z, self.place) for rules in self.model.rules]

    def _judged(self, groups: list[Groups]) -> list[Verdicts]:
        """Return the verdicts on the groups of each binary problem."""
        return [
            rules.judge_sets(group.sets, group.outside, group.candidates)
            for rules, group in zip(self.model.rules, groups, strict=True)
        ]


class ArrayAssessment(Assessment):
    """One record per point of an array of another library.

    Numbers are where the points are. Text is made on demand, as NumPy arrays, and so is `label` if the classes are no
    numbers; `refusals` and `label_or` return NumPy arrays, too. `which`, shape (n,), is the case of each point among
    `cases`; `local_overlap` and the functions of `of_points` return those columns on demand.
    """

    def __init__(
        self,
        cases: Assessment,
        which: Array,
        decision: Decision,
        is_beyond: Array,
        local_overlap: Callable[[], Array],
        of_points: Mapping[str, Callable[[], Any]],
        features: Sequence[str],
        place: Place,
    ) -> None:
        self._cases, self._which, self._place = cases, which, place
        unknown = partial(place.xp.full, decision.trust.shape[0], place.xp.nan, device=place.device)
        columns = {
            "label": lambda _: _labels(cases.label, which, place),
            "trust": decision.trust,
            "contested": decision.contested,
            "typicality": unknown() if decision.typicality is None else decision.typicality,
            "is_beyond": is_beyond,
            **{name: partial(_made, make) for name, make in of_points.items()},
            "local_overlap": lambda _: local_overlap(),
            "reason": lambda _: self.to_numpy().reason,
            **{name: partial(self._text, name) for name in ("rule", "region", "main_region")},
            **{
                name: partial(self._numbers, name)
                for name in ("counts", "distance", "known", "expected_cost", "asking_cost")
            },
        }
        super().__init__(columns, FrameMaker(), cases.classes, cases.has_regions, cases.has_costs, features=features)

    @cached_property
    def _codes(self) -> IntArray:
        """The case of each point, here."""
        return self._place.fetch(self._which)

    def _text(self, name: str, _: Assessment) -> NDArray[Any]:
        return np.asarray(getattr(self._cases, name)[self._codes])

    def _numbers(self, name: str, _: Assessment) -> Array:
        return self._place.look_up(getattr(self._cases, name), self._which)

    def _evaluated(self, question: Callable[..., Any], terms: Terms, *args: Any) -> Any:
        if question is not accepted:
            return question(self.to_numpy(), terms, *args)
        if terms.groups is not None:
            return self._place.put(accepted(self.to_numpy(), terms))
        terms = terms._replace(min_trust=min_trust_of(self, terms.min_trust))
        # Whatever their numbers, the points of a case may be refused; their numbers decide where they are.
        alike = self._cases.with_numbers(trust=1.0, contested=False, typicality=np.nan)
        may_be = self._place.look_up(accepted(alike, terms), self._which)
        enough = self.trust >= self._place.look_up(self._cases.limits(terms.min_trust), self._which)
        ordinary = ~(self.typicality < terms.min_typicality)
        if terms.min_typicality > 0.0:
            ordinary = ordinary & ~self.is_beyond
        return may_be & enough & ~self.contested & ordinary

    def to_numpy(self) -> Assessment:
        """Return the same assessment as for a NumPy array."""
        numbers = ("trust", "contested", "typicality", "stability", "local_overlap")
        here = self._cases.taken(self._codes).with_numbers(
            **{name: self._place.fetch(getattr(self, name)) for name in numbers}
        )
        vars(here).update(beyond=self.beyond, features=self.features)
        del vars(here)["sides"]
        here._makers["sides"] = lambda _: self.sides
        here.promise = self.promise
        return here

    def to_frame(self) -> Any:
        """Return one row per point as a pandas data frame."""
        return self.to_numpy().to_frame()

    def __repr__(self) -> str:
        return repr(self.to_numpy())


def _made(make: Callable[[], Any], _: Assessment) -> Any:
    return make()


def _labels(table: NDArray[Any], rows: Array, place: Place) -> Array:
    """Return some of the labels in a table: at the place of the rows if labels are numbers, else here."""
    if table.dtype.kind not in "biuf":
        return np.asarray(table[place.fetch(rows)])
    # Not all libraries know all unsigned types.
    return place.look_up(table.astype(np.int64) if table.dtype.kind == "u" else table, rows)
