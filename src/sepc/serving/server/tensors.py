"""Version 2 of KServe's inference protocol: tensors in JSON, or as bytes behind it."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.serving.server.inputs import Columns, Rows, beginning, json_of, rows_of_columns
from sepc.serving.server.scoring import COSTS, OUTPUTS, USUAL, Served, Verdicts, require_outputs

_INTEGERS = {f"{sign}INT{8 * n}": f"<{sign.lower() or 'i'}{n}" for sign in ("", "U") for n in (1, 2, 4, 8)}
_TYPES = {"BOOL": "?", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8", "BYTES": "", **_INTEGERS}
_SENT = {"f": "FP64", "i": "INT64", "b": "BOOL"}
_KINDS_OF_JSON = {"I": "i", "U": "iu", "B": "b", "F": "f"}


def request_of(data: bytes, header: str | None) -> tuple[dict[str, Any], bytes]:
    """Return the JSON of a request, and the bytes behind it; `header` is the length of the JSON, if it is given."""
    size = len(data) if header is None else int(header) if _is_length(header) else -1
    if not 0 <= size <= len(data):
        raise InputError("serve-header-length", header=beginning(str(header)), n_bytes=len(data))
    request = json_of(data[:size])
    if not isinstance(request, dict) or not isinstance(request.get("inputs"), list):
        raise InputError("serve-tensors")
    if not isinstance(request.get("outputs") or [], list):
        raise InputError("serve-outputs")
    return request, data[size:]


def _is_length(header: str) -> bool:
    return header.isascii() and header.isdigit() and len(header) <= 12


def rows_of_tensors(request: dict[str, Any], behind: bytes, columns: Columns) -> Rows:
    """Return the rows of tensors: one with all columns, or one for each column, by its name."""
    names, values = columns.names, dict[str, NDArray[Any]]()
    for k, tensor in enumerate(request["inputs"], 1):
        name, shape, kind, size = _described(tensor, k)
        if name in values:
            raise InputError("serve-tensor-twice", name=beginning(name))
        try:
            found = _in_json(tensor.get("data"), kind) if size is None else _in_bytes(behind[:size], kind)
            values[name], behind = found.reshape(shape), behind[size or 0 :]
        except (ValueError, TypeError, AttributeError, OverflowError):
            raise InputError("serve-tensor-data", name=beginning(name), kind=kind, shape=shape) from None
    if behind:
        raise InputError("serve-bytes-left", n_bytes=len(behind))
    if len(values) == 1:
        (matrix,) = values.values()
        if matrix.ndim == 2 and matrix.shape[1] == len(names):
            values = dict(zip(names, matrix.T, strict=True))
    for name, found in values.items():
        if found.size != found.shape[0]:
            raise InputError("serve-shape", name=beginning(name), shape=list(found.shape), n=len(names))
    flat = {name: found.ravel() for name, found in values.items()}
    return rows_of_columns({name: v.tolist() if v.dtype.kind == "O" else v for name, v in flat.items()}, columns)


def _described(tensor: Any, k: int) -> tuple[str, list[int], str, int | None]:
    """Return name, shape and type of a tensor, and its number of bytes if it is behind the JSON."""
    tensor = tensor if isinstance(tensor, dict) else {}
    name, shape, kind = tensor.get("name"), tensor.get("shape"), tensor.get("datatype")
    size = _parameter(tensor, "binary_data_size", None)
    is_shape = isinstance(shape, list) and len(shape) in (1, 2) and all(type(n) is int and n >= 0 for n in shape)
    if not isinstance(name, str) or not is_shape or (size is not None and (type(size) is not int or size < 0)):
        raise InputError("serve-tensor", k=k)
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InputError("serve-tensor-type", name=beginning(name), kind=beginning(str(kind)))
    return name, shape, kind, size


def _parameter(described: Any, name: str, otherwise: Any) -> Any:
    parameters = described.get("parameters") if isinstance(described, dict) else None
    return parameters.get(name, otherwise) if isinstance(parameters, dict) else otherwise


def _in_json(data: Any, kind: str) -> NDArray[Any]:
    """Return the values of a tensor in JSON; raise an error of any kind for others."""
    if not isinstance(data, list):
        raise TypeError
    if kind == "BYTES":
        flat = [value for row in data for value in row] if data and isinstance(data[0], list) else data
        return _texts([value.encode().decode() for value in flat])  # an error for what is no text
    found = np.array(data, dtype=np.float64 if kind.startswith("FP") else None)
    if found.size and found.dtype.kind not in _KINDS_OF_JSON[kind[0]]:
        raise TypeError
    if not kind.startswith("F") and (found.astype(_TYPES[kind]) != found).any():
        raise OverflowError
    return found


def _in_bytes(data: bytes, kind: str) -> NDArray[Any]:
    """Return the values of a tensor in bytes; raise a `ValueError` for others."""
    if kind != "BYTES":
        return np.frombuffer(data, dtype=_TYPES[kind])
    texts, start = list[str](), 0
    while start < len(data):
        end = start + 4 + int.from_bytes(data[start : start + 4], "little")
        texts.append(data[start + 4 : end].decode())
        start = end
    return _texts(texts if start == len(data) else [])


def _texts(values: list[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def outputs_of(request: dict[str, Any]) -> frozenset[str]:
    """Return the outputs that a request asks for."""
    asked = request.get("outputs")
    if not asked:
        return USUAL
    return require_outputs([str(one.get("name") if isinstance(one, dict) else None) for one in asked])


def answer_of(verdicts: Verdicts, request: dict[str, Any], name: str, version: str) -> tuple[bytes, int | None]:
    """Return the answer with the verdicts as tensors, and the length of its JSON; None without bytes behind it."""
    outputs, behind = [], []
    default = _parameter(request, "binary_data_output", False)
    asked = {one["name"]: one for one in request["outputs"]} if isinstance(request.get("outputs"), list) else {}
    for output, values in verdicts.asked().items():
        tensor = _tensor(output, values)
        kind = _SENT.get(tensor.dtype.kind, "BYTES")
        described: dict[str, Any] = {"name": output, "shape": list(tensor.shape), "datatype": kind}
        if _parameter(asked.get(output), "binary_data", default):
            behind.append(_bytes_of(tensor, kind))
            described["parameters"] = {"binary_data_size": len(behind[-1])}
        else:
            described["data"] = [None if value != value else value for value in tensor.ravel().tolist()]
        outputs.append(described)
    answer = {"model_name": name, "model_version": version, "outputs": outputs}
    if isinstance(request.get("id"), str):
        answer["id"] = request["id"]
    head = json.dumps(answer, allow_nan=False).encode()
    return b"".join([head, *behind]), len(head) if behind else None


def _tensor(name: str, values: Any) -> NDArray[Any]:
    """Return a column as a tensor; texts are empty where there is none."""
    if isinstance(values, np.ndarray):
        return values
    if name == "accepted" or (name == "label" and {type(value) for value in values} in ({int}, {bool}, {float})):
        return np.array(values)
    return _texts(["" if value is None else str(value) for value in values])


def _bytes_of(tensor: NDArray[Any], kind: str) -> bytes:
    if kind != "BYTES":
        return np.ascontiguousarray(tensor, dtype=_TYPES[kind]).tobytes()
    texts = [text.encode() for text in tensor.tolist()]
    return b"".join(part for text in texts for part in (len(text).to_bytes(4, "little"), text))


def metadata_of(served: Served) -> dict[str, Any]:
    """Return the metadata of a model: its inputs, and the outputs that it gives unless others are asked for."""
    of_kind, classes = {"number": "FP64", "bool": "BOOL"}, served.about["classes"]
    policy = served.clf.core.model_.policy
    kinds = {name: "BYTES" for name in OUTPUTS[:6] if name in USUAL} | {"accepted": "BOOL"}
    kinds |= dict.fromkeys(("trust", "probabilities", "typicality"), "FP64")
    kinds |= dict.fromkeys(COSTS if policy is not None and policy.costs is not None else (), "FP64")
    kinds["label"] = _SENT.get(_tensor("label", classes).dtype.kind, "BYTES")
    shape = {"probabilities": [-1, len(classes)]}
    inputs = [
        {"name": one, "datatype": of_kind.get(kind, "BYTES"), "shape": [-1]}
        for one, kind in served.columns.kinds.items()
    ]
    outputs = [{"name": one, "datatype": kind, "shape": shape.get(one, [-1])} for one, kind in kinds.items()]
    about = {"name": served.name, "versions": [served.version], "platform": "sepc"}
    return {**about, "inputs": inputs, "outputs": outputs}
