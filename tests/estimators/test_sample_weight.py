"""Weights of records: a weight of k is the record k times, by both estimators."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from sklearn.datasets import load_iris

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.common.sample_weights import copies_by_weight

MAKERS = {
    "local": SEPClassifier,
    "raw": lambda: SEPClassifier(trust="raw"),
    "paper": lambda: SEPClassifier(trust="paper"),
    "counts": lambda: SEPClassifier(trust="counts"),
    "ensemble": lambda: SEPEnsembleClassifier(n_estimators=4),
}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(y)).astype(float)
    return X + 1e-3 * rng.normal(size=X.shape), np.array(["a", "b", "c"])[y], weight


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, id=name, marks=[pytest.mark.slow] * (name == "ensemble")) for name, make in MAKERS.items()],
)
class TestWholeWeights:
    def test_they_are_repeated_rows(self, make, iris):
        X, y, weight = iris
        repeated = np.repeat(np.arange(len(y)), weight.astype(int))
        order = np.random.default_rng(1).permutation(len(repeated))
        one, two = make().fit(X, y, sample_weight=weight), make().fit(X[repeated][order], y[repeated][order])
        new = X + 0.2
        assert np.array_equal(one.predict(new), two.predict(new))
        assert one.predict_proba(new) == pytest.approx(two.predict_proba(new), abs=1e-9)
        assert one.trust_score(new) == pytest.approx(two.trust_score(new), abs=1e-9)
        assert one.class_count_.tolist() == two.class_count_.tolist()
        a, b = one.assess(new), two.assess(new)
        assert np.array_equal(a.counts, b.counts)
        assert a.region.tolist() == b.region.tolist()
        assert a.typicality == pytest.approx(b.typicality, abs=1e-9, nan_ok=True)
        assert a.stability == pytest.approx(b.stability, abs=1e-9, nan_ok=True)
        for p, q in zip(getattr(one, "partitions_", []), getattr(two, "partitions_", []), strict=True):
            of_rows = repeated[order]
            assert [b.members.tolist() for b in p.blocks] == [np.unique(of_rows[b.members]).tolist() for b in q.blocks]

    def test_none_is_absence(self, make, iris):
        X, y, weight = iris
        there = weight > 0
        one = make().fit(X, y, sample_weight=there.astype(float))
        two = make().fit(X[there], y[there])
        assert np.array_equal(one.predict_proba(X), two.predict_proba(X))

    def test_ones_change_nothing(self, make, iris):
        X, y, _ = iris
        assert np.array_equal(
            make().fit(X, y, sample_weight=np.ones(len(y))).predict_proba(X), make().fit(X, y).predict_proba(X)
        )

    def test_a_class_of_no_weight_is_not_there(self, make, iris):
        X, y, _ = iris
        clf = make().fit(X, y, sample_weight=(y != "b").astype(float))
        assert clf.classes_.tolist() == ["a", "c"]

    def test_files_keep_it(self, make, iris, tmp_path):
        X, y, weight = iris
        clf = make().fit(X, y, sample_weight=weight)
        for rows in (True, False):
            sepc.save(clf, tmp_path / "model.sepc", training_rows=rows)
            again = sepc.load(tmp_path / "model.sepc")
            assert again.assess(X).to_frame().equals(clf.assess(X).to_frame())
        near = clf.explain(X[7]).neighbours
        assert near
        assert all(weight[one.row] > 0 and y[one.row] == one.label for one in near)


class TestFractions:
    def test_as_many_records_as_the_weights_say(self):
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(600, 2)), np.repeat([0, 1, 2], 200)
        weight = rng.uniform(0.0, 2.0, 600)
        copies = copies_by_weight(weight, X, codes, np.arange(3))
        assert (np.abs(copies - weight) < 1.0).all()
        for k in range(3):
            mine = np.flatnonzero(codes == k)
            mine = mine[np.lexsort(X[mine].T[::-1])]
            assert np.abs(np.cumsum(copies[mine]) - np.cumsum(weight[mine])).max() <= 0.5 + 1e-9
        order = rng.permutation(600)
        assert np.array_equal(copies_by_weight(weight[order], X[order], codes[order], np.arange(3)), copies[order])

    @pytest.mark.slow
    def test_priors_are_those_of_the_weights(self, iris):
        X, y, _ = iris
        weight = np.where(y == "a", 0.2, 1.0)
        for make in (SEPClassifier, SEPEnsembleClassifier):
            clf = make().fit(X, y, sample_weight=weight)
            assert clf.class_count_.tolist() == [10, 50, 50]

    def test_a_number_stands_for_all(self, iris):
        X, y, _ = iris
        assert SEPClassifier().fit(X, y, sample_weight=2.0).class_count_.tolist() == [100, 100, 100]


class TestElsewhere:
    def test_honest_probabilities_are_those_of_the_rows(self, iris):
        X, y, weight = iris
        clf = SEPEnsembleClassifier(n_estimators=3).fit(X, y, sample_weight=weight)
        assert clf.out_of_fold_proba_.shape == (len(y), 3)
        assert np.array_equal(np.isnan(clf.out_of_fold_proba_[:, 0]), weight == 0)

    @pytest.mark.slow
    @pytest.mark.parametrize("times", [3, 8])
    def test_copies_are_left_out_together(self, iris, times):
        """A record that counts eight times is not known beforehand for that."""
        X, y, _ = iris
        rng = np.random.default_rng(2)
        noisy = np.where(rng.random(len(y)) < 0.3, rng.permutation(y), y)
        once = SEPEnsembleClassifier(n_estimators=3).fit(X, noisy)
        often = SEPEnsembleClassifier(n_estimators=3).fit(X, noisy, sample_weight=np.full(len(y), times))
        losses = []
        for clf in (once, often):
            own = clf.out_of_fold_proba_[np.arange(len(y)), np.searchsorted(clf.classes_, noisy)]
            losses.append(-np.log(own).mean())
        assert losses[1] > 0.8 * losses[0]

    @pytest.mark.slow
    def test_trust_does_not_grow_with_the_weight_of_all(self, iris):
        X, y, _ = iris
        rng = np.random.default_rng(2)
        noisy = np.where(rng.random(len(y)) < 0.3, rng.permutation(y), y)
        clf = SEPClassifier().fit(X[::2], noisy[::2], sample_weight=np.full(75, 8))
        a = clf.assess(X[1::2])
        assert a.trust.mean() < np.mean(a.label == noisy[1::2]) + 0.1

    @pytest.mark.slow
    def test_tables_take_them(self, iris):
        X, y, weight = iris
        table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 0] > 5.8, "long", "short"))
        repeated = np.repeat(np.arange(len(y)), weight.astype(int))
        one = make_table_pipeline().fit(table, y, sample_weight=weight)
        two = make_table_pipeline().fit(table.iloc[repeated].reset_index(drop=True), y[repeated])
        assert one.predict_proba(table) == pytest.approx(two.predict_proba(table), abs=1e-9)
        assert one["columns"].columns_ == two["columns"].columns_
        assert one.explain(table.iloc[[5]]).neighbours[0].row < len(y)

    @pytest.mark.slow
    def test_landscapes_and_monitors_work(self, iris):
        X, y, weight = iris
        clf = SEPClassifier().fit(X, y, sample_weight=weight)
        assert len(clf.landscape_.regions) == len(clf.partitions_[0].blocks)
        assert sepc.feedback.FeedbackMonitor(clf).observe(X[:20], y[:20]).report().n == 20


class TestBadWeights:
    @pytest.mark.parametrize(
        ("weight", "refusal"),
        [
            ([1.0, 2.0], raises("sample-weight-shape", shape=(2,), n_rows=6)),
            (np.ones((6, 1)), raises("sample-weight-shape", shape=(6, 1), n_rows=6)),
            ([1.0, -1.0, 1.0, 1.0, 1.0, 1.0], raises("sample-weight-value", weight=-1.0, row=1)),
            ([1.0, 1.0, np.nan, 1.0, 1.0, 1.0], raises("sample-weight-value", row=2)),
            (["a"] * 6, raises("sample-weight-not-numbers")),
            (np.zeros(6), raises("sample-weight-all-zero")),
            (
                [0.1, 0.1, 0.1, 1.0, 1.0, 1.0],
                raises("weights-of-class-too-small", label="low", total=pytest.approx(0.3)),
            ),
            (np.full(6, 1e9), raises("weights-too-large", total=pytest.approx(6e09), most=200000000)),
            ([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], raises("one-class", label="high")),
        ],
    )
    @pytest.mark.parametrize("make", [SEPClassifier, SEPEnsembleClassifier])
    def test_they_are_refused(self, make, weight, refusal):
        with refusal:
            make().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3, sample_weight=weight)

    def test_a_column_that_only_absent_records_know_is_refused(self):
        X = [[0.0, np.nan], [1.0, np.nan], [2.0, 5.0], [5.0, np.nan], [6.0, np.nan], [9.0, np.nan]]
        with raises("columns-without-values", columns="1"):
            SEPClassifier().fit(X, ["low"] * 3 + ["high"] * 3, sample_weight=[1, 1, 0, 1, 1, 1])

    def test_not_where_records_are_not_in_memory(self, iris):
        da = pytest.importorskip("dask.array")
        X, y, weight = iris
        with raises("sample-weight-not-in-memory"):
            SEPClassifier().fit(da.from_array(X), da.from_array(y), sample_weight=weight)


@pytest.mark.slow
def test_neighbours_are_named_once(iris):
    X, y, _ = iris
    for make in (SEPClassifier, lambda: SEPEnsembleClassifier(n_estimators=2)):
        near = make().fit(X, y, sample_weight=np.full(len(y), 3)).explain(X[43]).neighbours
        assert len({one.row for one in near}) == len(near) == 5


def test_fractions_leave_columns_and_records_out_alike():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    table["c"] = np.where(np.arange(60) < 3, 1.0 + np.arange(60), np.nan)
    weight = rng.random(60) * 0.3 + 0.05
    clf = make_table_pipeline().fit(table, np.arange(60) % 2, sample_weight=weight)
    assert clf["classifier"].class_count_.sum() == pytest.approx(weight.sum(), abs=1.0)
