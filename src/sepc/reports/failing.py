"""Regions of the test records where the model fails, for a report."""

import warnings
from typing import Any

from sepc.common.errors import SepcWarning
from sepc.common.text import many, percent
from sepc.landscapes.failing_regions import ErrorLandscape, landscape_of_errors
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject


def failing_regions(subject: Subject) -> dict[str, Any]:
    """Return where errors are more frequent than elsewhere: a sentence, the regions by name, and their table."""
    encoder = next((step for _, step in getattr(subject.clf, "steps", ())[:-1]), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SepcWarning)  # the fit has warned of columns that are left out
        found = landscape_of_errors(subject.X, ~subject.right, encoder=encoder)
    columns = [
        ("rule", "where", "text"),
        ("n_tested", "records tested", "count"),
        ("n_errors", "wrong", "count"),
        ("error_rate", "share that is wrong", "share"),
        ("interval", "interval", "text"),
        ("elsewhere", "elsewhere", "share"),
        ("share_of_errors", "of all errors", "share"),
    ]
    rows = [one.row() | {"interval": f"{percent(one.low)} to {percent(one.high)}"} for one in found.regions]
    drawn = [{name: value for name, value in one.row().items() if name != "lift"} for one in found.regions]
    shown = [[one[key] for key, *_ in columns] for one in rows]
    return {"text": _in_words(found), "regions": drawn, "table": table(columns, shown)}


def _in_words(found: ErrorLandscape) -> str:
    head = f"{found.n_errors:,} of {many(found.n_records, 'label')} {'is' if found.n_errors == 1 else 'are'} wrong."
    if not found.regions:
        return f"{head} No region is known where labels are wrong more often than elsewhere."
    return (
        f"{head} Under the conditions of each row, labels are wrong more often than elsewhere. The chance that one of "
        f"these regions is none is at most {percent(found.max_fdr)}, and the intervals hold together with a confidence "
        f"of {percent(found.confidence)}. Counts are of records that the search for the region has not seen."
    )
