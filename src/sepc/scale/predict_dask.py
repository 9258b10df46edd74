"""Predictions for Dask collections: described now, made chunk by chunk when they are asked for.

The classifier is in the graph of tasks once, without the training records where the answers do not need them. A chunk
is judged as it would be alone, which is also as it would be among all others.
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray
from sepc.common.validation import require_numbers, takes_missing_values
from sepc.model.assessment import USUAL_TRUST, Assessment
from sepc.model.calibration import STRANGE
from sepc.model.decision import Decision
from sepc.model.fitted_model import FittedModel
from sepc.model.promise import Promise

_NOTHING = np.empty(0, dtype=object)


def predict(clf: Any, X: Any) -> da.Array:
    """Return the label of each point, a Dask array of shape (n,).

    Parameters
    ----------
    clf : TrustClassifier
        Fitted.
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n, n_features)
        Number and names of its columns are checked now; its values are when they are there.

    Returns
    -------
    dask.array.Array of shape (n,)
    """
    classes = clf.classes_
    return _decisions(clf, X).map_blocks(_label, classes, meta=classes[:0], dtype=classes.dtype)


def decide(clf: Any, X: Any) -> Decision:
    """Return numbers of labels, trust and probabilities of all points, as Dask arrays."""
    decisions = _decisions(clf, X)
    nothing = Decision(
        np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, len(clf.classes_))), np.empty(0, dtype=bool)
    )
    return Decision(*(_field(decisions, name, getattr(nothing, name)) for name in nothing._fields[:4]))


def assess(clf: Any, X: Any) -> "DaskAssessment":
    """Return a full record of each point."""
    model = clf.model_.for_assessments()
    parts = _by_chunk(_assessment, clf, X, model)
    no_points = np.empty((0, len(model.features)))
    return DaskAssessment(parts, model.assess(no_points, FrameMaker()), X)


def _decisions(clf: Any, X: Any) -> da.Array:
    """Return an array whose chunks are decisions."""
    return _by_chunk(_decision, clf, X, clf.model_.for_decisions())


def _lazily(name: str, what: str) -> property:
    return property(lambda self: self._field(name), doc=what)


class DaskAssessment:
    """One record per point of a Dask collection, made when it is asked for.

    Its fields are those of `sepc.model.Assessment`, as Dask arrays. They share their work if they are asked for
    together, by ``dask.compute(a.label, a.trust)`` or by `compute`.

    Parameters
    ----------
    parts : dask.array.Array of shape (n,)
        Its chunks are assessments.
    nothing : Assessment
        Of no points: the types of the fields.
    X : dask.array.Array or dask.dataframe.DataFrame
        The points.
    """

    def __init__(self, parts: da.Array, nothing: Assessment, X: Any) -> None:
        self._parts, self._nothing, self._X = parts, nothing, X

    label = _lazily("label", "Label of each point, shape (n,).")
    trust = _lazily("trust", "Trust in that label, shape (n,).")
    odds = _lazily("odds", "Trust as odds, shape (n,).")
    rule = _lazily("rule", "Rule that decides, shape (n,).")
    reason = _lazily("reason", "How the label came about, shape (n,).")
    region = _lazily("region", "Name of the deciding region, shape (n,).")
    counts = _lazily("counts", "Training points of that label, and of all others, in the region, shape (n, 2).")
    distance = _lazily("distance", "To the nearest ellipsoid or isolated point, shape (n,).")
    contested = _lazily("contested", "Whether the label is contested, shape (n,).")
    typicality = _lazily("typicality", "Share of the training records that are at least as strange, shape (n,).")
    stability = _lazily("stability", "Share of the partitions without a part of the records that agree, shape (n,).")
    local_overlap = _lazily("local_overlap", "How alike ellipsoids of different labels are at the point, shape (n,).")
    expected_cost = _lazily("expected_cost", "What giving the label can be expected to cost, shape (n,).")
    asking_cost = _lazily("asking_cost", "What asking a person can be expected to cost, shape (n,).")
    known = _lazily("known", "Share of the features that are there, shape (n,).")
    agreement = _lazily("agreement", "Of an ensemble: the share of its weight that has the same label, shape (n,).")

    def _field(self, name: str) -> da.Array:
        return _field(self._parts, name, getattr(self._nothing, name))

    def __len__(self) -> int:
        return len(self._parts)

    def accepted(
        self,
        min_trust: float | Mapping[Any, float] | Promise = USUAL_TRUST,
        min_typicality: float = STRANGE,
        allow_outside: bool = True,
        *,
        groups: Any = None,
    ) -> da.Array:
        """Return which labels to accept, shape (n,); see `Assessment.accepted`."""
        return self._asked(groups, "accepted", min_trust, min_typicality, allow_outside)

    def refusals(
        self,
        min_trust: float | Mapping[Any, float] | Promise = USUAL_TRUST,
        min_typicality: float = STRANGE,
        allow_outside: bool = True,
        *,
        groups: Any = None,
    ) -> da.Array:
        """Return why labels are not accepted, shape (n,); see `Assessment.refusals`."""
        return self._asked(groups, "refusals", min_trust, min_typicality, allow_outside)

    def label_or(
        self,
        abstain_label: Any,
        min_trust: float | Mapping[Any, float] | Promise = USUAL_TRUST,
        min_typicality: float = STRANGE,
        *,
        groups: Any = None,
    ) -> da.Array:
        """Return the accepted labels, and `abstain_label` in place of the others, shape (n,)."""
        return self._asked(groups, "label_or", abstain_label, min_trust, min_typicality)

    def _asked(self, groups: Any, method: str, *args: Any) -> da.Array:
        if groups is not None:
            raise InputError(
                "groups are looked up for records in memory, and these are on Dask; expected none. Ask the assessment "
                "that compute() returns."
            )
        answer = getattr(self._nothing, method)(*args)  # wrong arguments are refused now
        return self._parts.map_blocks(_asked, method, args, meta=answer, dtype=answer.dtype)

    def to_frame(self) -> Any:
        """Return one row per point as a Dask data frame.

        The index and the divisions of a data frame are kept. Rows of an array are numbered; where the sizes of its
        chunks are unknown, in each chunk from 0.
        """
        import dask.dataframe as dd

        meta = self._frame_of_nothing()
        parts, firsts = self._parts.to_delayed().ravel(), self._first_rows()
        frames = [dask.delayed(_frame)(part, first, meta.dtypes) for part, first in zip(parts, firsts, strict=True)]
        return dd.from_delayed(frames, meta=meta, divisions=self._divisions(), verify_meta=False)

    def _frame_of_nothing(self) -> Any:
        # With one row: pandas tells text from other objects by what it sees.
        one = {name: np.zeros(1, values.dtype) for name, values in self._nothing._columns().items()}
        one |= {"label": self._nothing._classes[:1], "region": np.array([""], dtype=object)}
        meta = FrameMaker().frame(one).iloc[:0]
        return meta if isinstance(self._X, da.Array) else meta.set_axis(self._X._meta.index, axis=0)

    def _first_rows(self) -> list[int | None]:
        """Return the number of the first row of each chunk; None where its rows bear names, or it is unknown."""
        sizes = self._parts.chunks[0]
        if np.isnan(sizes).any():
            return [None] * len(sizes)
        return [0, *accumulate(sizes[:-1])]

    def _divisions(self) -> tuple[Any, ...] | None:
        if not isinstance(self._X, da.Array):
            return self._X.divisions if self._X.known_divisions else None
        sizes = self._parts.chunks[0]
        known = all(size > 0 for size in sizes)  # NaN is not
        return (0, *accumulate(sizes[:-1]), sum(sizes) - 1) if known else None

    def compute(self, **kwargs: Any) -> Assessment:
        """Return the assessment of all points; keyword arguments are those of ``dask.compute``."""
        return Assessment.joined(dask.compute(*self._parts.to_delayed().ravel(), **kwargs))

    def __repr__(self) -> str:
        n = self._parts.shape[0]
        many = "an unknown number of" if np.isnan(n) else n
        return f"DaskAssessment of {many} points in {self._parts.npartitions} chunks"


def _by_chunk(ask: Callable[..., Any], clf: Any, X: Any, model: FittedModel) -> da.Array:
    """Return an array whose chunks are what a model says of those of `X`."""
    if getattr(X, "ndim", None) != 2:
        raise InputError(
            f"X is a {type(X).__name__} of Dask with {getattr(X, 'ndim', 'unknown')} dimensions; expected a Dask array "
            "or data frame with one row per point. Reshape one feature with .reshape(-1, 1), one point with "
            ".reshape(1, -1)."
        )
    validate_data(clf, X if isinstance(X, da.Array) else X._meta, reset=False, skip_check_array=True)
    names = getattr(clf, "feature_names_in_", None)
    known, takes_gaps = dask.delayed(model, traverse=False), takes_missing_values(clf)
    if isinstance(X, da.Array):
        whole = X.rechunk({1: -1})
        return da.map_blocks(ask, whole, known, names, takes_gaps, drop_axis=1, meta=_NOTHING, dtype=object)
    return X.map_partitions(ask, known, names, takes_gaps, meta=_NOTHING, enforce_metadata=False)


def _field(chunks: da.Array, name: str, like: NDArray[Any]) -> da.Array:
    """Return one field of all chunks, of the type and width of an array without rows."""
    width: dict[str, Any] = {}
    if like.ndim == 2:
        width = {"new_axis": 1, "chunks": (*chunks.chunks, (like.shape[1],))}
    return chunks.map_blocks(getattr, name, meta=like, dtype=like.dtype, **width)


def _decision(chunk: Any, model: FittedModel, names: NDArray[Any] | None, takes_gaps: bool) -> Decision:
    return model.decide(_numbers(chunk, names, takes_gaps))


def _assessment(chunk: Any, model: FittedModel, names: NDArray[Any] | None, takes_gaps: bool) -> Assessment:
    return model.assess(_numbers(chunk, names, takes_gaps), FrameMaker.like(chunk))


def _numbers(chunk: Any, names: NDArray[Any] | None, takes_gaps: bool) -> FloatArray:
    """Return a chunk as it would be checked among all rows; it may have none."""
    X: FloatArray = check_array(chunk, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    if len(X):
        require_numbers(X, names, takes_gaps)
    return X


def _label(decision: Decision, classes: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(classes[decision.label])


def _asked(part: Assessment, method: str, args: tuple[Any, ...]) -> NDArray[Any]:
    return np.asarray(getattr(part, method)(*args))


def _frame(part: Assessment, first: int | None, dtypes: Any) -> Any:
    frame = part.to_frame().astype(dtypes)
    return frame if first is None else frame.set_axis(range(first, first + len(frame)), axis=0)
