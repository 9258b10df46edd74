"""TablePipeline: a classifier with trust scores that takes raw tables."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from sepc.common.errors import InputError
from sepc.common.sample_weights import checked_weights, copies_by_weight
from sepc.common.site import LinkedToSite
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import takes_missing_values
from sepc.estimators.base import as_it_was_on_error, the_only_row
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.ensemble.ensemble_explanation import EnsembleExplanation
from sepc.estimators.label_sets import PredictionSets
from sepc.explanations.constants import MIN_TYPICALITY
from sepc.explanations.counterfactual import NONE_ORDINARY, Counterfactual
from sepc.explanations.explanation import Explanation
from sepc.model.acceptance import MinTrust, Promise
from sepc.model.assessment import Assessment
from sepc.model.calibration import STRANGE
from sepc.model.partition_model import PartitionModel
from sepc.promises.trust_threshold import warn_if_nothing_promised
from sepc.tables.cells import as_series
from sepc.tables.encoder import TableEncoder
from sepc.tables.region_places import regions_in_words
from sepc.tables.table_vocabulary import TableVocabulary

_Method = TypeVar("_Method", bound=Callable[..., Any])


def make_table_pipeline(classifier: Any = None, *, categorical_features: Any = None) -> "TablePipeline":
    """Return a classifier that takes raw tables: texts, categories, dates and missing values.

    Parameters
    ----------
    classifier : classifier, default=None
        A `SEPClassifier` or `SEPEnsembleClassifier`, not fitted; `SEPClassifier()` by default.
    categorical_features : sequence of str or int, optional
        Columns that are categories whatever they hold: see `TableEncoder`.

    Returns
    -------
    TablePipeline
        Not fitted. Its encoder keeps missing values if the classifier judges records by their known values, which those
        with ``trust="counts"``, ``"bound"`` and ``"paper"`` do not.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [61, 58, 66, 31, None, 28], "smoker": ["yes", "yes", "yes", "no", "no", "no"]})
    >>> clf = make_table_pipeline().fit(table, ["ill"] * 3 + ["well"] * 3)
    >>> clf.predict(pd.DataFrame({"smoker": ["no", "yes"], "age": [30, "59"]})).tolist()
    ['well', 'ill']
    """
    classifier = SEPClassifier() if classifier is None else classifier
    encoder = TableEncoder(categorical_features=categorical_features, keep_gaps=takes_missing_values(classifier))
    return TablePipeline([("columns", encoder), ("classifier", classifier)])


def _where_classifier_has(name: str) -> Callable[[_Method], _Method]:
    decorator: Callable[[_Method], _Method] = available_if(lambda pipeline: hasattr(pipeline[-1], name))
    return decorator


class TablePipeline(LinkedToSite, Pipeline):
    """A scikit-learn pipeline of a `TableEncoder` and a classifier with trust scores; `make_table_pipeline` makes it.

    All methods take raw tables. ``pipeline["classifier"]`` has the others, on features.

    Parameters
    ----------
    steps : list of two tuples
        ``("columns", TableEncoder(...))`` and ``("classifier", ...)``.
    transform_input, memory, verbose
        As in `sklearn.pipeline.Pipeline`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (d,)
        Names of the raw columns.
    row_numbers_ : ndarray of int, shape (n,), or None
        Numbers of the training rows in their file, from 1, where the command line has fitted to some of its rows.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [61, 58, 66, 31, None, 28], "smoker": ["yes", "yes", "yes", "no", "no", "no"]})
    >>> clf = make_table_pipeline().fit(table, ["ill"] * 3 + ["well"] * 3)
    >>> clf.assess(table.iloc[[0, 4]]).label.tolist()
    ['ill', 'well']
    >>> clf["columns"].notes[1]
    'smoker: category with 2 values, one feature that says whether it is yes.'
    """

    row_numbers_: IntArray | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the encoder to the table, and the classifier to its features.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            A pandas or polars frame, a pyarrow table, an array or rows of values.
        y : array-like of shape (n,)
            Labels of any type, none of them missing.
        sample_weight : array-like of shape (n,), optional
            As for `SEPClassifier.fit`; the encoder too repeats a row by its weight.
        **params
            As in `sklearn.pipeline.Pipeline`.

        Returns
        -------
        self

        Examples
        --------
        >>> make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1]).predict([["b"]]).tolist()
        [1]
        """
        with as_it_was_on_error(self._encoder):
            if sample_weight is None:
                super().fit(X, labels(y), **params)
            else:
                self._fit_by_weight(X, labels(y), sample_weight, **params)
            if getattr(self[-1], "columns_read_", None) is not None:
                self._encoder._leave_out(X, self[-1].model_.features)
                self[-1]._read_all_of(self._encoder.get_feature_names_out().tolist())
        self.row_numbers_ = None
        return self

    def _fit_by_weight(self, X: Any, y: Any, sample_weight: Any, **params: Any) -> None:
        """Fit encoder and classifier, both to rows repeated by their weights."""
        weight = checked_weights(sample_weight, len(y))
        table, encoder = X if hasattr(X, "shape") else np.array(X, dtype=object), self._encoder
        copies = weight.astype(np.int64)
        if not np.array_equal(copies, weight):
            # Which records with a fractional weight take part depends on their features, here those of all rows.
            rows = np.flatnonzero(weight > 0.0)
            features = np.asarray(clone(encoder).fit(_safe_indexing(table, rows)).transform(X), dtype=np.float64)
            classes, codes = np.unique(y, return_inverse=True)
            copies = copies_by_weight(weight, features, codes, classes)
        features = encoder.fit(_safe_indexing(table, np.repeat(np.arange(len(y)), copies))).transform(X)
        own = {name.removeprefix("classifier__"): value for name, value in params.items()}
        self[-1].fit(features, y, sample_weight=copies, **own)

    @property
    def _encoder(self) -> TableEncoder:
        if len(self.steps) == 2 and isinstance(self.steps[0][1], TableEncoder):
            return self.steps[0][1]
        raise InputError("pipeline-steps", steps=", ".join(name for name, _ in self.steps))

    @property
    def core(self) -> Any:
        """The classifier that has `model_`: the last step."""
        return self[-1]

    @property
    def table_encoder(self) -> TableEncoder:
        """The encoder of raw tables in front of it: the first step."""
        return self._encoder

    def on_points(self) -> Any:
        """Return the classifier of `points`: that of the last step.

        Returns
        -------
        TrustClassifier

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> clf.on_points() is clf["classifier"]
        True
        """
        return self[-1].on_points()

    def points(self, X: Any) -> FloatArray:
        """Return checked rows as the classifier's `model_` takes them.

        Parameters
        ----------
        X : table of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1]).points([["b"]]).tolist()
        [[1.0]]
        """
        return np.asarray(self[-1].points(self._features(X)))

    def trust_score(self, X: Any) -> FloatArray:
        """Return the trust in the predicted label, shape (n,).

        Parameters
        ----------
        X : table of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> bool(clf.trust_score([["b"]])[0] > 0.5)
        True
        """
        return np.asarray(self[-1].trust_score(self._features(X)))

    def under(self, class_prior: Any = None, costs: Any = None) -> Self:
        """Return the same pipeline where classes have other shares than in training, or errors have costs.

        Parameters
        ----------
        class_prior, costs
            As for `SEPClassifier.under`.

        Returns
        -------
        TablePipeline

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"]] * 6, ["well", "ill"] * 6)
        >>> clf.under(costs={"ill": {"well": 50.0}, "well": {"ill": 1.0}}).predict([["a"]]).tolist()
        ['ill']
        """
        other = copy(self)
        name, classifier = self.steps[-1]
        other.steps = [*self.steps[:-1], (name, classifier.under(class_prior, costs))]
        return other

    def with_classifier(self, classifier: Any) -> "TablePipeline":
        """Return a pipeline of the same encoder and another classifier.

        Parameters
        ----------
        classifier : SEPClassifier or SEPEnsembleClassifier
            Fitted to features that this encoder has made.

        Returns
        -------
        TablePipeline

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"]] * 6, ["well", "ill"] * 6)
        >>> clf.with_classifier(clf["classifier"].under(class_prior={"ill": 0.6})).predict([["a"]]).tolist()
        ['well']
        """
        return TablePipeline([("columns", self._encoder), ("classifier", classifier)])

    def assess(self, X: Any, *, class_prior: Any = None, costs: Any = None) -> Assessment:
        """Return label, trust, rule, reason, region, counts, distance and typicality of each row.

        A row with texts that the fit has not seen is at most as typical as `TableEncoder.gap_typicality`: one with more
        of them than nearly all training rows is strange. So are missing values where the encoder fills them in; where
        it keeps them the row is judged by its known values.

        Parameters
        ----------
        X : table of shape (n, n_columns)
        class_prior, costs
            As for `SEPClassifier.under`.

        Returns
        -------
        Assessment

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"]] * 6, [0, 1] * 6)
        >>> clf.assess([["b"], ["c"]]).reason.tolist()
        ['inside', 'strange']
        """
        assessment: Assessment = self[-1].assess(self._features(X), class_prior=class_prior, costs=costs)
        return assessment.no_more_typical_than(self._typicality_of_gaps(X))

    def _typicality_of_gaps(self, X: Any) -> FloatArray:
        """Return how typical the gaps of each row are, shape (n,); NaN where there are none."""
        typicality = self._encoder.gap_typicality(X)
        return np.where(typicality < 1.0, typicality, np.nan)

    def predict_or_abstain(
        self,
        X: Any,
        min_trust: MinTrust = None,
        abstain_label: Any = None,
        *,
        min_typicality: float = STRANGE,
        class_prior: Any = None,
        costs: Any = None,
        groups: Any = None,
    ) -> NDArray[np.object_]:
        """Return the labels that are accepted, and `abstain_label` for the other rows.

        Parameters
        ----------
        X : table of shape (n, n_columns)
        min_trust : float, dict or TrustThreshold, optional
            Trust from which a label is given; a dict gives one number for each label. By default the promise that was
            signed; without one 0 with costs, which then decide, else 0.95.
        abstain_label : object, default=None
        min_typicality : float, default=0.01
            Typicality from which a label is given; 0 gives those of strange rows too.
        class_prior, costs
            As for `SEPClassifier.under`.
        groups : array-like of shape (n,) or (n, n_groups), optional
            The groups that the rows belong to, if `min_trust` is a promise by groups.

        Returns
        -------
        ndarray of object, shape (n,)

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"]] * 6, [0, 1] * 6)
        >>> clf.predict_or_abstain([["b"], [None]], min_trust=0.5).tolist()
        [1, None]
        """
        clf = self if class_prior is None and costs is None else self.under(class_prior, costs)
        warn_if_nothing_promised(clf.promise if min_trust is None else min_trust, min_typicality)
        return clf.assess(X).label_or(abstain_label, min_trust, min_typicality, groups=groups)

    def calibrate(self, X_cal: Any, y_cal: Any) -> Self:
        """Learn from held-out records how probable the true label is; `predict_set` needs it.

        Parameters
        ----------
        X_cal : table of shape (n, n_columns)
        y_cal : array-like of shape (n,)

        Returns
        -------
        self

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> clf.calibrate([["a"], ["b"]], [0, 1]).predict_set([["a"]], coverage=0.5).labels()
        [(0,)]
        """
        self[-1].calibrate(self._features(X_cal), y_cal)
        return self

    @property
    def promise(self) -> Promise | None:
        """The promise that was signed, a `TrustThreshold`; None if there is none."""
        return self[-1].promise  # type: ignore[no-any-return]

    def sign(self, promise: Promise | None) -> Self:
        """Keep a promise with the pipeline, as `SEPClassifier.sign` does.

        Parameters
        ----------
        promise : TrustThreshold or None
            What `sepc.select_min_trust` found for this pipeline; None takes it back.

        Returns
        -------
        self

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"]] * 6, [0, 1] * 6)
        >>> clf.sign(None).promise is None
        True
        """
        self[-1].sign(promise)
        return self

    def predict_set(self, X: Any, coverage: float = 0.9, per_class: bool = False) -> PredictionSets:
        """Return for each row a set of labels that holds the true one with a stated probability.

        Parameters
        ----------
        X : table of shape (n, n_columns)
        coverage : float, default=0.9
        per_class : bool, default=False
            Whether this is to hold among the records of each class.

        Returns
        -------
        PredictionSets

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> clf.calibrate([["a"], ["b"]], [0, 1]).predict_set([["b"]]).size.tolist()
        [2]
        """
        return self[-1].predict_set(self._features(X), coverage, per_class)  # type: ignore[no-any-return]

    def regions(self) -> Any:
        """Return one row per ellipsoid.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            As the classifier returns it, in features; for a single partition with a column `where`, which describes in
            words where the region lies in the columns of the table, and with its `description` in these columns.

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> clf.regions()[["region", "where"]].values.tolist()
        [['0#1', 'x0: a 100 %'], ['1#1', 'x0: b 100 %']]
        """
        frame, model = self[-1].regions(), self[-1].model_
        if not isinstance(model, PartitionModel):
            return frame
        return regions_in_words(frame, model, self._encoder.columns_)

    def explain(
        self, x: Any, *, fixed: Any = None, ranges: Any = None, min_typicality: float = 0.1, max_columns: int = 3
    ) -> Explanation | EnsembleExplanation:
        """Explain why one record gets its label, and what would have to change, in the columns and values of the table.

        Parameters
        ----------
        x : record
            A dict, a row of a pandas frame, a frame of one row, or values in the order of the columns.
        fixed : str, int, or a sequence of them, optional
            Columns that a change to another label must leave alone, by names or by numbers from 0. By default those of
            `limit_changes`; ``()`` is none.
        ranges : dict, optional
            Of columns of numbers or dates to pairs of the lowest and the highest value that a change may give them,
            None for an open end. By default those of `limit_changes`.
        min_typicality, max_columns
            As for `SEPClassifier.explain`.

        Returns
        -------
        Explanation or EnsembleExplanation
            Its counterfactual is a record that a table can hold. For a record that its gaps make strange the columns
            with the gaps come first among the most unusual values.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [61, 58, 66, 31, 35, 28], "smoker": ["yes", "yes", "yes", "no", "no", "no"]})
        >>> clf = make_table_pipeline().fit(table, ["ill"] * 3 + ["well"] * 3)
        >>> why = clf.explain({"age": 60, "smoker": "yes"})
        >>> why.neighbours[0].values, why.counterfactual.label
        ({'age': 61.0, 'smoker': 'yes'}, 'well')
        """
        row = the_only_row(pd.DataFrame([x]) if isinstance(x, Mapping) else x)
        limits = {"fixed": fixed, "ranges": ranges, "min_typicality": min_typicality, "max_columns": max_columns}
        return self.explain_many(row, changes=True, **limits)[0]

    def explain_many(
        self, X: Any, *, changes: bool = False, **limits: Any
    ) -> list[Explanation] | list[EnsembleExplanation]:
        """Explain the labels of many rows: as `explain` does, several times faster for each.

        Parameters
        ----------
        X : table of shape (n, n_columns)
        changes, **limits
            As for `SEPClassifier.explain_many`.

        Returns
        -------
        list of Explanation or of EnsembleExplanation
            One for each row, in its order.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [61, 58, 66, 31, 35, 28], "smoker": ["yes", "yes", "yes", "no", "no", "no"]})
        >>> clf = make_table_pipeline().fit(table, ["ill"] * 3 + ["well"] * 3)
        >>> [why.label for why in clf.explain_many(table[2:4])]
        ['ill', 'well']
        """
        vocabularies = self._encoder.vocabularies(X)
        found = self[-1].explain_many(self._features(X), changes=changes, vocabularies=vocabularies, **limits)
        typicality = self._typicality_of_gaps(X)
        rows = np.flatnonzero(~np.isnan(typicality)).tolist()
        gaps = self._encoder.gaps(X) if rows else []
        least = limits.get("min_typicality", MIN_TYPICALITY)
        for i in rows:
            found[i] = self._with_gaps(found[i], float(typicality[i]), gaps[i], vocabularies[i], least)
        return found  # type: ignore[no-any-return]

    def limit_changes(self, *, fixed: Any = (), ranges: Any = None) -> Self:
        """Keep limits of changes with the pipeline, as `SEPClassifier.limit_changes` does.

        Parameters
        ----------
        fixed, ranges
            As for `explain`; without either no limits are kept.

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [61, 58, 66, 31, 35, 28], "smoker": ["yes", "yes", "yes", "no", "no", "no"]})
        >>> clf = make_table_pipeline().fit(table, ["ill"] * 3 + ["well"] * 3).limit_changes(fixed="age")
        >>> clf.explain({"age": 60, "smoker": "yes"}).limits
        ' with age as it is'
        """
        self[-1]._limit_changes(TableVocabulary.of_no_record(self._encoder.columns_), fixed, ranges)
        return self

    def _with_gaps(
        self,
        found: Explanation | EnsembleExplanation,
        typicality: float,
        gaps: tuple[str, ...],
        vocabulary: TableVocabulary,
        min_typicality: float,
    ) -> Explanation | EnsembleExplanation:
        """Return an explanation with the typicality, and the reason, that `assess` returns for a record with gaps.

        Changes leave empty cells alone: where these are less typical than a changed record must be, there are none.
        """
        both = found.counterfactual, found.actionable_change
        smallest, actionable = (self._ordinary(change, min_typicality) for change in both)
        none_because = NONE_ORDINARY if smallest is None and both[0] is not None else found.no_change_because
        found = replace(found, counterfactual=smallest, actionable_change=actionable, no_change_because=none_because)
        is_strange = typicality < STRANGE and found.beyond is None
        reason = "strange" if is_strange else found.reason
        columns = gaps if is_strange else ()
        typicality = typicality if found.typicality is None else min(found.typicality, typicality)
        acceptance = found.acceptance._replace(refusal="strange") if is_strange else found.acceptance
        found = replace(found, reason=reason, typicality=typicality, acceptance=acceptance)
        if isinstance(found, EnsembleExplanation):
            return replace(found, strangest_to=(*columns, *found.strangest_to))
        others = (share for share in found.strange_features if share.feature not in columns)
        strange = (*vocabulary.gaps(columns), *others)
        return replace(found, strange_features=strange)

    def _ordinary(self, change: Counterfactual | None, min_typicality: float) -> Counterfactual | None:
        """Return a change with the typicality that `assess` returns; None where that is too low."""
        if change is None:
            return None
        of_gaps = float(self._typicality_of_gaps(pd.DataFrame([change.point]))[0])
        if np.isnan(of_gaps):
            return change
        typicality = of_gaps if change.typicality is None else min(change.typicality, of_gaps)
        return replace(change, typicality=typicality) if typicality >= min_typicality else None

    @property
    def landscape_(self) -> Any:
        """Landscape of the training set, where the classifier has one.

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> len(clf.landscape_.regions)
        2
        """
        return self[-1].landscape_

    @_where_classifier_has("sample")
    def sample(
        self, n: int = 1, *, label: Any = None, region: str | None = None, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """Draw synthetic rows of the table, from the ellipsoids and in proportion to what these hold.

        Parameters
        ----------
        n : int, default=1
        label : object, default=None
            Draw from this label's ellipsoids only.
        region : str, default=None
            Draw from the ellipsoid of this name only; `regions` lists the names.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : pandas.DataFrame of shape (n, n_columns)
            Raw values, without the columns that have no features; a category has one of its values in training.
        y : ndarray of shape (n,)

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> X, y = clf.sample(3, label=1, random_state=0)
        >>> X.x0.tolist(), y.tolist()
        (['b', 'b', 'b'], [1, 1, 1])
        """
        features, y = self[-1].sample(n, label=label, region=region, random_state=random_state)
        return self._encoder.inverse_transform(features), y

    @_where_classifier_has("query")
    def query(self, X_pool: Any, k: int = 10) -> IntArray:
        """Return the rows of a pool whose labels would help most, the most useful first.

        Parameters
        ----------
        X_pool : table of shape (n, n_columns)
        k : int, default=10

        Returns
        -------
        ndarray of int, shape (k,)

        Examples
        --------
        >>> clf = make_table_pipeline().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
        >>> clf.query([["a"], ["c"]], k=1).tolist()
        [1]
        """
        return self[-1].query(self._features(X_pool), k)  # type: ignore[no-any-return]

    def _features(self, X: Any) -> Any:
        return self._encoder.transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._encoder.__sklearn_tags__().input_tags
        return tags


def labels(y: Any) -> Any:
    """Return labels as an array; raise an `InputError` if some are missing."""
    if y is None:
        return None
    array = np.asarray(as_series(y) if hasattr(y, "__arrow_c_stream__") else y)
    if array.ndim == 1:
        missing = np.flatnonzero(as_series(array).isna())
        if len(missing):
            raise InputError("table-labels-missing", n_missing=len(missing), n_rows=len(array), row=missing[0] + 1)
    return array
