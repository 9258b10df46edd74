"""Saved models: the same verdicts to the bit, and nothing but models comes out of a file."""

import io
import json
import os
import pickle
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from coded import raises
from damage import damaged_copies
from numpy.lib import format as npy
from saved_models import (
    EXPECTED,
    FIXTURES,
    KINDS,
    asked_of,
    assert_same,
    fixture_path,
    manifest,
    rewrite,
    stored,
    told,
)
from sklearn.exceptions import NotFittedError

import sepc
from sepc import ModelFileError, SEPClassifier, SEPEnsembleClassifier
from sepc.common.errors import MissingRecordsError
from sepc.feedback import FeedbackMonitor
from sepc.feedback.watched import fingerprint
from sepc.persist.model_files import FORMAT


class TestTheSame:
    @pytest.mark.slow
    @pytest.mark.parametrize("rows", [True, False])
    @pytest.mark.parametrize("kind", KINDS)
    def test_verdicts_are_the_same_to_the_bit(self, fitted, tmp_path, kind, rows):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path, training_rows=rows)
        assert type(found) is type(clf)
        assert repr(found) == repr(clf)
        assert_same(told(found, X), told(clf, X))
        assert sepc.persist.rules_dict(found) == sepc.persist.rules_dict(clf)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_explanations_are_the_same(self, fitted, tmp_path, kind):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path)
        for x in X[:: len(X) // 6]:
            assert repr(found.explain(x).to_dict()) == repr(clf.explain(x).to_dict())

    @pytest.mark.parametrize("rows", [True, False])
    def test_the_same_model_gives_the_same_bytes(self, fitted, tmp_path, rows):
        for clf, _ in fitted.values():
            again = stored(clf, tmp_path, training_rows=rows)
            before = (tmp_path / "model.sepc").read_bytes()
            stored(again, tmp_path, training_rows=rows)
            assert (tmp_path / "model.sepc").read_bytes() == before

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("ensemble", [False, True])
    def test_all_sets_of_the_data_folder(self, tmp_path, ensemble):
        for name, X, y in data_sets(("ecoli", "heart_statlog", "sonar") if ensemble else None):
            clf = (SEPEnsembleClassifier(n_estimators=2) if ensemble else SEPClassifier()).fit(X[:120], y[:120])
            for rows in (True, False):
                found = stored(clf, tmp_path, training_rows=rows)
                assert found.assess(X).to_frame().equals(clf.assess(X).to_frame()), name
                assert np.array_equal(found.predict_proba(X), clf.predict_proba(X)), name


def data_sets(names):
    """Yield the name, at most 200 records and the labels of each set in the folder that SEPC_DATA names."""
    folder = os.environ.get("SEPC_DATA")
    paths = sorted(Path(folder).glob("*.csv")) if folder else []
    if not paths:
        pytest.skip("set SEPC_DATA to the folder with the data sets")
    for path in paths:
        if names is None or path.stem in names:
            rows = pd.read_csv(path).sample(frac=1.0, random_state=0)[:200]
            y = rows.pop(rows.columns[-1])
            yield path.stem, pd.get_dummies(rows).to_numpy(dtype=float), y.to_numpy()


class TestWithoutRecords:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_explanations_say_nothing_of_neighbours(self, fitted, tmp_path, kind):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path, training_rows=False)
        for x in X[:: len(X) // 5]:
            one, two = found.explain(x).to_dict(), clf.explain(x).to_dict()
            assert one["neighbours"] == []
            assert "nearest training records" not in one["details"]
            # What is usual is quantiles of the records, or of the densities; correlated columns are told by records.
            of_records = {"neighbours", "text", "details", "doubt", "counterfactual", "evidence", "descriptions"}
            of_records |= {"nearest_other", "actionable_change"}
            for name in one.keys() - of_records:
                assert repr(one[name]) == repr(two[name]), name
            contributions = [{c["column"]: c["contribution"] for c in e["evidence"]["columns"]} for e in (one, two)]
            assert contributions[0] == contributions[1]
            assert one["evidence"]["others"] == two["evidence"]["others"]
            change = one["counterfactual"]
            assert change is not None
            assert found.predict([list(change["point"].values())])[0] == change["label"] != one["label"]

    def test_what_needs_the_records_says_so(self, fitted, tmp_path):
        found = stored(fitted["local"][0], tmp_path, training_rows=False)
        for needs in (
            lambda: found.landscape_,
            lambda: FeedbackMonitor(found),
            lambda: fingerprint(found),
            lambda: found.model_.rules[0].members(0),
        ):
            with raises("records-missing", MissingRecordsError):
                needs()
        assert not hasattr(stored(fitted["ensemble"][0], tmp_path, training_rows=False), "out_of_fold_proba_")

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_notebook_can_show_the_model_and_complete_its_names(self, fitted, tmp_path, kind):
        found = stored(fitted[kind][0], tmp_path, training_rows=False)
        assert "classes_" in dir(found)
        assert "classes_" in found._repr_html_()


def test_models_with_other_corrections_have_other_keys():
    # Promises and observations that are kept elsewhere name the model by it.
    model = sepc.load(fixture_path("v1-binary-local")).model_
    calibration = replace(model.calibration, correction=np.array([0.1, -0.1]))
    corrected = replace(model, fit=replace(model.fit, calibration=calibration))
    assert corrected.key() != model.key()


class TestRefused:
    @pytest.mark.parametrize("name", ["v1-binary-local", "v1-three-paper-without-rows", "v1-ensemble", "v1-table"])
    def test_damage_is_refused_or_harmless(self, tmp_path, name):
        content = fixture_path(name).read_bytes()
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
        with raises("file-damaged", ModelFileError, writer="sepc.save"):
            sepc.load(tmp_path / "model.sepc")

    def test_a_missing_file_is_just_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            sepc.load(tmp_path / "model.sepc")

    def test_nothing_is_executed(self, tmp_path):
        class Bomb:
            def __reduce__(self):
                return (Path.touch, (tmp_path / "executed",))

        header, arrays = FORMAT.read(fixture_path("v1-binary-local"))
        pickled = io.BytesIO()
        npy.write_array(pickled, np.array([Bomb()], dtype=object), allow_pickle=True)
        for payload in (pickled.getvalue(), pickle.dumps(Bomb())):
            rewrite(tmp_path / "model.sepc", fixture_path("v1-binary-local"), {"shared0.npy": payload})
            with pytest.raises(ModelFileError):
                sepc.load(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "model.sepc", header | {"kind": "os.system"}, arrays)
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "model.sepc", header | {"frames": "antigravity"}, arrays)
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")
        assert not (tmp_path / "executed").exists()

    @pytest.mark.slow
    @pytest.mark.parametrize("bomb", ["shape", "zip", "sizes", "json"])
    def test_a_file_cannot_ask_for_memory(self, tmp_path, bomb):
        path, source = tmp_path / "model.sepc", fixture_path("v1-binary-local")
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

    def test_other_versions_and_formats_are_named(self, tmp_path):
        path = tmp_path / "model.sepc"
        content = manifest(fixture_path("v1-binary-local").read_bytes()) | {"version": 3}
        rewrite(path, fixture_path("v1-binary-local"), {"manifest.json": json.dumps(content).encode()})
        with raises(
            "file-version", ModelFileError, name="sepc model", version=3, expected="sepc model", expected_version=1
        ):
            sepc.load(path)
        replace(FORMAT, name="sepc feedback").write(path, {}, {})
        with raises(
            "file-version", ModelFileError, name="sepc feedback", version=1, expected="sepc model", expected_version=1
        ):
            sepc.load(path)


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
    """Files of each format version are read as they were written, by the version that wrote them and all later ones."""

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("name", EXPECTED)
    def test_verdicts_are_those_of_the_day_it_was_written(self, name):
        clf, expected = sepc.load(fixture_path(name)), EXPECTED[name]
        X = asked_of(name)
        a = clf.assess(X)
        for field in ("label", "region", "rule", "counts"):
            assert getattr(a, field).tolist() == expected[field], field
        for found, kept in ((a.trust, "trust"), (a.distance, "distance"), (clf.predict_proba(X), "proba")):
            assert np.allclose(found, expected[kept], rtol=1e-12, atol=1e-12, equal_nan=True), kept

    def test_they_are_small(self):
        assert sum(path.stat().st_size for path in FIXTURES.glob("v1-*")) < 250_000


class TestGrowing:
    def test_a_file_without_gauges_cannot_claim_that_ellipsoids_grow(self, tmp_path):
        header, arrays = FORMAT.read(fixture_path("v1-binary-paper-without-rows"))
        assert not any("gauge" in name for name in arrays)
        FORMAT.write(tmp_path / "model.sepc", header | {"grows": True}, arrays)
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")


class TestKinds:
    def test_only_fitted_classifiers_of_these_kinds_are_saved(self, fitted, tmp_path):
        class Mine(SEPClassifier):
            pass

        for other in (Mine(), "model", fitted["local"][0].model_):
            with raises("clf-not-savable"):
                sepc.save(other, tmp_path / "model.sepc")
        with pytest.raises(NotFittedError):
            sepc.save(SEPClassifier(), tmp_path / "model.sepc")
        assert os.listdir(tmp_path) == []


class TestTables:
    @pytest.mark.slow
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
        # Among what is told of features: how usual a value is in a region.
        of_records = {"neighbours", "counterfactual", "features", "missing", "text", "details", "doubt", "advice"}
        of_records |= {"evidence", "descriptions", "nearest_other", "actionable_change"}
        assert of_records >= {name for name in one if repr(one[name]) != repr(two[name])}
        assert bool(one["neighbours"]) is rows
        assert found["columns"].columns_ == clf["columns"].columns_
        assert found.get_params()["verbose"] is True
        assert found.feature_names_in_.tolist() == list(table.columns)
        assert (found["classifier"].model_.records is None) is not rows
        assert sepc.persist.rules_dict(found)["columns"] == clf["columns"].notes
