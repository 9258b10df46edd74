"""Promises from the dicts that their `to_dict` makes, as files of models hold them."""

from dataclasses import MISSING, fields
from typing import Any

from sepc.promises.part_promises import PartPromises
from sepc.promises.parts import ALL, GROUP, GROUPS, LABEL, REGION
from sepc.promises.trust_threshold import PROMISED, TOO_DEAR, TOO_FEW, TOO_MANY_WRONG, TrustThreshold

_STATUS = (PROMISED, TOO_FEW, TOO_MANY_WRONG, TOO_DEAR)


def promise_from_dict(told: dict[str, Any]) -> TrustThreshold | PartPromises:
    """Return the promise that a dict tells of; raise a ValueError for anything else.

    Parameters
    ----------
    told : dict
        What `to_dict` returned, perhaps by way of JSON.
    """
    _require(isinstance(told, dict))
    return _parts(told) if "parts" in told else _threshold(told)


def _threshold(told: dict[str, Any]) -> TrustThreshold:
    found = TrustThreshold(**_fields(TrustThreshold, told))
    _require_trust(found.min_trust)
    _require_number(found.confidence, 0.0, 1.0)
    _require((found.max_error is None) != (found.max_cost is None))
    _require_number(found.limit, 0.0, 1.0 if found.max_cost is None else float("inf"))
    _require(isinstance(found.part, str) and isinstance(found.message, str))
    prior = None if found.class_prior is None else tuple(map(float, found.class_prior))
    return TrustThreshold(**{**_fields(TrustThreshold, told), "class_prior": prior})


def _parts(told: dict[str, Any]) -> PartPromises:
    values = _fields(PartPromises, told)
    _require_number(values["confidence"], 0.0, 1.0)
    _require(values["by"] in (ALL, LABEL, REGION, GROUP, GROUPS) and values["bounds"] in ("error", "cost"))
    rows = values["parts"]
    _require(isinstance(rows, list) and all(isinstance(row, dict) and "id" in row for row in rows))
    parts = {row["id"]: _threshold({"confidence": values["confidence"], **row}) for row in rows}
    for part in parts.values():
        _require_number(part.limit, 0.0, float("inf"))
        _require(bool(part.part) and part.status in _STATUS)
        _require((part.min_trust is None) == (part.status != PROMISED))
    _require(len({part.part for part in parts.values()}) == len(rows))
    costs = values.get("costs")
    return PartPromises(
        **values
        | {
            "parts": parts,
            "columns": tuple(map(str, values.get("columns", ()))),
            "costs": None if costs is None else tuple(tuple(map(float, row)) for row in costs),
        }
    )


def _fields(kind: type[Any], told: Any) -> dict[str, Any]:
    """Return what is told of the fields of a kind; what has a default need not be there."""
    _require(isinstance(told, dict))
    own = fields(kind)
    _require(all(field.name in told or field.default is not MISSING for field in own))
    return {field.name: told[field.name] for field in own if field.name in told}


def _require_trust(value: Any) -> None:
    if value is not None:
        _require_number(value, 0.0, 1.0)


def _require_number(value: Any, least: float, most: float) -> None:
    _require(isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("a promise that nothing can be made of")
