"""Classifiers of tables with categories: how they are read is decided by records that were left out."""

import array_api_strict as xp
import numpy as np
import pandas as pd
import pytest
import sklearn
from category_tables import of_groups, of_pairs
from saved_models import stored
from scattered_fits import WHERE
from sklearn.metrics import log_loss

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.common.text import percent
from sepc.explanations.shares import feature_terms
from sepc.tables import TableEncoder


@pytest.fixture(scope="module")
def groups():
    X, y = of_groups()
    return SEPClassifier().fit(X[:200], y[:200]), X, y


@pytest.fixture(scope="module")
def ensemble_of_groups():
    X, y = of_groups()
    return SEPEnsembleClassifier(n_estimators=4).fit(X[:200], y[:200]), X, y


class TestEvidence:
    def test_shares_are_taken_where_columns_are_independent_within_regions(self, groups):
        clf, X, y = groups
        shares = clf.model_.densities.shares
        assert [group.tolist() for group in shares.categories.groups] == [
            [2, 3, 4],
            [5, 6, 7, 8],
            [9],
            list(range(10, 15)),
        ]
        assert all(part.shares is not None for part in clf.model_.fit.held_out)
        # A hair's breadth makes a column one of numbers; blocks are the same.
        nearly = X.copy()
        nearly[0, 2:] += 1e-3
        as_numbers = SEPClassifier().fit(nearly[:200], y[:200])
        assert as_numbers.model_.densities.shares is None
        losses = [log_loss(y[200:], model.predict_proba(X[200:])) for model in (clf, as_numbers)]
        assert losses[0] < losses[1]

    def test_covariances_are_taken_where_only_two_columns_together_tell(self):
        X, y = of_pairs()
        clf = SEPClassifier().fit(X[:200], y[:200])
        assert clf.model_.densities.shares is None
        assert clf.score(X[200:], y[200:]) > 0.9

    def test_the_reading_without_left_out_records_takes_shares(self):
        X, y = of_groups()
        assert SEPClassifier(trust="raw").fit(X, y).model_.densities.shares is not None

    def test_members_that_see_the_features_as_they_are_decide_by_themselves(self, ensemble_of_groups):
        clf, X, y = ensemble_of_groups
        read = [[part.densities.shares is not None for part in member.parts] for member in clf.model_.members]
        assert read[0] == [True] * 3
        assert read[1] == read[3] == [False] * 3
        assert clf.score(X[200:], y[200:]) > 0.7


class TestLaws:
    @pytest.mark.slow
    @pytest.mark.parametrize("make", [SEPClassifier, lambda: SEPEnsembleClassifier(n_estimators=2)])
    def test_the_order_of_rows_does_not_matter(self, make):
        X, y = of_groups(120)
        order = np.random.default_rng(1).permutation(120)
        one, two = make().fit(X, y), make().fit(X[order], y[order])
        assert np.array_equal(one.predict_proba(X), two.predict_proba(X))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["groups", "ensemble_of_groups"])
    def test_no_verdict_depends_on_the_other_rows(self, name, request):
        clf, X, _ = request.getfixturevalue(name)
        together = clf.predict_proba(X[200:])
        assert np.array_equal(together, np.concatenate([clf.predict_proba(x[None]) for x in X[200:]]))

    @pytest.mark.parametrize("training_rows", [True, False])
    @pytest.mark.parametrize("name", ["groups", "ensemble_of_groups"])
    def test_a_file_keeps_them(self, name, training_rows, tmp_path, request):
        clf, X, _ = request.getfixturevalue(name)
        back = stored(clf, tmp_path, training_rows=training_rows)
        one, two = clf.assess(X[200:]), back.assess(X[200:])
        assert np.array_equal(back.predict_proba(X[200:]), clf.predict_proba(X[200:]))
        assert np.array_equal(one.stability, two.stability)
        assert np.array_equal(one.typicality, two.typicality)

    @pytest.mark.slow
    @WHERE
    @pytest.mark.usefixtures("small_chunks")
    def test_they_are_found_wherever_the_points_are(self, where, groups):
        clf, X, y = groups
        other = where(SEPClassifier(), X[:200], y[:200])
        assert other.model_.records is None
        assert other.model_.densities.shares is not None
        assert other.predict_proba(X[200:]) == pytest.approx(clf.predict_proba(X[200:]), abs=1e-6)

    @pytest.mark.usefixtures("small_chunks")
    def test_predictions_on_a_device_are_the_same(self, groups):
        clf, X, _ = groups
        with sklearn.config_context(array_api_dispatch=True):
            found = np.asarray(clf.predict_proba(xp.asarray(X[200:])))
        assert found == pytest.approx(clf.predict_proba(X[200:]))

    def test_quick_opinions_are_the_same_but_for_the_last_digits(self, ensemble_of_groups):
        clf, X, _ = ensemble_of_groups
        quick, exact = clf.model_.for_search.decide(X[200:]), clf.model_.decide(X[200:])
        assert quick.proba == pytest.approx(exact.proba)


class TestTables:
    def table(self, n=200, seed=0):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=n)
        housing = np.where(rng.random(n) < 0.7, np.where(y == 1, "rent", "own"), "free")
        return pd.DataFrame({"age": 30 + 5 * y + 8 * rng.normal(size=n), "housing": housing}), y

    def test_an_explanation_tells_the_shares_of_the_value(self):
        table, y = self.table()
        clf = make_table_pipeline().fit(table, y)
        told = clf.explain(pd.DataFrame({"age": [36.0], "housing": ["rent"]}))
        column = next(c for c in told.evidence.columns if c.column == "housing")
        assert (column.value, column.contribution > 0) == ("rent", told.label == 1)
        assert column.usual.share > 0.5 > 0.1 > column.rival_usual.share
        assert (column.usual.middle, column.rival_usual.middle) == ("rent", "own")
        assert f"{percent(column.usual.share)} of 1" in told.text

    def test_terms_add_up_to_the_log_odds(self, groups):
        clf, X, _ = groups
        model = clf.model_
        points = model.units(X[200:])
        label, rival = np.argsort(-model.densities.log_joint(points), axis=1)[:, :2].T
        best, against, terms = feature_terms(model.densities, points, label, rival)
        logs, rows = model.densities.by_component(points), np.arange(len(points))
        weights = model.densities.log_weights
        odds = logs[rows, best] - logs[rows, against]
        assert terms.sum(axis=1) + weights[best] - weights[against] == pytest.approx(odds)

    def test_a_value_that_was_never_seen_is_strange_and_named(self):
        table, y = self.table()
        clf = make_table_pipeline().fit(table, y)
        new = pd.DataFrame({"age": [36.0, 36.0], "housing": ["rent", "castle"]})
        known, never = clf.assess(new).typicality
        assert known > 0.05 > 0.01 > never
        assert clf.explain(new[1:]).strange_features[0].feature == "housing"
        proba = clf.predict_proba(new)
        assert proba[1].max() < proba[0].max()

    @pytest.mark.slow
    def test_a_table_of_categories_alone_works(self):
        X, y = of_groups(200)
        table = pd.DataFrame(
            {f"c{j}": X[:, a:b].argmax(axis=1).astype(str) for j, (a, b) in enumerate([(2, 5), (5, 9), (10, 15)])}
        )
        for clf in (make_table_pipeline(), make_table_pipeline(SEPEnsembleClassifier(n_estimators=2))):
            clf.fit(table[:150], y[:150])
            assert clf.score(table[150:], y[150:]) > 0.6
            assert clf.explain(table[150:151]).label in (0, 1)
        assert clf.assess(table[150:]).label.shape == (50,)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["category", "text"])
    def test_categories_of_pandas_are_those_of_texts(self, kind):
        table, y = self.table()
        as_they_are = make_table_pipeline().fit(table, y).predict_proba(table)
        typed = table.astype({"housing": "category"}) if kind == "category" else table
        assert np.array_equal(make_table_pipeline().fit(typed, y).predict_proba(typed), as_they_are)


def test_a_damaged_file_of_shares_is_refused(groups, tmp_path):
    from sepc.persist.model_files import FORMAT

    sepc.save(groups[0], tmp_path / "model.sepc")
    header, arrays = FORMAT.read(tmp_path / "model.sepc")
    for name, change in {
        "densities/category_yes": lambda a: -a,
        "densities/category_features": lambda a: np.zeros_like(a),
        "densities/category_ends": lambda a: a[::-1].copy(),
        "densities/share_slopes": lambda a: a[:-1],
        "densities/share_constants": lambda a: a * np.nan,
    }.items():
        key = next(key for key in arrays if key.endswith(name))
        FORMAT.write(tmp_path / "bad.sepc", header, arrays | {key: change(arrays[key])})
        with pytest.raises(sepc.ModelFileError):
            sepc.load(tmp_path / "bad.sepc")


class TestSamples:
    def test_categories_of_a_region_have_values_as_often_as_its_records(self, groups):
        clf, _, _ = groups
        name = clf.regions().region[0]
        X, _ = clf.sample(4000, region=name, random_state=0)
        assert set(np.unique(X[:, 2:])) == {0.0, 1.0}
        for group in ([2, 3, 4], [5, 6, 7, 8], list(range(10, 15))):
            assert (X[:, group].sum(axis=1) == 1).all()
        (component,) = (k for k, regions in enumerate(clf.model_.regions_by_component()) if name in regions)
        shares = clf.model_.densities.shares.shares(component)
        assert X[:, 2:].mean(axis=0) == pytest.approx(shares, abs=0.04)

    @pytest.mark.slow
    def test_rows_of_a_table_have_raw_values(self):
        table, y = TestTables().table()
        clf = make_table_pipeline().fit(table, y)
        X, labels = clf.sample(200, random_state=0)
        assert X.columns.tolist() == ["age", "housing"]
        assert set(X.housing) <= {"rent", "own", "free"}
        assert np.mean(labels[X.housing == "rent"] == 1) > 0.9


class TestLimits:
    @pytest.mark.slow
    def test_a_category_with_very_many_values_works_in_bounded_memory(self):
        rng = np.random.default_rng(0)
        n = 60_000
        name = np.where(rng.random(n) < 0.4, rng.integers(100_000, size=n), rng.integers(5, size=n))
        table = pd.DataFrame({"name": [f"n{k}" for k in name], "age": rng.normal(size=n)})
        encoder = TableEncoder().fit(table)
        assert sorted(encoder.columns_[0].levels) == ["(other)", "n0", "n1", "n2", "n3", "n4"]
        y = (name % 2 == 0) & (name < 5)
        clf = make_table_pipeline().fit(table[:500], y[:500])
        assert clf.score(table[-500:], y[-500:]) > 0.9

    def test_a_value_that_is_seen_once_counts_as_rare(self):
        table = pd.DataFrame({"colour": ["red", "blue"] * 30 + ["pink"], "age": np.arange(61.0)})
        clf = make_table_pipeline().fit(table, ["a", "b"] * 30 + ["a"])
        assert clf["columns"].columns_[0].pooled == ("pink",)
        assert set(clf.predict(table)) == {"a", "b"}
