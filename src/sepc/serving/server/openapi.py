"""The description of a scorer in OpenAPI 3.1, with the columns of its model."""

from typing import Any

from sepc import __version__
from sepc.model.acceptance import REFUSALS
from sepc.serving.server.scoring import COSTS, Served

_TYPES = {"number": ["number", "null"], "bool": ["boolean", "null"]}
_ERRORS = {
    "400": "The request is at fault",
    "401": "No token",
    "413": "Too large",
    "503": "Too busy",
    "504": "Too slow",
}


def openapi_of(served: Served) -> dict[str, Any]:
    """Return the description."""
    kinds, text = served.columns.kinds, {"type": ["string", "null"]}
    share = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    columns = {name: {"type": _TYPES.get(kind, ["string", "number", "null"])} for name, kind in kinds.items()}
    prediction = _object(
        label={"enum": [*served.about["classes"], None]},
        trust=share,
        probabilities=_object(**dict.fromkeys(served.labels, share)),
        typicality=share,
        accepted={"type": "boolean"},
        refusal={**text, "description": f"{', '.join(REFUSALS)} or no answer; null where the label is accepted"},
        reason=text,
        region=text,
        **{name: {"type": ["number", "null"]} for name in COSTS},
    )
    records = _list({**_object(**columns), "required": list(columns)})
    forms = [
        records,
        _object(records=records),
        _object(columns=_object()),
        _object(names=_list({}), rows=_list(_list({}))),
    ]
    body = {"content": {"application/json": {"schema": {"anyOf": forms}}, "text/csv": {}}, "required": True}
    name = {"parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}]}
    most, v2 = served.limits.explained, "/v2/models/{name}"
    found = _object(predictions=_list(prediction))
    paths = {
        "/predict": {"post": {**_answer("A verdict for each row", found), "requestBody": body}},
        "/explain": {"post": {**_answer(f"Why, for {most} rows at most"), "requestBody": body}},
        "/model": {"get": _answer("The model that is served")},
        "/metrics": {"get": _answer("Counts for Prometheus")},
        "/v2": {"get": _answer("The server, by the protocol of KServe")},
        v2: {"get": {**_answer("Inputs and outputs of the model"), **name}},
        f"{v2}/ready": {"get": {**_answer("Whether the model is ready"), **name}},
        f"{v2}/infer": {"post": {**_answer("Verdicts as tensors"), **name}},
    }
    for path in ("/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready"):
        paths[path] = {"get": _answer("Whether the server is there")}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"sepc serve: {served.name}", "version": __version__, "x-model-version": served.version},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _answer(summary: str, schema: Any = None) -> dict[str, Any]:
    """Return an operation by what it answers."""
    content = {"application/json": {"schema": {} if schema is None else schema}}
    errors = {status: {"description": why} for status, why in _ERRORS.items()}
    return {"summary": summary, "responses": {"200": {"description": summary, "content": content}, **errors}}
