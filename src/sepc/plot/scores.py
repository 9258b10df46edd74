"""Labels and confidences by any classifier, with or without a trust score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray
from sepc.common.validation import new_points, require_labels
from sepc.estimators.classifier import SEPClassifier


def predictions(clf: Any, X: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the label of each point, and its confidence: its trust, or the largest probability."""
    if hasattr(clf, "trust_score"):
        return np.asarray(clf.predict(X)), np.asarray(clf.trust_score(X))
    if hasattr(clf, "predict_proba"):
        return np.asarray(clf.predict(X)), np.asarray(clf.predict_proba(X)).max(axis=1)
    raise InputError("clf-without-confidence", type=type(clf).__name__)


def last_step(clf: Any) -> Any:
    """Return the last step of a pipeline; any other estimator itself."""
    return clf[-1] if isinstance(clf, Pipeline) else clf


def partitioned(clf: Any, display: str) -> SEPClassifier:
    """Return the SEPClassifier: `clf` itself, the last step of a pipeline, or that of the regions around a model."""
    last = getattr(last_step(clf), "by_regions", last_step(clf))
    if not isinstance(last, SEPClassifier):
        raise InputError("display-needs-partition", type=type(last).__name__, display=display)
    check_is_fitted(last)
    return last


def prepared(clf: Any, X: Any) -> Any:
    """Return the points transformed by all but the last step of a pipeline; unchanged if there is no pipeline."""
    # By steps: a slice of a pipeline is made by its constructor, and subclasses may have one of their own.
    for _, step in clf.steps[:-1] if isinstance(clf, Pipeline) else ():
        X = X if step in (None, "passthrough") else step.transform(X)
    return X


def features_of(clf: Any, X: Any) -> FloatArray:
    """Return the points as features of the regions: without the last step of a pipeline, or as encoded for them."""
    X, last = prepared(clf, X), last_step(clf)
    return last.features(X) if hasattr(last, "features") else new_points(last, X)


def assessed(clf: Any, X: Any, display: str) -> Any:
    """Return the `Assessment` of the points, by the last step of a pipeline if the pipeline itself has none."""
    if hasattr(clf, "assess"):
        return clf.assess(X)
    last = last_step(clf)
    if hasattr(last, "assess"):
        return last.assess(prepared(clf, X))
    raise InputError("display-needs-regions", type=type(last).__name__, display=display)


def labels_of(y: Any, n: int, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of the class of each label."""
    require_labels(y)
    labels = np.asarray(y).ravel()
    if len(labels) != n:
        raise InputError("labels-and-rows", n_labels=len(labels), n_rows=n)
    numbers = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in numbers]
    if unknown:
        raise InputError("label-not-trained", label=unknown[0], classes=classes.tolist())
    return np.array([numbers[label] for label in labels.tolist()], dtype=np.int64)


def require_positive(value: Any, name: str) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise InputError("not-a-positive-integer", name=name, value=value)
