"""Pipelines of scikit-learn that end with our classifiers, converted by skl2onnx."""

import numpy as np
import onnx
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import InputError, SEPClassifier, SEPEnsembleClassifier
from sepc.serving import to_onnx

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")
assert to_onnx  # its import makes the converter known


def converted(pipeline, of_numbers, **options):
    return skl2onnx.to_onnx(pipeline, initial_types=[("X", of_numbers([None, 13]))], **options)


def run(model, X):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": X})


@pytest.mark.parametrize("classifier", [SEPClassifier(), SEPEnsembleClassifier(n_estimators=3)], ids=str)
@pytest.mark.parametrize("as_texts", [False, True])
def test_a_pipeline_gives_its_labels_and_probabilities(classifier, as_texts):
    X, y = load_wine(return_X_y=True)
    y = np.array(["a", "b", "c"])[y] if as_texts else y
    pipeline = make_pipeline(StandardScaler(), PCA(5), classifier).fit(X, y)
    model = converted(pipeline, skl2onnx.common.data_types.DoubleTensorType, options={"zipmap": False})
    onnx.checker.check_model(model, full_check=True)
    labels, proba = run(model, X)
    assert np.array_equal(labels, pipeline.predict(X))
    assert np.abs(proba - pipeline.predict_proba(X)).max() < 1e-12


def test_probabilities_by_label_in_single_precision():
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
    labels, by_label = run(converted(pipeline, skl2onnx.common.data_types.FloatTensorType), X.astype(np.float32))
    proba = np.array([[of_row[label] for label in pipeline.classes_.tolist()] for of_row in by_label])
    assert np.array_equal(labels, pipeline.predict(X))
    assert np.abs(proba - pipeline.predict_proba(X)).max() < 1e-4  # the scaler's own precision


def test_integers_in_and_truths_out():
    X, y = load_wine(return_X_y=True)
    clf = SEPClassifier().fit(np.round(X), y == 1)
    model = converted(clf, skl2onnx.common.data_types.Int64TensorType, options={"zipmap": False})
    labels, proba = run(model, np.round(X).astype(np.int64))
    assert np.array_equal(labels, clf.predict(np.round(X)).astype(int))
    assert np.abs(proba - clf.predict_proba(np.round(X))).max() < 1e-6


def test_operators_that_are_too_old():
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
    with pytest.raises(InputError, match="target_opset") as error:
        converted(pipeline, skl2onnx.common.data_types.DoubleTensorType, target_opset=15)
    assert error.value.fields["opset"] == 15
