"""Synthetic records, and the records of a pool most worth a label."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from sklearn.datasets import load_breast_cancer, load_iris

from sepc import SEPClassifier


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module")
def fitted(iris):
    return SEPClassifier().fit(*iris)


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    return SEPClassifier().fit(data.data[::2], data.target[::2]), data.data[1::2]


class TestSample:
    def test_records_lie_in_the_ellipsoid_they_are_drawn_from(self, fitted):
        X, y = fitted.sample(300, region="virginica#2", random_state=0)
        (rules,) = fitted.model_.rules
        E = rules.stack[rules.names.index("virginica#2")]
        assert E.contains((X - fitted.mean_) / fitted.scale_).all()
        assert set(y) == {"virginica"}
        assert X.columns.tolist() == fitted.feature_names_in_.tolist()

    def test_labels_come_in_proportion_to_the_counts(self, fitted):
        regions = fitted.regions()
        regions = regions[~regions["label"].str.startswith("not ")]
        expected = regions.groupby("label")["n_label"].sum() / regions["n_label"].sum()
        _, y = fitted.sample(20_000, random_state=0)
        for label, share in expected.items():
            assert np.mean(y == label) == pytest.approx(share, abs=0.015)

    @pytest.mark.slow
    def test_a_model_of_the_samples_agrees_with_the_model(self, fitted, iris):
        X, y = fitted.sample(3000, random_state=0)
        again = SEPClassifier(n_imp=0.05).fit(X, y)
        assert (again.predict(iris[0]) == iris[1]).mean() > 0.9

    def test_constant_features_stay_constant(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=60) + np.repeat([0, 9], 30), np.full(60, 7.5)])
        drawn, _ = SEPClassifier().fit(X, np.repeat([0, 1], 30)).sample(50, random_state=0)
        assert (drawn[:, 1] == 7.5).all()

    def test_the_same_seed_gives_the_same_records(self, fitted):
        (a, b), (c, d) = fitted.sample(20, random_state=3), fitted.sample(20, random_state=3)
        assert a.equals(c)
        assert np.array_equal(b, d)
        assert not a.equals(fitted.sample(20, random_state=4)[0])

    @pytest.mark.parametrize(
        "wrong", [{"label": "rose"}, {"region": "virginica#99"}, {"label": "setosa", "region": "virginica#1"}]
    )
    def test_unknown_sources_are_refused(self, fitted, wrong):
        with raises("unknown-ellipsoid"):
            fitted.sample(3, **wrong)

    @pytest.mark.parametrize("n", [0, -1, 2.5, "3"])
    def test_bad_numbers_are_refused(self, fitted, n):
        with raises("n-samples", n=n):
            fitted.sample(n)


class TestQuery:
    def test_the_doubtful_and_the_strange_come_first(self, cancer):
        clf, pool = cancer
        a = clf.assess(pool)
        first = clf.query(pool, 10)
        assert a.trust[first].mean() < a.trust.mean()
        assert a.distance[first].mean() > a.distance.mean()

    def test_they_are_spread_over_regions(self, cancer):
        clf, pool = cancer
        a = clf.assess(pool)
        regions = set(a.region)
        assert len(set(a.region[clf.query(pool, 8)])) >= min(3, len(regions))

    def test_the_order_of_the_pool_does_not_matter(self, cancer):
        clf, pool = cancer
        order = np.random.default_rng(0).permutation(len(pool))
        assert pool.index[clf.query(pool, 12)].tolist() == pool.index[order][clf.query(pool.iloc[order], 12)].tolist()

    def test_equal_records_are_taken_once(self, cancer):
        clf, pool = cancer
        twice = pd.concat([pool[:5], pool[:5]])
        assert sorted(clf.query(twice, 5) % 5) == [0, 1, 2, 3, 4]
        with raises("query-size", k=6, n_candidates=5):
            clf.query(twice, 6)
