"""Policies: labels by class priors other than in training, and with costs of errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Policy:
    """Class priors and costs, by which labels are chosen from probabilities.

    Attributes
    ----------
    prior : ndarray of shape (n_classes,), or None
        Class priors where predictions are made; None where they are those of the training set.
    shift : ndarray of shape (n_classes,)
        These priors over those of the training set: probabilities are multiplied by it.
    costs : ndarray of shape (n_classes, n_classes), or None
        Cost of giving the label of the column where that of the row is true.
    asking : ndarray of shape (n_classes,), or None
        Cost of abstaining where that label is true; None where the classifier never abstains.
    """

    prior: FloatArray | None
    shift: FloatArray
    costs: FloatArray | None
    asking: FloatArray | None

    @classmethod
    def of(cls, classes: NDArray[Any], class_count: IntArray, class_prior: Any, costs: Any) -> "Policy | None":
        """Return the policy of a user; None without class priors and costs.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
        class_count : ndarray of int, shape (n_classes,)
            Training points of each class.
        class_prior : dict or array-like of shape (n_classes,), or None
            Class priors. Those that a dict does not have share the rest as in the training set.
        costs : dict or array-like, or None
            ``costs[true][given]``; ``costs[true][None]``, or ``costs[None]`` for all, is the cost of abstaining.
            An array has one row and one column for each class, and perhaps one more column, for abstaining.
        """
        if class_prior is None and costs is None:
            return None
        trained = class_count / class_count.sum()
        prior = None if class_prior is None else _prior(class_prior, classes, trained)
        matrix, asking = (None, None) if costs is None else _costs(costs, classes)
        return cls(prior, np.ones(len(classes)) if prior is None else prior / trained, matrix, asking)

    def to_dict(self, classes: NDArray[Any]) -> dict[str, list[dict[str, Any]]]:
        """Return priors and costs by labels, as plain values; what was not stated is empty."""
        labels = [plain(label) for label in classes]
        prior = [] if self.prior is None else zip(labels, self.prior.tolist(), strict=True)
        rows = [] if self.costs is None else zip(labels, self.costs.tolist(), strict=True)
        asking = [] if self.asking is None else zip(labels, self.asking.tolist(), strict=True)
        return {
            "class_prior": [{"label": label, "share": share} for label, share in prior],
            "costs": [
                {"true": true, "given": given, "cost": cost}
                for true, row in rows
                for given, cost in zip(labels, row, strict=True)
                if given != true or cost
            ],
            "asking": [{"true": true, "cost": cost} for true, cost in asking],
        }

    def posterior(self, proba: FloatArray) -> FloatArray:
        """Return probabilities with these class priors, shape (n, n_classes); unchanged with the training set's."""
        if (self.shift == 1.0).all():
            return proba
        shifted = proba * self.shift
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))

    def choose(self, proba: FloatArray) -> IntArray:
        """Return the label of the least expected cost, shape (n,); of equal ones the likelier."""
        if self.costs is None:
            return np.asarray(proba.argmax(axis=1))
        expected = proba @ self.costs
        least = expected.min(axis=1, keepdims=True) + 1e-12 * self.costs.max()  # equal but for rounding
        return np.asarray(np.where(expected <= least, proba, -1.0).argmax(axis=1))

    def cost_of(self, proba: FloatArray, label: IntArray) -> FloatArray | None:
        """Return the expected cost of giving these labels, shape (n,); None without costs."""
        if self.costs is None:
            return None
        return np.asarray((proba @ self.costs)[np.arange(len(label)), label])

    def cost_of_asking(self, proba: FloatArray) -> FloatArray | None:
        """Return the expected cost of abstaining, shape (n,); None where the classifier never abstains."""
        if self.asking is None:
            return None
        if (self.asking == self.asking[0]).all():  # without the rounding of probabilities that add up to 1
            return np.full(len(proba), self.asking[0])
        return np.asarray(proba @ self.asking)


def stated(policy: Policy | None, classes: NDArray[Any]) -> dict[str, list[dict[str, Any]]] | None:
    """Return what a user has stated, as plain values; None if nothing."""
    return None if policy is None else policy.to_dict(classes)


def _prior(given: Any, classes: NDArray[Any], trained: FloatArray) -> FloatArray:
    labels = classes.tolist()
    if isinstance(given, Mapping):
        _require_labels(given, labels, "class_prior")
        known = np.array([label in given for label in labels])
        shares = np.array([_number(given.get(label, 0.0), f"class_prior[{label!r}]") for label in labels])
        rest = 1.0 - shares.sum()
        if not known.all() and rest >= 0.0:
            shares[~known] = rest * trained[~known] / trained[~known].sum()
    else:
        shares = _numbers(given, "class_prior")
    if shares.shape != (len(labels),):
        raise InputError("class-prior-shape", shape=shares.shape, n_classes=len(labels), classes=_named(labels))
    if not (shares > 0.0).all() or abs(shares.sum() - 1.0) > 1e-6:
        stated = ", ".join(f"{label}: {share:g}" for label, share in zip(labels, shares.tolist(), strict=True))
        raise InputError("class-prior-sum", stated=stated, total=shares.sum())
    return np.asarray(shares / shares.sum())


def _costs(given: Any, classes: NDArray[Any]) -> tuple[FloatArray, FloatArray | None]:
    labels = classes.tolist()
    matrix, asking = _from_dict(given, labels) if isinstance(given, Mapping) else _from_array(given, labels)
    every = matrix if asking is None else np.column_stack([matrix, asking])
    if not (np.isfinite(every) & (every >= 0.0)).all():
        bad = every[~(np.isfinite(every) & (every >= 0.0))][0]
        raise InputError("costs-negative", cost=bad)
    dear = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if matrix[i, i] > matrix[i, j]]
    if dear:
        i, j = dear[0]
        raise InputError(
            "costs-right-dearer", label=labels[i], own_cost=matrix[i, i], other=labels[j], other_cost=matrix[i, j]
        )
    return matrix, asking


def _from_dict(given: Mapping[Any, Any], labels: list[Any]) -> tuple[FloatArray, FloatArray | None]:
    _require_labels(given, [*labels, None], "costs")
    matrix = np.zeros((len(labels), len(labels)))
    for_all = _number(given[None], "costs[None]") if None in given else None
    asking: list[float | None] = [for_all] * len(labels)
    for i, true in enumerate(labels):
        row = given.get(true, {})
        if not isinstance(row, Mapping):
            raise InputError("costs-row", label=true, row=row)
        _require_labels(row, [*labels, None], f"costs[{true!r}]")
        missing = [label for label in labels if label != true and label not in row]
        if missing:
            raise InputError("costs-without-entry", label=true, given=missing[0])
        matrix[i] = [_number(row.get(label, 0.0), f"costs[{true!r}][{label!r}]") for label in labels]
        if None in row:
            asking[i] = _number(row[None], f"costs[{true!r}][None]")
    known = [price for price in asking if price is not None]
    if not known:
        return matrix, None
    if len(known) < len(labels):
        label = labels[asking.index(None)]
        raise InputError("asking-cost-without-entry", label=label)
    return matrix, np.array(known)


def _from_array(given: Any, labels: list[Any]) -> tuple[FloatArray, FloatArray | None]:
    matrix, k = _numbers(given, "costs"), len(labels)
    if matrix.shape not in ((k, k), (k, k + 1)):
        raise InputError("costs-shape", shape=matrix.shape, n_classes=k, classes=_named(labels), n_columns=k + 1)
    return matrix[:, :k].copy(), matrix[:, k].copy() if matrix.shape[1] > k else None


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError("not-a-number", name=name, value=value) from None


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("not-numbers-by-label", name=name, values=values) from None


def _require_labels(given: Mapping[Any, Any], labels: list[Any], name: str) -> None:
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise InputError("policy-unknown-label", name=name, label=unknown[0], classes=_named(labels))


def _named(labels: list[Any]) -> str:
    return ", ".join(repr(label) for label in labels)
