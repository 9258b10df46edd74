"""Columns of a report: their importance to the labels, and their values in the test records."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.text import in_words, listed, percent, shortened
from sepc.common.typing import FloatArray
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.explanations.shares import feature_terms
from sepc.model.partition_model import DensityModel, PartitionModel
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject, short

# Further labels are counted, not named.
_N_LABELS = 6
_OF_ONE = (
    "A label wins against its strongest rival by the log odds between their best regions, and each column adds a term "
    "to these: the same terms that explanations name. A column matters as much as its terms are large, for or against "
    "the label, on average over the test records."
)
_OF_MEMBERS = (
    "In each member of the ensemble a label wins against its strongest rival by the log odds between their best "
    "regions, and each column that the member looks at adds a term to these; the members' terms are added up with "
    "their weights. A column matters as much as these sums are large, for or against the label, on average over the "
    "test records."
)
_AROUND = (
    "What a column means to the model itself is not known. In the regions around it each column adds a term to the log "
    "odds of a label against its strongest rival; with the weight of the regions these are parts of the trust. A "
    "column matters to the regions as much as its terms are large, for or against the label, on average over the test "
    "records."
)
_CAUTION = (
    "It says what this model goes by, not what causes a label: columns that tell nearly the same share their weight, "
    "or have large terms that cancel out."
)
_ONLY_COUNTS = "This trust method counts records: no column adds a term of its own, so none can be ranked."


def column_importance(subject: Subject) -> dict[str, Any]:
    """Return which columns the labels of the test records rest on, ready for JSON.

    ``note``, a sentence on what is measured; ``columns``, a table with the mean absolute term of each column, the
    largest first; and ``groups``, a table with the columns of largest terms where each region decides, or each label in
    an ensemble. Both tables are None for a model that only counts.
    """
    found = column_terms(subject)
    if found is None:
        return {"note": _ONLY_COUNTS, "columns": None, "groups": None}
    names = [word.name for word in subject.words]
    about = _OF_ONE if isinstance(subject.model, PartitionModel) else _OF_MEMBERS
    if subject.is_around:
        about = _AROUND
    return {
        "note": f"{about} {_CAUTION}",
        "columns": _by_size(names, found.values),
        "groups": _groups(names, found, _decider(subject)),
    }


class ColumnTerms(NamedTuple):
    """Terms of the columns in the log odds of the test records' labels, shape (n, n_columns), and their deciders.

    A decider is the region that gives a label most of its probability; in an ensemble the label itself.
    """

    values: FloatArray
    deciders: NDArray[np.object_]


def column_terms(subject: Subject) -> ColumnTerms | None:
    """Return the term of each column in the log odds of each test record's label against its strongest rival.

    Terms of the features that an encoder made of one column are added up. None for a model that only counts.
    """
    model = subject.model
    if isinstance(model, EnsembleModel):
        terms, deciders = _of_members(subject, model), np.array(subject.labels, dtype=object)[subject.predicted]
    elif isinstance(model, DensityModel):
        labels, linear = (subject.predicted, subject.rival), model.calibration.linear
        found = feature_terms(model.densities, subject.points, *labels, linear)
        terms, deciders = found.values, np.array(model.region_names(), dtype=object)[found.best]
    else:
        return None
    return ColumnTerms(np.stack([terms[:, word.at].sum(axis=1) for word in subject.words], axis=1), deciders)


def _of_members(subject: Subject, model: EnsembleModel) -> FloatArray:
    """Return the sum over members of their weight times the mean over their parts of the terms, shape (n, d)."""
    terms = np.zeros_like(subject.points)
    views = model.views(model.original(subject.points))
    for member, weight in zip(model.members, model.stack.weights.tolist(), strict=True):
        points = member.points(views)
        for part in member.parts:
            found = feature_terms(part.densities, part.sees(points), subject.predicted, subject.rival)
            terms[:, member.plan.features] += weight / len(member.parts) * found.values
    return terms


def _by_size(names: Sequence[str], terms: FloatArray) -> dict[str, Any]:
    sizes = np.abs(terms).mean(axis=0)
    shares, in_favour = sizes / (sizes.sum() or 1.0), np.mean(terms > 0.0, axis=0)
    columns = [
        ("column", "column", "text"),
        ("share", "share of all terms", "meter"),
        ("mean_term", "mean size of its term", "number"),
        ("in_favour", "speaks for the label", "share"),
    ]
    order = np.argsort(-sizes, kind="stable").tolist()
    return table(columns, [[names[j], short(shares[j]), short(sizes[j]), short(in_favour[j])] for j in order])


def _decider(subject: Subject) -> tuple[str, str, str]:
    """Return the first column of the table of groups."""
    if subject.is_around:
        return "decider", "region of the label", "text"
    is_region = isinstance(subject.model, PartitionModel)
    return ("decider", "deciding region", "text") if is_region else ("decider", "predicted label", "label")


def _groups(names: Sequence[str], found: ColumnTerms, decider_column: tuple[str, str, str]) -> dict[str, Any]:
    rows = []
    for decider, n in Counter(found.deciders.tolist()).most_common():
        sizes = np.abs(found.values[found.deciders == decider]).mean(axis=0)
        most = np.argsort(-sizes, kind="stable")[:3].tolist()
        named = [f"{names[j]} ({percent(sizes[j] / sizes.sum())})" for j in most if sizes[j] > 0.0]
        rows.append([decider, n, listed(named)])
    columns = [
        decider_column,
        ("n_records", "test records", "count"),
        ("telling", "columns that matter most there", "text"),
    ]
    return table(columns, rows)


def column_profile(subject: Subject) -> dict[str, Any]:
    """Return one row for each column of the test records as they were passed, without training records: a table."""
    columns = [
        ("column", "column", "text"),
        ("n_missing", "missing", "count"),
        ("n_distinct", "distinct", "count"),
        ("range", "values", "text"),
        ("n_beyond", "beyond training", "count"),
        ("by_label", "by true label", "text"),
    ]
    beyond, ordered = _beyond_training(subject), {word.name for word in subject.words if not word.is_level}
    rows = []
    for name, values in zip(subject.columns, subject.cells, strict=True):
        known = [value for value in values if value is not None]
        labels = [subject.labels[code] for value, code in zip(values, subject.truth, strict=True) if value is not None]
        describe = _numbers if all(_is_number(value) for value in known) else _ordered if name in ordered else _values
        reach, by_label = describe(known, labels, subject.labels) if known else ("", "")
        rows.append([name, len(values) - len(known), len(set(known)), reach, beyond.get(name), by_label])
    return table(columns, rows)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(known: list[Any], labels: list[str], every: list[str]) -> tuple[str, str]:
    values, of = np.array(known, dtype=np.float64), np.array(labels, dtype=object)
    medians = [f"{_digits(np.median(values[of == label]))} of {label}" for label in every if (of == label).any()]
    return f"{_digits(values.min())} to {_digits(values.max())}", f"median {shortened(medians, _N_LABELS, 'label')}"


def _ordered(known: list[Any], labels: list[str], every: list[str]) -> tuple[str, str]:
    """Return the range of dates, and the median of each label."""
    dates, of = np.array(known, dtype=object), np.array(labels, dtype=object)
    middles = [
        f"{label} {sorted(of_label)[len(of_label) // 2]}" for label in every if len(of_label := dates[of == label])
    ]
    return f"{min(known)} to {max(known)}", f"median {shortened(middles, _N_LABELS, 'label')}"


def _values(known: list[Any], labels: list[str], every: list[str]) -> tuple[str, str]:
    """Return the most frequent values with their shares, and the share of the first of them for each label."""
    counts = Counter(map(str, known))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    frequent = shortened([f"{value} ({percent(n / len(known))})" for value, n in ranked], 3, "value")
    first = ranked[0][0]
    is_first, of = np.array([str(value) == first for value in known]), np.array(labels, dtype=object)
    shares = [f"{percent(is_first[of == label].mean())} of {label}" for label in every if (of == label).any()]
    return frequent, f"{first}: {shortened(shares, _N_LABELS, 'label')}"


def _digits(value: float) -> str:
    """Return a number in at most six digits, whole ones in full."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else in_words(float(f"{value:.6g}"))


def _beyond_training(subject: Subject) -> dict[str, int]:
    """Return the number of test records beyond the range of the training records in each column of numbers."""
    points, _ = subject.training
    if not len(points):
        return {}
    low, high = points.min(axis=0), points.max(axis=0)
    # Equal values may differ in their last digits once they are standardised.
    beyond = np.count_nonzero((subject.points < low - 1e-9) | (subject.points > high + 1e-9), axis=0)
    return {word.name: int(beyond[word.at.start]) for word in subject.words if not word.is_level}
