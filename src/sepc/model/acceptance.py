"""Acceptance: which labels are accepted, and why others are not, by the columns of an assessment.

A `Promise` gives the trust from which labels are accepted. The model that it was made for is known by its key: a text
that two models share only if they give the same labels with the same trust.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray
from sepc.model.calibration import STRANGE
from sepc.model.verdicts import Rule

if TYPE_CHECKING:
    from sepc.model.assessment import Assessment

# Trust from which a label is accepted by default, without a promise and costs.
DEFAULT_TRUST = 0.95

# Why a label is not accepted; of several reasons the first.
NO_VALUES, BEYOND, DISAGREEMENT, PROMISE, LOW_TRUST = "no values", "beyond", "disagreement", "promise", "trust"
REFUSALS = {
    NO_VALUES: "all values of the record are missing",
    "no region": "the model has no region to stand on",
    BEYOND: "a value is beyond those of training by more than these justify",
    "strange": "the record is strange",
    DISAGREEMENT: "with the regions another label is more likely than the model's",
    "contested": "another label is nearly as likely, or the records there are divided",
    "outside": "the record is outside of every region",
    PROMISE: "nothing is promised of such records",
    LOW_TRUST: "the trust is too low",
    "cost": "asking a person costs less",
}


class Promise(ABC):
    """Trusts from which labels are accepted, which may differ by record.

    Examples
    --------
    >>> class Cautious(Promise):
    ...     def limits(self, assessment, groups=None):
    ...         return np.where(assessment.label == "ill", 0.99, 0.9)
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["well"] * 3 + ["ill"] * 3)
    >>> clf.assess([[0.5], [8.0]]).limits(Cautious()).tolist()
    [0.9, 0.99]
    """

    __slots__ = ()

    @abstractmethod
    def limits(self, assessment: Any, groups: Any = None) -> FloatArray:
        """Return the trust from which each label is accepted, shape (n,); infinite where nothing is promised.

        `groups`, of shape (n,) or (n, n_groups), are those of the records, where the promise goes by groups.
        """

    @property
    def is_kept(self) -> bool:
        """Whether anything is promised."""
        return True

    def withdrawn(self, why: str) -> "Promise":  # noqa: ARG002
        """Return the same promise where it no longer holds: it accepts nothing."""
        return _NothingPromised()


class _NothingPromised(Promise):
    """The promise that accepts nothing."""

    __slots__ = ()
    is_kept = False

    def limits(self, assessment: Any, groups: Any = None) -> FloatArray:  # noqa: ARG002
        return np.full(len(assessment), np.inf)


MinTrust = float | Mapping[Any, float] | Promise | None


class Terms(NamedTuple):
    """Terms of acceptance, as `Assessment.accepted` takes them."""

    min_trust: MinTrust
    min_typicality: float
    allow_outside: bool = True
    groups: Any = None


def accepted(a: "Assessment", terms: Terms) -> BoolArray:
    """Return which labels are accepted, shape (n,)."""
    return np.asarray(~np.logical_or.reduce(list(refused(a, terms).values())))


def refusals(a: "Assessment", terms: Terms) -> NDArray[np.object_]:
    """Return why labels are not accepted, of several reasons the first; None where they are, shape (n,)."""
    why = np.full(len(a), None, dtype=object)
    by_reason = refused(a, terms)
    for reason in reversed(REFUSALS):
        why[by_reason[reason]] = reason
    return why


def label_or(a: "Assessment", terms: Terms, abstain_label: Any) -> NDArray[np.object_]:
    """Return the accepted labels, and `abstain_label` in place of the others, shape (n,)."""
    labels = a.label.astype(object)
    labels[~accepted(a, terms)] = abstain_label
    return labels


def refused(a: "Assessment", terms: Terms) -> dict[str, BoolArray]:
    """Return which labels are refused for each reason of `REFUSALS`, each of shape (n,)."""
    required, least = min_trust_of(a, terms.min_trust), as_share(terms.min_typicality, "min_typicality")
    # A promise says nothing on other terms than its calibration records were accepted on.
    on_other_terms = isinstance(required, Promise) and (least != STRANGE or not terms.allow_outside)
    limits = trust_limits(a, np.inf if on_other_terms else required, None if on_other_terms else terms.groups)
    everywhere = np.full(len(a), True)
    return {
        NO_VALUES: a.known == 0.0,
        "no region": everywhere & (not a.has_regions),
        BEYOND: a.is_beyond & (least > 0.0),
        "strange": a.typicality < least,
        DISAGREEMENT: a.disagrees,
        "contested": a.contested & (not a.has_costs),
        "outside": everywhere & False if terms.allow_outside else a.rule == Rule.R3.name,
        PROMISE: np.isinf(limits),
        LOW_TRUST: a.trust < limits,
        "cost": a.expected_cost > a.asking_cost,
    }


def min_trust_of(a: "Assessment", min_trust: MinTrust) -> float | Mapping[Any, float] | Promise:
    """Return the terms of acceptance: by default the signed promise, else costs alone, else a trust of 0.95."""
    if min_trust is not None:
        return min_trust
    if a.promise is not None:
        return a.promise
    return 0.0 if a.has_costs else DEFAULT_TRUST


def trust_limits(a: "Assessment", min_trust: MinTrust, groups: Any = None) -> FloatArray:
    """Return the trust from which each label is accepted, shape (n,); infinite where nothing is promised."""
    required = min_trust_of(a, min_trust)
    if isinstance(required, Promise):
        return required.limits(a, groups)
    if groups is not None:
        raise InputError("groups-not-asked", min_trust=required)
    if not isinstance(required, Mapping):
        return np.full(len(a), as_limit(required, "min_trust"))
    missing = [label for label in a.classes.tolist() if label not in required]
    if missing:
        raise InputError("min-trust-without-entry", labels=missing)
    limits = np.empty(len(a))
    for label in a.classes.tolist():
        limits[a.label == label] = as_limit(required[label], f"min_trust[{label!r}]")
    return limits


def as_limit(value: Any, name: str) -> float:
    """Return a trust from which labels are accepted: a share, or infinity, which accepts nothing."""
    return np.inf if isinstance(value, float) and value == np.inf else as_share(value, name)


def as_share(value: Any, name: str) -> float:
    """Return a number between 0 and 1; raise an `InputError` if it is none."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    raise InputError("not-between-0-and-1", name=name, value=value)


def key_of(texts: Iterable[str], arrays: Iterable[Any]) -> str:
    """Return a hash of texts and numbers, in their order."""
    digest = hashlib.sha256(repr(list(texts)).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def require_key(key: str | None, model_key: str | None) -> None:
    """Refuse a promise that was made for another model; one without a key is accepted."""
    if key is not None and model_key is not None and key != model_key:
        raise InputError("promise-of-another-model")
