"""How far beyond the range of training a value may lie, and that labels there are refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline, save
from sepc import load as load_model
from sepc.model.reach import BEYOND, Reach


def limits(X):
    reach = Reach.of(X)
    return np.stack([reach.lowest, reach.highest])


@pytest.fixture(scope="module")
def credit():
    """A credit table: years in a job, age, expenses with a floor of 35, a rate, and a label by the first two."""
    rng = np.random.default_rng(0)
    n = 900
    table = pd.DataFrame(
        {
            "seniority": np.minimum(rng.exponential(8.0, n).round(), 48.0),
            "age": np.clip(rng.normal(37.0, 11.0, n).round(), 18.0, 68.0),
            "expenses": np.maximum(rng.normal(50.0, 20.0, n).round(), 35.0),
            "rate": rng.gamma(4.0, 2.0, n).round(1),
            "home": rng.choice(["owner", "rent"], n),
        }
    )
    chance = 1.0 / (1.0 + np.exp(-(0.25 * table["seniority"] - 1.5)))
    return table, np.where(rng.random(n) < chance, "good", "bad")


@pytest.fixture(scope="module")
def fitted(credit):
    return make_table_pipeline().fit(*credit)


SHIFTS = [("seniority", 90.0), ("age", 0.0), ("expenses", 0.0), ("rate", -9.0), ("expenses", -999.0), ("age", 9999.0)]


class TestLimits:
    @pytest.mark.parametrize("draw", ["normal", "exponential", "uniform", "standard_t"])
    @pytest.mark.parametrize("n", [60, 400, 3000])
    def test_about_one_in_a_hundred_ordinary_records_is_beyond(self, draw, n):
        d, shares = 8, []
        for seed in range(20):
            rng = np.random.default_rng([seed, n])
            A, B = (
                rng.standard_t(4, (m, d)) if draw == "standard_t" else getattr(rng, draw)(size=(m, d))
                for m in (n, 4000)
            )
            shares.append(np.mean(Reach.of(A).farthest(B) >= 0))
        # With few records a heavy tail looks lighter than it is.
        assert np.mean(shares) < (4.0 if draw == "standard_t" else 2.0) * BEYOND

    def test_training_records_are_within_reach(self):
        X = np.random.default_rng(0).standard_cauchy((200, 5))
        reach = Reach.of(X)
        assert (reach.farthest(X) == -1).all()
        assert not reach.sides(X).any()
        assert (reach.farthest(X.astype(np.float32).astype(float)) == -1).all()

    def test_the_law_of_units_and_of_signs(self):
        X = np.random.default_rng(0).gamma(2.0, size=(300, 4))
        a, b = np.array([1e-3, 1.0, -2.0, 40.0]), np.array([5.0, 0.0, 1.0, 1e4])
        moved = np.sort(a * limits(X) + b, axis=0)
        assert limits(a * X + b) == pytest.approx(moved, rel=1e-4, abs=1e-4)

    def test_the_order_of_records_does_not_matter(self):
        X = np.random.default_rng(0).gamma(2.0, size=(300, 4))
        assert np.array_equal(limits(X), limits(X[::-1]))

    def test_missing_values_say_nothing(self):
        X = np.random.default_rng(0).normal(size=(300, 3))
        gappy = np.vstack([X, np.full((50, 3), np.nan)])
        assert limits(gappy) == pytest.approx(limits(X))
        assert Reach.of(X).farthest(np.array([[np.nan, np.nan, 99.0], [np.nan] * 3])).tolist() == [2, -1]

    def test_an_end_that_many_values_share_is_an_end(self):
        X = np.column_stack([np.maximum(np.random.default_rng(0).normal(size=500), 0.0), np.arange(500) % 2])
        low, high = limits(X)
        assert low == pytest.approx([0.0, 0.0], abs=1e-6)
        assert high[1] == pytest.approx(1.0)
        assert high[0] > X[:, 0].max()

    def test_a_constant_column_may_change_only_where_many_are_constant(self):
        X = np.zeros((300, 2))
        X[:, 0] = np.arange(300.0)
        new = np.array([[5.0, 3.0]])
        assert Reach.of(X).farthest(new).tolist() == [1]
        assert Reach.of(np.hstack([X, np.zeros((300, 9))])).farthest(np.hstack([new, np.zeros((1, 9))])).tolist() == [
            -1
        ]


class TestAcceptance:
    @pytest.mark.parametrize(("column", "value"), SHIFTS)
    def test_a_value_far_beyond_is_refused_with_its_column(self, credit, fitted, column, value):
        new = credit[0][:100].assign(**{column: value})
        a = fitted.assess(new)
        assert set(a.refusals()) == {"beyond"}
        assert set(a.beyond) == {column}
        assert set(a.reason) == {"beyond"}
        assert not a.accepted().any()
        (counts,) = [counts for name, counts in a.out_of_range().items() if name == column]
        assert sum(counts) == 100

    @pytest.mark.parametrize(
        "clf",
        [SEPClassifier(), SEPEnsembleClassifier(n_estimators=3), SEPClassifier(trust="raw")],
        ids=["local", "ensemble", "raw"],
    )
    def test_acceptance_never_rises_by_going_beyond(self, clf):
        X, y = load_wine(return_X_y=True)
        clf = clone(clf).fit(X[::2], y[::2])
        whole = clf.assess(X).accepted().sum()
        for j in range(X.shape[1]):
            low, high = X[:, j].min(), X[:, j].max()
            for value in (low - 3.0 * (high - low), high + 3.0 * (high - low)):
                moved = X.copy()
                moved[:, j] = value
                accepted = clf.assess(moved).accepted()
                assert accepted.sum() == 0 < whole

    @pytest.mark.parametrize("trust", ["paper", "counts", "bound"])
    def test_methods_without_densities_refuse_nothing_new(self, trust):
        X, y = load_wine(return_X_y=True)
        a = SEPClassifier(trust=trust).fit(X, y).assess(X + 1e4)
        assert not a.is_beyond.any()
        assert a.out_of_range()["x0"] == (0, len(X))

    def test_labels_and_trust_stay(self, credit, fitted):
        new = credit[0][:50].assign(age=0.0)
        a, b = fitted.assess(new), fitted[-1].model_.decide(np.asarray(fitted["columns"].transform(new)))
        assert np.array_equal(a.trust, b.trust)
        assert a.accepted(0.0, min_typicality=0.0).sum() > 0

    def test_a_saved_model_refuses_the_same(self, credit, fitted, tmp_path):
        for training_rows in (True, False):
            save(fitted, tmp_path / "m.sepc", training_rows=training_rows)
            for column, value in SHIFTS[:2]:
                new = credit[0][:20].assign(**{column: value})
                assert load_model(tmp_path / "m.sepc").assess(new).refusals().tolist() == ["beyond"] * 20

    def test_taken_and_pickled_assessments_keep_it(self, credit, fitted):
        a = fitted.assess(credit[0][:6].assign(age=[0.0, 30.0] * 3))
        assert a.taken(np.array([0, 1])).refusals()[0] == "beyond"
        again = pickle.loads(pickle.dumps(a))
        assert again.out_of_range() == a.out_of_range() == {"age": (3, 0)}
        assert again.is_beyond.tolist() == [True, False] * 3

    def test_the_explanation_names_value_and_range(self, credit, fitted):
        row = credit[0].iloc[[0]].assign(seniority=95.0)
        text = fitted.explain(row).text
        assert "seniority is 95, beyond what training justifies: its values there reach from 0 to 48." in text
        assert "Check seniority again" in text

    def test_dates_are_told_as_dates(self):
        rng = np.random.default_rng(0)
        days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 200), "D")
        table = pd.DataFrame({"x": rng.normal(size=200), "seen": days})
        clf = make_table_pipeline().fit(table, np.where(table["x"] > 0, "a", "b"))
        text = clf.explain(table.iloc[[0]].assign(seen=pd.Timestamp("2031-05-05"))).text
        assert "seen is 2031-05-05, beyond what training justifies: its values there reach from 2024-01-01 to" in text


def test_dask_refuses_the_same(credit):
    da = pytest.importorskip("dask.array")
    X = credit[0].drop(columns="home").to_numpy()
    clf = SEPClassifier().fit(X, credit[1])
    new = X[:40].copy()
    new[::2, 1] = 0.0
    here, there = clf.assess(new), clf.assess(da.from_array(new, chunks=(15, -1)))
    assert there.accepted().compute().tolist() == here.accepted().tolist()
    assert there.refusals().compute().tolist() == here.refusals().tolist()
    assert there.compute().beyond.tolist() == here.beyond.tolist() == ["x1", None] * 20
    assert there.compute().out_of_range() == here.out_of_range() == {"x1": (20, 0)}


def test_held_out_records_of_real_sets_are_rarely_beyond():
    for X in (load_breast_cancer().data, load_wine().data, load_diabetes().data, load_iris().data):
        X = np.asarray(X, dtype=float)
        shares = []
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(X))
            A, B = np.array_split(X[order], 2)
            shares.append(np.mean(Reach.of(A).farthest(B) >= 0))
        assert np.mean(shares) <= 2.0 * BEYOND
