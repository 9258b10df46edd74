"""A converter for skl2onnx, so that pipelines of scikit-learn that end with our classifiers become graphs, too."""

from typing import Any

import numpy as np
from onnx import TensorProto
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import DoubleTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

from sepc.common.errors import InputError
from sepc.estimators import SEPClassifier, SEPEnsembleClassifier
from sepc.serving.graphs.graph import Graph, Tensor

_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [False], "output_class_labels": [False, True]}
_LEAST_OPSET = 18


def register() -> None:
    """Make the converter known to skl2onnx."""
    for kind in (SEPClassifier, SEPEnsembleClassifier):
        shapes = calculate_linear_classifier_output_shapes
        update_registered_converter(kind, f"Sepc{kind.__name__}", shapes, _convert, options=_OPTIONS)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier: labels and probabilities."""
    from sepc.serving.graphs.export import answers, numbers, put_out, type_of

    if container.target_opset < _LEAST_OPSET:
        raise InputError("graph-opset", opset=container.target_opset, least=_LEAST_OPSET)
    clf, given = operator.raw_operator, operator.inputs[0]
    label, probabilities = (one.full_name for one in operator.outputs)
    g = Graph(f"{scope.get_unique_variable_name(type(clf).__name__)}_")

    def once(_: Tensor, X: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        found = answers(g, clf, X, None, None)
        return [X], [found["label"], found["probabilities"]]

    # skl2onnx sorts nodes by their inputs and sees into no branch. In a loop that runs once all keep their order.
    kinds = type_of("label", clf.classes_, TensorProto.DOUBLE), TensorProto.DOUBLE
    _, *found = g.loop(np.array(1), [numbers(g, Tensor(g, given.full_name))], once, kinds)
    codes, proba = (g.op("Squeeze", answer, np.array([0])) for answer in found)
    is_double = isinstance(given.type, DoubleTensorType)
    # skl2onnx takes truths for integers, as scikit-learn's own classifiers do.
    put_out(g, g.integers(codes) if kinds[0] == TensorProto.BOOL else codes, label, TensorProto.UNDEFINED)
    put_out(g, proba, probabilities, TensorProto.DOUBLE if is_double else TensorProto.FLOAT)
    nodes, constants = g.needed([label, probabilities])
    container.nodes.extend(nodes)
    container.initializers.extend(constants)
    container.node_domain_version_pair_sets.add(("", _LEAST_OPSET))
