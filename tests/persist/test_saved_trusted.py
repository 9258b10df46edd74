"""Saved classifiers around other models: the same results with the same model, and an error with another."""

from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from damage import damaged_copies, spoilt_arrays, spoilt_headers
from saved_models import stored
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import sepc
from sepc import ModelFileError, SepcError, SEPClassifier, SepcWarning, TrustedClassifier
from sepc.around import GivenScores
from sepc.persist.model_files import FORMAT
from sepc.persist.named_arrays import ArrayReader, ArrayWriter
from sepc.persist.saved_probes import pack_probes, unpack_probes


class OnNumbers(GaussianNB):
    """A model that takes raw tables, and looks at their numbers alone."""

    def fit(self, X, y):
        return super().fit(self._numbers(X), y)

    def predict(self, X):
        return super().predict(self._numbers(X))

    def predict_proba(self, X):
        return super().predict_proba(self._numbers(X))

    @staticmethod
    def _numbers(X):
        return X.select_dtypes("number").fillna(0.0).to_numpy()


def table(n=70, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, "sound", "broken")
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n) + 2.0 * (y == "sound"),
            "count": rng.integers(0, 9, n),
            "kind": rng.choice(["a", "b"], n),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "high"], ordered=True),
            "day": pd.date_range("2024-01-01", periods=n),
            "is_new": rng.random(n) < 0.5,
        }
    )
    frame.loc[3, "size"] = None
    return frame, y


@pytest.fixture(scope="module")
def around_table():
    return TrustedClassifier(OnNumbers(), cv=2).fit(*table())


def assert_same(one, two, X, **scores):
    assert one.assess(X, **scores).to_frame().equals(two.assess(X, **scores).to_frame())


def reloaded(clf, folder, estimator, training_rows=True, **options):
    sepc.save(clf, folder / "model.sepc", training_rows=training_rows)
    return sepc.load(folder / "model.sepc", estimator=estimator, **options)


@pytest.mark.parametrize("rows", [True, False])
def test_results_around_a_table_are_the_same_to_the_bit(around_table, tmp_path, rows):
    X, y = table(seed=5)
    around_table.calibrate(X, y).set_params(verbose=True)
    found = reloaded(around_table, tmp_path, around_table.estimator_, rows)
    assert_same(found, around_table, X)
    assert np.array_equal(found.predict_proba(X), around_table.predict_proba(X))
    assert found.predict_set(X).sets.tolist() == around_table.predict_set(X).sets.tolist()
    assert found.get_params()["verbose"] is True
    assert found.feature_names_in_.tolist() == list(X.columns)
    assert found.has_learned(table()[0]).all()
    assert (found.model_.records is None) is not rows
    assert found.regions_.regions().equals(around_table.regions_.regions())


@pytest.mark.parametrize(
    "estimator", [RidgeClassifier(), DecisionTreeClassifier(max_depth=2, random_state=0)], ids=["values", "tree"]
)
def test_arrays_of_three_classes(estimator, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + 1.5 * y[:, None]
    clf = TrustedClassifier(
        estimator, cv=2, labels="joint", costs={0: {1: 5.0, 2: 1.0}, 1: {0: 1, 2: 1}, 2: {0: 1, 1: 1}}
    )
    found = reloaded(clf.fit(X, y), tmp_path, clf.estimator_)
    assert_same(found, clf, 2.0 * X)
    assert found.costs == clf.costs
    before = (tmp_path / "model.sepc").read_bytes()
    for same in (found, sepc.load(tmp_path / "model.sepc")):
        sepc.save(same, tmp_path / "again.sepc")
        assert (tmp_path / "again.sepc").read_bytes() == before


def test_without_the_estimator_given_scores_are_assessed(around_table, tmp_path):
    X = table(seed=5)[0]
    scores = around_table.estimator_.predict_proba(X)
    found = stored(around_table, tmp_path)
    assert_same(found, around_table, X, scores=scores)
    with raises("estimator-missing", SepcError, estimator="OnNumbers"):
        found.predict(X)
    assert "OnNumbers" in repr(found)


def test_another_model_is_refused(around_table, tmp_path):
    X, y = table()
    sepc.save(around_table, tmp_path / "model.sepc")
    for other, code in ((OnNumbers().fit(X[:30], y[:30]), "estimator-another"), (StandardScaler(), "estimator-fails")):
        with raises(code):
            sepc.load(tmp_path / "model.sepc", estimator=other)
    reversed_labels = OnNumbers().fit(X, np.where(y == "sound", "broken", "sound"))
    with raises("estimator-another"):
        sepc.load(tmp_path / "model.sepc", estimator=reversed_labels)


def test_columns_of_answers_take_the_place_of_the_model(around_table, tmp_path):
    X = table(seed=5)[0]
    sepc.save(around_table, tmp_path / "model.sepc")
    found = sepc.load(tmp_path / "model.sepc", estimator=GivenScores({"sound": "p"}))
    scored = X.assign(p=around_table.estimator_.predict_proba(X)[:, 1])
    assert found.predict(scored).tolist() == around_table.predict(X).tolist()
    assert np.allclose(found.trust_score(scored[scored.columns[::-1]]), around_table.trust_score(X))
    with raises("given-in-place-of"):
        sepc.load(tmp_path / "model.sepc", estimator=GivenScores(label="said"))


@pytest.mark.parametrize(
    "given", [GivenScores({"sound": "p"}), GivenScores(["q", "p"], "said"), GivenScores(label="said", score="sure")]
)
def test_given_scores_are_saved_whole(given, tmp_path):
    X, y = table()
    p = np.random.default_rng(1).uniform(size=len(X))
    said = np.where(p > 0.5, "sound", "broken")
    X = X.assign(p=p, q=1.0 - p, said=said, sure=np.maximum(p, 1.0 - p))
    X = X.drop(columns={"p", "q", "said", "sure"} - set(given.columns))
    clf = TrustedClassifier(given).fit(X, y)
    found = stored(clf, tmp_path)
    assert_same(found, clf, X)
    assert repr(found.get_params()) == repr(clf.get_params())
    assert found.predict(X).tolist() == said.tolist()


def test_an_encoder_that_is_not_ours_is_passed_again(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    images = rng.normal(size=(120, 3, 50)) + y[:, None, None]
    model = FrozenEstimator(_OfMeans().fit(images, y))

    def flat(batch):
        return batch.reshape(len(batch), -1)

    clf = TrustedClassifier(model, encoder=flat).fit(images, y)
    found = reloaded(clf, tmp_path, model.estimator, encoder=clf.encoder_)
    assert isinstance(found.estimator, FrozenEstimator)
    assert_same(found, clf, images)
    with raises("load-without-encoder", encoder="flat"):
        sepc.load(tmp_path / "model.sepc", estimator=model)
    with raises("encoder-another"):
        sepc.load(tmp_path / "model.sepc", encoder=lambda batch: 2.0 * flat(batch))
    with pytest.warns(SepcWarning, match="no records to check"):  # probes of images are whole records
        found = reloaded(clf, tmp_path, model, training_rows=False, encoder=flat)
    assert found._probes is None
    assert_same(found, clf, images)


class _OfMeans(GaussianNB):
    def fit(self, X, y):
        return super().fit(X.mean(axis=2), y)

    def predict(self, X):
        return super().predict(X.mean(axis=2))

    def predict_proba(self, X):
        return super().predict_proba(X.mean(axis=2))


def test_other_kinds_take_no_estimator(tmp_path):
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
    sepc.save(clf, tmp_path / "model.sepc")
    for given in ({"estimator": GaussianNB()}, {"encoder": StandardScaler()}):
        with raises("load-without-estimator", kind="SEPClassifier"):
            sepc.load(tmp_path / "model.sepc", **given)


def test_a_pipeline_of_our_encoder_and_a_model_of_its_features(tmp_path):
    from sepc.tables import TableEncoder, TablePipeline

    X, y = table()
    X["size"] = X["size"].fillna(0.0)
    clf = TablePipeline([("columns", TableEncoder()), ("classifier", TrustedClassifier(GaussianNB(), cv=2))]).fit(X, y)
    assert_same(reloaded(clf, tmp_path, clf[-1].estimator_), clf, X)


class TestProbes:
    @pytest.mark.parametrize(
        "probes",
        [
            table(8)[0],
            pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array(["x", None], "string"), "c": ["x", None]}),
            pd.DataFrame({"a": np.array([1.5, np.nan], np.float32), "b": [np.nan, "x"], "c": [np.inf, 0.1]}),
            pl.DataFrame({"a": [1.5, None], "b": ["x", None], "c": [True, False]}),
            pl.from_pandas(table(8)[0][["size", "kind", "day"]]).with_columns(pl.col("kind").cast(pl.Categorical)),
            np.array([[1.5, 2.0], [np.nan, 0.0]]),
            np.arange(48, dtype=np.float32).reshape(2, 2, 3, 4),
            np.array([["x", 1], [None, np.nan]], dtype=object),
            ["one text", "another"],
        ],
    )
    def test_they_come_back_as_they_were(self, probes):
        writer = ArrayWriter()
        found = unpack_probes(ArrayReader(writer.arrays), pack_probes(writer, probes, training_rows=True))
        assert type(found) is type(probes)
        if isinstance(probes, pd.DataFrame):
            pd.testing.assert_frame_equal(found, probes)
        elif isinstance(probes, pl.DataFrame):
            assert found.equals(probes)
            assert found.schema == probes.schema
        else:
            assert repr(found) == repr(probes)
        assert getattr(found, "dtype", None) == getattr(probes, "dtype", None)

    @pytest.mark.parametrize(
        "probes",
        [
            None,
            [b"bytes"],
            object(),
            pd.DataFrame({"a": pd.to_datetime(["2024-01-01 00:00+01:00"])}),
            pd.DataFrame({"a": [{}]}),
        ],
    )
    def test_what_a_file_cannot_hold_is_left_out(self, probes):
        assert pack_probes(ArrayWriter(), probes, training_rows=True) is None

    @pytest.mark.parametrize(
        "probes", [["a text"], np.zeros((2, 1)), np.zeros((2, 3, 3)), pd.DataFrame({"text": ["a", "b"]})]
    )
    def test_whole_records_are_not_in_a_file_without_records(self, probes):
        assert pack_probes(ArrayWriter(), probes, training_rows=False) is None


class TestRefused:
    def test_damage_is_refused_or_harmless(self, around_table, tmp_path):
        path = tmp_path / "model.sepc"
        sepc.save(around_table, path)
        content = path.read_bytes()
        for way, altered in damaged_copies(content, 40, np.random.default_rng(0)):
            path.write_bytes(altered)
            try:
                found = sepc.load(path)
            except ModelFileError:
                continue
            sepc.save(found, path)
            assert path.read_bytes() == content, way

    def test_spoilt_content_is_refused_or_judges_records(self, tmp_path):
        X, y = table()
        p = np.linspace(0.0, 1.0, len(X))
        clf = TrustedClassifier(GivenScores({"sound": "p"})).fit(X[["size", "count"]].assign(p=p), y)
        path = tmp_path / "model.sepc"
        sepc.save(clf, path)
        header, arrays = FORMAT.read(path)
        own = {name: header[name] for name in header.keys() - {"regions", "versions", "about", "encoder"}}
        asked, n_refused = X[["size", "count"]].assign(p=p)[:4], 0
        spoilt = [(header | one, arrays) for one in spoilt_headers(own)][::9]
        names = (
            "weights",
            "leaning",
            "background",
            "record_right",
            "record_n",
            "log_shares",
            "least_lead",
            "fingerprint",
        )
        spoilt += [(header, arrays | {name: one}) for name in names for one in [*spoilt_arrays(arrays[name])][::3]]
        for some, others in spoilt:
            FORMAT.write(path, some, others)
            try:
                found = sepc.load(path)
            except ModelFileError:
                n_refused += 1
                continue
            with suppress(SepcError):  # such as for columns of answers with other names
                assert len(found.assess(asked)) == 4
        assert n_refused > 0.5 * len(spoilt)
