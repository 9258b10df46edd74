"""Monitor of a fitted classifier at work: wrong verdicts by region, drift, fresh partitions."""

import os
from functools import cached_property
from math import fsum
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sepc.common.archive import Arrays
from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import new_points
from sepc.feedback import monitor_files
from sepc.feedback.drift import Drift, SequentialRateTest
from sepc.feedback.feedback_report import FeedbackReport
from sepc.feedback.held_out_models import (
    held_out_counts,
    models_without,
    n_complete,
    outside_and_wrong,
    parts_of,
    require_new_records,
)
from sepc.feedback.observations import Observations
from sepc.feedback.partition_changes import PartitionChanges, partition_changes
from sepc.feedback.verdict_counts import RegionRecord, TrustRecord
from sepc.model.counts import records_are_missing
from sepc.model.partition_model import PartitionModel

_OUTSIDE, _WRONG = "outside every ellipsoid", "wrong"


class FeedbackMonitor:
    """Monitor of a fitted classifier at work: which verdicts turned out wrong, and whether the data has shifted.

    Wrong verdicts are counted for each region. Where they exceed `n_imp`, the paper's sign that a group of records is
    missing from the training set, `repartition` takes the observed records in and partitions afresh. Records outside
    every ellipsoid are strange; `drift` raises an alarm when their share rises above what it should be.

    Parameters
    ----------
    clf : SEPClassifier
        Fitted; it is never changed. Do not fit it again while it is watched.
    false_alarm_rate : float, default=0.01
        Probability, at most, of an alarm by `drift` although nothing has changed, over the whole life of the monitor
        and however often it is looked at. `error_drift` has the same rate, for itself.
    reference : array-like of shape (n_reference, n_features), optional
        Records that are known to be normal and that had no part in training. By default the training set has to do:
        see Notes.
    reference_labels : array-like of shape (n_reference,), optional
        Their true labels. Without them a monitor with a reference has no `error_drift`.
    folds : int, default=3
        Into how many parts to split the training set where there is no reference. More parts make each of the models
        more like `clf`, but leave fewer held-out records to compare with.

    Notes
    -----
    What share of records should be outside cannot be seen from the training records, which are inside by
    construction; nor from cross-validation alone, since partitions of much the same data may differ in it by far more
    than the counts suggest. So like is compared with like: the training set is split, a classifier is fitted without
    each part, and the records it has not seen, held-out and new ones, are assessed by that same classifier. Without
    drift both are outside at the same rate. These models have fewer records than `clf` and therefore smaller
    ellipsoids: the shares that `drift` speaks of are a little higher than that of `clf` itself, which `report` gives.
    With a reference `clf` itself assesses both.

    Of records with missing values it may not be known where they lie: `drift` compares complete ones alone.

    The false-alarm rate holds for independent records from an unchanged source. `error_drift` takes the labelled
    records as typical: if labels come for suspicious records only, it will raise an alarm for that reason.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> monitor = FeedbackMonitor(SEPClassifier().fit(X[::2], y[::2]))
    >>> monitor.observe(X[1::2], y[1::2]).drift.alarm
    False
    >>> monitor.observe(X[1::2] + 3.0).drift.alarm
    True
    """

    def __init__(
        self,
        clf: Any,
        *,
        false_alarm_rate: float = 0.01,
        reference: Any = None,
        reference_labels: Any = None,
        folds: int = 3,
    ) -> None:
        _check_parameters(clf, false_alarm_rate, reference, reference_labels, folds)
        self._start(clf, float(false_alarm_rate), 0 if reference is not None else int(folds))
        outside, wrong = self._held_out() if reference is None else self._of_reference(reference, reference_labels)
        self._outside_test = SequentialRateTest(_OUTSIDE, outside, self.false_alarm_rate)
        self._error_test = None if wrong is None else SequentialRateTest(_WRONG, wrong, self.false_alarm_rate)

    def _start(self, clf: Any, false_alarm_rate: float, folds: int) -> None:
        self.clf, self.false_alarm_rate, self.folds = clf, false_alarm_rate, folds
        self._model: PartitionModel = clf._model
        self._observations = Observations(self._model)

    @cached_property
    def _comparison_models(self) -> list[Any]:
        """Classifiers by which new records are compared with held-out ones."""
        return models_without(self.clf, parts_of(self._model, self.folds)) if self.folds else [self.clf]

    def _held_out(self) -> tuple[IntArray, IntArray]:
        return held_out_counts(self._model, self._comparison_models, parts_of(self._model, self.folds))

    def _of_reference(self, X: Any, y: Any) -> tuple[IntArray, IntArray | None]:
        a = self.clf.assess(X)
        require_new_records(self._model, self._rows(X))
        codes = None if y is None else self._observations.encoded(y, len(a), "reference_labels").codes
        outside, wrong = outside_and_wrong(self._model, a, codes)
        return np.array([[outside, n_complete(a)]]), None if y is None else np.array([[wrong, len(a)]])

    def _rows(self, X: Any) -> FloatArray:
        return new_points(self.clf, X)

    def observe(self, X: Any, y_true: Any = None) -> Self:
        """Take in a batch of new records.

        The order of its rows does not matter for anything but their row numbers in `repartition`. A batch that is
        refused leaves no trace.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y_true : array-like of shape (n,), optional
            Their true labels, where these have become known. Labels that the classifier does not know count as wrong
            and are named in the report.

        Returns
        -------
        self

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> monitor = FeedbackMonitor(clf).observe([[0.5], [7.0]], [0, 0])
        >>> monitor.regions()[["region", "n_right", "n_wrong"]]
          region  n_right  n_wrong
        0    1#1        0        1
        1    0#1        1        0
        """
        if self.clf._model is not self._model:
            raise InputError("clf was fitted again; expected it as it was. Start a new monitor for the new fit.")
        a = self.clf.assess(X)
        rows = self._rows(X)
        truth = None if y_true is None else self._observations.encoded(y_true, len(a), "y_true")
        codes = None if truth is None else truth.codes
        assessments = [a if model is self.clf else model.assess(rows) for model in self._comparison_models]
        outside, wrong = zip(*(outside_and_wrong(self._model, one, codes) for one in assessments), strict=True)
        # Nothing is refused from here on.
        self._observations.add(a, rows, truth)
        self._outside_test.add(n_complete(a), list(outside))
        if truth is not None and self._error_test is not None:
            self._error_test.add(len(a), list(wrong))
        return self

    @property
    def drift(self) -> Drift:
        """Test of whether more records than expected are outside every ellipsoid.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf, reference=[[0.5], [1.5], [5.5], [7.0]]).drift
        No alarm: nothing observed yet; 0 % outside every ellipsoid expected
        """
        return self._outside_test.state()

    @property
    def error_drift(self) -> Drift | None:
        """Test of whether more verdicts than expected are wrong; None if nothing is known of what to expect.

        Expected is the share of wrong verdicts on held-out records, not one minus the trust: a trust of 1 would be
        refuted by a single error.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf, reference=[[0.5], [7.0]], reference_labels=[0, 1]).error_drift.expected
        0.0
        """
        return None if self._error_test is None else self._error_test.state()

    def regions(self) -> Any:
        """Return one row per region that has decided a record, the most wrong verdicts first.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            As the training set came in. `n` counts all records, `n_right` and `n_wrong` those with a label; `trust` is
            the mean given, `share_right` what came true, with its exact 95 % interval from `low` to `high`; `exceeds`
            says whether more than `n_imp` were wrong, `calibrated` whether the mean trust lies in the interval.
            Names are those of `Assessment.region`: a grown ellipsoid is a row of its own; one that decides as it is
            has records inside and those that it is nearest to in one row.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf).observe([[0.5], [3.0]], [0, 0]).regions()[["region", "n", "share_right", "exceeds"]]
          region  n  share_right  exceeds
        0    0#1  1          1.0    False
        1   ~0#1  1          1.0    False
        """
        return self._frame(self._region_records(), RegionRecord)

    def reliability(self) -> Any:
        """Return trust given against what came true, one row per bin of trust; labelled records only.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="paper").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf).observe([[0.5], [3.0]], [0, 0]).reliability()[["bin", "n", "trust", "share_right"]]
          bin  n  trust  share_right
        0   1  2    1.0          1.0
        """
        return self._frame(self._observations.trust_records(), TrustRecord)

    def history(self) -> Any:
        """Return one row per batch: how many records, the share of them outside, the evidence for drift.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            `observed` counts the records up to the end of the batch; `share` is meant as in `drift`. Records with
            missing values have no part in it: where they lie may not be known.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf, reference=[[0.5], [7.0]]).observe([[0.5], [3.0]]).history()[["observed", "n", "share"]]
           observed  n  share
        0         2  2    0.5
        """
        test = self._outside_test
        counts = np.array(test.batches, dtype=np.int64).reshape(-1, 1 + len(test.held_out))
        n = np.where(counts[:, 0] > 0, counts[:, 0], np.nan)
        return self.clf._frames.frame(
            {
                "observed": np.cumsum(counts[:, 0]),
                "n": counts[:, 0],
                "share": counts[:, 1:].mean(axis=1) / n,
                "log_evidence": np.array(test.log_evidence, dtype=np.float64),
            }
        )

    def report(self) -> FeedbackReport:
        """Return all of it in one object, for a person or as a dict.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="paper").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> print(FeedbackMonitor(clf, reference=[[0.5], [7.0]]).observe([[0.5], [3.0]], [0, 0]).report())
        2 records observed, 2 with a label; by the model itself 1 outside every ellipsoid
        0 wrong by the model itself (100 % right), mean trust 100 %
        No alarm: 50 % outside every ellipsoid where 0 % (0 % to 84.2 %) were expected; false-alarm rate 0.01
        """
        observed = self._observations
        counts = list(observed.regions.values())
        n, right, wrong = (sum(getattr(c, field) for c in counts) for field in ("n", "n_right", "n_wrong"))
        often = np.bincount(observed.labelled()[1], minlength=len(observed.labels))[len(self._model.classes) :]
        return FeedbackReport(
            n=n,
            n_labelled=right + wrong,
            n_right=right,
            n_wrong=wrong,
            n_outside=observed.n_outside,
            unknown_labels={str(label): k for label, k in zip(observed.unknown, often.tolist(), strict=True)},
            trust=fsum(c.trust_sum for c in counts) / n if n else float("nan"),
            regions=tuple(self._region_records()),
            reliability=tuple(observed.trust_records()),
            drift=self.drift,
            error_drift=self.error_drift,
            n_repeated=observed.n_repeated(),
        )

    def _region_records(self) -> list[RegionRecord]:
        return self._observations.region_records([p.n_imp for p in self.clf.partitions_])

    def _frame(self, records: list[Any], kind: type[Any]) -> Any:
        return self.clf._frames.frame({name: [getattr(r, name) for r in records] for name in kind._fields})

    def repartition(self, min_records: int = 1) -> tuple[Any, PartitionChanges]:
        """Partition afresh, with the observed labelled records in the training set.

        Parameters
        ----------
        min_records : int, default=1
            Fewer labelled records than this are refused.

        Returns
        -------
        clf : SEPClassifier
            A new one, of the same parameters. Rows of the old training set keep their numbers, observed records follow
            in the order in which they came. Old records went through the classifier's units and back: they may
            differ in the last digit.
        changes : PartitionChanges

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(n_imp=0).fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
        >>> monitor = FeedbackMonitor(clf).observe([[20.0], [21.0], [22.0]], ["low"] * 3)
        >>> new, changes = monitor.repartition()
        >>> new.predict([[20.5]]).tolist(), changes.flips[0]
        (['low'], Flip(row=6, before='high', after='low', true='low'))
        """
        records, codes = self._observations.labelled()
        if not isinstance(min_records, Integral) or min_records < 1:
            raise InputError(f"min_records is {min_records!r}; expected a count of 1 or more.")
        if len(codes) < min_records:
            raise InputError(
                f"{len(codes)} labelled records were observed; expected at least min_records = {min_records}. "
                "Observe more records with y_true, or ask for fewer."
            )
        model = self._model
        place = np.argsort(model.rows)
        X = np.vstack([model.original(model.training.as_they_came)[place], records])
        y = self._observations.label_array(np.concatenate([model.codes[place], codes]))
        n = len(place)
        new = clone(self.clf).fit(self._as_it_came(X), y)
        return new, partition_changes(self.clf, new, self._as_it_came(records), y[n:], n)

    def _as_it_came(self, X: FloatArray) -> Any:
        """Return records under their feature names, if the training set had any."""
        names = getattr(self.clf, "feature_names_in_", None)
        return X if names is None else self.clf._frames.frame({str(name): X[:, j] for j, name in enumerate(names)})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was observed to one file; the classifier is not in it.

        Parameters
        ----------
        path : path-like
            A file that is there already is replaced, once the new one is complete.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> with TemporaryDirectory() as folder:
        ...     FeedbackMonitor(clf).observe([[0.5], [3.0]], [0, 0]).save(f"{folder}/seen.npz")
        ...     FeedbackMonitor.load(f"{folder}/seen.npz", clf).report().n
        2
        """
        header, arrays = self._observations.packed()
        header |= {
            "fingerprint": monitor_files.fingerprint(self.clf),
            "false_alarm_rate": self.false_alarm_rate,
            "folds": self.folds,
        }
        for name, test in (("outside", self._outside_test), ("wrong", self._error_test)):
            if test is not None:
                arrays[f"{name}_held_out"] = test.held_out
                arrays[f"{name}_batches"] = np.array(test.batches, dtype=np.int64)
        monitor_files.FORMAT.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], clf: Any) -> Self:
        """Return the monitor that was saved, to go on where it was.

        Parameters
        ----------
        path : path-like
        clf : SEPClassifier
            The classifier that it watched; another one is refused.

        Returns
        -------
        FeedbackMonitor
            All its reports are those of the saved one, to the bit. Observing more fits the models of the folds again.
        """
        _require_classifier(clf)
        header, arrays = monitor_files.read(path, monitor_files.fingerprint(clf))
        try:
            return cls._restored(clf, header, arrays)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise monitor_files.FORMAT.damaged(path) from error

    @classmethod
    def _restored(cls, clf: Any, header: dict[str, Any], arrays: Arrays) -> Self:
        monitor = cls.__new__(cls)
        monitor._start(clf, header["false_alarm_rate"], header["folds"])
        monitor._observations = Observations.unpacked(clf._model, header, arrays)
        monitor._outside_test = _replayed(_OUTSIDE, "outside", header, arrays)
        monitor._error_test = _replayed(_WRONG, "wrong", header, arrays) if "wrong_held_out" in arrays else None
        return monitor

    def __repr__(self) -> str:
        return f"FeedbackMonitor of {self.clf!r}:\n{self.report()!r}"


def _replayed(what: str, name: str, header: dict[str, Any], arrays: Arrays) -> SequentialRateTest:
    test = SequentialRateTest(what, arrays[f"{name}_held_out"], header["false_alarm_rate"])
    for n, *hits in arrays[f"{name}_batches"].tolist():
        test.add(n, hits)
    return test


def _require_classifier(clf: Any) -> None:
    if hasattr(clf, "assess"):
        check_is_fitted(clf)
    if not hasattr(clf, "partitions_"):
        raise InputError(
            f"clf is {clf!r}; expected a fitted SEPClassifier, whose partition is watched. Of a pipeline, pass its "
            "last step."
        )
    if clf._model.records is None:
        raise records_are_missing("a FeedbackMonitor")


def _check_parameters(clf: Any, false_alarm_rate: Any, reference: Any, reference_labels: Any, folds: Any) -> None:
    _require_classifier(clf)
    if not isinstance(false_alarm_rate, (int, float)) or not 0.0 < false_alarm_rate < 1.0:
        raise InputError(
            f"false_alarm_rate is {false_alarm_rate!r}; expected a number strictly between 0 and 1, such as 0.01."
        )
    if not isinstance(folds, Integral) or folds < 2:
        raise InputError(f"folds is {folds!r}; expected a count of 2 or more, such as 3.")
    if reference is None and reference_labels is not None:
        raise InputError("reference_labels came without reference; expected both, or neither. Pass reference=X, too.")
