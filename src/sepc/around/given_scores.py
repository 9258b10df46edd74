"""GivenScores: a classifier whose answers are columns that another model has written."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sepc.around.answers import codes_of
from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import labels_of


class GivenScores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers of a model elsewhere, in R, SAS or behind a wall, as columns of the table beside the features.

    `TrustedClassifier` goes around it as around any other model: these columns are the model's answers, all others make
    regions. The records of `fit` must be held-out ones, which the model that wrote the columns has not learnt from.

    Parameters
    ----------
    scores : dict or sequence of str, default=()
        Columns of the probability of each label: a dict of labels, or of their texts, to columns, or columns in the
        order of `classes_`, which are the sorted labels. One label may be left out, of a sequence the first: its
        probability is what is missing to 1.
    label : str or None, default=None
        Column of the label that the model gives; by default that of the largest probability.
    score : str or None, default=None
        Column of the probability of that label, instead of `scores`; the other labels share the rest as in training.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of int, shape (n_classes,)
        Records of each label in `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [61, 58, 31, 28], "p_ill": [0.9, 0.8, 0.2, 0.1]})
    >>> vendor = GivenScores({"ill": "p_ill"}).fit(table, ["healthy" if p < 0.5 else "ill" for p in table.p_ill])
    >>> vendor.predict(table).tolist(), vendor.predict_proba(table)[0].round(1).tolist()
    (['ill', 'ill', 'healthy', 'healthy'], [0.1, 0.9])
    """

    classes_: NDArray[Any]
    class_count_: IntArray

    def __init__(
        self, scores: Mapping[Any, str] | Sequence[str] = (), label: str | None = None, score: str | None = None
    ) -> None:
        self.scores = scores
        self.label = label
        self.score = score

    @property
    def columns(self) -> list[str]:
        """Names of the columns that hold the answers."""
        scores = self.scores.values() if isinstance(self.scores, Mapping) else self.scores
        return [*scores, *(name for name in (self.label, self.score) if name is not None)]

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
        if self.score is not None and (self.label is None or self.scores):
            raise InputError("given-score-alone", column=self.score)
        for column in self.columns:
            self._column(X, column)
        labels = np.asarray(y)
        if self.label is None:
            classes = labels_of(y)[0]
        else:  # the model may give labels that no record has
            classes = labels_of(np.concatenate([labels, self._labels(X, labels.dtype)]))[0]
        return self.knowing(classes, np.bincount(np.searchsorted(classes, labels), minlength=len(classes)))

    def knowing(self, classes: NDArray[Any], class_count: IntArray) -> Self:
        """Become fitted to labels, shape (n_classes,), of which there were these numbers of records.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            Sorted.
        class_count : ndarray of int, shape (n_classes,)

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas as pd
        >>> given = GivenScores(label="said", score="sure").knowing(np.array(["a", "b", "c"]), np.array([50, 31, 17]))
        >>> given.predict_proba(pd.DataFrame({"said": ["a"], "sure": [0.7]})).round(3).tolist()
        [[0.7, 0.192, 0.108]]
        """
        self.classes_, self.class_count_ = classes, class_count
        if self.scores:
            self._column_of_each_label()
        return self

    def _column_of_each_label(self) -> list[str | None]:
        """Return the column of each label's probability; None for the label whose probability is the rest."""
        labels = self.classes_.tolist()
        if isinstance(self.scores, Mapping):
            columns = {str(label): column for label, column in self.scores.items()}
            found = [columns.pop(str(label), None) for label in labels]
            if columns or found.count(None) > 1:
                raise InputError("given-scores-labels", labels=list(self.scores), classes=labels[:10])
            return found
        if len(self.scores) not in (len(labels), len(labels) - 1):
            raise InputError("given-scores-number", n=len(self.scores), n_classes=len(labels))
        return [*([None] * (len(labels) - len(self.scores))), *self.scores]

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
        return self._labels(X, self.classes_.dtype)

    @available_if(lambda given: len(given.scores) > 0 or given.score is not None)  # type: ignore[untyped-decorator]
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
        if not self.scores:
            return self._by_own_score(X)
        columns = self._column_of_each_label()
        given = np.column_stack([np.zeros(len(X)) if name is None else self._numbers(X, name) for name in columns])
        rest = 1.0 - given.sum(axis=1)
        if None in columns:
            given[:, columns.index(None)] = rest.clip(0.0)
            rest = np.minimum(rest, 0.0)
        off = np.flatnonzero(np.abs(rest) > 0.01)
        if len(off):
            raise InputError("given-scores-sum", row=off[0] + 1, total=float(given[off[0]].sum()))
        return np.asarray(given / given.sum(axis=1, keepdims=True))

    def _by_own_score(self, X: Any) -> FloatArray:
        """Return the given label's own probability, and the rest shared by the others as in training."""
        assert self.score is not None
        rows, codes = np.arange(len(X)), codes_of(self.predict(X), self.classes_)
        own = self._numbers(X, self.score)
        proba = np.tile(self.class_count_ + 1.0, (len(X), 1))
        proba[rows, codes] = 0.0
        proba *= ((1.0 - own) / proba.sum(axis=1))[:, None]
        proba[rows, codes] = own
        return proba

    def _numbers(self, X: Any, name: str) -> FloatArray:
        try:
            values = np.asarray(self._column(X, name), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("given-scores-text", column=name) from None
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            raise InputError("given-scores-missing", column=name, row=missing[0] + 1)
        bad = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
        if len(bad):
            raise InputError("given-scores-range", column=name, value=values[bad[0]], row=bad[0] + 1)
        return values

    def _labels(self, X: Any, dtype: Any) -> NDArray[Any]:
        """Return the labels that the model gives, of the type that true labels have."""
        assert self.label is not None
        values = np.asarray(self._column(X, self.label))
        missing = np.flatnonzero([value is None or value != value for value in values.tolist()])
        if len(missing):
            raise InputError("given-label-missing", column=self.label, row=missing[0] + 1)
        try:
            return values.astype(dtype)
        except (TypeError, ValueError):
            raise InputError("given-label-kind", column=self.label, label=values[0], dtype=dtype) from None

    @staticmethod
    def _column(X: Any, name: str) -> Any:
        if name not in list(getattr(X, "columns", ())):
            raise InputError("given-column-missing", column=name)
        return X[name]
