"""Explanations of a classifier around another model, as methods of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from sepc.around.cross_fitting import as_it_can_be_split
from sepc.around.encoding import Encoding
from sepc.common.frames import FrameMaker
from sepc.estimators.base import limits_if_asked, the_only_row
from sepc.explanations.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sepc.around.trusted_explanation import TrustedExplanation


class ExplainingMixin:
    """What a `TrustedClassifier` explains, and in whose words."""

    model_: Any
    table_encoder: Any
    _encoding: Encoding
    _frames: FrameMaker
    _beside: Any
    _limit_changes: Any

    def _gaps(self, X: Any) -> list[tuple[str, ...]]:
        """Return the columns of each record that are gaps, as the encoder of tables has them."""
        return [()] * _num_samples(X) if self.table_encoder is None else self.table_encoder.gaps(self._beside(X))

    def _vocabularies(self, X: Any) -> list[Vocabulary]:
        """Return the vocabularies in which records are explained, one for each."""
        if self.table_encoder is None:
            return [Vocabulary(self.model_.features)] * _num_samples(X)
        return self.table_encoder.vocabularies(self._beside(X))  # type: ignore[no-any-return]

    @property
    def _has_way_back(self) -> bool:
        """Whether a record can be made from features."""
        return self._encoding.encoder is None or (self.table_encoder is not None and hasattr(self, "feature_names_in_"))

    def limit_changes(self, *, fixed: Any = (), ranges: Any = None) -> Self:
        """Keep limits of changes with the classifier, as `SEPClassifier.limit_changes` does.

        Parameters
        ----------
        fixed, ranges
            As for `explain`; without either no limits are kept.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sepc import TrustedClassifier
        >>> X = [[61.0, 9.0], [58.0, 8.0], [66.0, 9.5], [31.0, 2.0], [35.0, 1.0], [28.0, 1.5]]
        >>> clf = TrustedClassifier(GaussianNB(), cv=3).fit(X, ["ill"] * 3 + ["well"] * 3).limit_changes(fixed=0)
        >>> clf.explain([60.0, 8.5]).limits
        ' with x0 as it is'
        """
        check_is_fitted(self)
        return self._limit_changes(self._vocabulary, fixed, ranges)  # type: ignore[no-any-return]

    @property
    def _vocabulary(self) -> Vocabulary:
        """The vocabulary of texts on no record in particular."""
        if self.table_encoder is None:
            return Vocabulary(self.model_.features)
        from sepc.tables.table_vocabulary import TableVocabulary  # needs pandas

        return TableVocabulary.of_no_record(self.table_encoder.columns_)

    def explain(
        self,
        x: Any,
        *,
        scores: Any = None,
        fixed: Any = None,
        ranges: Any = None,
        min_typicality: float = 0.1,
        max_columns: int = 3,
    ) -> "TrustedExplanation":
        """Explain one label: what the estimator says and how often it was right, what the regions say, and a change.

        Parameters
        ----------
        x : record
            Values in the order of the columns, a table of one row, a row of a pandas frame; of a table also a dict.
        scores : array-like of shape (1, n_classes) or (1,), optional
            What the estimator says of it, as for `assess`.
        fixed, ranges, min_typicality, max_columns
            Limits of the change, as for `SEPClassifier.explain` and of a table as for `TablePipeline.explain`.

        Returns
        -------
        TrustedExplanation
            Its change is the smallest that was found after which the estimator, asked about the changed record, gives
            another label; with ``labels="joint"``, after which both together do. `no_change_because` says why there is
            none: from the features of an encoder other than `TableEncoder` no way leads back to records.

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sepc import TrustedClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> clf = TrustedClassifier(GaussianNB(), cv=3).fit(X, y)
        >>> why = clf.explain([1.5])
        >>> clf.estimator_.predict([[why.counterfactual.point["x0"]]]).tolist()
        ['high']
        """
        limits = {"fixed": fixed, "ranges": ranges, "min_typicality": min_typicality, "max_columns": max_columns}
        return self.explain_many(self._one(x), changes=True, scores=scores, **limits)[0]

    def explain_many(
        self, X: Any, *, changes: bool = False, scores: Any = None, **limits: Any
    ) -> "list[TrustedExplanation]":
        """Explain the labels of many records: as `explain` does, several times faster for each.

        Parameters
        ----------
        X : array-like of shape (n, ...)
        changes : bool, default=False
            Whether to look for the smallest change to another label, which takes most of the time of `explain`.
        scores : array-like of shape (n, n_classes) or (n,), optional
            As for `assess`.
        **limits
            `fixed`, `ranges`, `min_typicality` and `max_columns` of `explain`, where changes are asked for.

        Returns
        -------
        list of TrustedExplanation

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sepc import TrustedClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> clf = TrustedClassifier(GaussianNB(), cv=3).fit(X, y)
        >>> [why.regions.label for why in clf.explain_many([[1.5], [6.5]])]
        ['low', 'high']
        """
        from sepc.around.explained_labels import explain_trusted

        check_is_fitted(self)
        kept = limits_if_asked(changes, limits)
        return explain_trusted(self, as_it_can_be_split(X), scores, kept)  # type: ignore[arg-type]

    def _one(self, x: Any) -> Any:
        """Return one record as a table of one row, a frame where the training set was one."""
        if self.table_encoder is None and self._encoding.encoder is not None:
            return x  # whatever the encoder takes
        names = getattr(self, "feature_names_in_", None)
        if isinstance(x, Mapping):
            return self._frames.frame({name: [value] for name, value in x.items()})
        row = the_only_row(x)
        if names is None or hasattr(row, "columns"):
            return row
        return self._frames.frame(dict(zip(names.tolist(), np.asarray(row, dtype=object).T.tolist(), strict=True)))
