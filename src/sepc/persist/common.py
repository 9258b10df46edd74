"""What all classifiers with a trust score have, to arrays and JSON and back."""

import math
import warnings
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc.base import TrustClassifier
from sepc.errors import InputError, SepcWarning
from sepc.frames import FrameMaker, plain
from sepc.geometry._checks import LARGEST_COORDINATE, Rows
from sepc.label_sets import LabelScores
from sepc.model import Outline, TrainingRecords
from sepc.persist.drawers import Inbox, Outbox, require, require_flag, require_texts
from sepc.persist.pieces import Header

Fitted = TypeVar("Fitted", bound=TrustClassifier)

LIBRARIES = ("pandas", "polars")


class Known(NamedTuple):
    """What is known of a model before its pieces are looked at.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    class_count : ndarray of int, shape (n_classes,)
    features : list of str
    has_rows : bool
        Whether the training records are in the file.

    Examples
    --------
    >>> Known(np.array(["a", "b"]), np.array([3, 4]), ["x0"], True).n
    7
    """

    classes: NDArray[Any]
    class_count: Rows
    features: list[str]
    has_rows: bool

    @property
    def n(self) -> int:
        """Number of training records."""
        return int(self.class_count.sum())

    @property
    def n_problems(self) -> int:
        """Number of binary problems."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def dim(self) -> int:
        """Number of features."""
        return len(self.features)


def pack_common(out: Outbox, clf: TrustClassifier, training_rows: bool) -> Header:
    """Put classes, their counts and the calibration into arrays; return parameters, names and the rest."""
    out.put("class_count", clf.class_count_)
    if clf._calibration is not None:
        scores, codes = clf._calibration.scores, clf._calibration.codes
        # The order says which record got which score; the sets do not depend on it.
        order = slice(None) if training_rows else np.lexsort((scores, codes))
        out.put("calibration_scores", scores[order])
        out.put("calibration_codes", codes[order])
    return {
        "parameters": pack_parameters(clf.get_params(deep=False)),
        "classes": pack_labels(out, clf.classes_),
        "features": list(clf._model.features),
        "features_have_names": hasattr(clf, "feature_names_in_"),
        "frames": clf._frames.library,
        "training_rows": training_rows,
    }


def unpack_common(box: Inbox, header: Header, kind: type[Fitted]) -> tuple[Fitted, Known]:
    """Return a classifier with its parameters and all that does not depend on its kind."""
    classes = unpack_labels(box, header["classes"])
    features = require_texts(header["features"])
    require(len(classes) >= 2 and len(features) >= 1, "classes and features")
    class_count = box.whole("class_count", (len(classes),), 1, 1 << 48)
    known = Known(classes, class_count, features, require_flag(header["training_rows"]))
    clf = kind(**unpack_parameters(header["parameters"], kind().get_params(deep=False)))
    clf.classes_, clf.class_count_, clf.n_features_in_ = classes, class_count, known.dim
    if require_flag(header["features_have_names"]):
        clf.feature_names_in_ = np.array(features, dtype=object)
    require(header["frames"] in LIBRARIES, "library of data frames")
    clf._frames = FrameMaker(header["frames"])
    clf._calibration = _unpacked_calibration(box, len(classes))
    return clf, known


def _unpacked_calibration(box: Inbox, n_classes: int) -> LabelScores | None:
    if "calibration_scores" not in box:
        return None
    scores = box.numbers("calibration_scores", (None,))
    require(len(scores) > 0, "calibration records")
    return LabelScores(scores, box.whole("calibration_codes", (len(scores),), 0, n_classes), n_classes)


def pack_records(out: Outbox, records: TrainingRecords) -> None:
    """Put training records into arrays."""
    for name, array in records._asdict().items():
        out.put(name, array)


def unpack_records(box: Inbox, known: Known) -> TrainingRecords:
    """Return the training records."""
    codes = box.whole("codes", (known.n,), 0, len(known.classes))
    rows = box.whole("rows", (known.n,), 0, known.n)
    require(np.array_equal(np.bincount(codes, minlength=len(known.classes)), known.class_count), "class counts")
    require(len(np.unique(rows)) == known.n, "rows")
    return TrainingRecords(box.numbers("points", (known.n, known.dim)), codes, rows)


def pack_outline(out: Outbox, outline: Outline) -> None:
    """Put an outline into arrays."""
    out.put("constant", outline.constant)
    out.put("middles", outline.middles)


def unpack_outline(box: Inbox, known: Known) -> Outline:
    """Return an outline."""
    constant = box.any_numbers("constant", (known.dim,))
    middles = box.any_numbers("middles", (len(known.classes), known.dim))
    for array in (constant, middles):
        require(not (np.abs(array) > LARGEST_COORDINATE).any(), "outline")
    return Outline(constant, middles)


def pack_labels(out: Outbox, classes: NDArray[Any]) -> Header:
    """Put class labels into an array if they are numbers or texts of NumPy; return them if they are Python's texts.

    Examples
    --------
    >>> pack_labels(Outbox(), np.array(["a", "b"], dtype=object))
    {'texts': ['a', 'b']}
    """
    if classes.dtype == object and all(type(label) is str for label in classes.tolist()):
        return {"texts": classes.tolist()}
    if classes.dtype.kind not in "biufU" or (classes.dtype.itemsize > 8 and classes.dtype.kind == "f"):
        raise InputError(
            f"the classes are {classes[:3].tolist()}, of type {classes.dtype}; expected texts, numbers of at most 64 "
            "bits or bools, which a file can hold. Fit with such labels."
        )
    out.put_as_it_is("classes", classes)
    return {"texts": None}


def unpack_labels(box: Inbox, header: Header) -> NDArray[Any]:
    """Return class labels, in ascending order."""
    if header["texts"] is None:
        classes = box.as_it_is("classes")
    else:
        classes = np.array(require_texts(header["texts"]), dtype=object)
    require(classes.ndim == 1 and np.array_equal(np.unique(classes), classes), "classes")
    return classes


def pack_parameters(parameters: Mapping[str, Any]) -> Header:
    """Return the parameters that a file can hold; warn of the others.

    Examples
    --------
    >>> pack_parameters({"n_imp": np.int64(2), "trust": "local"})
    {'n_imp': 2, 'trust': 'local'}
    """
    kept = {name: plain(value) for name, value in parameters.items() if _can_be_kept(plain(value))}
    for name in parameters.keys() - kept.keys():
        warnings.warn(
            f"{name} is {parameters[name]!r}, which a file cannot hold: the loaded classifier will have the default. "
            "Nothing but another fit depends on it. Set it to a number before saving, or after loading.",
            SepcWarning,
            stacklevel=2,
        )
    return kept


def unpack_parameters(given: Any, allowed: Collection[str]) -> dict[str, Any]:
    """Return parameters, all of which are known."""
    require(isinstance(given, dict) and all(name in allowed for name in given), "parameters")
    require(all(_can_be_kept(value) for value in given.values()), "values of parameters")
    return dict(given)


def _can_be_kept(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
