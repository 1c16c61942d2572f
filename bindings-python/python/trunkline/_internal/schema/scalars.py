"""Types whose values are JSON scalars."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum, Flag
from typing import Any, cast, get_origin

from ..model.base import decode_base64
from .durations import read_duration
from .node import Node, Schema
from .unsupported import UnsupportedType


def scalar(tp: Any) -> Node | None:
    """Return the node of a scalar type; None for any other type."""
    if tp is str or getattr(tp, "_name", None) == "LiteralString":
        return Node({"type": "string"})
    if tp is bool:
        return Node({"type": "boolean"})
    if tp is int:
        return Node({"type": "integer"}, _integer, plain=True)
    if tp is float:
        return Node({"type": "number"}, _number, plain=True)
    if tp is bytes:
        return Node({"type": "string", "contentEncoding": "base64"}, decode_base64)
    match getattr(tp, "__module__", None), getattr(tp, "__qualname__", None):
        case "datetime", "datetime":
            return _text("date-time", lambda text: tp.fromisoformat(_zulu(text)))
        case "datetime", "date":
            return _text("date", tp.fromisoformat)
        case "datetime", "time":
            return _text("time", lambda text: tp.fromisoformat(_zulu(text)))
        case "datetime", "timedelta":
            return _text("duration", lambda text: read_duration(text, tp))
        case "uuid", "UUID":
            return _text("uuid", tp)
        case "decimal" | "_decimal" | "_pydecimal", "Decimal":
            schema = {"type": ["string", "number"], "pattern": r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
            return Node(schema, lambda value: tp(str(value)))
        case _:
            pass
    if (get_origin(tp) or tp) is os.PathLike:
        return _text("path", _path)
    if isinstance(tp, type) and hasattr(cls := cast("Any", tp), "__fspath__"):
        return _text("path", cls)
    return None


def literal(values: tuple[Any, ...]) -> Node:
    """Return the node of a Literal."""
    members: dict[tuple[Any, Any], Any] = {}
    for value in values:
        json: Any = value.value if isinstance(value, Enum) else value
        if json is not None and not isinstance(json, (str, int, bool)):
            raise UnsupportedType(f"{value!r} in a Literal cannot be represented in JSON")
        # Including the type, because 1 == True.
        members[type(json), json] = value
    schema = _enumerated([json for _, json in members])

    if all(not isinstance(value, Enum) for value in values):
        return Node(schema)
    return Node(schema, lambda value: members.get((cast("Any", type(value)), value), value))


def enumeration(cls: Any, about: Schema) -> Node:
    """Return the node of an enum; `about` contains the other keywords of its schema."""
    if issubclass(cls, Flag):  # its members can be combined
        return Node({"type": "integer", **about}, lambda value: cls(_integer(value)))
    values: list[Any] = [member.value for member in cls]
    for value in values:
        if value is not None and not isinstance(value, (str, int, float, bool)):
            raise UnsupportedType(f"{cls.__qualname__} has the value {value!r}, which cannot be represented in JSON")
    return Node({**_enumerated(values), **about}, cls)


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ValueError(f"{value!r} is not an integer")


def _number(value: Any) -> float:
    number = float(value)
    # An integer that no float represents, such as 2^53 + 1, stays an int.
    return number if number == value else value


def _text(form: str, convert: Callable[[str], Any]) -> Node:
    return Node({"type": "string", "format": form}, convert)


def _path(text: str) -> Any:
    from pathlib import Path

    return Path(text)


def _zulu(text: str) -> str:
    # Python 3.10 does not accept Z for UTC.
    return f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text


def _enumerated(values: list[Any]) -> Schema:
    kinds = {_JSON_TYPES[type(value)] for value in values if type(value) in _JSON_TYPES}
    if len(values) == 1 and len(kinds) == 1:
        return {"type": kinds.pop(), "const": values[0]}
    return {"type": kinds.pop(), "enum": values} if len(kinds) == 1 else {"enum": values}


_JSON_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
