"""A model that was saved without its training records, and a table that has them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sepc.common.errors import InputError
from sepc.common.messages import message
from sepc.common.typing import FloatArray

_SAME = 1e-6  # of probabilities of the same fit on another machine


def lacks_training_records(clf: Any) -> bool:
    """Return whether a fitted classifier has no training records, which a monitor and a refit need."""
    return clf.on_points().model_.records is None


def with_training_records(clf: Any, X: Any, y: NDArray[Any]) -> Any:
    """Return the same classifier with its training records, which rows and their labels hold, perhaps among others.

    It is fitted again to the rows that it has learned, and must come out the same; raise an `InputError` if not.
    """
    old, points = clf.on_points(), np.asarray(clf.points(X))
    known = old.has_learned(_named(old, points))
    if known is None:
        raise InputError("desk-training-unknown")
    rows, n_learned = np.flatnonzero(known), int(np.sum(old.class_count_))
    if len(rows) < n_learned:
        raise InputError("desk-training-other", n_rows=len(points), n_known=len(rows), n_learned=n_learned)
    points, labels = points[rows], np.asarray(y)[rows]
    new = clone(old).fit(_named(old, points), labels)
    if new.model_.classes.tolist() != old.model_.classes.tolist() or not np.allclose(
        new.predict_proba(_named(old, points)), old.predict_proba(_named(old, points)), rtol=0.0, atol=_SAME
    ):
        raise InputError("desk-training-differs", n_rows=len(rows), n_learned=n_learned)
    new._change_limits, new.about_ = old.change_limits, old.about_
    if old.promise is not None:
        same = old.promise.key in (None, new.model_.key())
        new.sign(old.promise if same else old.promise.withdrawn(message("desk-promise-elsewhere")))
    made = clf.core.with_classifier(new)
    return made if clf.core is clf else clf.with_classifier(made)


def _named(clf: Any, points: FloatArray) -> Any:
    """Return points under the names of the features, if the training set had any."""
    names = getattr(clf, "feature_names_in_", None)
    return points if names is None else clf.frame_maker.frame({str(name): points[:, j] for j, name in enumerate(names)})
