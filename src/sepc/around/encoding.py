"""Encoding: from what another model takes to the numbers that regions are made of."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA

from sepc.around.constants import FEW_COLUMNS, MANY_COLUMNS
from sepc.common.errors import InputError
from sepc.common.frames import as_frame
from sepc.common.typing import FloatArray
from sepc.common.validation import feature_labels, names_of


class Encoding(NamedTuple):
    """A fitted way from records to features.

    Attributes
    ----------
    encoder : transformer, callable or None
        None where records are features already.
    reduction : PCA or None
        To fewer columns, where the encoder makes hundreds.
    is_default : bool
        Whether the encoder is our own of tables.
    """

    encoder: Any = None
    reduction: PCA | None = None
    is_default: bool = False

    @classmethod
    def learnt(cls, encoder: Any, X: Any, y: NDArray[Any]) -> "Encoding":
        """Learn from training records; without an encoder frames get ours, and arrays stay as they are."""
        if encoder is None:
            if as_frame(X) is None:
                return cls()
            from sepc.tables import TableEncoder  # needs pandas

            return cls(TableEncoder(keep_gaps=True).fit(X), None, True)
        if hasattr(encoder, "transform"):
            encoder = clone(encoder).fit(X, y)
        elif not callable(encoder):
            raise InputError("encoder", encoder=encoder)
        features = _as_numbers(_encoded(encoder, X))
        if features.shape[1] <= MANY_COLUMNS or cls(encoder).is_table:
            return cls(encoder)
        n = min(FEW_COLUMNS, len(features) - 1)
        return cls(
            encoder, PCA(n, svd_solver="covariance_eigh" if len(features) > features.shape[1] else "full").fit(features)
        )

    @property
    def is_table(self) -> bool:
        """Whether raw tables are encoded by our encoder, ours by default or as passed."""
        return hasattr(self.encoder, "gap_typicality")

    def features(self, X: Any) -> Any:
        """Return the features of records, as an array or a frame of numbers."""
        found = X if self.encoder is None else _encoded(self.encoder, X)
        return found if self.reduction is None else self.reduction.transform(_as_numbers(found))

    def names(self, features: Any) -> list[str] | None:
        """Return the names of features; None where they have none."""
        if self.reduction is not None:
            return [f"direction {k + 1}" for k in range(self.reduction.n_components_)]
        names = names_of(features)
        if names is None and hasattr(self.encoder, "get_feature_names_out"):
            names = self.encoder.get_feature_names_out()
        return None if names is None else feature_labels(names, len(names))


def _encoded(encoder: Any, X: Any) -> Any:
    found = encoder.transform(X) if hasattr(encoder, "transform") else encoder(X)
    if hasattr(found, "detach"):  # a tensor of PyTorch
        found = found.detach().cpu().numpy()
    return found.toarray() if hasattr(found, "toarray") else found


def _as_numbers(features: Any) -> FloatArray:
    try:
        numbers = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("encoder-no-numbers", type=type(features).__name__) from None
    if numbers.ndim != 2:
        raise InputError("encoder-shape", shape=numbers.shape)
    return numbers


def without_columns(X: Any, names: Sequence[str]) -> Any:
    """Return a frame without some of its columns; anything else as it is."""
    if not names:
        return X
    rest = [name for name in X.columns if name not in set(names)]
    if not rest:
        raise InputError("given-nothing-else", columns=", ".join(names))
    return X[rest]
