"""Failing regions: planted ones are found in the columns' own words, and without any next to none is."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from scipy.stats import binom, hypergeom
from sklearn.dummy import DummyClassifier

from sepc.common.intervals import exact_interval
from sepc.landscapes import ErrorLandscape, error_landscape
from sepc.landscapes.failing_regions import landscape_of_errors
from sepc.tables import TableEncoder


class Wrong:
    """A classifier that says "yes" to all."""

    def predict(self, X):
        return np.array(["yes"] * len(X))


def labels(wrong):
    return np.where(wrong, "no", "yes")


@pytest.fixture(scope="module")
def loans():
    """A table of all kinds of columns; labels for used cars of those above 60 are mostly wrong, 3 % of the rows."""
    rng = np.random.default_rng(0)
    n = 1800
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "purpose": rng.choice(["used car", "new car", "radio", "school"], n, p=[0.1, 0.3, 0.4, 0.2]),
            "amount": rng.lognormal(8.0, 1.0, n).round(2),
            "asked": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), "D"),
            "member": rng.random(n) < 0.5,
        },
        index=[f"row {k}" for k in range(n)],
    )
    bad = (X["age"] > 60) & (X["purpose"] == "used car")
    wrong = rng.random(n) < np.where(bad, 0.85, 0.06)
    X.loc[rng.random(n) < 0.05, ["age", "purpose"]] = None
    return X, wrong, bad.to_numpy()


@pytest.fixture(scope="module")
def found(loans):
    X, wrong, _ = loans
    return error_landscape(Wrong(), X, labels(wrong))


def test_a_planted_region_is_found_in_the_columns_own_words(loans, found):
    X, _, bad = loans
    assert len(found.regions) == 1
    first, second = sorted(found.regions[0].rule.split(" and "))
    assert second == "purpose is used car"
    assert first.startswith("age above ")
    assert abs(float(first.removeprefix("age above ")) - 60.0) <= 3.0
    known = X[["age", "purpose"]].notna().all(axis=1).to_numpy()
    here = found.region_of == 0
    assert np.sum(here & bad & known) >= 0.8 * np.sum((here | bad) & known)


def test_a_rule_says_which_records_are_in_the_region(loans, found):
    X, _, _ = loans
    above = float(found.regions[0].rule.partition("age above ")[2].split(" ")[0])
    by_words = (X["purpose"] == "used car") & (X["age"] > above)
    assert by_words.tolist() == (found.region_of == 0).tolist() == (found.assign(X) == 0).tolist()
    new = X.head(2).assign(age=[above, above + 1.0], purpose="used car")
    assert found.assign(new).tolist() == [-1, 0]
    assert found.assign(new.assign(purpose="a boat")).tolist() == [-1, -1]


def test_counts_and_intervals_are_of_records_that_the_search_has_not_seen(loans, found):
    _, wrong, _ = loans
    (one,) = found.regions
    assert 0 < one.n_tested < one.n_records == np.sum(found.region_of == 0)
    assert one.error_rate == one.n_errors / one.n_tested
    assert (one.low, one.high) == exact_interval(one.n_errors, one.n_tested, 1.0 - 0.05 / found.n_tested)
    assert one.low <= 0.85 <= one.high
    assert one.elsewhere == pytest.approx(wrong[found.region_of < 0].mean(), abs=0.03)
    n_part_errors = round(one.n_errors / one.share_of_errors)
    n_part = one.n_tested + round((n_part_errors - one.n_errors) / one.elsewhere)
    p = hypergeom.sf(one.n_errors - 1, n_part, n_part_errors, one.n_tested)
    assert p <= one.p_value / 3.0 <= 5.0 * p * (1.0 + 1e-9)


def test_the_frame_has_the_numbers_of_the_regions(found):
    frame = found.to_frame()
    (one,) = found.regions
    assert frame["rule"].tolist() == [one.rule]
    assert frame["lift"].tolist() == [one.error_rate / one.elsewhere]
    assert one.text in found.summary()
    assert f"{found.n_errors} of 1,800 labels wrong." in repr(found)


def test_the_order_of_the_rows_has_no_effect(loans, found):
    X, wrong, _ = loans
    order = np.random.default_rng(1).permutation(len(X))
    other = error_landscape(Wrong(), X.iloc[order], labels(wrong[order]))
    assert other.to_frame().equals(found.to_frame())
    assert other.region_of.tolist() == found.region_of[order].tolist()


def test_polars_in_polars_out(loans):
    pl = pytest.importorskip("polars")
    X, wrong, _ = loans
    found = error_landscape(Wrong(), pl.from_pandas(X[["age", "purpose"]]), labels(wrong))
    assert isinstance(found.to_frame(), pl.DataFrame)
    assert "used car" in found.to_frame()["rule"][0]


def test_without_a_region_findings_are_as_rare_as_stated():
    # Errors that the search has seen would make nearly every run find something.
    runs = 12
    hits = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(240, 2))
        hits += bool(landscape_of_errors(X, rng.random(240) < 0.3, max_fdr=0.2).regions)
    assert hits <= binom.ppf(0.999, runs, 0.2)


@pytest.mark.parametrize("kind", ["range", "missing", "level", "few values"])
def test_each_kind_of_condition_has_its_words(kind):
    rng = np.random.default_rng(0)
    n = 600
    number = rng.normal(size=n).round(3)
    bad = rng.random(n) < 0.1
    X, expected = {
        "range": (pd.DataFrame({"a": np.where(bad, 1.0 + 0.1 * rng.random(n), number % 0.9)}), "a above "),
        "missing": (pd.DataFrame({"a": np.where(bad, np.nan, number), "b": rng.random(n)}), "a is missing"),
        "level": (pd.DataFrame({"a": number, "b": np.where(bad, "x", rng.choice(["y", "z"], n))}), "b is x"),
        "few values": (pd.DataFrame({"a": np.where(bad, 2, rng.choice([1, 3], n))}), "a is 2"),
    }[kind]
    wrong = np.where(bad, rng.random(n) < 0.9, rng.random(n) < 0.05)
    assert error_landscape(Wrong(), X, labels(wrong)).regions[0].rule.startswith(expected)


def test_categories_alone_are_split_record_by_record():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(["p", "q", "r"], 900), "b": rng.choice(["s", "t"], 900)})
    wrong = rng.random(900) < np.where((X["a"] == "p") & (X["b"] == "s"), 0.7, 0.1)
    found = error_landscape(Wrong(), X, labels(wrong))
    assert sorted(found.regions[0].rule.split(" and ")) == ["a is p", "b is s"]
    order = rng.permutation(900)
    assert error_landscape(Wrong(), X.iloc[order], labels(wrong[order])).to_frame().equals(found.to_frame())


def test_an_encoder_of_ones_own_decides_what_is_a_category():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": rng.integers(0, 9, 900)})
    wrong = rng.random(900) < np.where(X["code"].isin([2, 7]), 0.8, 0.05)
    found = error_landscape(Wrong(), X, labels(wrong), encoder=TableEncoder(categorical_features=["code"]))
    assert found.regions[0].rule in ("code is 2 or 7", "code is 7 or 2")


@pytest.mark.parametrize("wrong", [np.zeros(50, dtype=bool), np.ones(50, dtype=bool), np.arange(50) == 3])
def test_no_errors_or_nothing_else_are_no_region(wrong):
    X = np.arange(50.0)[:, None]
    found = error_landscape(Wrong(), X, labels(wrong))
    assert isinstance(found, ErrorLandscape)
    assert found.n_errors == wrong.sum()
    assert not found.regions
    assert found.region_of.tolist() == found.assign(X).tolist() == [-1] * 50
    assert "No region is known" in found.summary()
    assert len(found.to_frame()) == 0


@pytest.mark.parametrize("X", [[[1.0]], [[1.0], [1.0]], [[1.0], [2.0], [3.0]]])
def test_few_or_equal_records_have_no_region(X):
    y = ["no", *["yes"] * (len(X) - 1)]
    assert not error_landscape(Wrong(), X, y).regions


def test_bad_input_is_refused():
    X, y = np.arange(9.0)[:, None], ["yes"] * 9
    clf = DummyClassifier().fit(X, np.arange(9))
    with raises("error-landscape-clf", type="object"):
        error_landscape(object(), X, y)
    with raises("labels-shape"):
        error_landscape(Wrong(), X, y[:5])
    with raises("error-landscape-labels", label="yes"):
        error_landscape(clf, X, y)
    with raises("error-landscape-encoder", type="str"):
        error_landscape(Wrong(), X, ["no", *y[1:]], encoder="one-hot")
    with raises("not-strictly-between-0-and-1", name="max_fdr"):
        error_landscape(Wrong(), X, y, max_fdr=0.0)
    clf.predict = lambda _: ["yes"]
    with raises("error-landscape-predictions", n_predicted=1, n=9):
        error_landscape(clf, X, y)
