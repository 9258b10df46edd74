"""SEPEnsembleClassifier: many partitions, weighed by their out-of-fold predictions."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sepc.common.frames import FrameMaker
from sepc.common.validation import training_set
from sepc.estimators.base import TrustClassifier, as_it_was_on_error, limits_if_asked, the_only_row
from sepc.estimators.ensemble.ensemble_explanation import EnsembleExplanation, explain_ensemble
from sepc.estimators.ensemble.ensemble_fitting import EnsembleSettings, fit_ensemble
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.estimators.fitting import arranged
from sepc.estimators.progress import Progress, with_callbacks
from sepc.estimators.screening import screened
from sepc.explanations.vocabulary import Vocabulary
from sepc.model.telling_columns import is_wide


class SEPEnsembleClassifier(TrustClassifier):
    """Ensemble of ellipsoidal partitions whose trust is a calibrated probability, as far as held-out points can tell.

    Each member looks at some of the features, as they are, as normal scores or in steps. It partitions the training set
    three times, each time without a third of the points, and judges that third. From these out-of-fold predictions the
    ensemble learns the weights of the members. The trust in a label is its probability by the weighted predictions.

    Parameters
    ----------
    n_estimators : int, default=16
        Number of members; each makes three partitions.
    n_imp : int or float, default=0.05
        Number of points of other labels that an ellipsoid may hold: a count, or a share of the smaller class. Where
        classes overlap so far that no such ellipsoid can be made, it is doubled as often as needed.
    max_features : "auto", int or float, default="auto"
        Features of a member: a number, or a share. "auto" takes turns: all (at most 40), half (at most 8), 4.
    class_prior : dict or array-like of shape (n_classes,), default=None
        Class priors where predictions are made, as `under` takes them; None for those of the training set.
    costs : dict or array-like, default=None
        ``costs[true][given]``, as `under` takes them; None where all errors are alike.
    n_jobs : int or None, default=None
        Number of processes for the members. The result does not depend on it.
    random_state : int, RandomState or None, default=0
        Draws features and folds. The same number gives the same ensemble, bit for bit, whatever the order of rows.
    verbose : bool, default=False
        Whether to print progress to the standard error stream. Progress also goes to scikit-learn's callbacks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of int, shape (n_classes,)
    weights_ : ndarray of shape (n_estimators,)
        Weights of the members; some may be 0.
    out_of_fold_proba_ : ndarray of shape (n, n_classes)
        Out-of-fold probabilities of the training rows; only the members' weights have seen these. NaN where a row is
        the only one of its class, or has a weight of 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (d,)
        Where the training set had names.
    columns_read_ : ndarray of int, shape (n_read,), or None
        As for `SEPClassifier`.
    model_ : EnsembleModel
        The fitted model: members, their weights and the calibration.

    See Also
    --------
    SEPClassifier : One partition, which can be shown as a whole.
    select_min_trust : A trust threshold with a promise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SEPEnsembleClassifier(n_estimators=6).fit(X[::2], y[::2])
    >>> clf.score(X[1::2], y[1::2]) > 0.9
    True
    >>> clf.assess(X[3:4]).to_frame()[["label", "reason"]]
       label  reason
    3      0  inside
    """

    model_: EnsembleModel

    def __init__(
        self,
        *,
        n_estimators: int = 16,
        n_imp: int | float = 0.05,
        max_features: str | int | float = "auto",
        class_prior: Any = None,
        costs: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_imp = n_imp
        self.max_features = max_features
        self.class_prior = class_prior
        self.costs = costs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make the members, and learn their weights.

        Interrupting it leaves the classifier as it was.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            An array, or a pandas or polars frame; NaN is a missing value.
        y : array-like of shape (n,)
            Two or more different labels: texts, numbers, or all of another type; none missing.
        sample_weight : array-like of shape (n,), optional
            Multiplicity of each record: a weight of 3 is the record three times, 0 is its absence. With fractions the
            number of records that take part is that of the weights.

        Returns
        -------
        self

        Examples
        --------
        >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
        >>> SEPEnsembleClassifier(n_estimators=2).fit(X, ["a"] * 4 + ["b"] * 4).predict([[0.4]]).tolist()
        ['a']
        """
        with as_it_was_on_error(self):
            settings = EnsembleSettings(self.n_estimators, self.n_imp, self.max_features, self.n_jobs)
            settings.check()
            checked = training_set(X, y, self, sample_weight)
            self._policy(checked.classes, np.ones(len(checked.classes), dtype=np.int64))  # refuses what cannot be
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            progress = Progress(self, ["ensemble"], self.verbose, "members made")
            self.columns_read_ = None
            if not is_wide(*checked.X.shape):
                training = arranged(checked)
            else:
                training, self.columns_read_ = screened(checked, self.n_imp)
                checked = checked.of_columns(self.columns_read_)
            fitted = fit_ensemble(training, checked.features, settings, rng, progress)
            progress.finish()
            # Only now, with nothing left to interrupt, does the classifier change.
            self._keep(fitted.model, FrameMaker.like(X), checked)
            self.weights_, self.out_of_fold_proba_ = fitted.model.stack.weights, fitted.out_of_fold_proba
        self._warn_of_unread()
        return self

    def explain(
        self,
        x: Any,
        *,
        fixed: Any = None,
        ranges: Any = None,
        min_typicality: float = 0.1,
        max_columns: int = 3,
        vocabulary: Vocabulary | None = None,
    ) -> EnsembleExplanation:
        """Explain which members and regions are evidence for the label of one point, and which against it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            One record; a row of a pandas frame works, and so does a frame of one row.
        fixed, ranges, min_typicality, max_columns, vocabulary
            As for `SEPClassifier.explain`.

        Returns
        -------
        EnsembleExplanation

        Examples
        --------
        >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
        >>> clf = SEPEnsembleClassifier(n_estimators=2).fit(X, ["low"] * 4 + ["high"] * 4)
        >>> print(clf.explain([1.0]).text[:29])
        Predicted low with a trust of
        """
        limits = {"fixed": fixed, "ranges": ranges, "min_typicality": min_typicality, "max_columns": max_columns}
        vocabularies = None if vocabulary is None else [vocabulary]
        return self.explain_many(the_only_row(x), changes=True, vocabularies=vocabularies, **limits)[0]

    def explain_many(
        self, X: Any, *, changes: bool = False, vocabularies: Sequence[Vocabulary] | None = None, **limits: Any
    ) -> list[EnsembleExplanation]:
        """Explain the labels of many points: as `explain` does, several times faster for each.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        changes, vocabularies, **limits
            As for `SEPClassifier.explain_many`.

        Returns
        -------
        list of EnsembleExplanation
            One for each point, in its order.

        Examples
        --------
        >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
        >>> clf = SEPEnsembleClassifier(n_estimators=2).fit(X, ["low"] * 4 + ["high"] * 4)
        >>> [why.label for why in clf.explain_many([[1.0], [8.5]])]
        ['low', 'high']
        """
        return self._explained(explain_ensemble, X, vocabularies, limits_if_asked(changes, limits))

    def regions(self) -> Any:
        """Return one row per component of all members: a region, or several that are merged.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            As the training set came in; pandas for plain arrays. `n_regions` is the number of regions that are merged,
            under the name of the first with a ``+`` behind it. `n_shaped` points shaped them; of the held-out points
            `n_label` of their label, and `n_others` others, belong to them more likely than to another one. `weight`
            and `features` are those of the member.

        Examples
        --------
        >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
        >>> clf = SEPEnsembleClassifier(n_estimators=2).fit(X, ["low"] * 4 + ["high"] * 4)
        >>> clf.regions()["region"].str.startswith("1a:").sum()
        np.int64(2)
        """
        check_is_fitted(self)
        columns: dict[str, list[Any]] = {}
        for m, member in enumerate(self.model_.members):
            of_member = self._regions_of(m)
            n = len(of_member["region"])
            of_member["weight"] = [float(self.weights_[m])] * n
            of_member["features"] = [", ".join(self.model_.features[j] for j in member.plan.features)] * n
            _extend(columns, of_member)
        return self._frames.frame(columns)

    def _regions_of(self, m: int) -> dict[str, list[Any]]:
        """Return the columns of one member's regions."""
        columns: dict[str, list[Any]] = {}
        for k, part in enumerate(self.model_.members[m].parts):
            own = part.claimed[np.arange(len(part.names)), part.densities.codes]
            of_part = {
                "region": [self.model_.region_name(m, k, name) for name in part.names],
                "label": self.classes_[part.densities.codes].tolist(),
                "n_regions": np.bincount(part.groups).tolist(),
                "n_shaped": part.sizes.tolist(),
                "n_label": own.tolist(),
                "n_others": (part.claimed.sum(axis=1) - own).tolist(),
            }
            _extend(columns, of_part)
        return columns


def _extend(columns: dict[str, list[Any]], more: dict[str, list[Any]]) -> None:
    for name, values in more.items():
        columns.setdefault(name, []).extend(values)
