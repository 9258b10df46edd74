"""GivenScores: a classifier whose answers are columns that another model has written."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray
from sepc.common.validation import labels_of


class GivenScores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers of a model elsewhere, in R, SAS or behind a wall, as columns of the table beside the features.

    `TrustedClassifier` goes around it as around any other model: these columns are the model's answers, all others make
    regions. The records of `fit` must be held-out ones, which the model that wrote the columns has not learnt from.

    Parameters
    ----------
    scores : sequence of str, default=()
        Columns of the probability of each label, in the order of `classes_`, which are the sorted labels; of one label
        less, that of the first label is what is missing to 1.
    label : str or None, default=None
        Column of the label that the model gives; by default that of the largest probability.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [61, 58, 31, 28], "p_ill": [0.9, 0.8, 0.2, 0.1]})
    >>> vendor = GivenScores(["p_ill"]).fit(table, ["healthy" if p < 0.5 else "ill" for p in table.p_ill])
    >>> vendor.predict(table).tolist(), vendor.predict_proba(table)[0].round(1).tolist()
    (['ill', 'ill', 'healthy', 'healthy'], [0.1, 0.9])
    """

    classes_: NDArray[Any]

    def __init__(self, scores: Sequence[str] = (), label: str | None = None) -> None:
        self.scores = scores
        self.label = label

    @property
    def columns(self) -> list[str]:
        """Names of the columns that hold the answers."""
        return [*self.scores, *([] if self.label is None else [self.label])]

    def fit(self, X: Any, y: Any) -> Self:
        """Check the columns, and keep the labels.

        Parameters
        ----------
        X : frame of shape (n, n_columns)
        y : array-like of shape (n,)

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas as pd
        >>> GivenScores(label="said").fit(pd.DataFrame({"said": ["a", "b"]}), ["a", "a"]).classes_.tolist()
        ['a', 'b']
        """
        if not self.columns:
            raise InputError("given-nothing")
        self._column(X, self.columns[0])
        if self.label is None:
            self.classes_ = labels_of(y)[0]
        else:  # the model may give labels that no record has
            labels = np.asarray(y)
            self.classes_ = labels_of(np.concatenate([labels, self._labels(X).astype(labels.dtype)]))[0]
        if self.scores and len(self.scores) not in (len(self.classes_), len(self.classes_) - 1):
            raise InputError("given-scores-number", n=len(self.scores), n_classes=len(self.classes_))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label that the model gives, shape (n,).

        Parameters
        ----------
        X : frame of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"said": ["a", "b"]})
        >>> GivenScores(label="said").fit(table, ["a", "b"]).predict(table).tolist()
        ['a', 'b']
        """
        check_is_fitted(self)
        if self.label is None:
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        return self._labels(X).astype(self.classes_.dtype)

    @available_if(lambda given: len(given.scores) > 0)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label; a model that writes labels alone has none.

        Parameters
        ----------
        X : frame of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n, n_classes)

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"p_b": [0.25, 1.0]})
        >>> GivenScores(["p_b"]).fit(table, ["a", "b"]).predict_proba(table).tolist()
        [[0.75, 0.25], [0.0, 1.0]]
        """
        check_is_fitted(self)
        given = np.column_stack([self._numbers(X, name) for name in self.scores])
        rest = 1.0 - given.sum(axis=1)
        if given.shape[1] < len(self.classes_):
            given = np.column_stack([rest.clip(0.0), given])
            rest = np.minimum(rest, 0.0)
        off = np.flatnonzero(np.abs(rest) > 0.01)
        if len(off):
            raise InputError("given-scores-sum", row=off[0] + 1, total=float(given[off[0]].sum()))
        return np.asarray(given / given.sum(axis=1, keepdims=True))

    def _numbers(self, X: Any, name: str) -> FloatArray:
        try:
            values = np.asarray(self._column(X, name), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("given-scores-text", column=name) from None
        bad = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
        if len(bad):
            raise InputError("given-scores-range", column=name, value=values[bad[0]], row=bad[0] + 1)
        return values

    def _labels(self, X: Any) -> NDArray[Any]:
        assert self.label is not None
        values = np.asarray(self._column(X, self.label))
        missing = np.flatnonzero([value is None or value != value for value in values.tolist()])
        if len(missing):
            raise InputError("given-label-missing", column=self.label, row=missing[0] + 1)
        return values

    @staticmethod
    def _column(X: Any, name: str) -> Any:
        if name not in list(getattr(X, "columns", ())):
            raise InputError("given-column-missing", column=name)
        return X[name]
