"""Columns of a report: those that matter by their terms in the log odds, and what each holds."""

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline, report
from sepc.explanations.shares import feature_terms
from sepc.reports.columns import column_importance, column_terms
from sepc.reports.subject import Subject


def _terms_of(clf, X, Z):
    """Return the terms of the features of rows, one by one, shape (n, d), and the region that each label is by."""
    model, terms, regions = clf.model_, [], []
    for i, z in enumerate(Z):
        why = clf.explain(X[i : i + 1])
        pair = [np.flatnonzero(clf.classes_ == label) for label in (why.label, why.evidence.rival)]
        found = feature_terms(model.densities, z[None], *pair, model.calibration.linear)
        terms.append(found.values[0])
        regions.append(next(s.region for s in why.shares if s.is_region))
    return np.array(terms), np.array(regions)


@pytest.mark.slow
def test_a_column_matters_as_much_as_its_terms(wdbc, wdbc_clf):
    _, X_test, _, y_test = wdbc
    X_test, y_test = X_test[:12], y_test[:12]
    found = column_importance(Subject.of(wdbc_clf, X_test, y_test))
    terms, regions = _terms_of(wdbc_clf, X_test, wdbc_clf.model_.units(X_test.to_numpy()))
    sizes = dict(zip(X_test.columns, np.abs(terms).mean(axis=0), strict=True))
    rows = found["columns"]["rows"]
    assert [row[0] for row in rows] == sorted(sizes, key=sizes.get, reverse=True)
    assert [row[2] for row in rows] == pytest.approx([sizes[row[0]] for row in rows], rel=1e-5)
    assert sum(row[1] for row in rows) == pytest.approx(1.0, abs=1e-4)
    for region, n, telling in found["groups"]["rows"]:
        assert n == np.count_nonzero(regions == region)
        most = X_test.columns[np.abs(terms[regions == region]).mean(axis=0).argmax()]
        assert telling.startswith(f"{most} (")


@pytest.mark.slow
def test_what_an_encoder_made_of_a_column_is_added_up():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    X = pd.DataFrame({"kind": np.where(y == "a", rng.choice(["u", "v"], 120), rng.choice(["v", "w"], 120))})
    X["noise"] = rng.normal(size=120)
    clf = make_table_pipeline().fit(X[::2], y[::2])
    subject = Subject.of(clf, X[1:20:2], y[1:20:2])
    terms, _ = _terms_of(clf[-1], clf["columns"].transform(X[1:20:2]), subject.points)
    whole = np.column_stack([terms[:, word.at].sum(axis=1) for word in subject.words])
    assert column_terms(subject).values == pytest.approx(whole)
    assert column_importance(subject)["columns"]["rows"][0][0] == "kind"


def test_an_ensemble_adds_up_its_members_by_weight():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 80)
    X = rng.normal(size=(160, 4))
    X[y == "b", 2] += 3.0
    clf = SEPEnsembleClassifier(n_estimators=4).fit(X[::2], y[::2])
    found = column_importance(Subject.of(clf, X[1::2], y[1::2]))
    assert found["columns"]["rows"][0][0] == "x2"
    assert found["columns"]["rows"][0][3] > 0.8  # it mostly speaks for the label
    assert {row[0] for row in found["groups"]["rows"]} == {"a", "b"}


@pytest.mark.slow
@pytest.mark.parametrize("trust", ["counts", "bound", "paper"])
def test_a_reading_that_counts_ranks_no_columns(iris, trust):
    X, X_test, y, y_test = iris
    told = report(SEPClassifier(trust=trust).fit(X, y), X_test, y_test, max_records=0)
    assert told.to_dict()["importance"]["columns"] is None
    assert told.to_dict()["importance"]["note"] in told.html()
    assert told.to_dict()["importance"]["note"] in told.markdown()


def test_the_profile_tells_what_the_columns_hold():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 50)
    X = pd.DataFrame(
        {
            "age": np.where(y == "ill", 60.0, 40.0) + rng.integers(-9, 9, 100),
            "smoker": np.where(rng.random(100) < 0.3, "yes", "no"),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 100), "D"),
        }
    )
    X.loc[[1, 3, 5], "age"] = None
    X.loc[99, "age"] = 120.0
    test, y_test = X[1::2], y[1::2]
    rows = report(make_table_pipeline().fit(X[::2], y[::2]), test, y_test, max_records=0).to_dict()["profile"]["rows"]
    age, smoker, seen = rows
    medians = [f"{test['age'][y_test == label].median():g} of {label}" for label in ("ill", "well")]
    assert age == ["age", 3, test["age"].nunique(), f"{test['age'].min():g} to 120", 1, f"median {', '.join(medians)}"]
    assert smoker[:3] == ["smoker", 0, 2]
    assert smoker[3].startswith("no (")
    shares = [f"{100 * np.mean(test['smoker'][y_test == label] == 'no'):g} % of {label}" for label in ("ill", "well")]
    assert smoker[4:] == [None, f"no: {', '.join(shares)}"]
    assert seen[3] == f"{test['seen'].min().date()} to {test['seen'].max().date()}"
