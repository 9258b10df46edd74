"""How to serve a model: over HTTP, as an ONNX graph and by MLflow, each in at most three lines."""

import json
import shlex
from typing import Any

import numpy as np

from sepc.common.frames import plain
from sepc.common.text import ENSEMBLE
from sepc.model.acceptance import DEFAULT_TRUST
from sepc.promises.parts import GROUP, GROUPS

# Trust methods that an ONNX graph computes exactly.
_IN_A_GRAPH = ("local", "raw", ENSEMBLE)
# A record of more columns is taken from a file, so that its line can be read.
_COLUMNS_SHOWN = 12
_URL = "http://127.0.0.1:8643/predict"


def how_to_serve(clf: Any, file: str = "model.sepc") -> dict[str, list[str]]:
    r"""Return the lines that serve a classifier from its file, by the name of the way.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline
        Fitted.
    file : str, default="model.sepc"

    Returns
    -------
    dict of str to list of str
        For "HTTP" lines of a shell, for "ONNX" the same or the reason why not, for "MLflow" lines of Python.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> print(*how_to_serve(clf, "size.sepc")["HTTP"], sep="\n")
    pip install 'sepc[serve]'
    sepc serve size.sepc
    curl http://127.0.0.1:8643/predict --json '[{"x0": 6.667}]'
    """
    name, columns, why_not = shlex.quote(file), example_record(clf), _not_as_a_graph(clf)
    sent = f"--json {shlex.quote(json.dumps([columns], ensure_ascii=False))}"
    if not 0 < len(columns) <= _COLUMNS_SHOWN:
        sent = "-H 'Content-Type: text/csv' --data-binary @new.csv"
    ways = {
        "HTTP": ["pip install 'sepc[serve]'", f"sepc serve {name}", f"curl {_URL} {sent}"],
        "ONNX": [
            f"pip install 'sepc[onnx]'; sepc export {name} model.onnx",
            'session = onnxruntime.InferenceSession("model.onnx")',
            f'session.run(["label", "trust", "refusal"], {_fed(clf)}',
        ],
        "MLflow": [
            "import mlflow.pyfunc, sepc.serving.mlflow",
            f'sepc.serving.mlflow.save_model(sepc.load({file!r}), "served")',
            'mlflow.pyfunc.load_model("served").predict(table)',
        ],
    }
    if getattr(clf.promise, "by", "") in (GROUP, GROUPS):  # a graph knows no groups, and a server their column alone
        ways["ONNX"][0] += f" --min-trust {DEFAULT_TRUST}"
        ways["HTTP"][1] += "" if clf.promise.group_column else f" --min-trust {DEFAULT_TRUST}"
    if why_not:
        ways["ONNX"] = [f"no ONNX file: the model {why_not}, which a graph does not repeat exactly"]
    if _is_around(clf) and not clf.core.answer_columns:
        ways["HTTP"][1] += " --scores LABEL=COLUMN"
        ways["MLflow"] = [
            "no MLflow model: a file does not hold the other model; its answers may be columns (--scores)"
        ]
    return ways


def example_record(clf: Any) -> dict[str, Any]:
    """Return the columns of a classifier with a value of each: the mean of a class, the median, the most frequent text.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline
        Fitted.

    Returns
    -------
    dict of str to float, bool or str
        Columns without names are called x0, x1 and so on; for those that an encoder of another library reads it is
        empty.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> example_record(SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1]))
    {'x0': 1.0}
    """
    core, encoder = clf.core, clf.table_encoder
    model = core.by_regions.model_
    read = getattr(clf, "columns_read_", None)
    if encoder is not None:
        record = {one.name: _usual(one) for one in encoder.columns_ if one.features}
    elif read is None and clf.n_features_in_ != len(model.features):
        return {}  # features that another encoder has made
    else:
        values = np.zeros(clf.n_features_in_)
        values[slice(None) if read is None else read] = _middle(model)
        names = getattr(clf, "feature_names_in_", [f"x{j}" for j in range(len(values))])
        record = dict(zip(map(str, names), values.tolist(), strict=True))
    answers = getattr(core, "answer_columns", [])
    label = getattr(getattr(core, "estimator_", None), "label", None)
    share = round(1.0 / len(clf.classes_), 4)
    return record | {name: plain(clf.classes_[0]) if name == label else share for name in answers}


def _usual(column: Any) -> Any:
    """Return the most frequent text of a raw column, or its median."""
    return column.levels[0] if column.kind == "category" else plain(column.value_of(column.fill))


def _middle(model: Any) -> list[float]:
    """Return the mean of the first class with one, to four digits; else the middle of the range, of each feature."""
    reach = model.outline.reach
    means = model.original(model.outline.middles)
    rows = [*means[~np.isnan(means).any(axis=1)], (reach.low + reach.high) / 2.0]
    return [float(f"{value:.4g}") for value in rows[0].tolist()]


def _not_as_a_graph(clf: Any) -> str:
    """Return why a classifier has no ONNX file; empty if it has one."""
    trust = clf.core.model_.trust
    if trust in _IN_A_GRAPH:
        return ""
    return "asks another model" if _is_around(clf) else f"counts records in ellipsoids (trust={trust})"


def _is_around(clf: Any) -> bool:
    """Return whether a classifier is one around another model."""
    return clf.core.by_regions is not clf.core


def _fed(clf: Any) -> str:
    """Return what the graph takes of a table, in Python, and the end of the line."""
    if clf.table_encoder is None:
        return '{"X": X})'
    cells = 'table[[one.name]].to_numpy(object if "string" in one.type else float)'
    has_dates = any(column.kind == "date" for column in clf.table_encoder.columns_)
    about_dates = "  # dates as days since 1970-01-01" if has_dates else ""
    return f"{{one.name: {cells} for one in session.get_inputs()}}){about_dates}"
