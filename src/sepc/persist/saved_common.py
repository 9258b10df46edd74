"""Parameters, labels, calibration and training records of any classifier, to arrays and JSON and back."""

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError, warn
from sepc.common.frames import FrameMaker, plain
from sepc.common.typing import LARGEST_COORDINATE, BoolArray, IntArray
from sepc.estimators.base import TrustClassifier
from sepc.estimators.label_sets import LabelScores
from sepc.explanations.change_limits import ChangeLimits
from sepc.model.bitsets import packed, unpacked
from sepc.model.column_scales import ColumnScales, Curves
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.reach import Reach
from sepc.model.row_digests import About
from sepc.partitions.problems import Problem, problems_of
from sepc.persist.named_arrays import (
    ArrayReader,
    ArrayWriter,
    require,
    require_flag,
    require_integer,
    require_texts,
)
from sepc.persist.saved_parts import Header
from sepc.promises import TrustThreshold

Fitted = TypeVar("Fitted", bound=TrustClassifier)

_STATED = ("class_prior", "costs")


class TrainingSummary(NamedTuple):
    """Classes, features and number of training records of a saved model, to check its arrays by."""

    classes: NDArray[Any]
    class_count: IntArray
    features: list[str]
    has_rows: bool

    @property
    def n(self) -> int:
        """Number of training records."""
        return int(self.class_count.sum())

    def problems(self, n: int, codes: IntArray | None = None) -> list[Problem]:
        """Return the problems of a file that has n of them, of points with these classes; refuse another number."""
        found = problems_of(np.empty(0, dtype=np.int64) if codes is None else codes, self.classes, one_vs_rest=n > 1)
        require(n == len(found), "number of problems")
        return found

    @property
    def dim(self) -> int:
        """Number of features."""
        return len(self.features)


def pack_common(
    writer: ArrayWriter, clf: TrustClassifier, training_rows: bool, without: Collection[str] = ()
) -> Header:
    """Put classes, their counts and the calibration into arrays; return parameters, names and the rest.

    The parameters are those of the constructor `without` some.
    """
    parameters = clf.get_params(deep=False)
    writer.put("class_count", clf.class_count_)
    if clf._digests is not None:
        writer.put("row_digests", clf._digests[:, None])
    if clf._calibration is not None:
        scores, codes = clf._calibration.scores, clf._calibration.codes
        # Sorted unless rows are saved: the order would link scores to records; label sets do not depend on it.
        order = slice(None) if training_rows else np.lexsort((scores, codes))
        writer.put("calibration_scores", scores[order])
        writer.put("calibration_codes", codes[order])
    return {
        "parameters": pack_parameters({name: parameters[name] for name in parameters.keys() - without}),
        "stated": {name: _pack_stated(getattr(clf, name)) for name in _STATED},
        "classes": pack_labels(writer, clf.classes_),
        "features": list(clf.model_.features),
        "features_have_names": hasattr(clf, "feature_names_in_"),
        "frames": clf._frames.library,
        "training_rows": training_rows,
        "about": clf.about_._asdict(),
        **({} if clf.columns_read_ is None else {"read": _packed_read(clf)}),
        **({} if clf.promise is None else {"promise": _packed_promise(clf.promise)}),
        **({} if clf.change_limits is None else {"change_limits": _packed_limits(clf.change_limits)}),
    }


def unpack_common(
    reader: ArrayReader, header: Header, cls: type[Fitted], **given: Any
) -> tuple[Fitted, TrainingSummary]:
    """Return a classifier with its parameters, some of them `given`, and all that does not depend on its class."""
    classes = unpack_labels(reader, header["classes"])
    features = require_texts(header["features"])
    require(len(classes) >= 2 and len(features) >= 1, "classes and features")
    class_count = reader.integers("class_count", (len(classes),), 1, 1 << 48)
    summary = TrainingSummary(classes, class_count, features, require_flag(header["training_rows"]))
    stated = {name: _unpack_stated(header["stated"][name]) for name in _STATED}
    allowed = cls(**given).get_params(deep=False).keys() - given.keys()
    clf = cls(**unpack_parameters(header["parameters"], allowed), **given, **stated)
    clf.classes_, clf.class_count_, clf.n_features_in_ = classes, class_count, summary.dim
    if require_flag(header["features_have_names"]):
        clf.feature_names_in_ = np.array(features, dtype=object)
    require(header["frames"] in ("pandas", "polars"), "library of data frames")
    clf._frames = FrameMaker(header["frames"])
    clf._calibration = _unpacked_calibration(reader, len(classes))
    if "read" in header:
        _unpack_read(clf, header["read"])
    clf.about_ = _unpacked_about(header["about"])
    if "row_digests" in reader:
        clf._digests = reader.bits("row_digests", (None, 1), 64)[:, 0]
    clf._promise = TrustThreshold.from_dict(header["promise"]) if "promise" in header else None
    clf._change_limits = _unpacked_limits(header["change_limits"]) if "change_limits" in header else None
    return clf, summary


def _packed_read(clf: TrustClassifier) -> Header:
    """Return which columns a model reads, of how many, and the names of all if they have some."""
    assert clf.columns_read_ is not None
    names = getattr(clf, "feature_names_in_", None)
    columns, n = clf.columns_read_.tolist(), int(clf.n_features_in_)
    return {"columns": columns, "n_columns": n, "names": None if names is None else names.tolist()}


def _unpack_read(clf: TrustClassifier, packed: Header) -> None:
    """Set the columns that the model of a classifier reads, and all that it takes."""
    read, n = np.array(packed["columns"], dtype=np.int64), require_integer(packed["n_columns"])
    ascending = len(read) == clf.n_features_in_ and bool((np.diff(read) > 0).all())
    require(ascending and read[0] >= 0 and read[-1] < n, "columns that are read")
    clf.columns_read_, clf.n_features_in_ = read, n
    if packed["names"] is not None:
        names = np.array(require_texts(packed["names"], n), dtype=object)
        require(np.array_equal(names[read], clf.feature_names_in_), "names of columns")
        clf.feature_names_in_ = names


def _unpacked_about(packed: Header) -> About:
    about = About(**packed)
    require_texts([about.name, about.fitted_on, about.data, *about.tags, *about.tags.values()])
    return about


def _packed_limits(limits: ChangeLimits) -> Header:
    return {"fixed": list(limits.fixed), "ranges": {name: list(ends) for name, ends in limits.ranges.items()}}


def _unpacked_limits(packed: Header) -> ChangeLimits:
    ranges = {name: tuple(ends) for name, ends in packed["ranges"].items()}
    for ends in ranges.values():
        require(len(ends) == 2 and all(type(end) in (float, int, str, type(None)) for end in ends), "range of a column")
    return ChangeLimits(tuple(require_texts(packed["fixed"])), ranges)


def _packed_promise(promise: Any) -> Header:
    """Return a promise as JSON; refuse one of another class."""
    if not isinstance(promise, TrustThreshold):
        raise InputError("signed-promise-type", type=type(promise).__name__)
    return promise.to_dict()


def _unpacked_calibration(reader: ArrayReader, n_classes: int) -> LabelScores | None:
    if "calibration_scores" not in reader:
        return None
    scores = reader.numbers("calibration_scores", (None,))
    require(len(scores) > 0, "calibration records")
    return LabelScores(scores, reader.integers("calibration_codes", (len(scores),), 0, n_classes), n_classes)


# Row numbers are smaller in any table.
MOST_ROWS = 1 << 48


def pack_records(writer: ArrayWriter, records: TrainingRecords) -> None:
    """Put training records into arrays."""
    for name in ("points", "codes", "rows"):
        writer.put(name, getattr(records, name))
    if records.gaps is not None:
        writer.put("gaps", packed(records.gaps))


def unpack_records(reader: ArrayReader, summary: TrainingSummary) -> TrainingRecords:
    """Return the training records."""
    codes = reader.integers("codes", (summary.n,), 0, len(summary.classes))
    rows = reader.integers("rows", (summary.n,), 0, MOST_ROWS)
    require(np.array_equal(np.bincount(codes, minlength=len(summary.classes)), summary.class_count), "class counts")
    points = reader.numbers("points", (summary.n, summary.dim))
    return TrainingRecords(points, codes, rows, _unpacked_gaps(reader, points.shape))


def _unpacked_gaps(reader: ArrayReader, shape: tuple[int, int]) -> BoolArray | None:
    """Return flags of missing values, None if there are none."""
    if "gaps" not in reader:
        return None
    gaps = unpacked(reader.bits("gaps", (shape[0], None), shape[1]), shape[1])
    require(bool(gaps.any()) and not gaps.all(axis=0).any(), "missing values")
    return gaps


def pack_outline(writer: ArrayWriter, outline: Outline) -> None:
    """Put an outline into arrays."""
    writer.put("constant", outline.constant)
    writer.put("middles", outline.middles)
    for name, ends in outline.reach._asdict().items():
        writer.put(f"reach_{name}", ends)


def unpack_outline(reader: ArrayReader, summary: TrainingSummary) -> Outline:
    """Return an outline."""
    constant = reader.any_numbers("constant", (summary.dim,))
    middles = reader.any_numbers("middles", (len(summary.classes), summary.dim))
    low, high, *ends = (reader.any_numbers(f"reach_{name}", (summary.dim,)) for name in Reach._fields)
    for array in (constant, middles):
        require(not (np.abs(array) > LARGEST_COORDINATE).any(), "outline")
    require(bool((low <= high).all()), "range of the training records")
    return Outline(constant, middles, Reach(low, high, *ends))


def pack_scales(writer: ArrayWriter, scales: ColumnScales) -> None:
    """Put scales of columns into arrays."""
    writer.put("mean", scales.mean)
    writer.put("scale", scales.scale)
    if not scales.is_linear:
        for name in ("columns", "ranked", "middle", "length", "quantiles"):
            writer.put(name, getattr(scales.curves, name))


def unpack_scales(reader: ArrayReader, dim: int) -> ColumnScales:
    """Return the scales of `dim` columns."""
    mean, scale = reader.numbers("mean", (dim,)), reader.positive("scale", (dim,))
    if "columns" not in reader:
        return ColumnScales(mean, scale)
    columns = reader.integers("columns", (None,), 0, dim)
    n = len(columns)
    quantiles = reader.numbers("quantiles", (None, n))
    require(n > 0 and bool((np.diff(columns) > 0).all()), "columns with a scale")
    require(len(quantiles) > 0 and bool((np.diff(quantiles, axis=0) >= 0.0).all()), "quantiles")
    ranked = reader.integers("ranked", (n,), 0, 2).astype(bool)
    curves = Curves(columns, ranked, reader.numbers("middle", (n,)), reader.positive("length", (n,)), quantiles)
    return ColumnScales(mean, scale, curves)


def pack_labels(writer: ArrayWriter, classes: NDArray[Any]) -> Header:
    """Put class labels into an array if they are numbers or NumPy's texts; return Python's texts."""
    if classes.dtype == object and all(type(label) is str for label in classes.tolist()):
        return {"texts": classes.tolist()}
    if classes.dtype.kind not in "biufU" or (classes.dtype.itemsize > 8 and classes.dtype.kind == "f"):
        raise InputError("classes-not-storable", classes=classes[:3].tolist(), dtype=str(classes.dtype))
    writer.put_unchanged("classes", classes)
    return {"texts": None}


def unpack_labels(reader: ArrayReader, header: Header) -> NDArray[Any]:
    """Return class labels, in ascending order."""
    if header["texts"] is None:
        classes = reader.unchanged("classes")
    else:
        classes = np.array(require_texts(header["texts"]), dtype=object)
    require(classes.ndim == 1 and np.array_equal(np.unique(classes), classes), "classes")
    return classes


def pack_parameters(parameters: Mapping[str, Any]) -> Header:
    """Return the parameters that a file can hold; warn about the others."""
    own = {name: plain(value) for name, value in sorted(parameters.items()) if name not in _STATED}
    kept = {name: value for name, value in own.items() if _can_be_kept(value)}
    for name in own.keys() - kept.keys():
        warn("seed-not-stored", name=name, value=parameters[name])
    return kept


def unpack_parameters(given: Any, allowed: Collection[str]) -> dict[str, Any]:
    """Return parameters, all of which are allowed."""
    require(isinstance(given, dict) and all(name in allowed for name in given), "parameters")
    require(all(_can_be_kept(value) for value in given.values()), "values of parameters")
    return dict(given)


def _can_be_kept(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))


def _pack_stated(value: Any) -> Any:
    """Return class priors or costs as JSON: numbers and lists as they are, dicts as lists of pairs."""
    if isinstance(value, Mapping):
        return {"pairs": [[plain(label), _pack_stated(of_label)] for label, of_label in value.items()]}
    return None if value is None else np.asarray(value, dtype=np.float64).tolist()


def _unpack_stated(packed: Any) -> Any:
    return {label: _unpack_stated(value) for label, value in packed["pairs"]} if isinstance(packed, dict) else packed
