"""SEPClassifier: the paper's classifier as a scikit-learn estimator."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sepc.common.errors import InputError, warn
from sepc.common.frames import FrameMaker
from sepc.common.typing import IntArray
from sepc.common.validation import TrainingSet, feature_labels, names_of, new_points, training_set
from sepc.estimators.base import TrustClassifier, as_it_was_on_error, limits_if_asked, the_only_row
from sepc.estimators.fitting import FitSettings, Fitted, arranged, fit_in_memory, fit_scattered
from sepc.estimators.progress import Progress, with_callbacks
from sepc.estimators.screening import screened
from sepc.model.counts import records_are_missing
from sepc.model.decision import DENSITY_METHODS, HELD_OUT_METHODS
from sepc.model.partition_model import CountModel, DensityModel
from sepc.model.telling_columns import is_wide
from sepc.partitions.algorithm import PAPERS_COUNT
from sepc.partitions.blocks import Block
from sepc.partitions.problems import problem_names
from sepc.scale.dispatch import scattered_training_set

if TYPE_CHECKING:
    from sepc.explanations.explanation import Explanation
    from sepc.explanations.vocabulary import Vocabulary
    from sepc.landscapes.fitted_landscape import FittedLandscape


class SEPClassifier(TrustClassifier):
    """Classifier by sequential ellipsoidal partitioning, with the trust in each label.

    The training points are split, one convex problem after another, into minimum-volume ellipsoids that each hold
    (nearly) one label. Each becomes a local distribution: a new point gets the likeliest label, and the trust is its
    probability. `trust` has other methods, the paper's among them, which counts training points.

    Parameters
    ----------
    n_imp : int, float or None, default=None
        Number of points of other labels that an ellipsoid may hold when it is found, of those that are in none yet: a
        count, or a share of the smaller class, strictly between 0 and 1 and rounded down. None is 2, the paper's count;
        if `trust` is "local" or "raw" it grows with the data: 2 per cent of the smaller class where that is more, and
        beyond 1,000 records of that class with the square root of their number. The only parameter of the method;
        `sepc.select_n_imp` helps to choose it.
    trust : {"local", "raw", "counts", "bound", "paper"}, default="local"
        The model of the regions; it decides labels, probabilities and trust.

        - "local": each ellipsoid's training points as a local distribution; the trust is the label's probability by
          Bayes' formula, calibrated by three partitions that each hold a part of the points out. These also choose
          the merge penalty of ellipsoids of a class and the number of EM iterations, and show how strange a point is:
          see `Assessment.typicality`. Of all methods it is calibrated best.
        - "raw": the same, not calibrated, each ellipsoid by itself, and without a typicality; a fit takes about a
          quarter of the time.
        - "counts": held-out counts. A third of the training points takes no part in shaping the ellipsoids; the trust
          is the label's smoothed share of those in the deciding region. For a point outside of all ellipsoids that
          is the nearest one, grown until it touches the point: the better estimate on held-out records.
        - "bound": the same counts, but the trust is what that share exceeds with a probability of 95 %: a region of
          2 points gets less of it than one of 2000.
        - "paper": the paper's formula, from the counts of all training points. A point outside of all ellipsoids is
          decided by the nearest one as it is, with its trust, however far away: ``allow_outside=False`` refuses it.
    standardize : bool, default=True
        Whether distances are measured in standard deviations of the training set. False is the paper's form, which
        depends on the units of the features. With "local" and "raw" columns with heavy tails are then replaced by
        signed logarithms or normal scores where held-out records prefer it. Everything that is shown is in the original
        units.
    class_prior : dict or array-like of shape (n_classes,), default=None
        Class priors where predictions are made, as `under` takes them; None for those of the training set.
    costs : dict or array-like, default=None
        ``costs[true][given]``, as `under` takes them; None where all errors are alike.
    n_jobs : int or None, default=None
        Number of threads for passes over more points than the core has; of processes where each of three or more
        classes has a partition of its own, with "paper", "counts" and "bound".
    verbose : bool, default=False
        Whether to print progress to the standard error stream. Progress also goes to scikit-learn's callbacks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    partitions_ : list of Partition
        One, of all classes at once. With "paper", "counts" and "bound" three or more classes have one each, that class
        against the rest. In standardised units if `standardize` is set. Rows are those of the training set.
    class_count_ : ndarray of int, shape (n_classes,)
    mean_, scale_ : ndarray of shape (d,)
        Standardised units are ``(g(x) - mean_) / scale_``; g leaves values as they are, but with heavy tails,
        which are on a scale of their own: ``model_.scales`` converts, and ``model_.scales.curves`` names them.
    model_ : DensityModel or CountModel
        The fitted model: regions, densities and calibration. See `sepc.model.PartitionModel`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (d,)
        Where the training set had names.
    columns_read_ : ndarray of int, shape (n_read,), or None
        The columns of X that the model reads, where it had more than 500 of them, and more than records: those whose
        ranks tell the labels apart best, 4 to 128 of them. None where it reads all.

    Notes
    -----
    The result does not depend on the order of the training rows, and no verdict depends on the other rows of a batch.
    A record with missing values, NaN, is judged by its known values: the others are integrated out of the densities.
    For the partition alone a gap of a training record is filled with its conditional mean, whatever its label.
    The trust is calibrated on average over points like the training points; `sepc.select_min_trust` finds a threshold
    with a promise. Of more than 20,000 points, or fewer where they have more than 30 features, a core that represents
    every class is partitioned; all points then take part in EM iterations, in the calibration and in the counts.

    References
    ----------
    R. Niranjan and S. Rao, *Classification with Trust: A Supervised Approach based on Sequential Ellipsoidal
    Partitioning*.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SEPClassifier().fit(X[::2], y[::2])
    >>> clf.score(X[1::2], y[1::2]) > 0.9
    True
    >>> clf.trust_score(X[1:4]).round(3).tolist()
    [0.99, 0.99, 0.99]
    """

    model_: DensityModel | CountModel

    def __init__(
        self,
        *,
        n_imp: int | float | None = None,
        trust: str = "local",
        standardize: bool = True,
        class_prior: Any = None,
        costs: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_imp = n_imp
        self.trust = trust
        self.standardize = standardize
        self.class_prior = class_prior
        self.costs = costs
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # To count records in regions all their values must be known.
        tags.input_tags.allow_nan = self.trust in DENSITY_METHODS
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Partition the training set.

        Interrupting it leaves the classifier as it was.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            An array, or a pandas or polars frame. Dask arrays and frames stay on their cluster, arrays of 256 MB and
            more that are mapped from a file (``numpy.load(path, mmap_mode="r")``) stay on disk, and PyTorch and CuPy
            arrays on their device under scikit-learn's ``array_api_dispatch``; the model then has no training records.
            In memory NaN is a missing value if `trust` is "local" or "raw".
        y : array-like of shape (n,)
            Two or more different labels: texts, numbers, or all of another type; none missing.
        sample_weight : array-like of shape (n,), optional
            Multiplicity of each record, for training sets in memory: a weight of 3 is the record three times, 0 is its
            absence. With fractions the number of records that take part is that of the weights.

        Returns
        -------
        self

        Examples
        --------
        >>> SEPClassifier(n_imp=0).fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]).predict([[0.4]]).tolist()
        ['a']
        """
        with as_it_was_on_error(self):
            settings = self._settings()
            settings.check()
            fit, training, checked = self._training(X, y, sample_weight)
            self._policy(training.classes, np.ones(len(training.classes), dtype=np.int64))  # refuses what cannot be
            progress = Progress(self, problem_names(training.classes, settings.one_vs_rest), self.verbose)
            features = feature_labels(getattr(self, "feature_names_in_", None), self.n_features_in_)
            if self.columns_read_ is not None:
                features = [features[j] for j in self.columns_read_]
            fitted = fit(training, features, settings, progress)
            progress.finish()
            # Only now, with nothing left to interrupt, does the classifier change.
            self._keep(fitted.model, FrameMaker.like(X), checked)
            self.partitions_, self._is_frame = fitted.partitions, hasattr(self, "feature_names_in_")
            self.mean_, self.scale_ = fitted.model.scales.mean, fitted.model.scales.scale
        self._warn_of_isolated()
        self._warn_of_unread()
        return self

    def _settings(self) -> FitSettings:
        counts = self.n_imp is None and self.trust not in DENSITY_METHODS
        return FitSettings(PAPERS_COUNT if counts else self.n_imp, self.trust, self.standardize, self.n_jobs)

    def _training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Callable[..., Fitted], Any, TrainingSet | None]:
        """Return the way to fit a training set, the set itself, and as it came if it is in memory."""
        scattered = scattered_training_set(X, y, self.standardize, self.n_jobs)
        if scattered is None:
            checked = training_set(X, y, self, sample_weight)
            if not is_wide(*checked.X.shape):
                self.columns_read_ = None
                return fit_in_memory, arranged(checked), checked
            found, self.columns_read_ = screened(checked, self.n_imp, self.trust in HELD_OUT_METHODS)
            return fit_in_memory, found, checked.of_columns(self.columns_read_)
        if sample_weight is not None:
            raise InputError("sample-weight-not-in-memory")
        self.n_features_in_, names, self.columns_read_ = scattered.records.dim, names_of(X), None
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return fit_scattered, scattered, None

    def _warn_of_isolated(self) -> None:
        few = [str(c) for c, n in zip(self.classes_, self.class_count_, strict=True) if n < len(self.model_.features)]
        if few:
            warn("too-few-points", regions=", ".join(few), n_features=len(self.model_.features))

    def regions(self) -> Any:
        """Return one row per ellipsoid: its counts, and its range in the original units.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            As the training set came in; pandas for plain arrays. `n_label` and `n_others` count the training points
            (those that did not shape it, if `trust` is "counts" or "bound") of the ellipsoid's label and of all others
            in it. `trust` is the probability of its label at its centre if `trust` is "local" or "raw", else that of a
            point in it alone by these counts. `iteration` is 0 for the remainder at the end. `component` is the name in
            explanations: its own, or one with a ``+`` for the merged regions of a label. `description` names the
            features by which it differs most from the rest of its class and from others, in words. The last columns are
            the ends of its range in each feature.

        Examples
        --------
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.regions()[["region", "label", "n_label", "n_others", "trust", "x0 high"]].round(2)
          region label  n_label  n_others  trust  x0 high
        0    0#1     0        3         0    0.8      2.0
        1    1#1     1        3         0    0.8      9.0
        """
        from sepc.explanations.region_words import region_words

        check_is_fitted(self)
        reach = [f"{name} {end}" for name in self.model_.features for end in ("low", "high")]
        names = "region", "label", "n_label", "n_others", "purity", "trust", "iteration", "log_volume", "component"
        columns: dict[str, list[Any]] = {name: [] for name in (*names, "description", *reach)}
        components, described = self.model_.component_names(), region_words(self.model_)
        for problem, p in enumerate(self.partitions_):
            for k, block in enumerate(p.blocks):
                for name, value in self._region(problem, k, block, components).items():
                    columns[name].append(value)
                columns["description"].append(described.get(columns["region"][-1], ""))
        return self._frames.frame(columns)

    def _region(self, problem: int, k: int, block: Block, components: dict[str, str]) -> dict[str, Any]:
        rules = self.model_.rules[problem]
        own = rules.counts[k, block.side]
        others = rules.counts[k].sum() - own
        E = block.ellipsoid
        scales = self.model_.scales
        ends = scales.original(np.stack([E.center - E.half_widths, E.center + E.half_widths]))
        row = {
            "region": rules.names[k],
            "label": rules.labels[block.side],
            "n_label": int(own),
            "n_others": int(others),
            "purity": own / (own + others) if own + others else np.nan,
            "trust": self.model_.region_trust(problem, k),
            "iteration": block.iteration,
            "log_volume": E.log_volume + float(np.log(scales.lengths(E.center)).sum()),
            "component": components.get(rules.names[k], rules.names[k]),
        }
        for name, low, high in zip(self.model_.features, *ends, strict=True):
            row[f"{name} low"], row[f"{name} high"] = float(low), float(high)
        return row

    @property
    def landscape_(self) -> "FittedLandscape":
        """The landscape of the training set: regions, overlaps, small disjuncts, impure and isolated records, outliers.

        Examples
        --------
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.landscape_.regions[["region", "n_label", "purity", "small_disjunct"]]
          region  n_label  purity  small_disjunct
        0    0#1        3     1.0           False
        1    1#1        3     1.0           False
        """
        from sepc.landscapes.fitted_landscape import FittedLandscape

        check_is_fitted(self)
        if self.model_.records is None:
            raise records_are_missing("the landscape")
        found: FittedLandscape | None = getattr(self, "_landscape", None)
        if found is None or found.model is not self.model_:
            self._landscape = found = FittedLandscape(self.model_, self.partitions_, self._frames)
        return found

    def explain(
        self,
        x: Any,
        *,
        fixed: Any = None,
        ranges: Any = None,
        min_typicality: float = 0.1,
        max_columns: int = 3,
        vocabulary: "Vocabulary | None" = None,
    ) -> "Explanation":
        """Explain why one point gets its label, and what would have to change for another one.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            One record; a row of a pandas frame works, and so does a frame of one row.
        fixed : str, int, or a sequence of them, optional
            Features that a change to another label must leave alone, by names or by numbers from 0. By default those
            of `limit_changes`; ``()`` is none.
        ranges : dict, optional
            Of features to pairs of the lowest and the highest value that a change may give them, None for an open end.
            By default those of `limit_changes`.
        min_typicality : float, default=0.1
            Least typicality of the changed record: the share of training records that are at least as strange. Without
            it changes are shorter, and may lead to records that cannot exist.
        max_columns : int, default=3
            Most columns that `actionable_change` may change.
        vocabulary : Vocabulary, optional
            Names and units of the columns that features were made from; the features by default.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
        >>> print(clf.explain([1.5]).text[:36])
        Predicted low with a trust of 79.6 %
        """
        limits = {"fixed": fixed, "ranges": ranges, "min_typicality": min_typicality, "max_columns": max_columns}
        vocabularies = None if vocabulary is None else [vocabulary]
        return self.explain_many(the_only_row(x), changes=True, vocabularies=vocabularies, **limits)[0]

    def explain_many(
        self, X: Any, *, changes: bool = False, vocabularies: "Sequence[Vocabulary] | None" = None, **limits: Any
    ) -> "list[Explanation]":
        """Explain the labels of many points: as `explain` does, several times faster for each.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        changes : bool, default=False
            Whether to look for the smallest change to another label, which takes most of the time of `explain`.
        vocabularies : sequence of Vocabulary, optional
            One for each point, as for `explain`.
        **limits
            `fixed`, `ranges`, `min_typicality` and `max_columns` of `explain`, where changes are asked for.

        Returns
        -------
        list of Explanation
            One for each point, in its order. Without changes their `no_change_because` is ``"not-asked"``.

        Examples
        --------
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
        >>> [why.text.partition(" with")[0] for why in clf.explain_many([[1.5], [6.5]])]
        ['Predicted low', 'Predicted high']
        """
        from sepc.explanations.explanation import explain

        return self._explained(explain, X, vocabularies, limits_if_asked(changes, limits))

    def sample(
        self, n: int = 1, *, label: Any = None, region: str | None = None, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """Draw synthetic records, uniformly from the ellipsoids and in proportion to their training points.

        Values of categories that are modelled by shares are drawn by these.

        Parameters
        ----------
        n : int, default=1
        label : object, default=None
            Draw from this label's ellipsoids only.
        region : str, default=None
            Draw from the ellipsoid of this name only, or from those that are merged by this name; `regions` lists both.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : array or frame of shape (n, n_features)
            In the original units; a frame if the training set was one.
        y : ndarray of shape (n,)
            The labels of the ellipsoids that they were drawn from.

        Examples
        --------
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> X, y = clf.sample(50, label=1, random_state=0)
        >>> bool((X >= 5.0).all() and (X <= 9.0).all() and (y == 1).all())
        True
        """
        check_is_fitted(self)
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError("n-samples", n=n)
        from sepc.estimators.sampling import draw

        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        Z, y = draw(self.model_, int(n), label, region, rng)
        X = self.model_.original(Z)
        if isinstance(self.model_, DensityModel) and self.model_.densities.shares is not None:
            values = self.model_.densities.shares.categories.features
            X[:, values] = np.rint(X[:, values])  # 0 and 1, but for rounding
        return (self._frames.frame(dict(zip(self.model_.features, X.T, strict=True))) if self._is_frame else X), y

    def query(self, X_pool: Any, k: int = 10) -> IntArray:
        """Return the records of a pool that are most worth a label: least trusted, strangest, spread over regions.

        Parameters
        ----------
        X_pool : array-like of shape (n, n_features)
        k : int, default=10

        Returns
        -------
        ndarray of int, shape (k,)
            Row numbers of the pool, the most worth first. A point's worth is ``1 - trust`` plus
            ``distance / (distance + median distance)``, over 1 plus the number of points taken from its region.

        Examples
        --------
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.query([[1.0], [30.0], [6.0]], k=1).tolist()
        [1]
        """
        check_is_fitted(self)
        from sepc.estimators.sampling import most_worth_labelling

        X = new_points(self, X_pool)
        return most_worth_labelling(self.model_.assess(X, self._frames), self.model_.units(X), k)
