"""``sepc export``."""

import json

import numpy as np
import pytest
from command_line import do

from sepc import SEPClassifier, load, save

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 60)
    X = rng.normal(size=(120, 2)) + 2.0 * (y == "ill")[:, None]
    save(SEPClassifier().fit(X, y), tmp_path / "model.sepc")
    return tmp_path / "model.sepc", X


def test_the_graph_answers_as_the_model_does(model, tmp_path, capsys):
    path, X = model
    assert do(f"export {path} {tmp_path}/model.onnx --json") == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / "model.onnx").stat().st_size
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    proba = session.run(["probabilities"], {"X": X})[0]
    assert np.abs(proba - load(path).predict_proba(X)).max() < 1e-12


def test_options_are_those_of_the_graph(model, tmp_path):
    path, X = model
    line = f"export {path} {tmp_path}/model.onnx --min-trust 0.7 --class-prior ill 0.1 --outputs label accepted"
    assert do(f"{line} --dtype float32") == 0
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    label, accepted = session.run(None, {"X": X.astype(np.float32)})
    a = load(path).under(class_prior={"ill": 0.1}).assess(X.astype(np.float32))
    assert np.array_equal(label, a.label)
    assert np.array_equal(accepted, a.accepted(0.7))


def test_what_no_graph_can_do_is_an_error_with_the_reason(tmp_path, capsys):
    save(SEPClassifier(trust="paper").fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]), tmp_path / "paper.sepc")
    assert do(f"export {tmp_path}/paper.sepc {tmp_path}/paper.onnx") == 1
    assert "trust='paper' counts records in ellipsoids" in capsys.readouterr().err
    assert not (tmp_path / "paper.onnx").exists()


def test_the_model_is_not_overwritten(model, capsys):
    path, _ = model
    before = path.read_bytes()
    assert do(f"export {path} {path}") == 2
    assert path.read_bytes() == before
    assert "is" in capsys.readouterr().err
