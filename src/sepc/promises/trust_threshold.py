"""TrustThreshold: a trust threshold with a promise, for all labels or for a part of the records."""

from dataclasses import asdict, dataclass, field
from typing import Any

from sepc.common.errors import InputError, warn
from sepc.common.text import percent
from sepc.common.typing import FloatArray
from sepc.model.assessment import Assessment
from sepc.model.promise import Promise, require_key

PROMISED, TOO_FEW, TOO_MANY_WRONG, TOO_DEAR = "promised", "too few records", "too many wrong", "too dear"


@dataclass(frozen=True, slots=True, repr=False)
class TrustThreshold(Promise):
    """Trust threshold with a promise; `select_min_trust` returns it.

    Attributes
    ----------
    min_trust : float or None
        Accept a label where its trust is at least this, and nothing else speaks against it. It lies just above the
        highest trust that is refused. None if no threshold can promise it.
    max_error : float or None
        The promise: among accepted labels the share of wrong ones is at most this. None where a cost is bounded.
    confidence : float
        With which it holds; of a part, with which the promises of all parts hold together.
    n_calibration, n_accepted, n_errors : int
        Calibration records, of a part those that some trust accepts; accepted ones; wrong ones among these.
    coverage : float
        Share of the calibration records that is accepted.
    error_bound : float or None
        Upper bound on the error, or the cost, at this threshold, at the level at which it was tested; Clopper and
        Pearson's for errors. It tells how close the choice was. What is promised is the limit.
    message : str
        The same in a sentence.
    class_prior : tuple of float, or None
        Shares of the classes that were stated when it was found; None where those in training were taken.
    made_on, made_from : str
        The day, as in 2026-03-01, and the calibration records, where somebody has named them; else empty.
    part : str
        What it is promised for: a label, a region such as ``malignant#2`` or ``other regions of malignant``, a group,
        or a combination of groups. Empty for all labels.
    status : {"promised", "too few records", "too many wrong", "too dear"}
    n_more : int or None
        How many more records it takes if none of all is wrong; None unless they are too few.
    max_cost, cost : float or None
        The promise where a cost is bounded: what an accepted label costs on average; what they cost among the
        calibration records.

    Examples
    --------
    >>> TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.")
    TrustThreshold(min_trust=0.9, 150 of 200 accepted, 1 wrong: Fine.)
    """

    min_trust: float | None
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

    @property
    def limit(self) -> float:
        """What is promised: the largest share of wrong labels, or the largest mean cost."""
        limit = self.max_error if self.max_cost is None else self.max_cost
        assert limit is not None
        return limit

    def limit_in_words(self) -> str:
        """Return what is promised, in a few words.

        Examples
        --------
        >>> TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.").limit_in_words()
        'at most 5 % wrong'
        """
        return f"at most {percent(self.limit)} wrong" if self.max_cost is None else f"at most {self.limit:g} on average"

    def limits(self, assessment: Assessment, groups: Any = None) -> FloatArray:
        """Return the trust from which on each label is accepted, shape (n,)."""
        if self.part:
            raise InputError(
                f"this is what is promised of {self.part} alone; expected the promises of all parts, which know what "
                "each record needs. Pass what select_min_trust returned."
            )
        require_key(self.key, assessment.model_key)
        return assessment.limits(self._number, groups)

    @property
    def _number(self) -> float:
        if self.min_trust is None:
            raise InputError(
                "the promise has no threshold, as select_min_trust found none that keeps it; expected one. Accept no "
                "label, or ask for a promise that can be kept."
            )
        return self.min_trust

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts, ready for JSON.

        Examples
        --------
        >>> TrustThreshold(None, 0.05, 0.95, 10, 0, 0, 0.0, None, "No.").to_dict()["n_calibration"]
        10
        """
        return asdict(self)

    def __repr__(self) -> str:
        counts = f"{self.n_accepted} of {self.n_calibration} accepted, {self.n_errors} wrong"
        return f"TrustThreshold(min_trust={self.min_trust}, {counts}: {self.message})"


def model_of(clf: Any) -> Any:
    """Return the fitted model of a classifier, or of the last step of a pipeline; None where there is none."""
    last = clf.steps[-1][1] if hasattr(clf, "steps") else clf
    return getattr(last, "model_", None)


def stated_of(clf: Any) -> dict[str, Any] | None:
    """Return what a classifier was told of shares of the classes and of costs, by labels; None if nothing."""
    model = model_of(clf)
    policy = getattr(model, "policy", None)
    return None if policy is None else policy.to_dict(model.classes)


def stated_prior(clf: Any) -> tuple[float, ...] | None:
    """Return the shares of the classes that a classifier was told; None if none."""
    policy = getattr(model_of(clf), "policy", None)
    return None if policy is None or policy.prior is None else tuple(policy.prior.tolist())


def warn_if_stated_otherwise(min_trust: Any, clf: Any) -> None:
    """Warn where a promise was made under other shares of the classes, or other costs, than the classifier's now.

    Parameters
    ----------
    min_trust : float, dict or promise
        Numbers promise nothing.
    clf : classifier
        Fitted.
    """
    if isinstance(min_trust, Promise) and getattr(min_trust, "stated", None) != stated_of(clf):
        warn(
            "the promise does not hold here: it was made with other shares of the classes, or other costs. Find one "
            "with select_min_trust of the classifier under these, and with calibration records from where they hold."
        )
