"""WDBC: little overlap, few regions, and errors with high trust that a new partition takes in."""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import panels, regions_by_label
from paper.paper_readings import MAIN, READINGS, PaperClassifier, readings_table
from paper.shared_measures import (
    ACCEPTANCE,
    MIN_TRUST,
    acceptance,
    by_the_letter,
    classifier,
    mean,
    n_ellipsoids,
    trust_in,
)
from paper.statements import Expectation, Statement, Values, in_words, spread, spread_in_words
from sepc.common.typing import FloatArray
from sepc.datasets import load_wdbc
from sepc.estimators.classifier import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.landscapes.data_landscape import landscape

_N_IMP, _N_SPLITS = 2, 4
_FORMS = {
    "raw": ("paper", False, "features as they are"),
    "own": ("paper", True, "the same, own label"),
    "standard": ("scaled", False, "`standardize=True`"),
    "standard_own": ("scaled", True, "the same, own label"),
    "grown": ("grown", False, "features as they are, counts of the grown ellipsoid"),
    "standard_grown": ("scaled_grown", False, "`standardize=True`, counts of the grown ellipsoid"),
}
_COLUMNS = (
    Column("n_benign", "ellipsoids, benign", "number"),
    Column("n_malignant", "ellipsoids, malignant", "number"),
    Column("three", "splits with 3 and 3", "count"),
    Column("regions", "regions hit", "number"),
    Column("together", "regions hit by four splits together", "count"),
    Column("seventh", "splits with test points in malignant's first and second ellipsoid at once", "count"),
    Column("accuracy", "accuracy", "share"),
    Column("malignant_wrong", "malignant wrong, 4 splits", "count"),
    Column("benign_wrong", "benign wrong, 4 splits", "count"),
    Column("high_trust", "of the malignant wrong with high trust", "share"),
    Column("trust", "median trust of the malignant wrong", "share"),
    Column("third", "of them in benign's third ellipsoid", "share"),
)
_MEANS = ("n_benign", "n_malignant", "regions", "accuracy")
_BY_READING = readings_table(
    *(column for column in _COLUMNS if column.key in (*_MEANS, "malignant_wrong", "benign_wrong", "third"))
)
_AFTER = Table(
    "Partitioned again with the test points",
    (Row("again", "four splits together"),),
    (
        Column("appeared", "new malignant ellipsoids", "count"),
        Column("before", "test points wrong before", "count"),
        Column("after", "wrong after", "count"),
    ),
    "The points are then part of the training set: this tells whether they got a place, not how new ones fare.",
)


def splits(seed: int) -> list[tuple[FloatArray, NDArray[Any], FloatArray, NDArray[Any]]]:
    """Return four splits into 90 and 10 %."""
    data = load_wdbc()
    cut = StratifiedShuffleSplit(_N_SPLITS, test_size=0.1, random_state=seed)
    return [(data.X[i], data.y[i], data.X[j], data.y[j]) for i, j in cut.split(data.X, data.y)]


def _measure(seed: int) -> dict[str, float]:
    """Return regions and errors over four splits, and what a new partition does to the errors."""
    parts = splits(seed)
    found: dict[str, float] = {}
    for key in _FORMS:
        found |= of_form(key, seed)
    for key in READINGS:
        found |= _summed(f"r_{key}", [_of_split(PaperClassifier(_N_IMP, key), False, *part) for part in parts])
    rows = [acceptance(*part, _N_IMP) for part in parts]
    found |= {name: float(np.nanmean([row[name] for row in rows])) for name in rows[0]}
    ratios = np.array([landscape(X, y).overlaps[0].ovr for X, y, _, _ in parts])
    again = np.sum([_again(*part) for part in parts], axis=0)
    return found | {
        "overlap.benign": ratios[:, 0].max(),
        "overlap.malignant": ratios[:, 1].max(),
        **dict(zip(("again.appeared", "again.before", "again.after"), again.tolist(), strict=True)),
    }


def of_form(key: str, seed: int) -> dict[str, float]:
    """Return regions and errors over four splits under one form of the features and labels.

    Examples
    --------
    >>> of_form("raw", 0)["raw.n_benign"]
    3.0
    """
    form, own_label, _ = _FORMS[key]
    return _summed(key, [_of_split(classifier(form, _N_IMP), own_label, *part) for part in splits(seed)])


def _of_split(
    clf: SEPClassifier, own_label: bool, X: FloatArray, y: NDArray[Any], X_test: FloatArray, y_test: NDArray[Any]
) -> dict[str, Any]:
    a = clf.fit(X, y).assess(X_test)
    label = by_the_letter(a) if own_label else a.label
    wrong = label != y_test
    missed = wrong & (y_test == "malignant")
    region = np.array([name.lstrip("~") for name in a.region])
    n_benign, n_malignant = (n_ellipsoids(clf.partitions_[0], side) for side in (0, 1))
    return {
        "n_benign": n_benign,
        "n_malignant": n_malignant,
        "three": n_benign == n_malignant == 3,
        "regions": len(set(region.tolist())),
        "seventh": "malignant#1&malignant#2" in region,
        "hit": region,
        "accuracy": mean(~wrong),
        "trust": trust_in(label, a, y)[missed],
        "region": region[missed],
        "benign_wrong": int((wrong & ~missed).sum()),
    }


def _summed(key: str, rows: list[dict[str, Any]]) -> dict[str, float]:
    trust, region, hit = (np.concatenate([row[name] for row in rows]) for name in ("trust", "region", "hit"))
    means = {name: float(np.mean([row[name] for row in rows])) for name in _MEANS}
    found = means | {
        "together": len(set(hit.tolist())),
        "seventh": sum(row["seventh"] for row in rows),
        "three": sum(row["three"] for row in rows),
        "malignant_wrong": len(trust),
        "benign_wrong": sum(row["benign_wrong"] for row in rows),
        "high_trust": mean(trust >= MIN_TRUST),
        "trust": float(np.median(trust)) if len(trust) else float("nan"),
        "third": mean(np.array([name == "benign#3" for name in region])),
    }
    return {f"{key}.{name}": value for name, value in found.items()}


def _again(X: FloatArray, y: NDArray[Any], X_test: FloatArray, y_test: NDArray[Any]) -> tuple[int, int, int]:
    """Return new malignant ellipsoids, and the errors on the test points before and after they are taken in."""
    clf = classifier("paper", _N_IMP).fit(X, y)
    new, changes = FeedbackMonitor(clf, reference=X_test).observe(X_test, y_test).repartition()
    appeared = sum(change.label == "malignant" for change in changes.appeared)
    before, after = (int((model.predict(X_test) != y_test).sum()) for model in (clf, new))
    return appeared, before, after


def _draw(values: Values) -> Any:  # noqa: ARG001
    """Draw test points of four splits by region, with the trust there."""
    assessed = [(classifier("paper", _N_IMP).fit(X, y).assess(T), t) for X, y, T, t in splits(0)]
    region, label, trust = (np.concatenate([getattr(a, f) for a, _ in assessed]) for f in ("region", "label", "trust"))
    truth = np.concatenate([t for _, t in assessed])
    figure, axes = panels(2)
    for ax, name in zip(axes, np.unique(truth), strict=True):
        chosen = truth == name
        regions_by_label(ax, region[chosen], label[chosen], trust[chosen], np.unique(truth), "regions")
        ax.set_title(f"true label {name}")
    return figure


def _errors(key: str) -> tuple[Expectation, ...]:
    text = _FORMS[key][2]
    return (
        Expectation(f"{key}.malignant_wrong", f"malignant wrong in four splits, {text}", "count", 7, 13),
        Expectation(f"{key}.benign_wrong", f"benign wrong, {text}", "count", 0, 0),
    )


def _accuracies(values: Values) -> str:
    """Say how the scale of the features changes the accuracy, and who is wrong by counts of grown ellipsoids."""
    raw, own, scaled, scaled_own = (
        in_words(spread(values[f"{key}.accuracy"]).median, "share")
        for key in ("raw", "own", "standard", "standard_own")
    )
    grown, scaled_grown = (
        f"{spread_in_words(values[f'{key}.malignant_wrong'], 'count')} malignant and "
        f"{spread_in_words(values[f'{key}.benign_wrong'], 'count')} benign ones are wrong, "
        f"{spread_in_words(values[f'{key}.high_trust'], 'share')} of the malignant with high trust"
        for key in ("grown", "standard_grown")
    )
    return (
        f"10 of 228 are an accuracy of 95.6 %; here it is {raw} ({own} with each ellipsoid's own label), with "
        f"standardised features {scaled} ({scaled_own}). Where a point outside of all is counted in the grown "
        f"ellipsoid, {grown}; with standardised features {scaled_grown}."
    )


def _how_often(values: Values) -> str:
    """Say in how many splits both labels have three ellipsoids."""
    three = values["raw.three"]
    return (
        f"3 and 3 in {sum(three):.0f} of {_N_SPLITS * len(three)} splits; in all four of a run in "
        f"{three.count(_N_SPLITS)} of {len(three)} runs."
    )


def _three_each() -> tuple[tuple[Expectation, ...], ...]:
    return tuple(
        tuple(
            Expectation(f"r_{key}.n_{label}", f"{label}, {reading.text}", "number", 3, 3)
            for label in ("benign", "malignant")
        )
        for key, reading in READINGS.items()
        if reading is not MAIN
    )


def _trusted_errors(key: str) -> tuple[Expectation, ...]:
    text = _FORMS[key][2]
    return (
        Expectation(f"{key}.high_trust", f"with a trust of 95 % or more, {text}", "share", 0.9, 1.0),
        Expectation(f"{key}.third", f"in benign's third ellipsoid, {text}", "share", 0.9, 1.0),
    )


EXPERIMENT = Experiment(
    name="wdbc",
    title="WDBC",
    about=f"569 records, 30 features, n_imp {_N_IMP}; each run has four splits into 90 and 10 %, as in the paper.",
    statements=(
        Statement(
            "The two labels have almost no overlap.",
            "almost none",
            (
                Expectation("overlap.benign", "largest OVR of the splits, benign", "number", 0, 0.05),
                Expectation("overlap.malignant", "malignant", "number", 0, 0.05),
            ),
        ),
        Statement(
            "3 ellipsoids are found for each class, in each split.",
            "3 and 3",
            (
                Expectation("raw.n_benign", "ellipsoids, mean of four splits, benign", "number", 3, 3),
                Expectation("raw.n_malignant", "malignant", "number", 3, 3),
            ),
            (
                (
                    Expectation("standard.n_benign", "standardised, benign", "number", 3, 3),
                    Expectation("standard.n_malignant", "malignant", "number", 3, 3),
                ),
                *_three_each(),
            ),
            _how_often,
            reason="3 and 3 in most single splits; all four splits of a run agree on it less often.",
        ),
        Statement(
            "Test points lie in 7 regions.",
            "7",
            (Expectation("raw.regions", "regions hit, mean of four splits", "number", 6, 8),),
            (
                (Expectation("raw.together", "regions hit by four splits together", "count", 6, 8),),
                (Expectation("standard.regions", "standardised, mean of four splits", "number", 6, 8),),
                (Expectation("standard.together", "standardised, four splits together", "count", 6, 8),),
            ),
            reason="57 test points reach six regions or so; a seventh as a rule only in some of the splits.",
        ),
        Statement(
            "The seventh is the intersection of malignant's first and second ellipsoid.",
            "region 7",
            (Expectation("raw.seventh", "splits of four with test points there", "count", 1, 4),),
            reason="Malignant's first two ellipsoids share hardly a test point.",
        ),
        Statement(
            "About 10 malignant test points are wrong; all other points are right.",
            "10, and 0 benign",
            _errors("raw"),
            tuple(_errors(key) for key in _FORMS if key != "raw"),
            _accuracies,
            reason="About as many points are wrong, but most are benign ones that are outside of all ellipsoids and "
            "nearest to a malignant one. Counts of the grown ellipsoid make most of them malignant, with low trust.",
        ),
        Statement(
            "They lie in benign's third ellipsoid and are wrong with high trust.",
            "all, with 100 %",
            _trusted_errors("raw"),
            tuple(_trusted_errors(key) for key in _FORMS if key != "raw"),
            reason="They do have a high trust, but most lie in, or next to, another of benign's ellipsoids.",
        ),
        Statement(
            "Partitioned again with these points, SEP-C finds a new place for them.",
            "a new partition",
            (
                Expectation("again.after", "test points wrong afterwards", "count", 0, 4),
                Expectation("again.appeared", "new malignant ellipsoids", "count", 1, inf),
            ),
            reason="They do get a place, all are right afterwards, but in ellipsoids much like those that there were.",
        ),
    ),
    tables=(
        Table(
            "Features as they are and standardised; labels by counts, by each ellipsoid's own, by counts of grown ones",
            tuple(Row(key, text) for key, (_, _, text) in _FORMS.items()),
            _COLUMNS,
            "Ellipsoids, regions and accuracy: mean of the four splits of a run. Own label: a point in (or next to) "
            "one ellipsoid alone gets the label of that ellipsoid, even where the other label outnumbers it there. "
            "Counts of the grown ellipsoid: a point outside of all is decided by what the nearest holds once it is "
            "expanded to the point.",
        ),
        _BY_READING,
        Table(
            "Overlap ratio, the largest of the four splits",
            (Row("overlap", "training points"),),
            (Column("benign", "benign", "number"), Column("malignant", "malignant", "number")),
        ),
        _AFTER,
        ACCEPTANCE,
    ),
    measure=_measure,
    draw=_draw,
    caption="Test points of four splits by region, for either true label: bars by the label that they were given, "
    "line: mean trust in it. Regions of the same name in different splits are one here; a point outside of all "
    "ellipsoids (Case 3) is counted with the nearest. Seed 0.",
)
