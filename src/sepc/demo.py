"""Demonstration on data that ships with scikit-learn: run by ``make demo`` and ``sepc demo``."""

import os
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier, report
from sepc.common.atomic_files import written_whole
from sepc.common.text import percent
from sepc.model.acceptance import REFUSALS
from sepc.model.assessment import Assessment

_MIN_TRUST = 0.99


def main(folder: str | os.PathLike[str] = "sepc-demo") -> None:
    """Fit breast cancer records, print what the classifier says of those that it has not seen, and write a report.

    Parameters
    ----------
    folder : path-like, default="sepc-demo"
        Where the report goes, and the records as tables to try the command line with: ``data.csv`` with the label of
        each in the column ``diagnosis``, ``new.csv`` without, and ``labelled.csv``, the same new records with their
        labels, as they become known later. Made if it is not there.
    """
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    clf = SEPClassifier().fit(X, y)
    result = report(clf, X_test, y_test, title="Breast cancer", min_trust=_MIN_TRUST, max_records=50)
    content = result.to_dict()
    for text in (content["summary"], content["reliability"], *content["warnings"]):
        _say(text)

    a = clf.assess(X_test)
    row = explained_row(a, y_test, _MIN_TRUST)
    print(f"\nWhy record {X_test.index[row]} is called {a.label[row]}, which it is; sepc explain tells more:")
    sentences = [sentence for sentence in clf.explain(X_test.iloc[row]).sentences() if sentence]
    # The evidence for the label, for its rival, and the main evidence; the last sentence is on the smallest change.
    _say(" ".join([*sentences[:3], sentences[-1]]))

    strange = clf.assess(1000 * X_test[:1])
    (refusal,) = strange.refusals(min_trust=0.0)
    print(f"\nA record with all values times 1000, as if in other units: {strange.label[0]}, {_fate(refusal)}.")

    several = SEPEnsembleClassifier().fit(X, y)
    a = several.assess(X_test)
    right, trusted = a.label == y_test, a.accepted(min_trust=_MIN_TRUST)
    print(f"An ensemble of partitions is right on {_share(right)}; where it accepts, on {_share(right[trusted])}.")

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (
        ("data.csv", X.assign(diagnosis=y)),
        ("new.csv", X_test),
        ("labelled.csv", X_test.assign(diagnosis=y_test)),
    ):
        with written_whole(folder / name) as file:
            table.to_csv(file, index=False)
    result.write(folder / "report.html")
    print(f"\nThe report of the first classifier, to look at in a browser: {(folder / 'report.html').resolve()}")
    print("Beside it, to try the command line with: data.csv, labelled in the column diagnosis, new.csv,")
    print("and labelled.csv, the new records with their labels, for sepc feedback and sepc compare.")


def explained_row(a: Assessment, truth: Any, min_trust: float) -> int:
    """Return the row of the most typical record whose label is right, accepted, and given by one region around it.

    There the regions speak clearly. Without such a label it is the one with the most trust.

    Parameters
    ----------
    a : Assessment
    truth : ndarray of shape (n,)
        True labels.
    min_trust : float
    """
    clear = (a.label == truth) & (a.reason == "inside") & a.accepted(min_trust=min_trust)
    if not clear.any():
        return int(np.argmax(a.trust))
    return int(np.argmax(np.where(clear, np.nan_to_num(a.typicality), -1.0)))


def _fate(refusal: str | None) -> str:
    return "accepted" if refusal is None else f"refused whatever its trust, since {REFUSALS[refusal]}"


def _say(text: str) -> None:
    print(fill(text, 110, break_long_words=False, break_on_hyphens=False))


def _share(flags: np.ndarray) -> str:
    return f"{np.count_nonzero(flags)} of {len(flags)} ({percent(float(np.mean(flags)))})" if len(flags) else "none"


if __name__ == "__main__":
    main()
