"""Landscape of labelled data before a fit: overlap of the classes, their dimensions, findings.

Each class is described by its minimum-volume ellipsoid, the overlap of two classes by the number of training points in
both ellipsoids, and by the volume of the ellipsoid around these (the paper's overlap ratio, OVR).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from sepc.common.errors import warn
from sepc.common.frames import FrameMaker
from sepc.common.text import many, plural
from sepc.common.typing import FloatArray, IntArray, RowNumbers
from sepc.common.validation import TrainingSet, has_gaps, training_set
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.landscapes.column_findings import column_findings, same_column_findings
from sepc.landscapes.findings import (
    Finding,
    class_findings,
    feature_findings,
    gravest_first,
    outside_findings,
    pair_findings,
    record_findings,
)
from sepc.landscapes.known_values import KnownValues
from sepc.landscapes.linear_dependence import Relation, is_constant, known_relations
from sepc.landscapes.missing_findings import missing_findings
from sepc.landscapes.survey import ClassSummary, OnStep, PairOverlap, Survey
from sepc.model.incomplete import completed
from sepc.model.telling_columns import best_columns, is_wide, numbers_read, ranked_columns


@dataclass(frozen=True, eq=False, repr=False)
class DataLandscape:
    """Overlap and dimensions of the classes of labelled data, with findings; `landscape` returns it.

    Attributes
    ----------
    n_records, n_features : int
    features : tuple of str
    dimension : int
        Of the affine hull of all records; volumes are taken inside of it.
    notes : tuple of ClassSummary
        One for each class; `classes` is their table.
    overlaps : tuple of PairOverlap
        One for each pair of classes; `pairs` is their table.
    findings : tuple of Finding
        Gravest first.
    contradictions : tuple of tuple of int
        Groups of rows, from 0, that share all values though they are of several classes; the largest group first.
    ellipsoids : tuple of Ellipsoid
        Of minimum volume, one around each class, in the original units.
    n_passes : float
        Passes of the solvers over the records.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> view = landscape(*load_iris(return_X_y=True, as_frame=True))
    >>> view.pairs[["class_a", "class_b", "n_outside_a", "n_outside_b", "separable"]]
       class_a  class_b  n_outside_a  n_outside_b  separable
    0        0        1           50           50       True
    1        0        2           50           50       True
    2        1        2           47           45      False
    >>> [(finding.code, finding.severity) for finding in view.findings]
    [('separable', 'note')]
    """

    n_records: int
    n_features: int
    features: tuple[str, ...]
    dimension: int
    notes: tuple[ClassSummary, ...]
    overlaps: tuple[PairOverlap, ...]
    findings: tuple[Finding, ...]
    ellipsoids: tuple[Ellipsoid, ...]
    n_passes: float
    frames: FrameMaker
    contradictions: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def pairs(self) -> Any:
        """One row for each pair of classes, as a pandas or polars frame like the data; see `PairOverlap`."""
        return self._table([pair.row() for pair in self.overlaps])

    @cached_property
    def classes(self) -> Any:
        """One row for each class, as a pandas or polars frame like the data; see `ClassSummary`."""
        rows = [note.row() for note in self.notes]
        return self._table([{**row, "nearly_flat": ", ".join(row["nearly_flat"])} for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the ellipsoids as plain numbers, texts, lists and dicts, ready for JSON."""
        return {
            "n_records": self.n_records,
            "n_features": self.n_features,
            "features": list(self.features),
            "dimension": self.dimension,
            "classes": [note.row() for note in self.notes],
            "pairs": [pair.row() for pair in self.overlaps],
            "findings": [finding.to_dict() for finding in self.findings],
            "contradictions": [list(rows) for rows in self.contradictions],
        }

    def __repr__(self) -> str:
        return self.text("see .pairs")

    def text(self, all_pairs: str) -> str:
        """Return the landscape as lines of text; `all_pairs` says where all pairs of classes are."""
        lines = [self.title, *(f"  {_in_words(pair)}" for pair in self.overlaps[:6])]
        if len(self.overlaps) > 6:
            lines.append(f"  and {many(len(self.overlaps) - 6, 'more pair')} of classes: {all_pairs}")
        lines.append("Findings:" if self.findings else "No findings.")
        return "\n".join([*lines, *(f"  {finding}" for finding in self.findings)])

    def _repr_html_(self) -> str:
        tables = "".join(frame._repr_html_() for frame in (self.classes, self.pairs))
        found = "".join(finding._repr_html_() for finding in self.findings) or "<p>No findings.</p>"
        return f"<p>{escape(self.title)}</p>{tables}{found}"

    @property
    def title(self) -> str:
        """Numbers of records, features and classes, in one line."""
        hull = "" if self.dimension == self.n_features else f" (which fill {self.dimension} dimensions)"
        features = f"{self.n_features} {plural('feature', self.n_features)}"
        return f"Landscape of {self.n_records} records, {features}{hull}, {len(self.notes)} classes"

    def _table(self, rows: list[dict[str, Any]]) -> Any:
        return self.frames.frame({name: [row[name] for row in rows] for name in rows[0]})


def landscape(
    X: Any,
    y: Any,
    *,
    on_step: OnStep | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    rows_from: RowNumbers = 1,
    dates: Collection[str] = (),
    findings: Iterable[Finding] = (),
) -> DataLandscape:
    """Describe labelled data before anything is fitted: overlap of the classes, their dimensions, findings.

    Parameters
    ----------
    X : array-like of shape (n, d)
        An array, or a pandas or polars frame, of finite numbers; NaN where a value is missing.
    y : array-like of shape (n,)
        Two or more different labels: texts, numbers, or all of another type; none missing.
    on_step : callable, optional
        Called as ``on_step(n_done, n_total)`` after each class and each pair of classes; an error that it raises ends
        the run.
    columns : dict of str to sequence of str, optional
        The features that an encoder has made of each column of a table: findings are then on columns, and
        dependences by the encoding are no findings. By default each feature is a column of its own.
    rows_from : int or ndarray of int, shape (n,), default=1
        Number of the first row in findings, or the number of each.
    dates : collection of str, optional
        The columns of dates: their values may follow each other by equal steps without being ids.
    findings : iterable of Finding, optional
        More findings to show, such as `findings_` of the `TableEncoder` that X comes from.

    Returns
    -------
    DataLandscape

    Notes
    -----
    Findings speak of values that are there; where values are missing, and whether that depends on the label, are
    findings of their own. Ellipsoids are of the complete records. If these are less than half of a class, each gap is
    filled with what the other values of its record make likely, and there are no findings on overlaps.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [6.0]]
    >>> landscape(X, ["low"] * 4 + ["high"] * 3)
    Landscape of 7 records, 1 feature, 2 classes
      high and low: OVR 0.143 and 0.167; outside the overlap 2 of 3 and 3 of 4; OVL 0.142
    No findings.
    """
    frames = FrameMaker(FrameMaker.like(X).library)
    data = training_set(X, y, allow_nan=True)
    if is_wide(*data.X.shape):
        data, columns = _narrowed(data, columns)
    known = KnownValues.of(data.X, data.features, columns, dates)
    rows, points = _placed(known.X, data.codes)
    survey = Survey(data._replace(X=points, codes=data.codes[rows], features=known.features), on_step)
    overlaps = survey.overlaps()
    same = survey.contradictions(known.complete[rows])
    contradictions = tuple(tuple(rows[list(group)].tolist()) for group in same)
    sizes = np.bincount(data.codes).tolist()
    notes = zip(survey.class_summaries(), sizes, strict=True)
    return DataLandscape(
        n_records=len(data.X),
        n_features=len(survey.unit),
        features=tuple(survey.data.features),
        dimension=survey.hull.dimension,
        notes=tuple(replace(note, n_records=n, share=n / len(data.X)) for note, n in notes),
        overlaps=overlaps,
        findings=gravest_first([*findings, *_findings(survey, known, data.codes, overlaps, contradictions, rows_from)]),
        ellipsoids=survey.ellipsoids(),
        n_passes=survey.n_read / len(survey.data.X),
        frames=frames,
        contradictions=contradictions,
    )


def _narrowed(
    data: TrainingSet, columns: Mapping[str, Sequence[str]] | None
) -> tuple[TrainingSet, Mapping[str, Sequence[str]] | None]:
    """Return the columns of wide data that tell the labels apart best, as many as a model would read at most."""
    ranked, n = ranked_columns(data.X, data.codes), len(data.X)
    best = best_columns(ranked, data.features, numbers_read(n)[-1])[0]
    warn("landscape-screened", n_read=len(best), n_columns=data.X.shape[1], n_records=n)
    data = data.of_columns(best)
    if columns is not None:
        columns = {name: features for name, features in columns.items() if features[0] in data.features}
    return data, columns


def _placed(X: FloatArray, codes: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the records that ellipsoids are made of, and their points.

    They are the complete ones. If these are less than half of the records of a class they are all, with the conditional
    mean given a record's other values in place of each gap, as for the partition of a classifier.
    """
    complete = ~np.isnan(X).any(axis=1)
    if complete.all():
        return np.arange(len(X)), X
    if (2 * np.bincount(codes[complete], minlength=int(codes.max()) + 1) >= np.bincount(codes)).all():
        return np.flatnonzero(complete), X[complete]
    return np.arange(len(X)), completed(X)[0]


def _findings(
    survey: Survey,
    known: KnownValues,
    codes: IntArray,
    overlaps: Sequence[PairOverlap],
    contradictions: Sequence[Sequence[int]],
    rows_from: RowNumbers,
) -> Iterator[Finding]:
    sources, names = known.columns, known.features
    labels = [str(label) for label in survey.data.classes.tolist()]
    is_filled = len(survey.data.X) == len(codes) and has_gaps(known.X)
    yield from column_findings(known, codes)
    yield from missing_findings(sources, codes, labels, is_filled)
    # A column may be constant among the complete records alone.
    constant = [j for j in np.flatnonzero(survey.scale == 0.0).tolist() if is_constant(known.X[:, j])]
    # The indicators of a category add up to 1: without the last of them they are independent.
    scale = survey.scale.copy()
    scale[[column.features[-1] for column in sources if column.is_one_hot]] = 0.0
    relations = known_relations(known.X, scale, survey.total.covariance)
    of_indicators = [one for one in relations if _is_of_indicators(known, one)]
    of_features = [one for one in relations if one not in of_indicators]
    n_free = int(np.count_nonzero(scale))
    dimension, gappy = survey.hull.dimension, known.gappy
    yield from feature_findings(names, survey.data.X[0], constant, of_features, dimension, n_free, gappy)
    yield from same_column_findings(names, sources, of_indicators, gappy)
    own = [labels[code] for code in codes.tolist()] if contradictions else []
    yield from record_findings(own, contradictions, rows_from)
    yield from class_findings(labels, np.bincount(codes).tolist(), len(names))
    if not is_filled:
        yield from outside_findings(survey.n_outside(), len(survey.data.X), len(names), of_classes=True)
        yield from pair_findings(overlaps)


def _is_of_indicators(known: KnownValues, relation: Relation) -> bool:
    """Return whether all terms of a relation are indicators that an encoder has made."""
    made = {int(j) for column in known.columns if column.is_encoded for j in column.features}
    values = known.X[:, relation.terms]
    return made.issuperset(relation.terms) and bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())


def _in_words(pair: PairOverlap) -> str:
    outside = " and ".join(f"{n} of {n + k}" for n, k in zip(pair.n_outside, pair.n_inside, strict=True))
    apart = "; separable" if pair.separable else ""
    return (
        f"{pair.class_a} and {pair.class_b}: OVR {pair.ovr[0]:.3g} and {pair.ovr[1]:.3g}; "
        f"outside the overlap {outside}; OVL {pair.ovl:.3g}{apart}"
    )
