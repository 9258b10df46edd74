"""Columns that matter: how much each adds to the log odds of the labels, over all test records and by region."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.text import listed, percent
from sepc.common.typing import FloatArray
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.explanations.shares import feature_terms
from sepc.model.density_model import DensityModel
from sepc.model.partition_model import PartitionModel
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject, short

# Columns that are named for each region or label.
_N_NAMED = 3
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
_CAUTION = (
    "It says what this model goes by, not what causes a label: columns that tell nearly the same share their weight, "
    "or have large terms that cancel out."
)
_ONLY_COUNTS = "This reading of the regions counts records: no column adds a term of its own, so none can be ranked."


def column_importance(subject: Subject) -> dict[str, Any]:
    """Return which columns the labels of the test records rest on, ready for JSON.

    Returns
    -------
    dict
        ``note``, a sentence on what is measured; ``columns``, a table with the mean absolute term of each column, the
        largest first, and ``groups``, a table with the most telling columns where each region, or in an ensemble each
        label, decides. Both are None for a model that only counts.
    """
    found = column_terms(subject)
    if found is None:
        return {"note": _ONLY_COUNTS, "columns": None, "groups": None}
    names = [word.name for word in subject.words]
    about = _OF_ONE if isinstance(subject.model, PartitionModel) else _OF_MEMBERS
    return {
        "note": f"{about} {_CAUTION}",
        "columns": _columns(names, found.values),
        "groups": _groups(names, found, by_region=isinstance(subject.model, PartitionModel)),
    }


class ColumnTerms(NamedTuple):
    """What columns add to the log odds of the labels of n test records, and who gave them these labels.

    Attributes
    ----------
    values : ndarray of shape (n, n_columns)
    deciders : ndarray of str, shape (n,)
        The region that gives a label most of its probability; of an ensemble the label itself.
    """

    values: FloatArray
    deciders: NDArray[np.object_]


def column_terms(subject: Subject) -> ColumnTerms | None:
    """Return what each column adds to the log odds of each test record's label against its strongest rival.

    Columns are those of `Subject.words`; what an encoder made of one column is added up. None for a model that only
    counts.
    """
    model = subject.model
    if isinstance(model, EnsembleModel):
        terms, deciders = _of_members(subject, model), np.array(subject.labels, dtype=object)[subject.predicted]
    elif isinstance(model, DensityModel):
        found = feature_terms(model.densities, subject.points, subject.predicted, subject.rival)
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


def _columns(names: Sequence[str], terms: FloatArray) -> dict[str, Any]:
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


def _groups(names: Sequence[str], found: ColumnTerms, by_region: bool) -> dict[str, Any]:
    rows = []
    for decider, n in Counter(found.deciders.tolist()).most_common():
        sizes = np.abs(found.values[found.deciders == decider]).mean(axis=0)
        most = np.argsort(-sizes, kind="stable")[:_N_NAMED].tolist()
        told = [f"{names[j]} ({percent(sizes[j] / sizes.sum())})" for j in most if sizes[j] > 0.0]
        rows.append([decider, n, listed(told)])
    columns = [
        ("decider", "deciding region", "text") if by_region else ("decider", "predicted label", "label"),
        ("n_records", "test records", "count"),
        ("telling", "columns that matter most there", "text"),
    ]
    return table(columns, rows)
