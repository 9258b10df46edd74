"""Findings on a data set before anything is fitted to it, each with evidence and a remedy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape

import numpy as np

from sepc.common.frames import numbered
from sepc.common.text import listed, percent, plural, shortened
from sepc.common.typing import BoolArray, FloatArray, RowNumbers
from sepc.landscapes.constants import (
    HEAVY_OVERLAP,
    MIXED_NEIGHBOURS,
    NEARLY_SEPARABLE,
    SHARED_RECORDS,
    SMALL_MINORITY,
)
from sepc.landscapes.linear_dependence import Relation
from sepc.landscapes.survey import PairOverlap

SEVERITIES = ("problem", "warning", "note")

# Most features, classes, pairs or groups that a text names.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding on the data.

    Attributes
    ----------
    code : str
        Stable identifier.
    severity : {"note", "warning", "problem"}
        A note informs; a warning calls for a check of the data; with a problem results are not reliable.
    title : str
        What was found, in one line.
    evidence : str
        The numbers behind it, and what they mean.
    remedy : str
        What to do.

    Examples
    --------
    >>> print(Finding("constant-feature", "warning", "age is constant", "All 20 records have age = 3.", "Drop it."))
    [warning] constant-feature: age is constant. All 20 records have age = 3. Drop it.
    """

    code: str
    severity: str
    title: str
    evidence: str
    remedy: str

    def to_dict(self) -> dict[str, str]:
        """Return the five texts by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, texts: Mapping[str, str]) -> "Finding":
        """Return the finding that `to_dict` described; raise a `TypeError` if it cannot be one.

        Examples
        --------
        >>> finding = Finding("constant-feature", "warning", "age is constant", "All have age = 3.", "Drop it.")
        >>> Finding.from_dict(finding.to_dict()) == finding
        True
        """
        finding = cls(**texts)
        if finding.severity not in SEVERITIES or not all(isinstance(text, str) for text in texts.values()):
            raise TypeError(f"{texts} are no five texts of a finding")
        return finding

    def __str__(self) -> str:
        return f"[{self.severity}] {self.code}: {self.title}. {self.evidence} {self.remedy}"

    def _repr_html_(self) -> str:
        return (
            f"<p><b>{escape(self.severity)}: {escape(self.title)}</b> <code>{escape(self.code)}</code><br>"
            f"{escape(self.evidence)} <i>{escape(self.remedy)}</i></p>"
        )


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by severity, otherwise in their order; of several with the same title the first."""
    different: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        different.setdefault((finding.code, finding.title), finding)
    return tuple(sorted(different.values(), key=lambda finding: SEVERITIES.index(finding.severity)))


def feature_findings(
    names: Sequence[str],
    values: FloatArray,
    constant: Sequence[int],
    relations: Sequence[Relation],
    dimension: int,
    n_free: int,
    gappy: BoolArray,
) -> Iterator[Finding]:
    """Yield findings on features that are constant, or a linear combination of others.

    `values` are those of any record, `dimension` that of the affine hull of all records, `n_free` the number of
    features that can vary independently; `gappy` tells the features that some records lack.
    """
    if constant:
        values_of = [f"{names[j]} = {values[j]:.6g}" for j in constant]
        yield Finding(
            "constant-feature",
            "warning",
            f"constant: {shortened([names[j] for j in constant], NAMED, 'feature')}",
            f"{every_record(gappy, *constant).capitalize()} has {shortened(values_of, NAMED, 'feature')}, which "
            "separates no classes.",
            "Drop these features, or check how they were read.",
        )
    for relation in relations:
        equation = relation.text(names)
        share = relation.worst / relation.scale
        misfit = f"up to rounding (by {relation.worst:.2g} at most, {share:.2g} standard deviations)"
        if dimension == n_free:
            effect = "Volumes and overlap ratios then depend on rounding, not on the data."
        else:
            effect = f"Volumes are taken inside the {dimension} dimensions that the records fill."
        yield Finding(
            "linear-dependence",
            "warning",
            f"{names[relation.feature]} is a linear combination of other features",
            f"{equation}, for {every_record(gappy, *relation.terms)} {misfit if relation.worst else 'exactly'}. "
            f"{effect}",
            f"Drop one of the features of this equation, for example {names[relation.feature]}.",
        )


def every_record(gappy: BoolArray, *features: int) -> str:
    """Return which records a statement on some features is about, as text."""
    return "every record with all of these values" if gappy[list(features)].any() else "every record"


def record_findings(
    labels: Sequence[str], groups: Sequence[Sequence[int]], rows_from: RowNumbers = 1
) -> Iterator[Finding]:
    """Yield findings on groups of rows, from 0, that share all their values but not their labels."""
    n_records, n_groups, n_contradictory = len(labels), len(groups), sum(map(len, groups))
    if n_contradictory:
        described = [_rows_with_labels(rows, labels, rows_from) for rows in groups]
        yield Finding(
            "contradictory-duplicates",
            "warning",
            f"{n_contradictory} records have an exact duplicate of another class",
            f"{n_contradictory} of {n_records} records ({percent(n_contradictory / n_records)}) share all their values "
            f"with a record of another class; they form {n_groups} {plural('group', n_groups)}, counted from 1 the "
            f"rows {shortened(described, NAMED, 'group', '; ')}.",
            "Check these labels, or add a feature that distinguishes these records: no classifier can.",
        )


def _rows_with_labels(rows: Sequence[int], labels: Sequence[str], rows_from: RowNumbers) -> str:
    """Return the numbers of rows with their labels; if there are many, some of each label."""
    if len(rows) <= NAMED:
        return listed([f"{numbered(row, rows_from)} ({labels[row]})" for row in rows])
    by_label: dict[str, list[int]] = {}
    for row in rows:
        by_label.setdefault(labels[row], []).append(numbered(row, rows_from))
    return listed([f"{shortened(some, 3)} ({label})" for label, some in by_label.items()])


def class_findings(labels: Sequence[str], sizes: Sequence[int], n_features: int) -> Iterator[Finding]:
    """Yield findings on the numbers of records."""
    too_few = f"no more than the {n_features} features, which is too few for an ellipsoid"
    vague = f"fewer than 3 for each of the {n_features} features, so ellipsoids are uncertain"
    for rule, severity, low, high in (
        (too_few, "problem", 0, n_features),
        (vague, "note", n_features, 3 * n_features - 1),
    ):
        few = [f"{label} ({n})" for label, n in zip(labels, sizes, strict=True) if low < n <= high]
        if few:
            yield Finding(
                "few-records",
                severity,
                f"few records for the number of features: {shortened(few, NAMED, 'label')}",
                f"{len(few)} of {len(labels)} classes {'has' if len(few) == 1 else 'have'} {rule}.",
                "Use fewer features (for example sklearn.decomposition.PCA), collect more records, or merge classes.",
            )
    least, most = int(np.argmin(sizes)), int(np.argmax(sizes))
    if sizes[most] >= 10 * sizes[least]:
        yield Finding(
            "class-imbalance",
            "note",
            f"{labels[least]} is rare beside {labels[most]}",
            f"{labels[least]} has {sizes[least]} records, {labels[most]} has {sizes[most]}.",
            "Judge each class by itself, such as by balanced accuracy; if n_imp is a share, it is of the rarer class.",
        )


def outside_findings(n_outside: int, n_records: int, n_features: int, of_classes: bool = False) -> Iterator[Finding]:
    """Yield a finding if nearly every new record would lie outside of all ellipsoids.

    `n_outside` records would if each of them were held out. `of_classes`: the ellipsoids are those of whole classes,
    not the smaller ones of a partition.
    """
    if n_records < 30 or n_outside < 0.9 * n_records:
        return
    where = "the ellipsoids of all classes" if of_classes else "all ellipsoids"
    smaller = " Regions are smaller, and hold even fewer." if of_classes else ""
    yield Finding(
        "outside-all-ellipsoids",
        "warning",
        "nearly every new record would lie outside all ellipsoids",
        f"{n_outside} of {n_records} training records ({percent(n_outside / n_records)}) would lie outside {where} if "
        f"left out of the fit: each is in none, or on the edge of the one that it shaped. For {n_features} "
        f"{plural('feature', n_features)} there are too few records to fill an ellipsoid.{smaller}",
        "Use fewer features (for example sklearn.decomposition.PCA, or SEPEnsembleClassifier, whose members each use "
        "some of them), or collect more records. Read probabilities and typicality, not whether a record is inside.",
    )


def pair_findings(pairs: Sequence[PairOverlap]) -> Iterator[Finding]:
    """Yield findings on overlap of classes, and one on all separable pairs."""
    for pair in pairs:
        if not pair.separable:
            yield from _overlap_findings(pair)
    yield from _separation_findings(pairs)


def _overlap_findings(pair: PairOverlap) -> Iterator[Finding]:
    a, b = pair.labels
    if (
        pair.normal_overlap >= HEAVY_OVERLAP
        and pair.neighbour_error >= MIXED_NEIGHBOURS
        and min(pair.shares_inside) >= SHARED_RECORDS
    ):
        yield Finding(
            "heavy-overlap",
            "warning",
            f"{a} and {b} overlap heavily",
            f"{pair.inside_in_words} lie in the ellipsoids of both. Their means are so close that normal distributions "
            f"around them have {percent(pair.normal_overlap)} in common, and the nearest neighbour of "
            f"{percent(pair.neighbour_error)} of the records is of the other class (50 % if nothing told the "
            "classes apart).",
            "Expect low trust and many small ellipsoids; look for features that tell these classes apart.",
        )
    for label, n, share in zip(pair.labels, pair.n_inside, pair.shares_inside, strict=True):
        part = n / max(sum(pair.n_inside), 1)
        if share >= 0.5 and part < SMALL_MINORITY:
            yield Finding(
                "minority-in-overlap",
                "warning",
                f"{label} is a small minority where {a} and {b} overlap",
                f"{pair.inside_in_words} lie in the ellipsoids of both: {percent(part)} of these are {label}, though "
                f"they are {percent(share)} of its records.",
                "Labels there favour the other class: judge this class by its own recall, and try a smaller n_imp.",
            )


def _separation_findings(pairs: Sequence[PairOverlap]) -> Iterator[Finding]:
    apart = [pair for pair in pairs if pair.separable]
    if apart:
        yield Finding(
            "separable",
            "note",
            f"hyperplanes separate {_pairs([' from '.join(pair.labels) for pair in apart])}",
            f"The convex hulls do not meet in {len(apart)} of {len(pairs)} pairs of classes.",
            "A linear classifier tells these classes apart without an error on these records: compare with one.",
        )
    close = [pair for pair in pairs if not pair.separable and max(pair.shares_inside) <= NEARLY_SEPARABLE]
    if close:
        yield Finding(
            "nearly-separable",
            "note",
            f"nearly separable: {_pairs([' and '.join(pair.labels) for pair in close])}",
            f"{shortened([pair.inside_in_words for pair in close], NAMED, 'pair', '; ')} lie in the ellipsoids of "
            "both.",
            "Look at these records first: mistakes will be among them.",
        )


def _pairs(names: Sequence[str]) -> str:
    return shortened(names, NAMED, "pair")
