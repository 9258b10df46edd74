"""Fresh partitions with the observed records, and what they change: ellipsoids, and verdicts on these records."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone

from sepc.common.errors import InputError, warn
from sepc.common.frames import plain
from sepc.common.messages import message
from sepc.common.text import many, percent, plural
from sepc.common.typing import IntArray
from sepc.feedback.forgetting import NOTHING, Forgetting, Trial, checked_forgetting, choose_forgetting, weights_by_age
from sepc.feedback.held_out_models import training_of
from sepc.feedback.observations import Observations
from sepc.feedback.watched import Watched


class EllipsoidChange(NamedTuple):
    """An ellipsoid that appeared, changed or disappeared.

    `region` is its name in the new partition, `was` the old ellipsoid that held most of its members; one of the two is
    None where there is none. `n_members` counts the records it was built on, `n_observed` the observed ones of these.
    """

    kind: Literal["appeared", "changed", "disappeared"]
    region: str | None
    was: str | None
    label: str
    n_members: int
    n_observed: int


class Flip(NamedTuple):
    """An observed record with another verdict than before; `row` is its row in the new training set."""

    row: int
    before: Any
    after: Any
    true: Any


@dataclass(frozen=True, slots=True, repr=False)
class PartitionChanges:
    """Changes by a fresh partition that includes the observed records.

    Attributes
    ----------
    n_before, n_added : int
        Records of the old training set, and added ones that were observed; these have the rows from `n_before` on.
    ellipsoids : tuple of EllipsoidChange, or None
        An ellipsoid appeared if most of its members are observed records, or if no old one of its label held most of
        them. It changed if an old one did, but its members are not the same. An old one disappeared if it lives on in
        no new one. None for an ensemble, whose members each have ellipsoids of their own.
    flips : tuple of Flip
        Observed records with another verdict than before.
    accuracy_before, accuracy_after : float
        On the observed records. The second flatters: they have become training records. Judge the new classifier by
        records that neither has seen.
    forgetting : Forgetting
        Weights of old records.
    trials : tuple of Trial
        The candidates where `forget` was "auto", with their scores on the held-out newest records.
    promise_withdrawn : bool
        Whether the old classifier had signed a promise: the new one has it withdrawn, and accepts no label until a new
        one is signed.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> from sepc.feedback import FeedbackMonitor
    >>> clf = SEPClassifier(n_imp=0).fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> monitor = FeedbackMonitor(clf).observe([[20.0], [21.0], [22.0]], ["low"] * 3)
    >>> new, changes = monitor.repartition()
    >>> [e.region for e in changes.appeared], changes.accuracy_before, changes.accuracy_after
    (['low#1'], 0.0, 1.0)
    """

    n_before: int
    n_added: int
    ellipsoids: tuple[EllipsoidChange, ...] | None
    flips: tuple[Flip, ...]
    accuracy_before: float
    accuracy_after: float
    forgetting: Forgetting = NOTHING
    trials: tuple[Trial, ...] = ()
    promise_withdrawn: bool = False

    @property
    def appeared(self) -> tuple[EllipsoidChange, ...]:
        """The ellipsoids that are new."""
        return self._of("appeared")

    @property
    def changed(self) -> tuple[EllipsoidChange, ...]:
        """The ellipsoids that gained or lost members."""
        return self._of("changed")

    @property
    def disappeared(self) -> tuple[EllipsoidChange, ...]:
        """The old ellipsoids that live on in no new one."""
        return self._of("disappeared")

    def _of(self, kind: str) -> tuple[EllipsoidChange, ...]:
        return tuple(change for change in self.ellipsoids or () if change.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON."""
        fields = asdict(self)
        fields["flips"] = [item._asdict() for item in self.flips]
        fields["forgetting"] = self.forgetting._asdict()
        fields["trials"] = [trial._asdict() | {"forgetting": trial.forgetting._asdict()} for trial in self.trials]
        fields["ellipsoids"] = None if self.ellipsoids is None else [item._asdict() for item in self.ellipsoids]
        return fields

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        added = f"{self.n_added} observed {plural('record', self.n_added)}"
        lines = [f"{added} joined {self.n_before} training records"]
        if self.forgetting != NOTHING:
            lines[0] += f", of which count {self.forgetting}"
        if self.ellipsoids is not None:
            lines[0] += (
                f": {many(len(self.appeared), 'ellipsoid')} appeared, {len(self.changed)} changed, "
                f"{len(self.disappeared)} disappeared"
            )
        largest = sorted(self.appeared, key=lambda e: (-e.n_observed, -e.n_members))
        lines += [f"{e.region} is new: {e.n_members} records, {e.n_observed} of them observed" for e in largest[:5]]
        if len(largest) > 5:
            lines.append(f"and {len(largest) - 5} more new ones, with fewer observed records")
        n_flips = len(self.flips)
        lines.append(
            f"{n_flips} of the observed records {'has' if n_flips == 1 else 'have'} another verdict now; right before "
            f"{percent(self.accuracy_before)}, now, as training records, {percent(self.accuracy_after)}"
        )
        if self.promise_withdrawn:
            lines.append("the promise is withdrawn: no label is accepted until a new one is made")
        if self.trials:
            lines.append("how much to forget, by what predicts the newest records best:")
            lines += [f"  {trial}{' (chosen)' if trial.forgetting == self.forgetting else ''}" for trial in self.trials]
        return lines

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self._lines())


def refitted(
    watched: Watched,
    observations: Observations,
    min_records: int,
    forget: Forgetting | str | None,
    on_step: Callable[[int, int], None] | None,
) -> tuple[Any, PartitionChanges]:
    """Return the new classifier or pipeline, and what has changed; see `FeedbackMonitor.repartition`."""
    records, codes = observations.labelled()
    if not isinstance(min_records, Integral) or min_records < 1:
        raise InputError("min-records", min_records=min_records)
    if len(codes) < min_records:
        raise InputError("too-few-labelled-records", n_observed=len(codes), min_records=min_records)
    old, training = training_of(watched.model)
    place = np.argsort(training.rows)
    X = np.vstack([old[place], records])
    y = observations.label_array(np.concatenate([training.codes[place], codes]))
    n = len(place)
    chosen = checked_forgetting(forget)
    trials: tuple[Trial, ...] = ()
    if isinstance(forget, str):
        plain_classifier = clone(watched.classifier).set_params(class_prior=None, costs=None)
        chosen, trials = choose_forgetting(plain_classifier, X, y, n, watched.as_it_came, on_step)
    weights = None if chosen == NOTHING else weights_by_age(chosen, y, n)
    new = clone(watched.classifier)
    labels = np.unique(y if weights is None else y[weights > 0.0])
    if watched.model.policy is not None and not np.array_equal(labels, watched.model.classes):
        warn("under-other-labels")
        new.set_params(class_prior=None, costs=None)
    new.fit(watched.as_it_came(X), y, sample_weight=weights)
    new._change_limits = watched.classifier.change_limits
    before, after = (clf.predict(watched.as_it_came(records)) for clf in (watched.classifier, new))
    true, flips = y[n:], np.flatnonzero(before != after)
    is_partitioned = watched.model.partition is not None
    changes = PartitionChanges(
        n_before=n,
        n_added=len(true),
        ellipsoids=tuple(_changes(_regions(watched.classifier), _regions(new), n)) if is_partitioned else None,
        flips=tuple(Flip(n + i, plain(before[i]), plain(after[i]), plain(true[i])) for i in flips.tolist()),
        accuracy_before=float(np.mean(before == true)),
        accuracy_after=float(np.mean(after == true)),
        forgetting=chosen,
        trials=trials,
        promise_withdrawn=watched.promise is not None,
    )
    new.about_ = watched.classifier.about_._replace(data=new.about_.data, fitted_on="")
    if new._digests is not None and watched.classifier._digests is not None:
        # The old records may differ in the last digit.
        new._digests = np.union1d(new._digests, watched.classifier._digests)
    if watched.promise is not None:
        new.sign(watched.promise.withdrawn(message("withdrawn-refitted", records=many(len(true), "more record"))))
    return watched.with_classifier(new), changes


class _Region(NamedTuple):
    name: str
    label: str
    members: IntArray


def _regions(clf: Any) -> list[_Region]:
    return [
        _Region(name, rules.labels[block.side], block.members)
        for rules, partition in zip(clf.model_.partition.rules, clf.partitions_, strict=True)
        for name, block in zip(rules.names, partition.blocks, strict=True)
    ]


def _changes(old: list[_Region], new: list[_Region], n_before: int) -> Iterator[EllipsoidChange]:
    lives_on = set()
    for region in new:
        observed = int(np.count_nonzero(region.members >= n_before))
        origin = _origin(region, old)
        if origin is None or 2 * observed > len(region.members):
            yield EllipsoidChange("appeared", region.name, None, region.label, len(region.members), observed)
            continue
        lives_on.add(origin.name)
        if not np.array_equal(origin.members, region.members):
            yield EllipsoidChange("changed", region.name, origin.name, region.label, len(region.members), observed)
    for region in old:
        if region.name not in lives_on:
            yield EllipsoidChange("disappeared", None, region.name, region.label, len(region.members), 0)


def _origin(region: _Region, old: list[_Region]) -> _Region | None:
    """Return the old ellipsoid of the same label that held most of the members; None if none did."""
    for candidate in old:
        shared = np.count_nonzero(np.isin(region.members, candidate.members))
        if candidate.label == region.label and 2 * shared > len(region.members):
            return candidate
    return None
