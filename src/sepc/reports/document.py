"""Report: one dict, as HTML, Markdown and JSON."""

import json
import os
from copy import deepcopy
from html import escape
from pathlib import Path
from typing import Any

from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError
from sepc.common.text import many, percent
from sepc.common.typing import RowNumbers
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.model.acceptance import DEFAULT_TRUST
from sepc.reports.forms import as_html, as_markdown
from sepc.reports.record_verdicts import OnStep
from sepc.reports.subject import Subject
from sepc.reports.summary import summary

_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json"}


class Report:
    """Report on a classifier and test records, as `report` returns it.

    Parameters
    ----------
    content : dict
        As `to_dict` returns it.

    Examples
    --------
    >>> from sepc import SEPClassifier, report
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> report(clf, [[0.5], [7.0]], ["low", "high"])
    Report 'SEPClassifier: high and low' on 2 test records: right on 100 %, 2 verdicts told one by one
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON.

        ``records`` holds all test records by columns: ``truth`` and ``label`` are indices of ``labels``, and
        ``refusal`` is the reason why a label is not accepted at any trust. ``verdicts`` explains some of them one by
        one; lists of values are in the order of ``columns``.

        Examples
        --------
        >>> from sepc import SEPClassifier, report
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> report(clf, [[0.5], [7.0]], [0, 1]).to_dict()["records"]["label"]
        [0, 1]
        """
        return deepcopy(self._content)

    def html(self) -> str:
        """Return one page that needs nothing else: no network, no other file.

        Examples
        --------
        >>> from sepc import SEPClassifier, report
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> report(clf, [[0.5], [7.0]], [0, 1]).html()[:15]
        '<!DOCTYPE html>'
        """
        return as_html(self._content)

    def markdown(self) -> str:
        """Return the same content as Markdown, with GitHub's tables.

        Examples
        --------
        >>> from sepc import SEPClassifier, report
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> report(clf, [[0.5], [7.0]], [0, 1], title="Low or high").markdown().splitlines()[0]
        '# Low or high'
        """
        return as_markdown(self._content)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            With the suffix ``.html``, ``.md`` or ``.json`` of its form.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from sepc import SEPClassifier, report
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> with TemporaryDirectory() as folder:
        ...     report(clf, [[0.5], [7.0]], [0, 1]).write(f"{folder}/report.json")
        ...     json.loads(Path(f"{folder}/report.json").read_text(encoding="utf-8"))["labels"]
        ['0', '1']
        """
        form = _form_of(path)
        text = {"html": self.html, "markdown": self.markdown, "json": self._json}[form]()
        # Invalid code points, such as half of a surrogate pair in a label, are shown by their number.
        whole = text.encode("utf-8", "backslashreplace")
        with written_whole(path) as file:
            file.write(whole)

    def _json(self) -> str:
        return json.dumps(self._content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def __repr__(self) -> str:
        result, n_explained = self._content["results"], len(self._content["verdicts"])
        return (
            f"Report {self._content['title']!r} on {many(result['n_records'], 'test record')}: right on "
            f"{percent(result['accuracy'])}, {many(n_explained, 'verdict')} told one by one"
        )

    def _repr_html_(self) -> str:
        style = "width:100%;height:48rem;border:1px solid #8888"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html())}"></iframe>'


def report(
    clf: Any,
    X_test: Any,
    y_test: Any,
    *,
    title: str | None = None,
    date: str | None = None,
    min_trust: float | None = None,
    max_records: int | None = None,
    training_rows: bool = True,
    changes: bool = False,
    rows_from: RowNumbers = 0,
    on_step: OnStep | None = None,
    groups: Any = None,
    dates: Any = None,
) -> Report:
    """Report on a fitted classifier: its data, its regions, its test results, and single verdicts with explanations.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or table pipeline
        Fitted.
    X_test : array-like of shape (n, n_features)
        Records that were not trained on.
    y_test : array-like of shape (n,)
        Their true labels.
    title : str, optional
    date : str, optional
        Shown unchanged. No clock is read: the same input gives the same report, byte for byte.
    min_trust : float, optional
        Trust from which a label is accepted, unless it is strange or contested; a reader of the page can move it. By
        default the promise that the classifier has signed decides; without one it is 0 with costs, which then decide,
        else 0.95.
    max_records : int, optional
        Number of verdicts with an explanation: wrong ones and those of little trust first. By default 200; with
        changes, for an ensemble, 25.
    training_rows : bool, default=True
        Whether training records may be shown, as neighbours and by row number.
    changes : bool, default=False
        Whether to look for the smallest change of each of these verdicts to another label, which takes most of the
        time.
    rows_from : int or ndarray of int, default=0
        Number of the first training row in texts and tables, 0 as in Python; or the number of each, such as its row in
        a file.
    on_step : callable, optional
        Called as ``on_step(n_done, n_total)`` after each explanation; an error that it raises ends the run.
    groups : array-like of shape (n,) or (n, n_groups), optional
        The groups that the test records belong to, where the classifier has signed a promise by groups.
    dates : array-like of shape (n,), optional
        Dates of the test records: then the accuracy that the trust expects is also told by month, and before and since
        a column changed.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> print(report(clf, [[0.5], [7.0]], ["low", "high"], min_trust=0.75).to_dict()["summary"][-53:])
    With a trust of at least 0.75 it accepts all of them.
    """
    if max_records is not None and (type(max_records) is not int or max_records < 0):
        raise InputError("max-records", max_records=max_records)
    subject = Subject.of(clf, X_test, y_test)
    if min_trust is None and clf.promise is not None:
        subject, min_trust = subject.by_promise(groups), 0.0
    elif min_trust is None:
        min_trust = 0.0 if subject.has_costs else DEFAULT_TRUST
    subject.verdicts.accepted(min_trust)  # an invalid one is refused before anything is computed
    if max_records is None:
        max_records = 25 if changes and isinstance(subject.model, EnsembleModel) else 200
    return Report(
        summary(
            subject,
            title=title,
            date=date,
            min_trust=float(min_trust),
            max_records=max_records,
            training_rows=training_rows,
            changes=changes,
            rows_from=rows_from,
            on_step=on_step,
            groups=groups,
            dates=dates,
        )
    )


def _form_of(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InputError("report-path", path=os.fspath(path))
    return _SUFFIXES[suffix]
