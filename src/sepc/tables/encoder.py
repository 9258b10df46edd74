"""TableEncoder: a raw table of numbers, texts, dates and missing values as features for ellipsoids."""

from collections.abc import Iterable, Mapping
from math import ceil
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sepc.common.errors import InputError, warn
from sepc.common.frames import FrameMaker
from sepc.common.site import LinkedToSite
from sepc.common.text import shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.landscapes.findings import Finding
from sepc.tables.cells import Table, read_table
from sepc.tables.column_learning import WRITTEN_TEXTS, Limits, finding_on_texts, learn_column, notes_on
from sepc.tables.columns import LEFT_OUT, NOT_READ, Column, feature_names, feature_slices, features_by_column
from sepc.tables.notation import TextNotation
from sepc.tables.table_vocabulary import TableVocabulary

_NAMES_SHOWN = 10


class TableEncoder(LinkedToSite, TransformerMixin, BaseEstimator):
    """Encoder of raw tables as features: numbers as they are, one 0/1 feature for each value of a category.

    Each column is of one kind, which `fit` decides:

    - number: integers, floats and texts that are all numbers. A missing one becomes the median, or stays missing if
      `keep_gaps` is set; a feature ``<column> is missing`` shows it if that happens often enough.
    - bool: true and false, as 1 and 0; missing ones as for numbers.
    - date: dates, with or without a time, and texts such as 2024-01-31. As days since the earliest one.
    - category: other texts, and pandas' and polars' categories. One feature ``<column> = <value>`` for each of the
      frequent values; only one for a column of two. Rare values share ``(other)``. Missing ones count as the value
      ``(missing)`` where that is frequent; else as ``(other)``, or they stay missing if `keep_gaps` is set.
    - left out: a column with no values or always the same, and a text with more than 30 values that differs in more
      than half of the rows.

    Missing are None, NaN, NaT and NA, and the texts NA, N/A, #N/A, <NA>, NaN, NaT, null, ? and the empty one. Blanks
    around a text do not count.

    Parameters
    ----------
    min_share : float, default=0.01
        A value of a category, or the absence of values, gets a feature of its own if it occurs in at least this share
        of the rows, and in 10 of them; in a table of less than 200 rows, in 5 % of them, and in two.
    max_levels : int, default=20
        Most values of a category that get a feature of their own.
    categorical_features : sequence of str or int, optional
        Columns, by names or by numbers from 0, that are categories whatever they hold: 1, 2 and 3 that stand for three
        kinds of something. Texts, and the categories of pandas and polars, are so by themselves.
    keep_gaps : bool, default=False
        Whether missing values stay missing, as NaN, for a classifier that judges records by their known values, as
        `make_table_pipeline` sets it. A row without any value is NaN in all features.

    Attributes
    ----------
    columns_ : tuple of Column
        Encoding of each column.
    findings_ : tuple of Finding
        Findings on the texts of the table: codes that are read as numbers, values of a category in two spellings. Hand
        them to `landscape`; a report of a pipeline shows them.
    gap_counts_ : ndarray of int, shape (most_gaps + 1,)
        Number of training rows with no gap, one, two and so on: see `gap_typicality`.
    text_notation_ : TextNotation
        How the text file was written that the table came from, where the command line has read it; else empty.
    n_features_in_ : int
        Number of raw columns.
    feature_names_in_ : ndarray of str, shape (d,)
        Names of the raw columns, where they came with the table.

    Notes
    -----
    The result does not depend on the order of the rows. In new tables columns may come in any order, and others beside
    them are ignored; those without features need not be there. A value that the fit has not seen is ``(other)`` where
    there is such a feature; else all features of its column are 0, or the only one is 0.5. `unseen` reports them, and
    `gap_typicality` how strange a row with such values, or with missing ones, is.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [61, 40, None, 35], "color": ["red", "blue", "red", "blue"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table)
        age  color = red
    0  61.0          1.0
    1  40.0          0.0
    2  40.0          1.0
    3  35.0          0.0
    >>> encoder.unseen(pd.DataFrame({"age": ["50"], "color": ["pink"]}))
    {'color': {'pink': 1}}
    """

    def __init__(
        self,
        *,
        min_share: float = 0.01,
        max_levels: int = 20,
        categorical_features: Any = None,
        keep_gaps: bool = False,
    ) -> None:
        self.min_share = min_share
        self.max_levels = max_levels
        self.categorical_features = categorical_features
        self.keep_gaps = keep_gaps

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose the encoding of each column.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            A pandas or polars frame, a pyarrow table, an array or rows of values.
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]]).columns_[1].levels
        ('blue', 'red')
        """
        self._check_parameters()
        table = read_table(X)
        if table.n_rows < 2:
            raise InputError("one-sample")
        # At least 10 rows, or 5 % of a table with less than 200.
        least = ceil(max(2, min(10, 0.05 * table.n_rows), float(self.min_share) * table.n_rows))
        limits = Limits(least, int(self.max_levels), bool(self.keep_gaps))
        categories = self._categories(list(table.columns))
        columns = tuple(learn_column(name, raw, limits, name in categories) for name, raw in table.columns.items())
        _require_features(columns)
        for column in columns:
            if column.reason.startswith(WRITTEN_TEXTS):
                warn("column-left-out", name=column.name, reason=column.reason)
        gap_counts = np.bincount(_number_of_gaps(columns, table.columns, in_training=True))
        self._set_columns(columns, gap_counts, table.has_names)
        found = (finding_on_texts(column, table.columns[column.name]) for column in columns)
        self.findings_ = tuple(finding for finding in found if finding is not None)
        return self

    def _set_columns(self, columns: tuple[Column, ...], gap_counts: IntArray, have_names: bool) -> None:
        self.columns_, self.gap_counts_, self.n_features_in_ = columns, gap_counts, len(columns)
        self.text_notation_, self.findings_ = TextNotation(), ()
        if have_names:
            self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _leave_out(self, X: Any, features: Iterable[str]) -> None:
        """Leave out the columns of the training table X without one of these features."""
        read = set(features)
        names = features_by_column(self.columns_, self.get_feature_names_out().tolist())
        columns = tuple(
            column
            if column.kind == LEFT_OUT or not read.isdisjoint(names[column.name])
            else Column(column.name, LEFT_OUT, n_missing=column.n_missing, reason=NOT_READ)
            for column in self.columns_
        )
        gaps = _number_of_gaps(columns, read_table(X).columns, in_training=True)
        self.columns_, self.gap_counts_ = columns, np.bincount(gaps)

    def _check_parameters(self) -> None:
        if isinstance(self.min_share, bool) or not (isinstance(self.min_share, Real) and 0.0 <= self.min_share < 1.0):
            raise InputError("min-share", min_share=self.min_share)
        if isinstance(self.max_levels, bool) or not (isinstance(self.max_levels, Integral) and self.max_levels >= 1):
            raise InputError("max-levels", max_levels=self.max_levels)

    def _categories(self, names: list[str]) -> set[str]:
        """Return the names of the columns that are to be categories."""
        given = () if self.categorical_features is None else self.categorical_features
        if isinstance(given, (str, Integral)) or not isinstance(given, Iterable):
            raise InputError("categorical-features", categorical_features=given)
        found = set()
        for column in given:
            is_number = isinstance(column, Integral) and not isinstance(column, bool)
            name = names[int(column)] if is_number and 0 <= int(column) < len(names) else column
            if name not in names:
                raise InputError(
                    "categorical-features-unknown",
                    column=column,
                    names=shortened(map(repr, names), _NAMES_SHOWN),
                    last=len(names) - 1,
                )
            found.add(str(name))
        return found

    def transform(self, X: Any) -> Any:
        """Return the features of each row.

        Parameters
        ----------
        X : table of shape (n, n_columns)

        Returns
        -------
        pandas.DataFrame of float, shape (n, n_features)
            A polars frame if one came in. A pandas index is kept.

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]])
        >>> encoder.transform([["50", "pink"]]).values.tolist()
        [[50.0, 0.5]]
        """
        features, names = self._encode(self._read(X)), self.get_feature_names_out().tolist()
        frames = FrameMaker.like(X)
        if frames.library == "polars":
            return frames.frame(dict(zip(names, features.T, strict=True)))
        return pd.DataFrame(features, columns=names, index=frames.index, copy=False)

    def _encode(self, table: Table) -> FloatArray:
        where = feature_slices(self.columns_)
        features = np.empty((table.n_rows, where[-1][1].stop), order="F")  # filled column by column
        for column, at in where:
            features[:, at] = column.encode(table.columns[column.name])
        # In a row without any value no feature is known, not even that of a missing value.
        empty = np.full(table.n_rows, any(column.keeps_gaps for column in self.columns_))
        for column, _ in where:
            if empty.any():
                empty &= column.missing(table.columns[column.name])
        features[empty] = np.nan
        return features

    def _read(self, X: Any) -> Table:
        """Return a table that has all columns with features."""
        check_is_fitted(self)
        needed = [column.name for column in self.columns_ if column.kind != LEFT_OUT]
        table = read_table(X, set(needed))
        if not (table.has_names and hasattr(self, "feature_names_in_")):
            # By position: scikit-learn checks their number and names.
            validate_data(self, X, reset=False, skip_check_array=True)
            names = [column.name for column in self.columns_]
            return table._replace(columns=dict(zip(names, table.columns.values(), strict=True)))
        missing = [name for name in needed if name not in table.columns]
        if missing:
            raise InputError(
                "table-columns-missing",
                columns=", ".join(map(repr, missing)),
                expected=shortened(map(repr, needed), _NAMES_SHOWN),
            )
        return table

    def inverse_transform(self, X: Any) -> Any:
        """Return the raw values that features come nearest to: of a category the one with the largest feature.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        pandas.DataFrame of shape (n, n_columns)
            Without the columns that have no features; dates as texts. A polars frame if one came in.

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [35, "green"], [60, "red"], [0, "green"]])
        >>> encoder.inverse_transform([[50.0, 0.2, 0.7, 0.1]])
             x0   x1
        0  50.0  red
        """
        check_is_fitted(self)
        features = np.asarray(X, dtype=np.float64)
        d = len(self.get_feature_names_out())
        if features.ndim != 2 or features.shape[1] != d:
            raise InputError("features-shape", shape=features.shape, n_features=d)
        raw = {column.name: column.decode(features[:, at]) for column, at in feature_slices(self.columns_)}
        return FrameMaker.like(X).frame(raw, rows=True)

    def unseen(self, X: Any) -> dict[str, dict[str, int]]:
        """Return the values of categories that the fit has not seen, and how often they occur.

        Parameters
        ----------
        X : table of shape (n, n_columns)

        Returns
        -------
        dict of str to dict of str to int
            Of each column that has such values, each value and its number of rows.

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]])
        >>> encoder.unseen([[50, "pink"], [51, None]])
        {'x1': {'(missing)': 1, 'pink': 1}}
        """
        table = self._read(X)
        found = {column.name: column.unseen(table.columns[column.name]) for column, _ in feature_slices(self.columns_)}
        return {name: values for name, values in found.items() if values}

    def gaps(self, X: Any) -> list[tuple[str, ...]]:
        """Return the columns of each row that are gaps: without a value, or with a text that the fit has not seen.

        With `keep_gaps` missing values that stay missing are not among them: see `gap_typicality`.

        Parameters
        ----------
        X : table of shape (n, n_columns)

        Returns
        -------
        list of tuple of str
            One for each row. Columns without features do not count.

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]])
        >>> encoder.gaps([[50, "red"], [51, "pink"], [None, None]])
        [(), ('x1',), ('x0', 'x1')]
        """
        table = self._read(X)
        rows: list[tuple[str, ...]] = [()] * table.n_rows
        for column, _ in feature_slices(self.columns_):
            for row in np.flatnonzero(column.gaps(table.columns[column.name])).tolist():
                rows[row] += (column.name,)
        return rows

    def gap_typicality(self, X: Any) -> FloatArray:
        """Return the share of the training rows that have at least as many gaps as a row; see `gaps`.

        In a training row a text is a gap if no other training row has it: without this row it would be unseen. Missing
        values that stay missing do not count: such a row is judged by its known values.

        Parameters
        ----------
        X : table of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)
            1 for a row without gaps; near 0 for a row with more of them than nearly all training rows.

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [None, "blue"], [58, "red"]])
        >>> encoder.gap_typicality([[50, "red"], [51, "pink"], [None, None]]).tolist()
        [1.0, 0.25, 0.0]
        """
        n_gaps, counts = _number_of_gaps(self.columns_, self._read(X).columns), self.gap_counts_
        at_least = np.append(np.cumsum(counts[::-1])[::-1], 0) / counts.sum()
        return np.asarray(at_least[np.minimum(n_gaps, len(counts))])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the raw columns; must be those of the fit.

        Returns
        -------
        ndarray of str, shape (n_features,)

        Examples
        --------
        >>> TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]]).get_feature_names_out().tolist()
        ['x0', 'x1 = red']
        """
        check_is_fitted(self)
        names = [column.name for column in self.columns_]
        if input_features is not None and list(input_features) != names:
            raise InputError(
                "input-features",
                given=shortened(map(repr, input_features), _NAMES_SHOWN),
                expected=shortened(map(repr, names), _NAMES_SHOWN),
            )
        return np.array(feature_names(self.columns_), dtype=object)

    def vocabulary(self, row: Any) -> TableVocabulary:
        """Return the vocabulary in which one record is explained.

        Parameters
        ----------
        row : table of shape (1, n_columns)

        Returns
        -------
        TableVocabulary
            For `explain` of a classifier of the features.

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]])
        >>> [word.name for word in encoder.vocabulary([[50, "red"]]).words]
        ['x0', 'x1']
        """
        return self.vocabularies(row)[0]

    def vocabularies(self, X: Any) -> list[TableVocabulary]:
        """Return the vocabularies in which the rows of a table are explained, one for each.

        Parameters
        ----------
        X : table of shape (n, n_columns)

        Returns
        -------
        list of TableVocabulary

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]])
        >>> len(encoder.vocabularies([[50, "red"], [51, "pink"]]))
        2
        """
        return TableVocabulary.of_rows(self.columns_, self._read(X).columns)

    @property
    def notes(self) -> list[str]:
        """Sentences on the encoding of the columns.

        Examples
        --------
        >>> TableEncoder().fit(pd.DataFrame({"age": [61, 40, 35], "color": ["red", "red", "blue"]})).notes[1]
        'color: category with 2 values, one feature that says whether it is (other); 1 rare value counts as (other).'
        """
        check_is_fitted(self)
        return notes_on(self.columns_, len(self.get_feature_names_out()))

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and fitted state, ready for JSON.

        Examples
        --------
        >>> sorted(TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]]).to_dict())
        ['columns', 'gap_counts', 'max_levels', 'min_share', 'named']
        """
        check_is_fitted(self)
        state = {
            "min_share": float(self.min_share),
            "max_levels": int(self.max_levels),
            "named": hasattr(self, "feature_names_in_"),
            "columns": [column.to_dict() for column in self.columns_],
            "gap_counts": self.gap_counts_.tolist(),
        }
        categories = self._categories([column.name for column in self.columns_])
        if categories:
            state["categorical_features"] = sorted(categories)
        if self.text_notation_ != TextNotation():
            state["text_notation"] = self.text_notation_.to_dict()
        if self.findings_:
            state["findings"] = [finding.to_dict() for finding in self.findings_]
        return state

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Return the fitted encoder that `to_dict` described.

        Parameters
        ----------
        state : dict
            ``text_notation``, ``categorical_features`` and ``findings`` are optional.

        Returns
        -------
        TableEncoder

        Examples
        --------
        >>> encoder = TableEncoder().fit([[61, "red"], [40, "blue"], [35, "blue"], [58, "red"]])
        >>> TableEncoder.from_dict(encoder.to_dict()).columns_ == encoder.columns_
        True
        """
        expected = {"min_share", "max_levels", "named", "columns", "gap_counts"}
        optional = {"text_notation", "categorical_features", "findings"}
        known = isinstance(state, Mapping) and set(state) - optional == expected
        if not known or not isinstance(state["columns"], (list, tuple)):
            raise InputError("encoder-state")
        columns = tuple(Column.from_dict(values) for values in state["columns"])
        encoder = cls(
            min_share=state["min_share"],
            max_levels=state["max_levels"],
            categorical_features=state.get("categorical_features"),
            keep_gaps=any(column.keeps_gaps for column in columns),
        )
        encoder._check_parameters()
        if len({column.name for column in columns}) < len(columns):
            raise InputError("encoder-column-twice")
        encoder._categories([column.name for column in columns])
        _require_features(columns)
        encoder._set_columns(columns, _checked_gap_counts(state["gap_counts"], columns), bool(state["named"]))
        if "text_notation" in state:
            encoder.text_notation_ = TextNotation.from_dict(state["text_notation"])
        encoder.findings_ = _checked_findings(state.get("findings", []))
        return encoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # always float64
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _number_of_gaps(columns: tuple[Column, ...], raw: Mapping[str, Any], in_training: bool = False) -> IntArray:
    """Return the number of gaps in each row, shape (n,)."""
    gaps = [column.gaps(raw[column.name], in_training) for column, _ in feature_slices(columns)]
    return np.asarray(np.sum(gaps, axis=0, dtype=np.int64))


def _checked_gap_counts(counts: Any, columns: tuple[Column, ...]) -> IntArray:
    # Sums of counts up to 2^48 stay exact.
    whole = isinstance(counts, (list, tuple)) and all(type(n) is int and 0 <= n <= 1 << 48 for n in counts)
    if not whole or not 0 < len(counts) <= len(columns) + 1 or not any(counts):
        raise InputError("encoder-counts", counts=counts)
    return np.array(counts, dtype=np.int64)


def _checked_findings(findings: Any) -> tuple[Finding, ...]:
    try:
        return tuple(Finding.from_dict(one) for one in findings)
    except TypeError as error:
        raise InputError("encoder-state") from error


def _require_features(columns: tuple[Column, ...]) -> None:
    if not feature_slices(columns):
        why = "; ".join(f"{column.name}: {column.reason}" for column in columns[:_NAMES_SHOWN])
        raise InputError("table-without-differences", reason=why)
