"""ONNX graphs give the answers of `assess`: labels, acceptance and regions the same, numbers within 1e-12."""

import importlib
import json
import subprocess
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from graph_checks import NO_MORE_THAN, answers, assert_same_answers, exported, hard_records
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from sepc import (
    InputError,
    SepcError,
    SEPClassifier,
    SEPEnsembleClassifier,
    TrustedClassifier,
    select_min_trust,
)
from sepc.model.acceptance import Promise
from sepc.serving import to_onnx
from sepc.serving.graphs.export import OUTPUTS

SETS = {"iris": load_iris, "wdbc": load_breast_cancer, "wine": load_wine}


def two_groups(n=400, seed=0, d=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + 1.6 * y[:, None], np.array(["ill", "well"])[y]


@pytest.mark.parametrize("name", SETS)
def test_the_default_reading_on_ordinary_far_absurd_and_incomplete_records(name, tmp_path):
    X, y = SETS[name](return_X_y=True)
    found = assert_same_answers(SEPClassifier().fit(X, y), np.concatenate([X, hard_records(X)]), tmp_path)
    assert len(set(found["refusal"].tolist())) >= 4  # accepted, strange, beyond, no values: all of them are tried


@pytest.mark.slow
def test_ten_classes_of_many_features(tmp_path):
    X, y = load_digits(return_X_y=True)
    X = X[:, 10:38]
    assert_same_answers(SEPClassifier().fit(X[::3], y[::3]), np.concatenate([X[1::3], hard_records(X)]), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "wdbc"])
def test_ensembles(name, tmp_path):
    X, y = SETS[name](return_X_y=True)
    assert_same_answers(SEPEnsembleClassifier().fit(X[::2], y[::2]), np.concatenate([X, hard_records(X)]), tmp_path)


@pytest.mark.parametrize("y", [np.int8, bool, np.float32, str, object], ids=lambda kind: kind.__name__)
def test_labels_of_all_kinds(y, tmp_path):
    X, labels = two_groups()
    labels = (labels == "ill").astype(y) if y in (np.int8, bool, np.float32) else labels.astype(y)
    found = assert_same_answers(SEPClassifier(trust="raw").fit(X, labels), X, tmp_path)
    assert np.array_equal(found["label"], SEPClassifier(trust="raw").fit(X, labels).predict(X))


def test_uncalibrated_densities(tmp_path):
    X, y = load_wine(return_X_y=True)
    found = assert_same_answers(SEPClassifier(trust="raw").fit(X, y), np.concatenate([X, hard_records(X)]), tmp_path)
    assert np.isnan(found["typicality"]).all()


def test_columns_on_scales_of_their_own(tmp_path):
    rng = np.random.default_rng(0)
    X, y = two_groups(600, d=4)
    X[:, 0], X[:, 1] = np.exp(3.0 * X[:, 0]), np.round(np.exp(X[:, 1]))
    X[:, 2] = np.sign(X[:, 2]) * np.abs(X[:, 2]) ** 7
    clf = SEPClassifier().fit(X, y)
    assert len(clf.model_.scales.curves.columns)
    at_quantiles = rng.choice(clf.model_.scales.curves.quantiles.ravel(), (50, 4))
    assert_same_answers(clf, np.concatenate([X, at_quantiles, hard_records(X)]), tmp_path)


def test_linear_terms_and_places(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, (900, 2))
    y = np.where(X @ [1.0, 2.0] + rng.normal(size=900) > 0.0, "up", "down")
    X[:40], y[:40] = [1.2, -0.6], "up"
    clf = SEPClassifier().fit(X, y)
    assert clf.model_.calibration.linear is not None
    at_places = np.repeat(clf.model_.calibration.local.centers, 20, axis=0)
    at_places[20:] += rng.normal(scale=0.02, size=at_places[20:].shape)
    assert_same_answers(clf, np.concatenate([X, clf.model_.original(at_places), hard_records(X)]), tmp_path)


@pytest.mark.parametrize(
    "policy",
    [
        {"class_prior": {"ill": 0.05}},
        {"costs": {"ill": {"well": 9.0}, "well": {"ill": 1.0}, None: 0.3}},
        {"costs": {"ill": {"well": 9.0, None: 2.0}, "well": {"ill": 1.0, None: 0.1}}, "class_prior": {"ill": 0.3}},
        {"costs": [[0.0, 5.0], [1.0, 0.0]]},
    ],
    ids=["priors", "costs", "both", "never asks"],
)
def test_priors_and_costs(policy, tmp_path):
    X, y = two_groups()
    clf = SEPClassifier().fit(X, y).under(**policy)
    assert_same_answers(clf, np.concatenate([X, hard_records(X)]), tmp_path)


def test_costs_of_an_ensemble(tmp_path):
    X, y = two_groups(150)
    clf = (
        SEPEnsembleClassifier(n_estimators=3)
        .fit(X, y)
        .under(costs={"ill": {"well": 9.0}, "well": {"ill": 1.0}, None: 0.3})
    )
    assert_same_answers(clf, np.concatenate([X, hard_records(X)]), tmp_path)


@pytest.mark.parametrize(
    "min_trust", [0.0, 0.8, np.inf, {"ill": 0.6, "well": 0.99}], ids=["all", "some", "none", "dict"]
)
def test_acceptance_by_trust(min_trust, tmp_path):
    X, y = two_groups()
    assert_same_answers(SEPClassifier().fit(X, y), np.concatenate([X, hard_records(X)]), tmp_path, min_trust)


@pytest.mark.parametrize("by", [None, "label", "region"])
def test_acceptance_by_a_promise(by, tmp_path):
    X, y = two_groups(3000)
    fit, rest, y_fit, y_rest = train_test_split(X, y, random_state=0)
    clf = SEPClassifier().fit(fit, y_fit)
    promise = select_min_trust(clf, rest, y_rest, max_error=0.1, by=by)
    assert promise.is_kept
    found = assert_same_answers(clf.sign(promise), rest, tmp_path)
    assert 0 < np.count_nonzero(found["accepted"]) < len(rest)
    assert json.loads(_properties(tmp_path)["promise"])["by"] == (by or "all")


def test_a_promise_that_was_not_kept_accepts_nothing(tmp_path):
    X, y = two_groups()
    clf = SEPClassifier().fit(X, y)
    broken = select_min_trust(clf, X[:10] + 0.01, y[:10], max_error=0.01)
    assert not broken.is_kept
    assert set(assert_same_answers(clf.sign(broken), X, tmp_path)["refusal"].tolist()) <= {
        "promise",
        "contested",
        "strange",
    }


def test_a_share_is_that_of_the_explanation(tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = SEPClassifier().fit(X, y)
    incomplete = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    some = np.concatenate([X[::9], X[::9] + 50.0, incomplete[::9]])
    found = answers(exported(clf, tmp_path), {"X": some})
    for x, label, region, share in zip(some, found["label"], found["region"], found["share"], strict=True):
        shares = [one for one in clf.explain_many(x[None])[0].shares if one.label == label and one.is_region]
        most = max(shares, key=lambda one: one.share)
        assert share == pytest.approx(most.share, abs=1e-9)
        assert region == most.region or share == pytest.approx(shares[1].share, rel=1e-9)


def test_columns_that_the_classifier_does_not_read(tmp_path):
    rng = np.random.default_rng(0)
    X, y = two_groups(40)
    wide = np.column_stack([rng.normal(size=(40, 700)), X])
    with pytest.warns(UserWarning, match="columns"):
        clf = SEPClassifier().fit(wide, y)
    assert clf.columns_read_ is not None
    assert_same_answers(clf, wide, tmp_path)


def test_float32_is_what_comes_in_and_goes_out(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    clf, some = SEPClassifier().fit(X, y), X.astype(np.float32)
    found = answers(exported(clf, tmp_path, dtype="float32"), {"X": some})
    assert found["probabilities"].dtype == found["trust"].dtype == np.float32
    assert np.abs(found["probabilities"] - clf.predict_proba(some.astype(float))).max() < 1e-6
    assert np.array_equal(found["label"], clf.predict(some.astype(float)))


@pytest.mark.parametrize("n", [0, 1, 2, 5000])
def test_any_number_of_records(n, tmp_path):
    X, y = two_groups()
    clf = SEPClassifier().fit(X, y)
    some = np.resize(X, (n, 3))
    found = answers(exported(clf, tmp_path), {"X": some})
    assert found["probabilities"].shape == (n, 2)
    assert np.array_equal(found["label"], clf.predict(X)[np.arange(n) % len(X)])


def test_an_answer_does_not_depend_on_the_other_records(tmp_path):
    X, y = load_wine(return_X_y=True)
    graph, some = exported(SEPClassifier().fit(X, y), tmp_path), hard_records(X)
    together = answers(graph, {"X": some})
    for row in range(0, len(some), 7):
        alone = answers(graph, {"X": some[[row]]})
        assert alone["probabilities"][0] == pytest.approx(together["probabilities"][row], abs=1e-13)
        assert [alone[k][0] for k in ("label", "refusal", "region")] == [
            together[k][row] for k in ("label", "refusal", "region")
        ]


@pytest.mark.parametrize("outputs", [["label"], ["accepted", "probabilities"], ["region", "share"]])
def test_some_outputs_need_fewer_nodes(outputs, tmp_path):
    X, y = two_groups()
    clf = SEPClassifier().fit(X, y)
    whole = answers(exported(clf, tmp_path), {"X": X})
    n_nodes = len(onnx.load(tmp_path / "model.onnx").graph.node)
    some = answers(exported(clf, tmp_path, outputs=outputs), {"X": X})
    assert set(some) == set(outputs)
    assert len(onnx.load(tmp_path / "model.onnx").graph.node) < n_nodes
    for name in outputs:
        assert np.array_equal(some[name], whole[name])


def test_the_file_is_valid_and_says_what_it_is(tmp_path):
    X, y = two_groups()
    clf = SEPClassifier().fit(pd.DataFrame(X, columns=["age", "dose", "weight"]), y)
    to_onnx(clf, tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    about = {name: json.loads(text) for name, text in _properties(tmp_path).items()}
    assert about["classes"] == ["ill", "well"]
    assert about["features"] == ["age", "dose", "weight"]
    assert about["key"] == clf.model_.key()
    assert [one.name for one in model.graph.output] == list(OUTPUTS)
    first = (tmp_path / "model.onnx").read_bytes()
    to_onnx(clf, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == first


def test_the_file_runs_where_sepc_is_not(tmp_path):
    X, y = two_groups()
    clf = SEPClassifier().fit(X, y)
    to_onnx(clf, tmp_path / "model.onnx")
    np.save(tmp_path / "X.npy", X)
    script = """
import sys
class NoSepc:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sepc", "sklearn", "scipy", "numba", "pandas"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoSepc())
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1] + "/model.onnx")
np.save(sys.argv[1] + "/P.npy", session.run(["probabilities"], {"X": np.load(sys.argv[1] + "/X.npy")})[0])
assert "sepc" not in sys.modules
"""
    subprocess.run([sys.executable, "-I", "-c", script, str(tmp_path)], check=True)
    assert np.abs(np.load(tmp_path / "P.npy") - clf.predict_proba(X)).max() < NO_MORE_THAN


def test_without_onnx_the_error_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("sepc.serving.graphs")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(SepcError, match=r"pip install 'sepc\[onnx\]'"):
        importlib.import_module("sepc.serving.graphs.export")


@pytest.mark.parametrize("trust", ["paper", "counts", "bound"])
def test_what_counts_in_grown_ellipsoids_is_refused(trust, tmp_path):
    X, y = two_groups(60)
    with pytest.raises(InputError, match="counts records in ellipsoids") as error:
        to_onnx(SEPClassifier(trust=trust).fit(X, y), tmp_path / "model.onnx")
    assert error.value.code == "graph-not-exact"
    assert not (tmp_path / "model.onnx").exists()


class Anything(Promise):
    def limits(self, assessment, groups=None):  # noqa: ARG002
        return np.full(len(assessment), 0.5)


def test_what_a_graph_does_not_have_is_refused(tmp_path):
    from sklearn.linear_model import LogisticRegression

    X, y = two_groups(200)
    clf, path = SEPClassifier().fit(X, y), tmp_path / "model.onnx"
    groups = np.where(X[:, 0] > 0.0, "high", "low")
    by_groups = select_min_trust(clf, X + 1e-6, y, max_error=0.4, by=groups)
    assert by_groups.is_kept
    for code, classifier, options in (
        ("graph-around", TrustedClassifier(LogisticRegression()).fit(X, y), {}),
        ("graph-promise-groups", clf, {"min_trust": by_groups}),
        ("graph-promise-kind", clf, {"min_trust": Anything()}),
        ("graph-dtype", clf, {"dtype": "float16"}),
        ("graph-outputs", clf, {"outputs": ["label", "nothing"]}),
        ("graph-outputs", clf, {"outputs": []}),
        ("not-between-0-and-1", clf, {"min_trust": 2.0}),
    ):
        with pytest.raises(InputError) as error:
            to_onnx(classifier, path, **options)
        assert error.value.code == code
        assert not path.exists()


def _properties(folder):
    return {one.key: one.value for one in onnx.load(folder / "model.onnx").metadata_props}
