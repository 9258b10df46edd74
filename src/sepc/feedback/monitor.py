"""Monitor of a fitted classifier at work: wrong verdicts by region, drift, fresh partitions."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from math import fsum
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.audits import Audit, audit_of, check_share
from sepc.feedback.chances import LEAST_PROBABILITY, check_parameters, stated_chances
from sepc.feedback.data_watch import DataWatch, SeriesRecord
from sepc.feedback.drift import COLUMN, OUTSIDE, Drift, DriftPart, SequentialRateTest
from sepc.feedback.error_watch import ErrorParts, ErrorTest
from sepc.feedback.expected_accuracy import AccuracyRecord, months_of
from sepc.feedback.feedback_report import FeedbackReport
from sepc.feedback.forgetting import Forgetting
from sepc.feedback.held_out_models import (
    Comparison,
    ModelView,
    outside_in_words,
    predicted_codes,
    require_new_records,
)
from sepc.feedback.moved_features import with_moved_features
from sepc.feedback.observation_log import LoggedBatch, ObservationLog
from sepc.feedback.observations import EncodedLabels, Observations, RegionRecord, TrustRecord
from sepc.feedback.partition_changes import PartitionChanges, refitted
from sepc.feedback.promise_watch import PromiseDrift, PromiseTest
from sepc.feedback.watched import Watched, fingerprint
from sepc.model.acceptance import MinTrust, key_of
from sepc.model.assessment import Assessment
from sepc.promises.parts import GROUP, GROUPS

# The share outside, columns, typicality with trust, and class shares have equal parts of a false-alarm rate.
_KINDS_OF_DRIFT = 4


class FeedbackMonitor:
    """Monitor of a fitted classifier at work: which verdicts turned out wrong, and whether the data has shifted.

    Wrong verdicts are counted for each region. Where they exceed `n_imp`, the paper's sign that a group of records is
    missing from the training set, `repartition` partitions afresh with the observed records. `drift` raises an alarm
    when columns, typicality, trust, class shares or the share of records outside every ellipsoid have changed.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TablePipeline or TrustedClassifier
        Fitted; it is never changed. Do not fit it again while it is watched. A monitor of a pipeline takes raw tables.
        Around another model, new records are compared with answers of refits that had not seen the training records;
        `repartition` fits the regions again, and leaves the model alone.
        An ensemble has no ellipsoids of its own: strange records are counted in place of those outside, labels in
        place of regions.
    false_alarm_rate : float, default=0.01
        Upper bound of the probability of an alarm by `drift` without any change, over the whole life of the monitor.
        `error_drift` has the same rate for itself.
    reference : array-like of shape (n_reference, n_features), optional
        Normal records that had no part in training. By default folds of the training set: see Notes.
    reference_labels : array-like of shape (n_reference,), optional
        Their true labels. Without them a monitor with a reference has no `error_drift`.
    folds : int, default=3
        Number of folds of the training set where there is no reference. More folds make each of the models more like
        `clf`, but leave fewer held-out records to each.
    least_probability : float, default=0.01
        Lower bound of the chances of records to be labelled: see `observe`. The nearer it is to the smallest chance,
        the sooner an alarm on errors is raised.

    Notes
    -----
    Training records are inside their ellipsoids by construction, and partitions of much the same data may differ in the
    share of records outside by far more than counts suggest. So new records are compared with held-out ones by the same
    model: the training set is split into folds, and a classifier is fitted without each. Without drift both are outside
    at the same rate. These models have fewer records than `clf` and smaller ellipsoids: the shares in `drift` are a
    little higher than that of `clf` itself, which `report` gives. With a reference `clf` itself assesses both. `drift`
    takes complete records alone: with missing values it may not be known where a record lies.

    The false-alarm rate holds for independent records from an unchanged source. `error_drift` also needs the chances of
    records to be labelled, which are stated in `observe`. It holds whatever these chances are, as long as none is 0 and
    records are chosen without a look at their true labels. Labels of suspicious records alone are no evidence on the
    others, whose chance is 0; `audit` gives them one.

    Errors are also counted by label and by region. The rate holds for the total evidence of all counts; when the alarm
    is raised, `error_drift.parts` has the parts with most of it.

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
        least_probability: float = LEAST_PROBABILITY,
    ) -> None:
        watched = Watched(clf)
        check_parameters(false_alarm_rate, reference, reference_labels, folds, least_probability)
        self.clf, self.false_alarm_rate = watched.clf, float(false_alarm_rate)
        self.folds, self.least_probability = 0 if reference is not None else int(folds), float(least_probability)
        self._watched, self._comparison = watched, Comparison(watched, self.folds)
        self._observations = Observations(watched.model)
        self._promise_test = PromiseTest.of(watched.promise, self.false_alarm_rate, self.least_probability)
        self._log: ObservationLog | None = None
        if reference is None:
            rows, codes = self._comparison.held_out()
        else:
            rows, codes = [watched.rows(reference)], None
            if reference_labels is not None:
                codes = [self._observations.encoded(reference_labels, len(rows[0]), "reference_labels").codes]
            require_new_records(watched.model, rows[0])
        views = self._comparison.held_out_views(rows)
        outside = np.array([[view.n_outside, view.n_complete] for view in views])
        share = self.false_alarm_rate / _KINDS_OF_DRIFT
        self._outside_test = SequentialRateTest(outside_in_words(watched.model), outside, share)
        self._data_watch = DataWatch(watched.model.features, self._comparison.reference(rows, codes, views), share)
        self._error_test = None if codes is None else self._test_of_errors(rows, views, codes)

    def _test_of_errors(self, rows: list[FloatArray], views: list[ModelView], codes: list[IntArray]) -> ErrorTest:
        """Return the test of errors, by the models' views of held-out records of these classes."""
        regions = self._comparison.regions(rows, views)
        expected = self._comparison.expected([len(some) for some in rows])
        parts = ErrorParts.of_held_out(self._watched.label_names(), views, regions, expected)
        return ErrorTest(parts, parts.counts(views, codes), self.false_alarm_rate, self.least_probability)

    @classmethod
    def resume(cls, clf: Any, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Return a monitor that writes what it observes to an append-only file, and resumes where that file ends.

        A batch is on the disk before it counts. After a crash the monitor resumes from the last batch that was written
        whole, with the same numbers.

        Parameters
        ----------
        clf : SEPClassifier, SEPEnsembleClassifier or TablePipeline
        path : path-like
            Created if it does not exist. It holds the observed records; one monitor at a time may write to it. A file
            of another model, with other parameters, or a damaged one is refused. It goes on with a model that
            `repartition` has made, which counts what it observes itself, and with another promise of the same model,
            for which accepted labels count from then on.
        **parameters
            Those of the monitor, `false_alarm_rate` and so on; the same ones at each resumption.

        Returns
        -------
        FeedbackMonitor

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> with TemporaryDirectory() as folder:
        ...     _ = FeedbackMonitor.resume(clf, f"{folder}/watch.log").observe([[0.5], [3.0]], [0, 0])
        ...     FeedbackMonitor.resume(clf, f"{folder}/watch.log").observe([[7.0]]).report().n
        3
        """
        monitor = cls(clf, **parameters)
        reference, labels = parameters.get("reference"), np.asarray(parameters.get("reference_labels"))
        promise, rows = monitor.clf.promise, None if reference is None else monitor._watched.rows(reference)
        settings = {
            "false_alarm_rate": monitor.false_alarm_rate,
            "folds": monitor.folds,
            "least_probability": monitor.least_probability,
            "promise": None if promise is None or not promise.is_kept else key_of([json.dumps(promise.to_dict())], ()),
            "reference": None if rows is None else key_of([repr(labels.tolist())], [rows]),
        }
        log = ObservationLog(path, fingerprint(monitor._watched.classifier), settings)
        for batch in log.batches:
            a = monitor._watched.judged(batch.records)
            truth = None if batch.labels is None else monitor._observations.encoded(batch.labels, len(a), "y_true")
            monitor._count(batch, a, truth, monitor._comparison.views(batch.records, a))
        monitor._log = log
        return monitor

    @property
    def log(self) -> ObservationLog | None:
        """The file that the monitor writes to, or None."""
        return self._log

    def observe(
        self,
        X: Any,
        y_true: Any = None,
        *,
        probability: Any = None,
        labels: str | None = None,
        groups: Any = None,
        seen: bool = False,
        dates: Any = None,
    ) -> Self:
        """Add a batch of new records.

        The order of its rows only matters for their row numbers in `repartition`. A batch with an error is not counted.

        `error_drift` counts the labelled records of a batch only if `probability` or `labels` states how they were
        chosen. A wrong statement, such as ``labels="all"`` for records that were picked as difficult, raises an alarm
        without any drift.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or table
        y_true : array-like of shape (n,), optional
            Their true labels. Labels that the classifier does not know count as wrong and are named in the report.
        probability : float or array-like of shape (n,), optional
            Chance of each record to be chosen for labelling, at least `least_probability`: 1 for records that are
            always labelled, the share of the audit for others. `audit` chooses records and returns their chances.
            Pass all records first, without labels, then those that were chosen, with `seen`: a part that was chosen
            differs from the training set without any change. Where chances differ, records have no part in `drift`.
        labels : "all", optional
            States that every record gets a label, or that those with labels are a simple random sample.
        groups : array-like of shape (n,) or (n, n_groups), optional
            The groups that the records belong to, where the classifier has signed a promise by groups.
        seen : bool, default=False
            Whether they were observed before without labels: then the labels alone count.
        dates : array-like of shape (n,), optional
            Dates of the records, for `expected_accuracy` by month; by default the day of the call.

        Returns
        -------
        self

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> monitor = FeedbackMonitor(clf).observe([[0.5], [7.0]], [0, 0], labels="all")
        >>> monitor.observe([[4.0], [8.0]], [0, 1], probability=[1.0, 0.05]).error_drift.n
        4
        >>> monitor.regions()[["region", "n_right", "n_wrong"]]
          region  n_right  n_wrong
        0    1#1        1        1
        1   ~1#1        0        1
        2    0#1        1        0
        """
        self._watched.require_unchanged()
        a, rows = self._watched.assessed(X)
        truth = None if y_true is None else self._observations.encoded(y_true, len(a), "y_true")
        chance = stated_chances(probability, labels, len(a), self.least_probability, has_labels=truth is not None)
        if seen and truth is None:
            raise InputError("seen-without-y-true")
        parts = self._promised_parts(X, a, groups) if truth is not None else None
        values = None if y_true is None else column_or_1d(y_true).tolist()
        batch = LoggedBatch(
            rows,
            values,
            chance,
            labels is not None,
            parts,
            bool(seen),
            date.today().isoformat(),
            months_of(dates, len(rows)),
        )
        views = self._comparison.views(rows, a)
        if self._log is not None:
            self._log.append(batch)
        # Nothing is refused from here on.
        self._count(batch, a, truth, views)
        return self

    def _promised_parts(self, X: Any, a: Assessment, groups: Any) -> IntArray | None:
        """Return the part of the promise that each record is in; None where nothing is promised."""
        if self._promise_test is not None:
            return self._promise_test.parts_of(self._watched.verdicts(X, a), groups)
        if groups is not None and getattr(self._watched.promise, "by", "") not in (GROUP, GROUPS):
            raise InputError("groups-not-watched")
        return None

    def _count(self, batch: LoggedBatch, a: Assessment, truth: EncodedLabels | None, views: list[ModelView]) -> None:
        """Count a checked batch, given its assessment by the classifier and the views of all models."""
        self._observations.add(batch, a, truth)
        # Those that were chosen, some more likely than others, differ from the held-out ones without any change.
        chosen = batch.chance is not None and bool(np.ptp(batch.chance) > 0.0)
        if not batch.seen and not chosen:
            self._outside_test.add(views[0].n_complete, [view.n_outside for view in views])
        codes = truth.codes if truth is not None and batch.all_labelled else None
        units = self._watched.model.units(batch.records)
        self._data_watch.add(units, views, codes, self._observations.labels, seen=batch.seen, chosen=chosen)
        if truth is None or not batch.is_stated:
            return
        if self._promise_test is not None and batch.parts is not None:
            given = predicted_codes(self._watched.model, a)
            self._promise_test.add(batch.parts, self._promise_test.losses(given, truth.codes), batch.chance)
        test = self._error_test
        if test is not None and test.add(views, truth.codes, batch.chance):
            test.found = with_moved_features(test.found, self._watched.classifier, *self._observations.stated())

    def audit(
        self,
        X: Any,
        share: float = 0.05,
        seed: int = 0,
        *,
        min_trust: MinTrust = None,
        by_trust: bool = False,
        groups: Any = None,
    ) -> Audit:
        """Choose new records to label: all refused ones, and a random sample of the accepted ones.

        Nothing is observed yet. Without labels of accepted records a rise of their errors goes unnoticed.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or table
        share : float, default=0.05
            Mean share of the accepted records that are sampled.
        seed : int, default=0
            The same seed samples the same records of the same batch, in any order.
        min_trust : float, dict or promise, optional
            Trust from which a label is accepted; by default as for `Assessment.accepted`.
        by_trust : bool, default=False
            Whether to sample more where the trust is low: chances then rise with one minus the trust, from half of the
            share on.
        groups : array-like of shape (n,) or (n, n_groups), optional
            The groups that the records belong to, if `min_trust` is a promise by groups.

        Returns
        -------
        Audit

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sepc import SEPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> monitor = FeedbackMonitor(SEPClassifier().fit(X[::2], y[::2]), least_probability=0.2)
        >>> new, true = X[1::2], y[1::2]
        >>> audit = monitor.observe(new).audit(new, share=0.2, seed=1)
        >>> picked = audit.chosen
        >>> chances = audit.probability[picked]
        >>> monitor.observe(new[picked], true[picked], probability=chances, seen=True).report().n
        75
        """
        check_share(share, seed, by_trust, self.least_probability)
        self._watched.require_unchanged()
        a = self.clf.assess(X)
        accepted = a.accepted(min_trust, groups=groups)
        return audit_of(self._watched.rows(X), accepted, a.trust, float(share), int(seed), bool(by_trust))

    @property
    def drift(self) -> Drift:
        """Test of whether records have changed, without labels; classes too where all records get labels.

        Watched are the share of records outside every ellipsoid (by an ensemble, of strange ones), each column, how
        typical records are and the trust in their labels, and the shares of the classes. The false-alarm rate holds for
        all of them together: a quarter is that of each kind. After an alarm `parts` has what has raised it.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf, reference=[[0.5], [1.5], [5.5], [7.0]]).drift
        No alarm: nothing observed yet; 0 % outside every ellipsoid expected
        """
        state = self._outside_test.state()
        found = list(self._data_watch.parts())
        if state.when is not None:
            found.append((state.when, DriftPart(OUTSIDE, OUTSIDE, self._outside_test.since)))
        found.sort(key=lambda raised: raised[0])
        return replace(
            state,
            alarm=bool(found),
            when=found[0][0] if found else None,
            parts=tuple(part for _, part in found),
            false_alarm_rate=self.false_alarm_rate,
        )

    def series(self) -> Any:
        """Return one row for each series of records that `drift` watches, those with an alarm first.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Of each column, of typicality and trust, and of class shares where they are known: the `evidence` so far,
            the `threshold` of the alarm, `when` it was raised and `since` when, in records, and what has changed.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf).observe([[0.5], [3.0]]).series()["kind"].tolist()
        ['class shares', 'column', 'typicality', 'trust']
        """
        return self._frame(self._data_watch.records(), SeriesRecord)

    def expected_accuracy(self) -> Any:
        """Return the accuracy that the trust expects of new records, without labels, and the observed one beside it.

        It is what calibrated trust amounts to; a drift that the trust does not see makes it too high. Compare
        `observed` with `expected_labelled`, which speaks of the same records, however these were chosen.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row for all records, one for each month if there are several, and for each column that has raised an
            alarm one for the records before it began to change, and one for those since. `expected` is the mean trust,
            and the accuracy of these `n` records is from `low` to `high` with a probability of 95 %; `observed` has an
            exact 95 % interval.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="paper").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> monitor = FeedbackMonitor(clf).observe([[0.5], [3.0]], dates=["2026-03-31", "2026-04-01"])
        >>> monitor.expected_accuracy()[["part", "n", "expected"]]
              part  n  expected
        0      all  2       1.0
        1  2026-03  1       1.0
        2  2026-04  1       1.0
        """
        return self._frame(list(self._accuracy_records()), AccuracyRecord)

    def _accuracy_records(self) -> tuple[AccuracyRecord, ...]:
        changed = [(part.name, part.since) for part in self.drift.parts if part.kind == COLUMN]
        return self._observations.accuracy.records(changed)

    @property
    def error_drift(self) -> Drift | None:
        """Test of whether more verdicts than expected are wrong; None without labelled held-out records.

        Expected is the share of wrong verdicts on held-out records, not one minus the trust: a trust of 1 would be
        refuted by a single error. Only batches with stated chances of being labelled count. After an alarm `parts` has
        the labels and regions, since when, and the features that have moved there.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> FeedbackMonitor(clf, reference=[[0.5], [7.0]], reference_labels=[0, 1]).error_drift.expected
        0.0
        """
        if self._error_test is None:
            return None
        return self._error_test.state(self._observations.n_unstated)

    @property
    def promise_drift(self) -> PromiseDrift | None:
        """Test of whether the promise that the classifier has signed still holds; None if there is none.

        The limits are the promised ones of each part, so that it needs no held-out records. It counts accepted labels
        of batches with stated chances of being labelled, and has the `false_alarm_rate` for itself.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sepc import SEPClassifier, select_min_trust
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = SEPClassifier().fit(X[::2], y[::2])
        >>> clf = clf.sign(select_min_trust(clf, X[1::2], y[1::2], max_error=0.2))
        >>> FeedbackMonitor(clf).observe(X[1::2], y[1::2], labels="all").promise_drift.alarm
        False
        """
        return None if self._promise_test is None else self._promise_test.state()

    def regions(self) -> Any:
        """Return one row per region that has decided a record, the most wrong verdicts first.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Of the same library as the training set. `n` counts all records, `n_right` and `n_wrong` those with a label;
            `trust` is the mean given, `share_right` what came true, with its exact 95 % interval from `low` to `high`;
            `exceeds` is whether more than `n_imp` were wrong, `calibrated` whether the mean trust lies in the interval.
            Names are those of `Assessment.region`: a grown ellipsoid has a row of its own. Of an ensemble there is one
            row for each label given, `n_imp` is None, and `exceeds` is False.

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
            `observed` counts the records up to the end of the batch; `share` is that of `drift`. Records with missing
            values do not count.

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
        return self._watched.frame(
            {
                "observed": np.cumsum(counts[:, 0]),
                "n": counts[:, 0],
                "share": counts[:, 1:].mean(axis=1) / n,
                "log_evidence": np.array(test.bets.log_evidence, dtype=np.float64),
            }
        )

    def report(self) -> FeedbackReport:
        """Return all counts and tests in one object, as text or as a dict.

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
        often = np.bincount(observed.labelled()[1], minlength=len(observed.labels))[len(self._watched.model.classes) :]
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
            promise_drift=self.promise_drift,
            series=tuple(self._data_watch.records()),
            expected_accuracy=self._accuracy_records(),
            n_repeated=observed.n_repeated(),
        )

    def _region_records(self) -> list[RegionRecord]:
        partitions = getattr(self._watched.classifier, "partitions_", None)
        return self._observations.region_records(None if partitions is None else [p.n_imp for p in partitions])

    def _frame(self, records: list[Any], kind: type[Any]) -> Any:
        return self._watched.frame({name: [getattr(r, name) for r in records] for name in kind._fields})

    def repartition(
        self,
        min_records: int = 1,
        *,
        forget: Forgetting | str | None = None,
        on_step: Callable[[int, int], None] | None = None,
    ) -> tuple[Any, PartitionChanges]:
        """Partition afresh, with the observed labelled records in the training set.

        Parameters
        ----------
        min_records : int, default=1
            Fewer labelled records than this are refused.
        forget : Forgetting or "auto", optional
            Weights of old records: a window, ``Forgetting("window", 300)``, or fading with a half-life of 300 records,
            ``Forgetting("fading", 300)``. "auto" chooses the one of several that predicts the newest fifth of the
            observed records best. By default all weights are equal.
        on_step : callable, optional
            Called as ``on_step(n_done, n_total)`` after each of the fits that "auto" tries.

        Returns
        -------
        clf : SEPClassifier, SEPEnsembleClassifier or TablePipeline
            A new one, of the same parameters; a pipeline with the same encoder. Rows of the old training set keep their
            numbers, observed records follow in the order in which they came. Old records may differ in the last digit,
            as the classifier keeps them in its own units.
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
        new, changes = refitted(self._watched, self._observations, min_records, forget, on_step)
        if self._log is not None:
            self._log.begin(fingerprint(Watched(new).classifier), self._log.settings | {"promise": None})
        return new, changes

    def __repr__(self) -> str:
        return f"FeedbackMonitor of {self.clf!r}:\n{self.report()!r}"
