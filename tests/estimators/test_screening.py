"""Wide tables: which columns a model reads, that trust does not claim too much, and that all methods know it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier, landscape, load, make_table_pipeline, save
from sepc.common.errors import InputError, SepcWarning
from sepc.common.validation import training_set
from sepc.estimators.screening import screened
from sepc.model.telling_columns import is_wide, separations
from sepc.tables.columns import LEFT_OUT

pytestmark = pytest.mark.filterwarnings("ignore::sepc.common.errors.SepcWarning")
TELLING = [7, 300, 301, 900, 1100]


def wide(n, seed=0, d=1200, apart=2.0):
    """Return records of two labels, which some columns tell apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, TELLING] += apart * y[:, None]
    return X, y


def frame_of(X):
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])


@pytest.fixture(scope="module")
def fitted():
    X, y = wide(60)
    return SEPClassifier().fit(frame_of(X), y)


class TestSeparations:
    def test_are_the_statistic_of_kruskal_and_wallis(self):
        from scipy.stats import kruskal

        rng = np.random.default_rng(1)
        X, codes = rng.integers(0, 6, (40, 3)).astype(float), rng.integers(0, 3, 40)
        expected = [kruskal(*(column[codes == k] for k in range(3))).statistic for column in X.T]
        assert separations(X, codes) == pytest.approx(expected)

    def test_missing_values_count_for_nothing(self):
        rng = np.random.default_rng(1)
        X, codes = rng.normal(size=(40, 1)), np.arange(40) % 2
        X[:9] = np.nan
        assert separations(X, codes) == pytest.approx(separations(X[9:], codes[9:]))

    def test_a_constant_column_tells_nothing(self):
        assert separations(np.ones((6, 1)), np.arange(6) % 2).tolist() == [0.0]


class TestChoice:
    def test_few_records_of_many_columns_are_wide(self):
        assert is_wide(30, 1200)
        assert not is_wide(30, 500)
        assert not is_wide(630, 600)

    def test_telling_columns_are_read(self, fitted):
        assert {7, 300, 301, 900, 1100} & set(fitted.columns_read_.tolist()) >= {7, 300, 301}
        assert len(fitted.columns_read_) <= 15
        assert fitted.model_.features == [f"g{j}" for j in fitted.columns_read_]

    def test_order_of_rows_does_not_matter(self, fitted):
        X, y = wide(60)
        order = np.random.default_rng(2).permutation(60)
        other = SEPClassifier().fit(frame_of(X[order]), y[order])
        Z = frame_of(wide(20, seed=3)[0])
        assert np.array_equal(other.predict_proba(Z), fitted.predict_proba(Z))

    def test_each_part_has_columns_that_its_labels_have_not_chosen(self):
        X, y = wide(60)
        training, columns = screened(training_set(X, y), None)
        points, codes = X[training.rows], y[training.rows]
        place = np.argsort(np.argsort(-separations(points, codes), kind="stable"))[columns]
        for k, core in enumerate(training.apart.cores):
            seen = training.apart.part != k
            best = np.argsort(-separations(points[seen], codes[seen]), kind="stable")
            assert np.array_equal(core.points, points[:, best[place]])
            assert not np.array_equal(core.points, training.points)

    def test_features_of_one_column_stay_together(self):
        X, y = wide(60)
        table = frame_of(X).assign(kind=np.where(y == 1, np.array(list("abcdef") * 10), "g"))
        model = make_table_pipeline().fit(table, y)
        read = [column for column in model["columns"].columns_ if column.kind != LEFT_OUT]
        assert "kind" in [column.name for column in read]
        assert model["classifier"].n_features_in_ == sum(len(column.features) for column in read)


class TestTrust:
    @pytest.mark.parametrize("classifier", [SEPClassifier, SEPEnsembleClassifier])
    def test_labels_that_mean_nothing_are_not_trusted(self, classifier):
        for seed in range(2):
            X, _ = wide(48, seed, apart=0.0)
            y = np.arange(48) % 2
            Z = np.random.default_rng(9).normal(size=(300, 1200))
            clf = classifier().fit(X, y)
            trust = clf.trust_score(Z)
            assert trust.mean() < 0.65
            assert not clf.assess(Z).accepted(0.85).any()

    @pytest.mark.parametrize("classifier", [SEPClassifier, SEPEnsembleClassifier])
    def test_what_is_accepted_is_right(self, classifier):
        X, y = wide(90)
        Z, truth = wide(600, seed=5)
        a = classifier().fit(X, y).assess(Z)
        assert (a.label == truth).mean() > 0.9
        accepted = a.accepted(0.9)
        assert accepted.mean() > 0.3
        assert (a.label == truth)[accepted].mean() > 0.93
        assert (a.typicality < 0.01).mean() < 0.05

    @pytest.mark.parametrize("trust", ["counts", "bound", "paper", "raw"])
    def test_other_methods_read_them_too(self, trust):
        X, y = wide(60)
        clf = SEPClassifier(trust=trust).fit(X, y)
        Z, truth = wide(200, seed=5)
        assert (clf.predict(Z) == truth).mean() > 0.75


class TestUse:
    def test_a_warning_says_it(self):
        X, y = wide(40)
        with pytest.warns(SepcWarning, match="1,200 columns") as found:
            clf = SEPClassifier().fit(X, y)
        said = next(one.message for one in found if one.message.code == "columns-screened")
        assert said.fields == {"n_read": len(clf.columns_read_), "n_columns": 1200, "n_records": 40}

    def test_new_records_have_all_columns_or_those_that_are_read(self, fitted):
        Z = frame_of(wide(20, seed=3)[0])
        read = Z.iloc[:, fitted.columns_read_]
        for frame in (read, pl.from_pandas(read)):
            assert np.array_equal(fitted.predict_proba(frame), fitted.predict_proba(Z))
        with pytest.raises((InputError, ValueError)):
            fitted.predict(read.iloc[:, ::-1])
        assert fitted.n_features_in_ == 1200

    def test_values_of_other_columns_change_nothing(self, fitted):
        Z = wide(20, seed=3)[0]
        others = np.setdiff1d(np.arange(1200), fitted.columns_read_)
        changed = Z.copy()
        changed[:, others] = np.nan
        assert np.array_equal(fitted.predict_proba(frame_of(changed)), fitted.predict_proba(frame_of(Z)))
        assert not fitted.assess(frame_of(changed)).out_of_range().keys() - set(fitted.model_.features)

    def test_training_records_are_known(self, fitted):
        X, _ = wide(60)
        assert fitted.has_learned(frame_of(X)).all()
        assert not fitted.has_learned(frame_of(wide(20, seed=3)[0])).any()

    def test_an_explanation_names_columns_that_are_read(self, fitted):
        why = fitted.explain(frame_of(wide(20, seed=3)[0]).iloc[[0]])
        named = set(why.table().iloc[:, 0]) & set(fitted.feature_names_in_)
        assert named == set(fitted.model_.features)

    def test_missing_values_are_taken(self):
        X, y = wide(60)
        X[np.random.default_rng(4).random(X.shape) < 0.1] = np.nan
        Z, truth = wide(200, seed=5)
        Z[np.random.default_rng(5).random(Z.shape) < 0.1] = np.nan
        clf = SEPClassifier().fit(X, y)
        assert (clf.predict(Z) == truth).mean() > 0.8

    def test_dask_reads_the_same_columns(self):
        da = pytest.importorskip("dask.array")
        X, y = wide(60)
        clf, Z = SEPClassifier().fit(X, y), wide(20, seed=3)[0]
        assert np.array_equal(clf.predict_proba(da.from_array(Z, chunks=(7, 400))).compute(), clf.predict_proba(Z))

    @pytest.mark.parametrize("make", [SEPClassifier, lambda: SEPEnsembleClassifier(n_estimators=3)])
    def test_a_file_keeps_them_and_is_small(self, make, tmp_path):
        X, y = wide(60)
        clf = make().fit(frame_of(X), y)
        save(clf, tmp_path / "model.sepc")
        again = load(tmp_path / "model.sepc")
        Z = frame_of(wide(20, seed=3)[0])
        assert np.array_equal(again.predict_proba(Z), clf.predict_proba(Z))
        assert np.array_equal(again.columns_read_, clf.columns_read_)
        assert again.n_features_in_ == 1200
        assert again.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
        assert (tmp_path / "model.sepc").stat().st_size < 1_000_000

    def test_a_later_fit_reads_all(self):
        X, y = wide(60)
        clf = SEPClassifier().fit(X, y).fit(X[:, :3], y)
        assert clf.columns_read_ is None
        assert clf.predict(X[:5, :3]).shape == (5,)


class TestTables:
    def test_a_pipeline_leaves_the_others_out(self, tmp_path):
        X, y = wide(60)
        model = make_table_pipeline().fit(frame_of(X), y)
        columns = model["columns"].columns_
        read = [column.name for column in columns if column.kind != LEFT_OUT]
        assert len(columns) == 1200
        assert read == model["classifier"].model_.features
        Z = frame_of(wide(20, seed=3)[0])
        save(model, tmp_path / "model.sepc")
        for one in (model, load(tmp_path / "model.sepc")):
            assert np.array_equal(one.predict_proba(Z[read]), model.predict_proba(Z))
        with pytest.raises(InputError, match="has no column"):
            model.predict(Z[read[1:]])
        assert sum("not read" in note for note in model["columns"].notes) == 1

    def test_rows_without_gaps_in_columns_that_are_read_have_none(self):
        X, y = wide(60)
        table = frame_of(X).assign(text=np.where(np.arange(60) % 2, "a", "b"))
        model = make_table_pipeline().fit(table, y)
        assert model["columns"].gap_counts_.tolist() == [60]

    def test_a_landscape_describes_some_columns(self):
        X, y = wide(60)
        with pytest.warns(SepcWarning, match="the landscape describes the 8"):
            found = landscape(frame_of(X), y)
        assert set(found.features) > {"g7", "g300", "g301"}
