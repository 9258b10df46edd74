"""Saved models: the same verdicts to the bit, nothing but models comes out of a file, and records stay out if asked."""

import hashlib
import io
import json
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from damage import damaged_copies, spoilt_arrays, spoilt_headers
from hypothesis import given
from numpy.lib import format as npy
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from strategies import labelled_points, point_set, seeds

import sepc
from sepc import (
    FeedbackMonitor,
    InputError,
    ModelFileError,
    SepcError,
    SEPClassifier,
    SepcWarning,
    SEPEnsembleClassifier,
)
from sepc.feedback.store import fingerprint
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.partitioning import Block, Partition
from sepc.persist.model_files import FORMAT
from sepc.rules import Rules
from sepc.tallies import TallyCensus

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "v1-expected.json").read_text())
READINGS = ("local", "counts", "bound", "paper")


def iris(kind="numpy"):
    data = load_iris(as_frame=True)
    X = data.data.to_numpy() if kind == "numpy" else data.data
    return pl.from_pandas(X) if kind == "polars" else X, data.target_names[data.target]


@pytest.fixture(scope="module")
def moons():
    return make_moons(160, noise=0.35, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """Return one fitted classifier of each kind, with the records that it is asked about."""
    X, y = moons
    probes = np.vstack([X, 3.0 * X[:40]])
    models = {trust: (SEPClassifier(trust=trust, n_imp=1).fit(X[::2], y[::2]), probes) for trust in READINGS}
    Z, species = iris()
    models["three classes"] = SEPClassifier(standardize=False).fit(Z[::2], species[::2]), np.vstack([Z, 2.0 * Z[:20]])
    models["ensemble"] = SEPEnsembleClassifier(n_estimators=3).fit(X[::2], y[::2]), probes
    models["ensemble of three classes"] = SEPEnsembleClassifier(n_estimators=2).fit(Z[::3], species[::3]), Z
    for clf, asked in models.values():
        clf.calibrate(asked[1:150:2], clf.predict(asked[1:150:2]))
    return models


KINDS = [*READINGS, "three classes", "ensemble", "ensemble of three classes"]


def stored(clf, tmp_path, **options):
    sepc.save(clf, tmp_path / "model.sepc", **options)
    return sepc.load(tmp_path / "model.sepc")


def told(clf, X):
    """Return all that a classifier says of some records, without what needs the training records."""
    a, sets = clf.assess(X), clf.predict_set(X)
    out = {name: getattr(a, name) for name in ("label", "trust", "rule", "reason", "region", "counts", "distance")}
    out |= {"bound": a.error_bound, "frame": a.to_frame().to_numpy(), "regions": clf.regions().to_numpy()}
    out |= {"predict": clf.predict(X), "proba": clf.predict_proba(X), "score": clf.trust_score(X)}
    out |= {"sets": sets.sets, "thresholds": sets.thresholds}
    if hasattr(clf, "sample"):
        out |= {"sample": clf.sample(20, random_state=3)[0], "query": clf.query(X, 5)}
    return out


def assert_same(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].dtype == two[name].dtype, name
        assert one[name].shape == two[name].shape, name
        assert pickle.dumps(one[name].tolist()) == pickle.dumps(two[name].tolist()), name


class TestTheSame:
    @pytest.mark.parametrize("rows", [True, False])
    @pytest.mark.parametrize("kind", KINDS)
    def test_verdicts_are_the_same_to_the_bit(self, fitted, tmp_path, kind, rows):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path, training_rows=rows)
        assert type(found) is type(clf)
        assert repr(found) == repr(clf)
        assert_same(told(found, X), told(clf, X))
        assert sepc.rules_dict(found) == sepc.rules_dict(clf)

    @pytest.mark.parametrize("kind", KINDS)
    def test_explanations_are_the_same(self, fitted, tmp_path, kind):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path)
        for x in X[:: len(X) // 6]:
            assert repr(found.explain(x).to_dict()) == repr(clf.explain(x).to_dict())

    @pytest.mark.parametrize("kind", ["local", "counts", "three classes"])
    def test_what_needs_the_training_records_is_the_same(self, fitted, tmp_path, kind):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path)
        assert repr(found.landscape_.to_dict()) == repr(clf.landscape_.to_dict())
        assert fingerprint(found) == fingerprint(clf)
        monitor = FeedbackMonitor(clf).observe(X[:30], clf.predict(X[:30]))
        monitor.save(tmp_path / "seen")
        resumed = FeedbackMonitor.load(tmp_path / "seen", found)
        assert repr(resumed.report().to_dict()) == repr(monitor.report().to_dict())

    def test_honest_probabilities_are_the_same(self, fitted, tmp_path):
        clf, _ = fitted["ensemble"]
        assert np.array_equal(stored(clf, tmp_path).honest_proba_, clf.honest_proba_)

    def test_partitions_are_the_same(self, fitted, tmp_path):
        clf, _ = fitted["three classes"]
        for one, two in zip(stored(clf, tmp_path).partitions_, clf.partitions_, strict=True):
            assert (one.n_iter, one.stopped, one.n_imp, repr(one)) == (two.n_iter, two.stopped, two.n_imp, repr(two))
            assert all(np.array_equal(a, b) for a, b in zip(one.isolated, two.isolated, strict=True))
            for a, b in zip(one.blocks, two.blocks, strict=True):
                assert (a.side, a.iteration, a.members.tolist()) == (b.side, b.iteration, b.members.tolist())
            for a, b in zip(one.hyperplanes, two.hyperplanes, strict=True):
                assert (a.normal.tolist(), a.offset) == (b.normal.tolist(), b.offset)

    @pytest.mark.parametrize("kind", ["numpy", "pandas", "polars"])
    def test_frames_come_out_as_they_came_in(self, tmp_path, kind):
        X, y = iris(kind)
        clf = SEPClassifier().fit(X, y)
        found = stored(clf, tmp_path)
        assert found.regions().equals(clf.regions())
        one, two = found.sample(3, random_state=0)[0], clf.sample(3, random_state=0)[0]
        assert type(one) is type(two)
        assert np.array_equal(one, two)
        assert getattr(found, "feature_names_in_", np.array([])).tolist() == (
            list(X.columns) if kind != "numpy" else []
        )
        assert found.n_features_in_ == 4

    @pytest.mark.parametrize("rows", [True, False])
    def test_the_same_model_gives_the_same_bytes(self, fitted, tmp_path, rows):
        for clf, _ in fitted.values():
            again = stored(clf, tmp_path, training_rows=rows)
            before = (tmp_path / "model.sepc").read_bytes()
            stored(again, tmp_path, training_rows=rows)
            assert (tmp_path / "model.sepc").read_bytes() == before

    def test_a_classifier_without_records_can_be_saved_again(self, fitted, tmp_path):
        clf, X = fitted["paper"]
        found = stored(stored(clf, tmp_path, training_rows=False), tmp_path)
        assert_same(told(found, X), told(clf, X))

    def test_a_model_without_any_ellipsoid_or_without_isolated_points(self, tmp_path):
        with pytest.warns(SepcWarning):
            clf = SEPClassifier().fit(np.eye(4), [0, 0, 1, 1])
        assert not clf.partitions_[0].blocks
        for rows in (True, False):
            found = stored(clf, tmp_path, training_rows=rows)
            assert found.assess(np.eye(4) + 0.1).region.tolist() == clf.assess(np.eye(4) + 0.1).region.tolist()

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("ensemble", [False, True])
    def test_all_sets_of_the_data_folder(self, tmp_path, ensemble):
        for name, X, y in data_sets(("ecoli", "heart_statlog", "sonar") if ensemble else None):
            clf = (SEPEnsembleClassifier(n_estimators=2) if ensemble else SEPClassifier()).fit(X[:200], y[:200])
            for rows in (True, False):
                found = stored(clf, tmp_path, training_rows=rows)
                assert found.assess(X).to_frame().equals(clf.assess(X).to_frame()), name
                assert np.array_equal(found.predict_proba(X), clf.predict_proba(X)), name


def data_sets(names):
    """Yield the name, at most 300 records and the labels of each set in the folder that SEPC_DATA names."""
    folder = os.environ.get("SEPC_DATA")
    paths = sorted(Path(folder).glob("*.csv")) if folder else []
    if not paths:
        pytest.skip("set SEPC_DATA to the folder with the data sets")
    for path in paths:
        if names is None or path.stem in names:
            rows = pd.read_csv(path).sample(frac=1.0, random_state=0)[:300]
            y = rows.pop(rows.columns[-1])
            yield path.stem, pd.get_dummies(rows).to_numpy(dtype=float), y.to_numpy()


class TestLabelsAndParameters:
    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["a", "béé", "\U0001f9a0 ‏"]),
            np.array(["a", "long enough"], dtype="<U40"),
            np.array(["a", "b\ud800"], dtype=object),
            np.array([3, -(2**62)]),
            np.array([1, 2], dtype=">i4"),
            np.array([1, 255], dtype="u1"),
            np.array([False, True]),
            np.array([0.0, 7.0], dtype="f4"),
        ],
        ids=lambda labels: str(labels.dtype),
    )
    def test_labels_keep_their_type(self, tmp_path, labels):
        X = np.arange(24.0)[:, None]
        clf = SEPClassifier().fit(X, np.repeat(labels, 24 // len(labels)))
        for rows in (True, False):
            found = stored(clf, tmp_path, training_rows=rows)
            assert found.classes_.dtype == clf.classes_.dtype
            assert found.classes_.tolist() == clf.classes_.tolist()
            assert found.predict(X).tobytes() == clf.predict(X).tobytes() or labels.dtype == object
            assert found.assess(3 * X).region.tolist() == clf.assess(3 * X).region.tolist()

    @pytest.mark.parametrize("dtype", ["M8[D]", np.longdouble])
    def test_labels_that_cannot_be_kept_are_refused(self, tmp_path, dtype):
        labels = np.array([1, 2]).astype(dtype)
        clf = SEPClassifier().fit(np.arange(12.0)[:, None], np.repeat(labels, 6))
        with pytest.raises(InputError, match="expected texts, numbers of at most 64 bits or bools"):
            sepc.save(clf, tmp_path / "model.sepc")
        assert os.listdir(tmp_path) == []

    def test_parameters_are_kept(self, moons, tmp_path):
        clf = SEPClassifier(n_imp=np.int64(3), trust="bound", standardize=False, n_jobs=2, verbose=False).fit(*moons)
        found = stored(clf, tmp_path)
        assert found.get_params() == clf.get_params()
        assert np.array_equal(found.fit(*moons).predict_proba(moons[0]), clf.predict_proba(moons[0]))
        share = SEPClassifier(n_imp=0.1).fit(*moons)
        assert stored(share, tmp_path).n_imp == 0.1

    def test_a_parameter_that_cannot_be_kept_is_said(self, moons, tmp_path):
        clf = SEPEnsembleClassifier(n_estimators=1, random_state=np.random.RandomState(7)).fit(*moons)
        with pytest.warns(SepcWarning, match="random_state is RandomState.*will have the default"):
            found = stored(clf, tmp_path)
        assert found.random_state == 0
        assert np.array_equal(found.predict_proba(moons[0]), clf.predict_proba(moons[0]))

    def test_only_fitted_classifiers_of_these_kinds_are_saved(self, fitted, tmp_path):
        class Mine(SEPClassifier):
            pass

        for other in (Mine(), "model", fitted["local"][0]._model):
            with pytest.raises(InputError, match="expected a fitted SEPClassifier"):
                sepc.save(other, tmp_path / "model.sepc")
        with pytest.raises(NotFittedError):
            sepc.save(SEPClassifier(), tmp_path / "model.sepc")
        assert os.listdir(tmp_path) == []


class TestTables:
    @pytest.mark.parametrize("rows", [True, False])
    @pytest.mark.parametrize("classifier", [SEPClassifier(), SEPEnsembleClassifier(n_estimators=1)])
    def test_a_table_pipeline_is_the_same(self, tmp_path, classifier, rows):
        rng = np.random.default_rng(0)
        table = pd.DataFrame(
            {
                "size": rng.normal(size=60) + np.repeat([0.0, 2.0], 30),
                "kind": rng.choice(["a", "b", "<c>"], 60),
                "day": pd.date_range("2024-01-01", periods=60),
            }
        )
        table.loc[3, "size"] = None
        clf = sepc.make_table_pipeline(classifier).fit(table, np.repeat(["low", "high"], 30))
        clf.set_params(verbose=True)
        found = stored(clf, tmp_path, training_rows=rows)
        asked = table.assign(kind="unseen", size="?")
        for new in (table, asked):
            assert found.assess(new).to_frame().equals(clf.assess(new).to_frame())
        one, two = (one.explain(asked.iloc[[40]]).to_dict() for one in (found, clf))
        assert rows is (repr(one) == repr(two))
        assert {"neighbours", "counterfactual", "text"} >= {name for name in one if repr(one[name]) != repr(two[name])}
        assert bool(one["neighbours"]) is rows
        assert found["columns"].columns_ == clf["columns"].columns_
        assert found.get_params()["verbose"] is True
        assert found.feature_names_in_.tolist() == list(table.columns)
        assert (found["classifier"]._model.records is None) is not rows
        assert sepc.rules_dict(found)["columns"] == clf["columns"].notes


class TestWithoutRecords:
    @pytest.mark.parametrize("kind", KINDS)
    def test_explanations_say_nothing_of_neighbours(self, fitted, tmp_path, kind):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path, training_rows=False)
        for x in X[:: len(X) // 5]:
            one, two = found.explain(x).to_dict(), clf.explain(x).to_dict()
            assert one["neighbours"] == []
            assert "nearest training records" not in one["text"]
            for name in one.keys() - {"neighbours", "text", "counterfactual"}:
                assert repr(one[name]) == repr(two[name]), name
            change = one["counterfactual"]
            assert change is not None
            assert found.predict([list(change["point"].values())])[0] == change["label"] != one["label"]

    def test_what_needs_the_records_says_so(self, fitted, tmp_path):
        found = stored(fitted["local"][0], tmp_path, training_rows=False)
        for needs in (
            lambda: found.landscape_,
            lambda: FeedbackMonitor(found),
            lambda: fingerprint(found),
            lambda: found._model.rules[0].members(0),
        ):
            with pytest.raises(SepcError, match=r"needs the training records.*training_rows=True"):
                needs()
        assert not hasattr(stored(fitted["ensemble"][0], tmp_path, training_rows=False), "honest_proba_")

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_notebook_can_show_the_model_and_complete_its_names(self, fitted, tmp_path, kind):
        found = stored(fitted[kind][0], tmp_path, training_rows=False)
        assert "classes_" in dir(found)
        assert "classes_" in found._repr_html_()

    @pytest.mark.parametrize("trust", READINGS)
    def test_no_value_of_a_record_is_in_the_file(self, moons, tmp_path, trust):
        X, y = moons
        clf = SEPClassifier(trust=trust).fit(X, y)
        sepc.save(clf, tmp_path / "model.sepc", training_rows=False)
        content = (tmp_path / "model.sepc").read_bytes()
        alone = {value for rules in clf._model.rules for value in rules.isolated.ravel().tolist()}
        for values in (X, clf._model.points):
            assert not any(v.tobytes() in content for v in values.ravel() if v.item() not in alone)
        assert manifest(content)["content"]["isolated_points"] == sum(len(r.isolated) for r in clf._model.rules)

    def test_an_ensemble_keeps_single_values_and_isolated_records_only(self, moons, tmp_path):
        clf = SEPEnsembleClassifier(n_estimators=2).fit(*moons)
        sepc.save(clf, tmp_path / "model.sepc", training_rows=False)
        header, arrays = FORMAT.read(tmp_path / "model.sepc")
        values = [moons[0], *(records.points for records in clf._model.records)]
        known = {v for some in values for v in some.ravel().tolist()} - {0.0}
        with_values = {name for name, array in arrays.items() if known & set(array.ravel().tolist())}
        alone = {name: array for name, array in arrays.items() if name.endswith("isolated_points") and array.size}
        assert with_values == {"views/quantiles", *alone}
        assert header["isolated_points"] == sum(len(array) for array in alone.values())

    def test_calibration_scores_are_not_in_the_order_of_the_records(self, fitted, tmp_path):
        clf, _ = fitted["three classes"]
        found = stored(clf, tmp_path, training_rows=False)._calibration
        assert sorted(found.scores.tolist()) == sorted(clf._calibration.scores.tolist())
        assert (np.diff(found.codes) >= 0).all()


def tallied(rules):
    return Rules.by(TallyCensus.of(rules.census, growing=True), rules.sides, rules.labels)


def rules_of(A, B, P):
    return Rules(P, np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)]), ("a", "b"))


def assert_same_verdicts(one, two, rows=slice(None)):
    for field in ("counts", "rule", "lead", "owner", "distance"):
        assert np.array_equal(getattr(one, field)[rows], getattr(two, field)[rows]), field
    assert one.regions.names()[rows].tolist() == two.regions.names()[rows].tolist()


def assert_same_but_for_ties(one, two):
    """Of two ellipsoids that are equally near, tallies may not tell which points they share."""
    assert_same_verdicts(one, two, np.array([name.count("~") < 2 for name in one.regions.names()]))


class TestTallies:
    """What is kept of the training points tells as much as the points."""

    @given(seeds())
    def test_verdicts_are_those_of_the_points(self, seed):
        A, B, n_imp = labelled_points(seed)
        rules = rules_of(A, B, sepc.partition(A, B, n_imp))
        rng = np.random.default_rng(seed)
        both = np.vstack([A, B])
        Z = np.vstack([both, both.mean(0) + 2 * both.std(0) * rng.normal(size=(40, both.shape[1]))])
        assert_same_but_for_ties(rules.judge(Z), tallied(rules).judge(Z))

    @pytest.mark.parametrize("seed", range(20))
    def test_votes_of_some_points_only(self, seed):
        X = point_set("lattice", 90, 2, seed)
        rng = np.random.default_rng(seed)
        side, votes = (rng.random(90) < 0.5).astype(np.int8), rng.random(90) < 0.4
        P = sepc.partition(X[side == 0], X[side == 1], 2)
        rules = Rules(P, X, side, ("a", "b"), votes)
        Z = X + rng.normal(size=X.shape)
        assert_same_but_for_ties(rules.judge(Z), tallied(rules).judge(Z))
        assert np.array_equal(tallied(rules).counts, rules.counts)
        assert not tallied(rules).census.all_vote

    def planted(self, *shapes, isolated=((), ())):
        """Return a partition of one-dimensional ellipsoids: side, centre, radius."""
        blocks = tuple(Block(s, np.array([], int), Ellipsoid([c], [[1.0]], [r]), 1) for s, c, r in shapes)
        return Partition(blocks, tuple(np.array(rows, dtype=int) for rows in isolated), (), 1, "", 0)

    A = np.array([[0.0], [0.5], [1.0], [1.5], [2.0], [8.0]])
    B = np.array([[4.0], [4.5], [6.0], [9.0]])

    @pytest.mark.parametrize(
        ("shapes", "isolated", "z"),
        [
            (((0, 1.0, 1.0), (1, 5.0, 1.0)), ((), ()), 3.0),  # halfway between two that share nothing
            (((0, 1.0, 1.0), (1, 1.0, 1.0)), ((), ()), 3.5),  # twice the same
            (((0, 1.0, 1.0),), ((5,), ()), 5.0),  # halfway to an isolated point
            (((0, 1.0, 1.0), (0, 1.0, 1.0)), ((5,), (3,)), 15.0),
            ((), ((5,), (3,)), 8.5),  # halfway between isolated points
            (((0, 1.0, 1.0), (1, 4.0, 5.0)), ((), ()), 40.0),
        ],
    )
    def test_ties_that_can_be_told(self, shapes, isolated, z):
        rules = rules_of(self.A, self.B, self.planted(*shapes, isolated=isolated))
        Z = np.array([[z], [-z]])
        assert_same_verdicts(rules.judge(Z), tallied(rules).judge(Z))

    def test_a_tie_that_cannot_be_told_goes_to_the_first(self):
        A, B = np.array([[-10.0], [1.0], [9.0]]), np.array([[0.5], [8.5], [9.5]])
        rules = rules_of(A, B, self.planted((0, 1.0, 1.0), (1, 9.0, 1.0)))
        one, two = rules.judge(np.array([[5.0]])), tallied(rules).judge(np.array([[5.0]]))
        assert (one.regions.names()[0], one.counts.tolist()) == ("~a#1|~b#1", [[2, 3]])
        assert (two.regions.names()[0], two.counts.tolist(), two.owner.tolist()) == ("~a#1", [[1, 1]], [0])
        assert one.distance[0] == two.distance[0]
        a_hair_nearer = rules.judge(np.array([[5.0 - 1e-6]]))
        assert (a_hair_nearer.regions.names()[0], a_hair_nearer.counts.tolist()) == ("~a#1", [[1, 1]])


def manifest(content):
    return json.loads(zipfile.ZipFile(io.BytesIO(content)).read("manifest.json"))


def asked_of(name):
    X = EXPECTED[name]["X"]
    return pd.DataFrame(X) if isinstance(X, dict) else np.array(X)


def under_its_names(X, clf):
    return pd.DataFrame(X, columns=clf.feature_names_in_) if hasattr(clf, "feature_names_in_") else X


def fixture(name):
    return FIXTURES / f"v1-{name}.sepc"


class TestRefused:
    @pytest.mark.parametrize("name", ["binary-local", "three-paper-without-rows", "ensemble", "table"])
    def test_damage_is_refused_or_harmless(self, tmp_path, name):
        content = fixture(name).read_bytes()
        path = tmp_path / "model.sepc"
        refused = 0
        for way, altered in damaged_copies(content, 120, np.random.default_rng(0)):
            path.write_bytes(altered)
            try:
                found = sepc.load(path)
            except ModelFileError:
                refused += 1
            else:
                sepc.save(found, path, training_rows=True)
                assert path.read_bytes() == content, way
        assert refused > 80

    @pytest.mark.parametrize("content", [b"", b"PK", b"no model", b"\0" * 5000, pickle.dumps({"a": 1})])
    def test_what_is_no_archive_is_refused(self, tmp_path, content):
        (tmp_path / "model.sepc").write_bytes(content)
        with pytest.raises(ModelFileError, match=r"is damaged or was not written by sepc\.save"):
            sepc.load(tmp_path / "model.sepc")

    def test_a_missing_file_is_just_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            sepc.load(tmp_path / "model.sepc")

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of what is far too large
    @pytest.mark.parametrize("name", ["binary-counts", "binary-paper-without-rows", "three-local", "ensemble"])
    def test_content_that_breaks_a_rule_is_refused_or_does_no_harm(self, tmp_path, name):
        """With digests that fit, as someone would who means it."""
        header, arrays = FORMAT.read(fixture(name))
        probes = asked_of(name)
        path = tmp_path / "model.sepc"
        some = list(arrays)[:: 1 + len(arrays) // 40]
        headers = list(spoilt_headers(header))
        contents = [(spoilt, arrays) for spoilt in headers[:: 1 + len(headers) // 200]]
        contents += [(header, {k: v for k, v in arrays.items() if k != key}) for key in some]
        contents += [(header, arrays | {key: spoilt}) for key in some for spoilt in spoilt_arrays(arrays[key])]
        refused = 0
        for spoilt_header, spoilt in contents:
            FORMAT.write(path, spoilt_header, spoilt)
            try:
                found = sepc.load(path)
            except ModelFileError:
                refused += 1
            else:
                assert len(found.assess(under_its_names(probes, found)).to_frame()) == len(probes)
        assert refused > 0.6 * len(contents)

    @pytest.mark.parametrize("name", ["binary-paper-without-rows", "binary-counts-without-rows"])
    def test_counts_that_contradict_each_other_are_refused(self, name, tmp_path):
        header, arrays = FORMAT.read(fixture(name))
        held = next(key for key in arrays if key.endswith("held"))
        FORMAT.write(tmp_path / "model.sepc", header, arrays)
        sepc.load(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "model.sepc", header, arrays | {held: arrays[held][:, ::-1].copy()})
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")

    def test_nothing_is_executed(self, tmp_path):
        class Bomb:
            def __reduce__(self):
                return (Path.touch, (tmp_path / "executed",))

        header, arrays = FORMAT.read(fixture("binary-local"))
        pickled = io.BytesIO()
        npy.write_array(pickled, np.array([Bomb()], dtype=object), allow_pickle=True)
        for payload in (pickled.getvalue(), pickle.dumps(Bomb())):
            rewrite(tmp_path / "model.sepc", fixture("binary-local"), {"shared0.npy": payload})
            with pytest.raises(ModelFileError):
                sepc.load(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "model.sepc", header | {"kind": "os.system"}, arrays)
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "model.sepc", header | {"frames": "antigravity"}, arrays)
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")
        assert not (tmp_path / "executed").exists()

    @pytest.mark.parametrize("bomb", ["shape", "zip", "sizes", "json"])
    def test_a_file_cannot_ask_for_memory(self, tmp_path, bomb):
        path, source = tmp_path / "model.sepc", fixture("binary-local")
        if bomb == "shape":
            header = io.BytesIO()
            npy.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})
            rewrite(path, source, {"shared0.npy": header.getvalue() + bytes(800)})
        elif bomb == "zip":
            rewrite(path, source, {"shared0.npy": bytes(200_000_000)}, compression=zipfile.ZIP_DEFLATED)
        elif bomb == "sizes":  # all entries in the same place
            content = bytearray(source.read_bytes())
            at = content.rfind(b"PK\x01\x02")
            content[at + 20 : at + 28] = (2**31 - 1).to_bytes(4, "little") * 2
            path.write_bytes(content)
        else:
            rewrite(path, source, {"manifest.json": b"[" * 100_000})
        size = path.stat().st_size
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            sepc.load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * size + 2_000_000

    def test_later_versions_and_other_formats_are_named(self, fitted, tmp_path):
        path = tmp_path / "model.sepc"
        content = manifest(fixture("binary-local").read_bytes()) | {"version": 2}
        rewrite(path, fixture("binary-local"), {"manifest.json": json.dumps(content).encode()})
        with pytest.raises(ModelFileError, match=r"'sepc model' of version 2; expected .* of version 1\. Read it with"):
            sepc.load(path)
        FeedbackMonitor(fitted["local"][0]).save(path)
        with pytest.raises(ModelFileError, match="is a 'sepc feedback' of version 1; expected a 'sepc model'"):
            sepc.load(path)


def rewrite(path, source, entries, compression=zipfile.ZIP_STORED):
    """Write a copy of a model with other entries, and digests that fit."""
    with zipfile.ZipFile(source) as archive:
        content = {name: archive.read(name) for name in archive.namelist()} | entries
    if "manifest.json" not in entries:
        told = json.loads(content["manifest.json"])
        told["entries"] = {name: hashlib.sha256(content[name]).hexdigest() for name in told["entries"]}
        content["manifest.json"] = json.dumps(told).encode()
    content["manifest.sha256"] = hashlib.sha256(content["manifest.json"]).hexdigest().encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


class TestWriting:
    def test_a_failed_save_leaves_the_old_file(self, fitted, tmp_path, monkeypatch):
        path = tmp_path / "model.sepc"
        sepc.save(fitted["local"][0], path)
        before = path.read_bytes()

        def full(*_, **__):
            raise OSError("disk full")

        for owner, name in ((os, "fsync"), (npy, "write_array")):
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, full)
                with pytest.raises(OSError, match="disk full"):
                    sepc.save(fitted["paper"][0], path)
            assert path.read_bytes() == before
            assert os.listdir(tmp_path) == ["model.sepc"]

    def test_an_interrupted_save_leaves_the_old_file(self, fitted, tmp_path, monkeypatch):
        path = tmp_path / "model.sepc"
        sepc.save(fitted["local"][0], path)
        before = path.read_bytes()

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sepc.save(fitted["paper"][0], path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model.sepc"]

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here that is always full")
    def test_a_full_disk_is_an_error(self, fitted):
        with pytest.raises(OSError, match="No space left"):
            sepc.save(fitted["ensemble"][0], "/dev/full")


class TestFixtures:
    """Files of this format version are read as they were written, by this version and all later ones."""

    @pytest.mark.parametrize("name", EXPECTED)
    def test_verdicts_are_those_of_the_day_it_was_written(self, name):
        clf, expected = sepc.load(fixture(name)), EXPECTED[name]
        X = asked_of(name)
        a = clf.assess(X)
        for field in ("label", "region", "rule", "counts"):
            assert getattr(a, field).tolist() == expected[field], field
        for found, kept in ((a.trust, "trust"), (a.distance, "distance"), (clf.predict_proba(X), "proba")):
            assert np.allclose(found, expected[kept], rtol=1e-12, atol=1e-12), kept

    def test_they_are_small(self):
        assert sum(path.stat().st_size for path in FIXTURES.iterdir() if path.is_file()) < 200_000


class TestRulesDict:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_ready_for_json(self, fitted, kind):
        told = sepc.rules_dict(fitted[kind][0])
        assert json.loads(json.dumps(told, allow_nan=False)) == told

    def test_regions_are_those_of_the_classifier(self, fitted):
        clf, _ = fitted["three classes"]
        told = sepc.rules_dict(clf)
        regions = [region for problem in told["problems"] for region in problem["regions"]]
        frame = clf.regions()
        for column in ("region", "label", "n_label", "n_others", "purity", "trust"):
            assert [region[column] for region in regions] == frame[column].tolist()
        for feature in told["features"]:
            assert [region["reach"][feature]["high"] for region in regions] == frame[f"{feature} high"].tolist()
            for region in regions:
                at = region["reach"][feature]
                assert np.isclose(at["centre"], (at["low"] + at["high"]) / 2)
        assert told["classes"][0] == {"label": "setosa", "n_records": 25}
        assert sorted(told["rules"]) == ["R1", "R2a", "R2b", "R3"]
        assert told["parameters"]["standardize"] is False

    def test_members_are_those_of_the_ensemble(self, fitted):
        clf, _ = fitted["ensemble"]
        told = sepc.rules_dict(clf)
        assert [member["weight"] for member in told["members"]] == clf.weights_.tolist()
        regions = [region["region"] for member in told["members"] for region in member["regions"]]
        assert regions == clf.regions()["region"].tolist()

    def test_what_is_no_classifier_is_refused(self):
        with pytest.raises(InputError, match="expected a fitted SEPClassifier"):
            sepc.rules_dict("model")
        with pytest.raises(NotFittedError):
            sepc.rules_dict(SEPClassifier())
