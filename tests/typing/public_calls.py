"""Types of the main public calls as a user's checker sees them; mypy reads this file and nothing runs it."""

import os
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.estimators import NImpPath, PredictionSets
from sepc.explanations import Explanation
from sepc.feedback import Drift, FeedbackMonitor, FeedbackReport, PartitionChanges
from sepc.geometry import MVE, Ellipsoid, HullPair, IntersectionCover, Separation
from sepc.landscapes import DataLandscape, FittedLandscape
from sepc.model import Assessment
from sepc.partitions import Partition
from sepc.promises import PromisePreview, TrustThreshold
from sepc.reports import Report
from sepc.tables import TablePipeline

Floats = NDArray[np.float64]


def classifiers(X: Floats, y: NDArray[np.str_]) -> None:
    clf = assert_type(SEPClassifier(n_imp=2, trust="local").fit(X, y), SEPClassifier)
    assert_type(SEPEnsembleClassifier(n_estimators=5).fit(X, y), SEPEnsembleClassifier)
    assert_type(clf.predict(X), NDArray[Any])
    assert_type(clf.predict_proba(X), Floats)
    assert_type(clf.trust_score(X), Floats)
    assert_type(clf.under(class_prior={"a": 0.1}), SEPClassifier)
    assert_type(clf.calibrate(X, y).predict_set(X), PredictionSets)
    assert_type(clf.landscape_, FittedLandscape)
    assert_type(clf.query(X, 3), NDArray[np.int64])
    assert_type(sepc.select_n_imp(X, y, candidates=[2, 5]), NImpPath)


def verdicts(clf: SEPClassifier, X: Floats) -> None:
    a = assert_type(clf.assess(X), Assessment)
    assert_type(a.trust, Floats)
    assert_type(a.accepted(min_trust=0.95), NDArray[np.bool_])
    assert_type(a.typicality, Floats)
    e = assert_type(clf.explain(X[0]), Explanation)
    assert_type(e.text, str)
    assert_type(e.trust, float)
    assert_type(e.to_dict(), dict[str, Any])


def promises(clf: SEPClassifier, X: Floats, y: NDArray[np.str_]) -> None:
    promise = assert_type(sepc.select_min_trust(clf, X, y, max_error=0.05), TrustThreshold)
    assert_type(promise.min_trust, float)
    assert_type(clf.assess(X).accepted(promise), NDArray[np.bool_])
    assert_type(sepc.promises.preview_promise(clf, max_error=0.05), PromisePreview)


def tables_files_reports(table: Any, y: Any, path: os.PathLike[str]) -> None:
    model = assert_type(sepc.make_table_pipeline(SEPClassifier()), TablePipeline)
    sepc.save(model.fit(table, y), path, training_rows=False)
    assert_type(model.fit(table, y), TablePipeline)
    assert_type(model.assess(table), Assessment)
    assert_type(model.query(table), NDArray[np.int64])
    assert_type(sepc.landscape(table, y), DataLandscape)
    result = assert_type(sepc.report(model, table, y), Report)
    assert_type(result.html(), str)
    assert_type(sepc.persist.rules_dict(model), dict[str, Any])


def monitoring(clf: SEPClassifier, X: Floats, y: NDArray[np.str_]) -> None:
    monitor = FeedbackMonitor(clf)
    monitor.observe(X, y, labels="all")
    assert_type(monitor.drift, Drift)
    assert_type(monitor.error_drift, Drift | None)
    assert_type(monitor.report(), FeedbackReport)
    assert_type(monitor.repartition()[1], PartitionChanges)


def geometry(A: Floats, B: Floats) -> None:
    m = assert_type(sepc.geometry.min_volume_ellipsoid(A), MVE)
    E = assert_type(m.ellipsoid, Ellipsoid)
    assert_type(E.contains(B), NDArray[np.bool_])
    assert_type(sepc.geometry.nearest_points(A, B), HullPair)
    assert_type(sepc.geometry.separate(E, E), Separation)
    assert_type(sepc.geometry.cover_intersection(E, E), IntersectionCover)
    assert_type(sepc.partitions.partition(A, B, n_imp=2), Partition)


def measures(y: NDArray[np.str_], label: NDArray[np.str_], trust: Floats) -> None:
    assert_type(sepc.metrics.aurc(y, label, trust), float)
    assert_type(sepc.__version__, str)


def names_that_do_not_exist_are_found() -> None:
    # mypy says so if an ignored error is none.
    print(sepc.geometry.min_volume_elipsoid)  # type: ignore[attr-defined]
    print(sepc.select_min_trsut)  # type: ignore[attr-defined]
