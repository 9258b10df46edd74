"""Lazy predictions for Dask collections, chunk by chunk.

The classifier is in the graph of tasks once, without the training records where the predictions do not need them. No
prediction depends on the other rows of a chunk.
"""

from collections.abc import Callable
from functools import partial
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
from sepc.model.acceptance import Terms, min_trust_of
from sepc.model.assessment import DERIVED, Assessment
from sepc.model.decision import Decision
from sepc.model.fitted_model import FittedModel


class DaskPoints:
    """Predictions of a fitted classifier for a Dask collection; number and names of its columns are checked."""

    def __init__(self, clf: Any, X: Any) -> None:
        self._clf, self._X = clf, X

    @property
    def label(self) -> da.Array:
        """Label of each point, shape (n,)."""
        classes = self._clf.classes_
        return self._decisions.map_blocks(_label, classes, meta=classes[:0], dtype=classes.dtype)

    @property
    def proba(self) -> da.Array:
        """Probability of each label, shape (n, n_classes)."""
        return _field(self._decisions, "proba", np.empty((0, len(self._clf.classes_))))

    @property
    def trust(self) -> da.Array:
        """Trust in the label, shape (n,)."""
        return _field(self._decisions, "trust", np.empty(0))

    @property
    def _decisions(self) -> da.Array:
        """An array whose chunks are decisions."""
        return _by_chunk(_decision, self._clf, self._X, self._clf.model_.for_decisions())

    def assessment(self) -> "DaskAssessment":
        """Return a full record of each point."""
        model = self._clf.model_.for_assessments()
        chunks = _by_chunk(_assessment, self._clf, self._X, model)
        return DaskAssessment(chunks, model.assess(np.empty((0, len(model.features))), FrameMaker()), self._X)


class DaskAssessment(Assessment):
    """One record per point of a Dask collection, made on demand.

    Its columns are Dask arrays. They share their work if they are computed together, by ``dask.compute(a.label,
    a.trust)`` or by `compute`. The chunks of `chunks` are assessments; `nothing`, one of no points, has the types of
    the columns.
    """

    def __init__(self, chunks: da.Array, nothing: Assessment, X: Any) -> None:
        self._chunks, self._nothing, self._X = chunks, nothing, X
        makers = {name: partial(self._column, name) for name in (*nothing.names, *DERIVED)}
        super().__init__(
            makers, FrameMaker(), nothing.classes, nothing.has_regions, nothing.has_costs, features=nothing.features
        )

    def _column(self, name: str, _: Assessment) -> da.Array:
        return _field(self._chunks, name, getattr(self._nothing, name))

    def __len__(self) -> int:
        return len(self._chunks)

    def _evaluated(self, question: Callable[..., Any], terms: Terms, *args: Any) -> da.Array:
        if terms.groups is not None:
            raise InputError("groups-with-dask")
        terms = terms._replace(min_trust=min_trust_of(self, terms.min_trust))
        answer = question(self._nothing, terms, *args)  # wrong arguments are refused now
        return self._chunks.map_blocks(partial(_evaluated, question, terms, args), meta=answer, dtype=answer.dtype)

    def to_frame(self) -> Any:
        """Return one row per point as a Dask data frame.

        The index and the divisions of a data frame are kept. Rows of an array are numbered; where the sizes of its
        chunks are unknown, in each chunk from 0.
        """
        import dask.dataframe as dd

        meta = self._frame_of_nothing()
        chunks, firsts = self._chunks.to_delayed().ravel(), self._first_rows()
        frames = [dask.delayed(_frame)(part, first, meta.dtypes) for part, first in zip(chunks, firsts, strict=True)]
        return dd.from_delayed(frames, meta=meta, divisions=self._divisions(), verify_meta=False)

    def _frame_of_nothing(self) -> Any:
        # With one row: pandas tells text from other objects by what it sees.
        one = {name: np.zeros(1, values.dtype) for name, values in self._nothing.shown().items()}
        one |= {"label": self.classes[:1], "region": np.array([""], dtype=object)}
        meta = FrameMaker().frame(one).iloc[:0]
        return meta if isinstance(self._X, da.Array) else meta.set_axis(self._X._meta.index, axis=0)

    def _first_rows(self) -> list[int | None]:
        """Return the number of the first row of each chunk; None where rows have names, or it is unknown."""
        sizes = self._chunks.chunks[0]
        if np.isnan(sizes).any():
            return [None] * len(sizes)
        return [0, *accumulate(sizes[:-1])]

    def _divisions(self) -> tuple[Any, ...] | None:
        if not isinstance(self._X, da.Array):
            return self._X.divisions if self._X.known_divisions else None
        sizes = self._chunks.chunks[0]
        known = all(size > 0 for size in sizes)  # NaN is not
        return (0, *accumulate(sizes[:-1]), sum(sizes) - 1) if known else None

    def compute(self, **kwargs: Any) -> Assessment:
        """Return the assessment of all points; keyword arguments are those of ``dask.compute``."""
        whole = Assessment.joined(dask.compute(*self._chunks.to_delayed().ravel(), **kwargs))
        whole.promise = self.promise
        return whole

    def __repr__(self) -> str:
        n = self._chunks.shape[0]
        many = "an unknown number of" if np.isnan(n) else n
        return f"DaskAssessment of {many} points in {self._chunks.npartitions} chunks"


def _by_chunk(ask: Callable[..., Any], clf: Any, X: Any, model: FittedModel) -> da.Array:
    """Return an array whose chunks are what `ask` makes of those of `X` with a model."""
    if getattr(X, "ndim", None) != 2:
        raise InputError("dask-dimensions", type=type(X).__name__, n_dimensions=getattr(X, "ndim", "unknown"))
    validate_data(clf, X if isinstance(X, da.Array) else X._meta, reset=False, skip_check_array=True)
    names, read = getattr(clf, "feature_names_in_", None), clf.columns_read_
    if read is not None:
        X, names = X[:, read] if isinstance(X, da.Array) else X[list(X.columns[read])], None
    nothing = np.empty(0, dtype=object)
    known, takes_gaps = dask.delayed(model, traverse=False), takes_missing_values(clf)
    if isinstance(X, da.Array):
        whole = X.rechunk({1: -1})
        return da.map_blocks(ask, whole, known, names, takes_gaps, drop_axis=1, meta=nothing, dtype=object)
    return X.map_partitions(ask, known, names, takes_gaps, meta=nothing, enforce_metadata=False)


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


def _evaluated(question: Callable[..., Any], terms: Terms, args: tuple[Any, ...], part: Assessment) -> NDArray[Any]:
    return np.asarray(question(part, terms, *args))


def _frame(part: Assessment, first: int | None, dtypes: Any) -> Any:
    frame = part.to_frame().astype(dtypes)
    return frame if first is None else frame.set_axis(range(first, first + len(frame)), axis=0)
