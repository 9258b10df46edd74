"""MLflow: a classifier that was saved, logged and loaded again gives the same assessments, and nothing is pickled."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raw_tables import patients
from saved_models import fixture_path, iris
from sklearn.ensemble import RandomForestClassifier

from sepc import (
    InputError,
    SepcError,
    SEPClassifier,
    SEPEnsembleClassifier,
    TrustedClassifier,
    load,
    make_table_pipeline,
    select_min_trust,
)
from sepc.serving.mlflow import load_model, log_model, save_model

# MLflow reports on its use unless these are set before its first import.
os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
mlflow = pytest.importorskip("mlflow")
pytest.importorskip("mlflow.pyfunc")

# MLflow's own, of newer versions of its dependencies.
pytestmark = pytest.mark.filterwarnings("ignore:Operation with range is deprecated")


@pytest.fixture(autouse=True)
def _store(tmp_path, monkeypatch):
    """An empty current folder, and a tracking store in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())


@pytest.fixture(scope="module")
def models():
    """Fitted classifiers by name, each with the records that it is asked about."""
    frame, species = iris("pandas")
    table, ill = patients()
    return {
        "default": (SEPClassifier().fit(frame[::2], species[::2]), frame),
        "array": (SEPClassifier().fit(frame.to_numpy()[::2], species[::2]), frame.to_numpy()),
        "ensemble": (SEPEnsembleClassifier(n_estimators=3).fit(frame[::2], species[::2]), frame),
        "table": (make_table_pipeline().fit(table, ill), table),
        "around columns": (load(fixture_path("v1-trusted")), _answered()),
    }


def _answered():
    return pd.DataFrame({"size": [1.0, -0.5, np.nan], "level": ["low", "high", None], "p": [0.9, 0.2, 0.4]})


def expected(clf, X, min_trust=None):
    a = clf.assess(X)
    proba = clf.predict_proba(X)
    return pd.DataFrame(
        {
            **a.shown(),
            "accepted": a.accepted(min_trust),
            "refusal": a.refusals(min_trust),
            **{f"probability of {label}": proba[:, k] for k, label in enumerate(clf.classes_)},
        },
        index=getattr(X, "index", None),
    )


@pytest.mark.parametrize("name", ["default", "array", "ensemble", "table", "around columns"])
@pytest.mark.parametrize("with_example", [False, True])
def test_a_model_from_a_folder_gives_the_same_assessment_to_the_bit(models, name, with_example, tmp_path):
    clf, X = models[name]
    X = X.astype({"weight": float}) if name == "table" and not with_example else X
    X = X.astype({"sex": object}) if name == "table" and not with_example else X
    save_model(clf, tmp_path / "served", input_example=X[:5] if with_example else None)
    served = mlflow.pyfunc.load_model(str(tmp_path / "served"))
    pd.testing.assert_frame_equal(served.predict(X), expected(clf, X), check_exact=True)
    found = served.predict(X, params={"min_trust": 0.6})
    pd.testing.assert_frame_equal(found, expected(clf, X, 0.6), check_exact=True)
    assert len(served.predict(served.input_example)) == (len(X[:5]) if with_example else 1)
    names = served.metadata.get_input_schema().input_names()
    assert not {"id", "country"} & set(names)  # which the table pipeline does not read
    assert type(load_model(str(tmp_path / "served"))) is type(clf)


@pytest.mark.parametrize("kind", [np.float32, np.int64, list])
def test_an_array_of_any_numbers_is_an_example(models, kind, tmp_path):
    clf, X = models["array"]
    example = X[:3].round().tolist() if kind is list else X[:3].round().astype(kind)
    save_model(clf, tmp_path / "served", input_example=example)
    served = mlflow.pyfunc.load_model(str(tmp_path / "served"))
    assert served.predict(X)["label"].tolist() == clf.predict(X).tolist()


def test_nothing_is_pickled(models, tmp_path):
    save_model(models["table"][0], tmp_path / "served")
    files = {path.relative_to(tmp_path / "served").as_posix() for path in (tmp_path / "served").rglob("*")}
    assert "data/model.sepc" in files
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".py", ".joblib"))]
    for name in ("requirements.txt", "conda.yaml", "MLmodel"):
        text = (tmp_path / "served" / name).read_text()
        assert "pickle" not in text
    assert "sepc[mlflow]==" in (tmp_path / "served" / "requirements.txt").read_text()


def test_the_signature_has_the_columns_and_their_kinds(models, tmp_path):
    clf, table = models["table"]
    save_model(clf, tmp_path / "served", metadata={"owner": "ward 3"})
    info = mlflow.models.get_model_info(str(tmp_path / "served"))
    kinds = {one.name: one.type.name for one in info.signature.inputs}
    assert kinds == {
        "age": "double",
        "color": "string",
        "smoker": "boolean",
        "weight": "double",
        "joined": "datetime",
        "sex": "string",
    }
    assert info.signature.outputs.input_names() == list(expected(clf, table).columns)
    assert [one.name for one in info.signature.params] == ["min_trust"]
    assert info.metadata["classes"] == ["ill", "well"]
    assert info.metadata["promise"] is None
    assert info.metadata["owner"] == "ward 3"


def test_a_signed_promise_is_kept(tmp_path):
    X, y = iris("pandas")
    clf = SEPClassifier().fit(X[::2], y[::2])
    clf.sign(select_min_trust(clf, X[1::2], y[1::2], max_error=0.2, by="label"))
    save_model(clf, tmp_path / "served")
    served = mlflow.pyfunc.load_model(str(tmp_path / "served"))
    pd.testing.assert_frame_equal(served.predict(X), expected(clf, X), check_exact=True)
    assert (served.predict(X)["accepted"] != expected(clf, X, 0.999)["accepted"]).any()
    assert served.metadata.metadata["promise"] == json.loads(json.dumps(clf.promise.to_dict()))


def test_a_promise_by_groups_reads_the_column_of_the_groups(tmp_path):
    X, y = iris("pandas")
    ward = np.where(np.arange(len(X)) % 3 == 0, "1", "2")
    clf = make_table_pipeline().fit(X[::2], y[::2])
    promise = select_min_trust(clf, X[1::2], y[1::2], max_error=0.2, by=ward[1::2])
    clf.sign(replace(promise, group_column="ward"))
    save_model(clf, tmp_path / "served")
    found = mlflow.pyfunc.load_model(str(tmp_path / "served")).predict(X.assign(ward=ward))
    assert found["accepted"].tolist() == clf.assess(X).accepted(groups=ward).tolist()
    assert found["accepted"].any()


def test_a_least_trust_is_kept_and_a_call_may_name_another(models, tmp_path):
    clf, X = models["default"]
    save_model(clf, tmp_path / "served", min_trust=0.7)
    served = mlflow.pyfunc.load_model(str(tmp_path / "served"))
    pd.testing.assert_frame_equal(served.predict(X), expected(clf, X, 0.7), check_exact=True)
    pd.testing.assert_frame_equal(served.predict(X, {"min_trust": 0.99}), expected(clf, X, 0.99), check_exact=True)
    with pytest.raises(InputError, match="min_trust"):
        save_model(clf, tmp_path / "other", min_trust=95)
    with pytest.raises(InputError, match="min_trust"):
        served.predict(X, {"min_trust": 95.0})


@pytest.mark.filterwarnings("ignore:The filesystem tracking backend:FutureWarning")
def test_a_logged_model_comes_back_from_the_store(models):
    clf, table = models["table"]
    with mlflow.start_run():
        info = log_model(
            clf, "diagnosis", input_example=table[:3], metadata={"owner": "ward 3"}, tags={"kind": "first"}
        )
    served = mlflow.pyfunc.load_model(info.model_uri)
    pd.testing.assert_frame_equal(served.predict(table), expected(clf, table), check_exact=True)
    assert load_model(info.model_uri).explain(table[:1]).text == clf.explain(table[:1]).text
    assert set(served.metadata.flavors) == {"python_function", "sepc"}
    assert {"owner", "classes"} <= set(served.metadata.metadata)
    assert Path("runs").is_dir()


@pytest.mark.first_use
def test_a_fresh_process_needs_no_more_than_the_folder(models, tmp_path):
    clf, X = models["default"]
    save_model(clf, tmp_path / "served")
    X.to_csv(tmp_path / "new.csv", index=False)
    code = (
        "import mlflow.pyfunc, pandas as pd\n"
        "served = mlflow.pyfunc.load_model('served')\n"
        "served.predict(pd.read_csv('new.csv')).to_pickle('out.pkl')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={**os.environ})
    pd.testing.assert_frame_equal(pd.read_pickle(tmp_path / "out.pkl"), expected(clf, X), check_exact=True)


def test_a_model_that_is_not_whole_in_its_file_is_refused(tmp_path):
    X, y = iris("pandas")
    clf = TrustedClassifier(RandomForestClassifier(n_estimators=5, random_state=0), cv=2).fit(X, y)
    with pytest.raises(SepcError) as refused:
        save_model(clf, tmp_path / "served")
    assert refused.value.code == "estimator-missing"
    assert not Path(tmp_path / "served").exists()


def test_a_missing_mlflow_is_named_with_its_extra(models, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    with pytest.raises(SepcError, match=r"pip install 'sepc\[mlflow\]'") as missing:
        save_model(models["default"][0], tmp_path / "served")
    assert missing.value.code == "serving-not-installed"
