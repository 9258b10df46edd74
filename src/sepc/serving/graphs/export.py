"""`to_onnx`: a fitted classifier as an ONNX graph."""

import json
import os
from collections.abc import Collection
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import sepc
from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError, SepcError
from sepc.common.frames import plain
from sepc.common.text import AROUND
from sepc.common.typing import LARGEST_COORDINATE
from sepc.model.acceptance import MinTrust

try:
    import onnx
    from onnx import TensorProto, helper
except ModuleNotFoundError as error:
    raise SepcError("serving-not-installed", needed_for="an ONNX graph", module="onnx", extra="onnx") from error

from sepc.serving.graphs.decisions import REASONS, Cases, label_tensor, label_type, refusals
from sepc.serving.graphs.graph import ML, ML_OPSET, OPSET, Graph, Tensor, text_array, value_info
from sepc.serving.graphs.models import cases_of, has_regions, regions_of, verdict_of
from sepc.serving.graphs.tables import columns_of, encoded
from sepc.tables.columns import CATEGORY

_TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}
_IR_VERSION = 9  # that of the operator set


def to_onnx(
    clf: Any,
    path: str | os.PathLike[str],
    *,
    min_trust: MinTrust = None,
    outputs: Collection[str] | None = None,
    dtype: str = "float64",
) -> None:
    """Write a fitted classifier as an ONNX graph, which ONNX Runtime runs without this library.

    The graph computes what `assess` does: labels, acceptance and regions are equal, probabilities within 1e-12.
    What a graph cannot do exactly is refused. Once this function is imported, skl2onnx can convert pipelines of
    scikit-learn that end with these classifiers, too.

    An array classifier takes ``X`` of shape (n, n_features), NaN where a value is missing. A table pipeline takes each
    column that it reads by its name, of shape (n, 1): texts of a category, empty where missing; else numbers, truths as
    1 and 0, dates as days since 1970-01-01. Values that `assess` would raise an error for are refused as beyond.

    Outputs, n of each: ``label``, ``probabilities`` (n, n_classes), ``trust``, ``typicality`` (NaN where it is not
    known), ``accepted``, ``refusal`` (why not; empty where accepted), ``region`` (the region that gives most of the
    label's probability; of an ensemble the one that the leading member cites) and ``share`` (what it gives of the
    probability; of an ensemble the leading member's share of the evidence for the label).

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier or TablePipeline
        Fitted, with ``trust="local"`` or ``"raw"`` unless it is an ensemble.
    path : path-like
        An existing file is replaced, once the new one is complete.
    min_trust : float, dict or TrustThreshold, optional
        As for `Assessment.accepted`; a promise by groups is refused.
    outputs : collection of str, optional
        Names of outputs; all by default. With fewer of them a graph is faster.
    dtype : {"float64", "float32"}
        Of numbers that go in and come out. The graph calculates in double precision.

    Raises
    ------
    InputError
        For a classifier that counts records in ellipsoids, or that goes around another model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np, onnxruntime
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> with TemporaryDirectory() as folder:
    ...     to_onnx(clf, f"{folder}/model.onnx", min_trust=0.7)
    ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    >>> session.run(["label", "accepted"], {"X": np.array([[0.5], [3.0]])})
    [array(['low', 'low'], dtype=object), array([ True, False])]
    """
    check_is_fitted(clf)
    chosen = OUTPUTS if outputs is None else [name for name in OUTPUTS if name in outputs]
    if dtype not in _TYPES:
        raise InputError("graph-dtype", dtype=dtype)
    if not chosen or len(chosen) < len(set(outputs or OUTPUTS)):
        raise InputError("graph-outputs", outputs=list(outputs or ()), known=", ".join(OUTPUTS))
    g, kind = Graph(_prefix(clf, chosen)), _TYPES[dtype]
    inputs, X, gap_typicality = _read(g, clf, kind)
    found = answers(g, clf, X, gap_typicality, min_trust)
    infos = []
    for name in chosen:
        of_output = type_of(name, clf.classes_, kind)
        put_out(g, found[name], name, of_output)
        infos.append(value_info(name, of_output, ["n", len(clf.classes_)] if name == "probabilities" else ["n"]))
    nodes, constants = g.needed(chosen)
    graph = helper.make_graph(nodes, "sepc", inputs, infos, constants)
    operators = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    model = helper.make_model(graph, opset_imports=operators, ir_version=_IR_VERSION)
    model.producer_name, model.producer_version = "sepc", sepc.__version__
    helper.set_model_props(model, _about(clf, min_trust))
    onnx.checker.check_model(model)
    with written_whole(path) as file:
        file.write(model.SerializeToString())


def answers(g: Graph, clf: Any, X: Tensor, gap_typicality: Tensor | None, min_trust: MinTrust) -> dict[str, Tensor]:
    """Return the outputs of a graph for points, shape (n, n_features), by name."""
    model = clf.core.model_
    if model.trust == AROUND:
        raise InputError("graph-around")
    if clf.core.columns_read_ is not None:
        X = g.take(X, clf.core.columns_read_, axis=1)
    verdict = verdict_of(g, model, X)
    if gap_typicality is not None:
        own = verdict.typicality
        lower = g.where(g.isnan(own), gap_typicality, g.minimum(own, gap_typicality))
        verdict = verdict._replace(typicality=g.where(gap_typicality < 1.0, lower, own))
    decision = verdict.decision
    has_costs = model.policy is not None and model.policy.costs is not None
    cases = Cases(*cases_of(model), model.classes, clf.promise, has_costs, model.key())
    why = refusals(g, verdict, X, model.outline.reach, cases.limits(min_trust), has_regions(model))
    return {
        "label": label_tensor(g, model.classes, decision.label),
        "probabilities": decision.proba,
        "trust": decision.trust,
        "typicality": verdict.typicality,
        "accepted": why.equals(np.array(len(REASONS) - 1)),
        "refusal": g.take(text_array(REASONS), why),
        "region": g.take(text_array(regions_of(model)), verdict.region),
        "share": verdict.share,
    }


def _prefix(clf: Any, outputs: Collection[str]) -> str:
    """Return a beginning that no column has; raise an `InputError` for a column with the name of an output."""
    names = [] if clf.table_encoder is None else [column.name for column in columns_of(clf.table_encoder)]
    for name in names:
        if name in outputs or not name:
            raise InputError("graph-column-name", name=name)
    prefix = "sepc/"
    while any(name.startswith(prefix) for name in names):
        prefix += "/"
    return prefix


OUTPUTS = ("label", "probabilities", "trust", "typicality", "accepted", "refusal", "region", "share")


def _read(g: Graph, clf: Any, kind: int) -> tuple[list[Any], Tensor, Tensor | None]:
    """Return the inputs of a graph, points of shape (n, d), and how typical gaps are; None for arrays."""
    encoder = clf.table_encoder
    if encoder is None:
        return [value_info("X", kind, ["n", clf.n_features_in_])], numbers(g, Tensor(g, "X")), None
    inputs, cells = [], {}
    for column in columns_of(encoder):
        is_text, cell = column.kind == CATEGORY, Tensor(g, column.name)
        inputs.append(value_info(column.name, TensorProto.STRING if is_text else kind, ["n", 1]))
        cells[column.name] = g.reshape(cell if is_text else numbers(g, cell), -1)
    return inputs, *encoded(g, encoder, cells)


def numbers(g: Graph, x: Tensor) -> Tensor:
    """Return numbers as doubles, none larger than those that a classifier takes."""
    return g.clip(g.floats(x), -LARGEST_COORDINATE, LARGEST_COORDINATE)


def put_out(g: Graph, answer: Tensor, name: str, kind: int) -> None:
    """Give an output its name, and its type if it is a number."""
    if kind in _TYPES.values():
        g.nodes.append(helper.make_node("Cast", [answer.name], [name], to=kind))
    else:
        g.nodes.append(helper.make_node("Identity", [answer.name], [name]))


def type_of(name: str, classes: Any, kind: int) -> int:
    """Return the type of an output; numbers but for labels are of a `kind`."""
    types = {"label": label_type(classes), "accepted": TensorProto.BOOL}
    return types.get(name, TensorProto.STRING if name in ("refusal", "region") else kind)


def _about(clf: Any, min_trust: MinTrust) -> dict[str, str]:
    """Return what the file says of the model, as JSON by name."""
    core, encoder, promise = clf.core, clf.table_encoder, clf.promise
    columns = [] if encoder is None else [{"name": c.name, "kind": c.kind} for c in columns_of(encoder)]
    about = {
        "sepc_version": sepc.__version__,
        "kind": type(core).__name__,
        "classes": [plain(label) for label in core.classes_],
        "features": core.model_.features,
        "columns": columns,
        "key": core.model_.key(),
        "min_trust": min_trust if isinstance(min_trust, (int, float)) else None,
        "promise": None if promise is None or min_trust is not None else promise.to_dict(),
    }
    return {name: json.dumps(value, default=str) for name, value in about.items()}


if find_spec("skl2onnx") is not None:
    from sepc.serving.graphs.converter import register

    register()
