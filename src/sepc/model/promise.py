"""A promise: from which trust on labels may be accepted, as an assessment is asked with it.

Which model it was made for is told by the model's key: a text that two models share only if they give the same labels
with the same trust.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray


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
        """Return the trust from which on each label is accepted, shape (n,); infinite where nothing is promised.

        Parameters
        ----------
        assessment : Assessment
            Of n records.
        groups : array-like of shape (n,) or (n, n_groups), optional
            What groups the records belong to, where the promise goes by groups.
        """


def key_of(texts: Iterable[str], arrays: Iterable[Any]) -> str:
    """Return a text that stands for texts and numbers, in their order."""
    digest = hashlib.sha256(repr(list(texts)).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def require_key(key: str | None, model_key: str | None) -> None:
    """Refuse a promise that was made for another model; one that does not know its model is taken as it is."""
    if key is not None and model_key is not None and key != model_key:
        raise InputError(
            "the promise was made for another model than the one that it is used with; expected the model whose "
            "labels the calibration records judged. Load that model, or make a promise for this one with "
            "select_min_trust."
        )
