"""Demonstration on data that ships with scikit-learn: run by ``make demo`` and ``sepc demo``."""

import os
from collections.abc import Callable
from pathlib import Path
from textwrap import fill
from time import perf_counter

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier, report, select_min_trust
from sepc.common.atomic_files import written_whole
from sepc.common.text import percent
from sepc.model.assessment import REASONS, REFUSALS

_MIN_TRUST = 0.99
_MAX_ERROR = 0.05


def main(folder: str | os.PathLike[str] = "sepc-demo") -> None:
    """Fit breast cancer records, print what the classifier says of those that it has not seen, and write a report.

    Parameters
    ----------
    folder : path-like, default="sepc-demo"
        Where the report goes, and the records as two tables to try the command line with: ``data.csv`` with the label
        of each in the column ``diagnosis``, ``new.csv`` without. Made if it is not there.
    """
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    first, later = (_seconds(lambda: SEPClassifier().fit(X, y)) for _ in range(2))
    clf = SEPClassifier().fit(X, y)
    print(f"Breast cancer: {len(X)} records to learn from, {len(X_test)} to test, {X.shape[1]} features")
    print(f"  fit {later:.2f} s; before the first one {first - later:.2f} s to compile the kernels, or to load them\n")

    a = clf.assess(X_test)
    right = a.label == y_test
    trusted = a.accepted(min_trust=_MIN_TRUST)
    print(f"Right on {_share(right)} of the test records.")
    print(
        f"With a trust of at least {percent(_MIN_TRUST)} {_share(trusted)} are accepted, "
        f"{_share(right[trusted])} rightly;"
    )
    print(f"of the {np.count_nonzero(~trusted)} that are left to a person {_share(right[~trusted])} would have been.\n")

    print("Why labels are refused")
    refusals = a.refusals(min_trust=_MIN_TRUST)
    for kind, words in REFUSALS.items():
        here = refusals == kind
        if here.any():
            print(f"  {np.count_nonzero(here):>4} since {words}; right: {_share(right[here])}")

    print("\nWhere the test records lie")
    for reason in REASONS:
        here = a.reason == reason
        if here.any():
            print(f"  {reason:<10} {np.count_nonzero(here):>4}   right: {_share(right[here])}")

    print("\nA strange record: all values of the first test record times 1000, as if in other units")
    strange = clf.assess(1000 * X_test[:1])
    (why,) = strange.refusals(min_trust=0.0)
    verdict = "accepted" if why is None else f"refused at any trust, since {REFUSALS[why]}"
    print(f"  {strange.label[0]} with a trust of {percent(strange.trust[0])}, {verdict}:")
    print(f"  {percent(strange.typicality[0])} of the training records are as strange.\n")

    print("The regions")
    columns = ["region", "n_label", "n_others", "purity", "trust", "iteration"]
    print(clf.regions()[columns].round(3).to_string(index=False))

    doubtful = int(np.argmin(np.where(right, 1.0, a.trust)))
    print(f"\nWhy the test record {X_test.index[doubtful]} is called {a.label[doubtful]} (it is {y_test[doubtful]})")
    print(fill(clf.explain(X_test.iloc[doubtful]).text, 100))

    print("\nThe same records by an ensemble of partitions")
    several = SEPEnsembleClassifier().fit(X, y)
    a = several.assess(X_test)
    right, trusted = a.label == y_test, a.accepted(min_trust=_MIN_TRUST)
    print(f"Right on {_share(right)}; of those accepted with a trust of at least {percent(_MIN_TRUST)}")
    print(f"on {_share(right[trusted])}.")
    found = select_min_trust(several, X_test, y_test, max_error=_MAX_ERROR)
    print(fill(f"From these test records, a promise: {found.message}", 100))

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (("data.csv", X.assign(diagnosis=y)), ("new.csv", X_test)):
        with written_whole(folder / name) as file:
            table.to_csv(file, index=False)
    report(clf, X_test, y_test, title="Breast cancer").write(folder / "report.html")
    print(f"\nThe report of the first classifier, to look at in a browser: {(folder / 'report.html').resolve()}")
    print("Beside it, to try the command line with: data.csv, labelled in the column diagnosis, and new.csv.")


def _seconds(job: Callable[[], object]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start


def _share(flags: np.ndarray) -> str:
    return f"{np.count_nonzero(flags)} of {len(flags)} ({percent(float(np.mean(flags)))})" if len(flags) else "none"


if __name__ == "__main__":
    main()
