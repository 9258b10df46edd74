"""Choosing n_imp by cross-validation."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from strategies import examples

from sepc import SEPClassifier, metrics, select_n_imp
from sepc.estimators import NImpPath
from sepc.estimators.n_imp_selection import FoldResult, _folds


def path(risks, rule="one_se", densities=None):
    """Return a path over 0, 1, 2, ... whose folds have these risks."""
    densities = np.zeros(np.shape(risks)) if densities is None else densities
    results = tuple(
        tuple(FoldResult(r, 0.0, r, 0.0, 3, d) for r, d in zip(*row, strict=True))
        for row in zip(risks, densities, strict=True)
    )
    values = tuple(range(len(risks)))
    return NImpPath(values, values, results, "aurc", rule, SEPClassifier())


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def chosen(iris):
    return select_n_imp(*iris, candidates=[0, 2, 0.1])


class Spy(SEPClassifier):
    """Writes down what it is fitted to and what it judges."""

    seen: list = []  # noqa: RUF012  (clones share it on purpose)

    def fit(self, X, y):
        self.seen.append(("fit", np.array(X)))
        return super().fit(X, y)

    def assess(self, X):
        self.seen.append(("assess", np.array(X)))
        return super().assess(X)


class TestChoice:
    def test_the_largest_within_one_standard_error_of_the_best(self):
        # The best is the second: 0.10 +- 0.01, so that 0.11 is still allowed.
        risks = [[0.2, 0.2], [0.09, 0.11], [0.11, 0.11], [0.12, 0.12]]
        assert path(risks).best == 2
        assert path(risks, rule="best").best == 1

    def test_the_standard_error_is_that_of_the_best(self):
        assert path([[0.1, 0.1], [0.0, 0.4]]).best == 0  # a spread of its own does not help the second

    @pytest.mark.parametrize("rule", ["one_se", "best"])
    def test_of_equal_ones_the_smallest(self, rule):
        assert path([[0.3, 0.3], [0.1, 0.1], [0.1, 0.1], [0.2, 0.2]], rule=rule).best == 1
        assert path([[0.3, 0.3], [0.1 + 1e-15, 0.1], [0.1, 0.1]], rule=rule).best == 1

    def test_of_equal_ones_within_a_standard_error_the_smallest(self):
        # The best is the first: 0.10 +- 0.01; the others are allowed, and tied.
        assert path([[0.09, 0.11], [0.105, 0.105], [0.105, 0.105], [0.2, 0.2]]).best == 1

    def test_a_single_candidate_is_chosen(self):
        assert path([[0.5, 0.7]]).best == 0

    @given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=6))
    def test_the_choice_obeys_its_rule(self, risks):
        one_se, best = path(risks), path(risks, rule="best")
        means = one_se.risks.mean(axis=1)
        error = one_se.risks[means.argmin()].std(ddof=1) / np.sqrt(3)
        for chosen, allowed in ((one_se.best_index, means.min() + error), (best.best_index, means.min())):
            assert means[chosen] <= allowed + 1e-9
            after_the_last_tie = means[np.flatnonzero(np.abs(means - means[chosen]) <= 2e-12)[-1] + 1 :]
            assert (after_the_last_tie > allowed).all()
            assert (np.abs(means[:chosen] - means[chosen]) > 1e-13).all()


class TestFolds:
    @examples(60)
    @given(st.lists(st.integers(1, 12), min_size=2, max_size=4), st.integers(2, 7), st.integers(0, 99))
    def test_each_class_is_spread_evenly_and_never_all_held_out(self, sizes, cv, seed):
        if max(sizes) == 1:
            sizes[0] = 2
        codes = np.repeat(np.arange(len(sizes)), sizes)
        fold = _folds(np.random.default_rng(seed).standard_normal((len(codes), 2)), codes, cv, seed)
        for c, size in enumerate(sizes):
            mine = fold[codes == c]
            if size == 1:
                assert mine.tolist() == [-1]
                continue
            counts = np.bincount(mine, minlength=cv)
            assert counts.max() - counts.min() <= 1
            assert counts.max() < size
        totals = np.bincount(fold[fold >= 0])
        assert totals.max() - totals.min() <= 1
        assert totals.min() >= 1

    @pytest.mark.slow
    def test_no_fold_is_fitted_to(self, iris):
        X, y = iris
        X = X + 1e-6 * np.arange(len(X))[:, None]  # no two rows are equal
        Spy.seen.clear()
        select_n_imp(X, y, candidates=[0, 2], cv=4, estimator=Spy())
        fits = [{row.tobytes() for row in rows} for what, rows in Spy.seen if what == "fit"]
        tests = [{row.tobytes() for row in rows} for what, rows in Spy.seen if what == "assess"]
        assert len(fits) == len(tests) == 8
        for train, test in zip(fits, tests, strict=True):
            assert not train & test
            assert len(train | test) == len(X)
        assert tests[:4] == tests[4:]  # the same folds for all candidates
        assert len(set.union(*tests[:4])) == len(X)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_rare", [1, 2, 3])
    def test_classes_of_fewer_records_than_folds_are_handled(self, iris, n_rare):
        X, y = iris
        rows = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:n_rare]])
        found = select_n_imp(X[rows], y[rows], candidates=[0, 2])
        assert found.risks.shape == (2, 5)
        assert np.isfinite(found.risks).all()

    def test_no_more_folds_than_records(self):
        found = select_n_imp([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], cv=10)
        assert found.risks.shape[1] == 4


class TestPath:
    @pytest.mark.slow
    def test_it_is_deterministic(self, iris, chosen):
        assert select_n_imp(*iris, candidates=[0, 2, 0.1]).to_dict() == chosen.to_dict()
        other = select_n_imp(*iris, candidates=[0, 2, 0.1], random_state=1)
        assert not np.array_equal(other.risks, chosen.risks)

    @pytest.mark.slow
    def test_the_order_of_rows_and_of_candidates_does_not_matter(self, iris, chosen):
        X, y = iris
        order = np.random.default_rng(0).permutation(len(X))
        assert select_n_imp(X[order], y[order], candidates=[0.1, 2, 0]).to_dict() == chosen.to_dict()

    @pytest.mark.slow
    def test_several_processes_find_the_same(self, iris, chosen):
        assert select_n_imp(*iris, candidates=[0, 2, 0.1], n_jobs=2).to_dict() == chosen.to_dict()

    @pytest.mark.slow
    def test_risks_are_those_of_the_metrics(self, iris):
        X, y = iris
        found = select_n_imp(X, y, candidates=[2], cv=3)
        fold = _folds(X, y, 3, 0)
        for f, result in enumerate(found.results[0]):
            a = SEPClassifier(n_imp=2).fit(X[fold != f], y[fold != f]).assess(X[fold == f])
            assert result.aurc == metrics.aurc(y[fold == f], a.label, a.trust)
            assert result.augrc == metrics.augrc(y[fold == f], a.label, a.trust)
            assert result.error == np.mean(a.label != y[fold == f])
            assert result.outside == np.mean(a.rule == "R3")

    @pytest.mark.slow
    @pytest.mark.parametrize("metric", ["aurc", "augrc", "error"])
    def test_the_metric_decides(self, iris, metric):
        found = select_n_imp(*iris, candidates=[0, 0.2], metric=metric, rule="best")
        table = found.frame()
        assert table[metric][found.best_index] == table[metric].min()
        assert table.accuracy.to_numpy() == pytest.approx(1 - table.error.to_numpy())

    @pytest.mark.slow
    def test_frames_are_of_the_library_that_came_in_and_labels_of_any_kind(self, iris, chosen):
        X, y = iris
        names = np.array(["x", "y", "z"])[y]
        for frame, library in ((pd.DataFrame(X, index=range(7, 157)), pd), (pl.DataFrame(X), pl)):
            found = select_n_imp(frame, pd.Series(names, index=range(7, 157)), candidates=[0, 2, 0.1])
            assert isinstance(found.frame(), library.DataFrame)
            assert isinstance(found.folds, library.DataFrame)
            assert np.array_equal(found.risks, chosen.risks)

    @pytest.mark.slow
    def test_refit_fits_the_choice_with_the_other_parameters(self, iris):
        X, y = iris
        found = select_n_imp(X, y, candidates=[0, 0.1], estimator=SEPClassifier(standardize=False, n_imp=7))
        clf = found.refit(X, y)
        assert clf.get_params() == SEPClassifier(standardize=False, n_imp=found.best).get_params()
        assert clf.score(X, y) > 0.9

    def test_it_is_ready_for_json_and_readable(self, chosen):
        read = json.loads(json.dumps(chosen.to_dict(), allow_nan=False))
        assert read["best"] == chosen.best
        assert len(read["path"]) == 3
        assert repr(chosen).count("<- chosen") == 1
        assert repr(chosen).startswith(f"NImpPath over 5 folds, n_imp={chosen.best} by one_se")


class TestDensity:
    @pytest.mark.slow
    def test_folds_are_ranked_by_density(self):
        X, y = load_breast_cancer(return_X_y=True)
        folds = select_n_imp(X, y, candidates=[2]).folds
        assert folds.sort_values("rank").density.is_monotonic_decreasing
        assert sorted(folds["rank"]) == [1, 2, 3, 4, 5]

    def test_the_correlation_is_that_of_density_and_accuracy(self):
        assert path([[0.3, 0.2, 0.1]], densities=[[1.0, 2.0, 3.0]]).density_correlation == pytest.approx(1.0)
        assert path([[0.3, 0.2, 0.1]], densities=[[3.0, 2.0, 1.0]]).density_correlation == pytest.approx(-1.0)

    def test_there_is_none_where_nothing_varies_or_folds_are_few(self):
        assert path([[0.2, 0.2, 0.2]], densities=[[1.0, 2.0, 3.0]]).density_correlation is None
        assert path([[0.1, 0.2]], densities=[[1.0, 2.0]]).density_correlation is None
        assert path([[0.1, 0.2]]).needed_correlation is None

    def test_few_folds_need_a_large_correlation(self):
        assert path([[0.1] * 5]).needed_correlation == pytest.approx(0.8783, abs=1e-4)  # tables of Pearson's r

    @pytest.mark.slow
    def test_units_do_not_change_the_order_of_folds(self):
        X, y = load_iris(return_X_y=True)
        one, two = (select_n_imp(X * unit, y, candidates=[2]).folds for unit in (1.0, 1000.0))
        assert one["rank"].tolist() == two["rank"].tolist()
        assert one.density.to_numpy() - two.density.to_numpy() == pytest.approx(4 * np.log(1000.0))


class TestCandidates:
    @pytest.mark.slow
    def test_defaults_suit_the_data(self, iris):
        X, y = iris
        assert select_n_imp(X[:100], y[:100], cv=2).candidates == (0, 1, 2, 5, 0.2)
        assert select_n_imp([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], cv=2).candidates == (0,)

    @pytest.mark.slow
    def test_they_are_sorted_by_count_and_equal_ones_dropped(self, iris):
        X, y = iris
        found = select_n_imp(X, y, candidates=[0.1, np.int64(5), 3, 0, 0.001], cv=2)
        assert found.candidates == (0, 3, 0.1)  # 10 % of 50 is 5, and 0.1 came first
        assert found.counts == (0, 3, 5)

    @pytest.mark.parametrize("value", [-1, 1.5, "two", True])
    def test_what_is_no_n_imp_is_refused(self, iris, value):
        with raises("n-imp-value", n_imp=value):
            select_n_imp(*iris, candidates=[0, value])
        with raises("n-imp-none-among-candidates"):
            select_n_imp(*iris, candidates=[0, None])

    @pytest.mark.parametrize("candidates", [[], 5])
    def test_something_to_choose_from_is_needed(self, iris, candidates):
        with raises("n-imp-candidates", candidates=candidates):
            select_n_imp(*iris, candidates=candidates)


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        ({"cv": 1}, raises("cv", cv=1)),
        ({"random_state": None}, raises("random-state", random_state=None)),
        ({"metric": "f1"}, raises("not-one-of", name="metric", value="f1", known="'aurc', 'augrc', 'error'")),
        ({"rule": "two_se"}, raises("not-one-of", name="rule", value="two_se", known="'one_se', 'best'")),
        ({"estimator": LogisticRegression()}, raises("estimator-not-sepc", type="LogisticRegression")),
    ],
)
def test_wrong_arguments_are_named(iris, wrong, refusal):
    with refusal:
        select_n_imp(*iris, **wrong)


def test_data_that_cannot_be_held_out_is_refused():
    with raises("one-class", label=1):
        select_n_imp([[0.0], [1.0]], [1, 1])
    with raises("no-class-with-two-records"):
        select_n_imp([[0.0], [1.0]], [0, 1])
