"""The core of a large training set: which records are in it, and what a fit makes of all others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import examples

from sepc import SEPClassifier
from sepc.common.splits import IN_NO_PART, record_hashes
from sepc.common.validation import known_share
from sepc.estimators.held_out_parts import HashParts
from sepc.estimators.records import core_counts, core_rows, evenly_by_hash, first_of_each


def clouds(n, seed=0):
    """Return three classes, the last one rare and in two places."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.6, 0.36, 0.04])
    X = rng.normal(size=(n, 2)) + np.column_stack([2.0 * (y == 1), 4.0 * (y == 2) * rng.choice([-1, 1], n)])
    return X, np.array(["a", "b", "rare"])[y]


class TestParts:
    def test_parts_are_of_about_the_same_size(self):
        points = np.random.default_rng(1).normal(size=(3000, 2))
        hashes, codes = record_hashes(points), np.zeros(3000, dtype=int)
        sizes = np.bincount(HashParts.of(hashes, codes)(hashes, codes))
        assert sizes.tolist() == pytest.approx([1000] * 3, abs=120)


class TestCounts:
    @examples(60)
    @given(st.lists(st.integers(1, 10**6), min_size=2, max_size=12), st.integers(40, 5000))
    def test_every_class_is_there_and_there_are_no_more_than_asked_for(self, sizes, n):
        sizes = np.array(sizes)
        counts = core_counts(sizes, n)
        assert (counts >= 1).all()
        assert (counts <= sizes).all()
        assert counts.sum() <= max(n, 0) or counts.sum() == sizes.sum() <= n
        assert counts.sum() >= min(n, sizes.sum()) - len(sizes)

    def test_rare_ones_are_whole(self):
        assert core_counts(np.array([10**6, 400]), 20_000)[1] == 400


class TestChosen:
    @examples(30)
    @given(arrays(np.uint64, st.integers(40, 200), elements=st.integers(0, 50)))
    def test_the_order_of_records_does_not_matter(self, hashes):
        order = np.random.default_rng(0).permutation(len(hashes))
        one, other = evenly_by_hash(hashes, 40), evenly_by_hash(hashes[order], 40)
        assert np.sort(hashes[one]).tolist() == np.sort(hashes[order][other]).tolist()

    def test_of_equal_records_as_many_as_of_others_in_proportion(self):
        hashes = np.repeat(np.array([3, 9], dtype=np.uint64), [900, 100])
        assert np.bincount(hashes[evenly_by_hash(hashes, 50)].astype(int))[[3, 9]].tolist() == [45, 5]

    @examples(30)
    @given(arrays(np.uint64, st.integers(30, 100), elements=st.integers(0, 20)))
    def test_the_same_ones_are_found_by_their_hashes(self, hashes):
        chosen = hashes[evenly_by_hash(hashes, 30)]
        assert np.sort(hashes[first_of_each(hashes, chosen)]).tolist() == np.sort(chosen).tolist()

    def test_rows_class_by_class(self):
        hashes = np.random.default_rng(3).integers(0, 2**60, 1000).astype(np.uint64)
        rows = core_rows(np.array([900, 100]), hashes, 200)
        assert (np.diff(rows) > 0).all()
        assert np.count_nonzero(rows >= 900) == core_counts(np.array([900, 100]), 200)[1]


def draw(rng, share, n):
    """Return records in the cells of a table, and labels of which this share are 1 in each cell."""
    cells = rng.integers(6, size=(n, 2))
    return cells.astype(float), (rng.random(n) < share[tuple(cells.T)]).astype(int)


class TestFits:
    @pytest.mark.slow
    def test_the_order_of_rows_does_not_matter(self, small_core):
        X, y = clouds(2000)
        assert len(X) > small_core
        order = np.random.default_rng(1).permutation(len(X))
        one, other = SEPClassifier().fit(X, y), SEPClassifier().fit(X[order], y[order])
        assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
        assert one.regions().equals(other.regions())
        members, others = (np.concatenate([b.members for b in clf.partitions_[0].blocks]) for clf in (one, other))
        assert np.sort(members).tolist() == np.sort(order[others]).tolist()

    @pytest.mark.slow
    @pytest.mark.usefixtures("small_core")
    def test_jobs_change_nothing(self):
        X, y = clouds(40_000)
        one, other = SEPClassifier().fit(X, y), SEPClassifier(n_jobs=2).fit(X, y)
        assert np.array_equal(one.predict_proba(X[:500]), other.predict_proba(X[:500]))

    @pytest.mark.slow
    @pytest.mark.usefixtures("small_core")
    def test_all_records_are_counted_and_shape_the_densities(self):
        X, y = clouds(3000)
        clf = SEPClassifier().fit(X, y)
        model = clf.model_
        assert model.rules[0].training_counts.totals.sum() == 3000
        sizes = [model.densities.size(k, 3000) for k in range(len(model.densities.codes))]
        assert sum(sizes) == pytest.approx(3000, abs=len(sizes))
        assert len(model.fit.part) == 3000
        assert len(model.held_out_probabilities()[0]) == 3000

    @pytest.mark.slow
    @pytest.mark.usefixtures("small_core")
    def test_trust_describes_the_model_that_was_fitted(self):
        X, y = clouds(6000)
        X_test, y_test = clouds(20_000, seed=9)
        clf = SEPClassifier().fit(X, y)
        right = clf.predict(X_test) == y_test
        assert clf.trust_score(X_test).mean() == pytest.approx(right.mean(), abs=0.01)

    @pytest.mark.slow
    def test_a_core_with_passes_is_nearly_as_good_as_a_partition_of_all(self, small_core):
        X, y = clouds(6000)
        X_test, y_test = clouds(20_000, seed=9)
        codes = np.searchsorted(["a", "b", "rare"], y_test)

        def loss(n):
            proba = SEPClassifier().fit(X[:n], y[:n]).predict_proba(X_test)
            return -np.log(proba[np.arange(len(codes)), codes]).mean()

        by_core, of_core = loss(6000), loss(small_core)
        assert by_core < of_core - 0.005

    @pytest.mark.slow
    @pytest.mark.usefixtures("small_core")
    def test_missing_values_take_part(self):
        X, y = clouds(2000)
        X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
        clf = SEPClassifier().fit(X, y)
        assert np.mean(known_share(X)) < 0.95
        assert clf.score(X, y) > 0.75

    @pytest.mark.slow
    @pytest.mark.usefixtures("small_core")
    def test_the_paper_s_partition_is_of_all_records(self):
        X, y = clouds(900)
        for p in SEPClassifier(trust="paper").fit(X, y).partitions_:
            assert sum(len(b.members) for b in p.blocks) + sum(map(len, p.isolated)) == 900

    @pytest.mark.slow
    @pytest.mark.usefixtures("small_core")
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")  # one record makes no ellipsoid
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("n_equal", [1, 5])
    def test_a_class_whose_records_are_all_equal_is_never_left_out(self, seed, n_equal):
        """Whatever part its hash falls into, the trust is that of the other classes' parts."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 2))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=1000) > 0, "a", "b")
        alone = np.tile(rng.normal(size=2) + 6.0, (n_equal, 1))
        clf = SEPClassifier().fit(np.vstack([X, alone]), [*y, *["c"] * n_equal])
        assert len(clf.model_.fit.held_out) == 3
        assert set(clf.model_.fit.part[-n_equal:]) == {IN_NO_PART}
        assert clf.predict(alone[:1]).tolist() == ["c"]
        points, proba = clf.model_.held_out_probabilities()
        right = clf.classes_[proba.argmax(axis=1)] == np.array([*y, *["c"] * n_equal])[clf.model_.rows[points]]
        assert proba.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.02)

    @pytest.mark.slow
    def test_records_of_a_table_of_a_few_values_are_left_out_one_by_one(self, small_core):
        """New records will be equal to some: a model that had seen no equal of them would be too unsure."""
        right, trusted = [], []
        for seed in range(4):  # the densities of one draw may be too sure, and those of another too unsure
            rng = np.random.default_rng(seed)
            share = rng.random((6, 6))
            X, y = draw(rng, share, 4000)
            assert len(X) > small_core
            clf = SEPClassifier().fit(X, y)
            part, cell = clf.model_.fit.part, clf.model_.points @ [1.0, 100.0]
            for one in np.unique(cell):
                assert set(part[cell == one]) == {0, 1, 2}
            X_test, y_test = draw(rng, share, 20_000)
            right.append(clf.score(X_test, y_test))
            trusted.append(clf.trust_score(X_test).mean())
        assert np.mean(right) > 0.54
        assert np.mean(trusted) == pytest.approx(np.mean(right), abs=0.03)
