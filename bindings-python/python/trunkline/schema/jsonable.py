"""Python values to values that JSON has."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, cast

from ..model.base import Model


def jsonable(value: Any) -> Any:
    """`value` made of dict, list, str, int, float, bool and None.

    Dataclasses, TypedDicts, pydantic models, enums, dates, UUIDs, paths, decimals, bytes (as base64) and the standard
    containers are understood.

    Raises:
        TypeError: for anything else; the text names the path.
    """
    return _jsonable(value, "$")


def _jsonable(value: Any, path: str) -> Any:
    kind = cast("Any", type(value))
    if kind in _SCALARS:
        return value
    if kind is dict or isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {(name := _key(key, path)): _jsonable(item, f"{path}.{name}") for key, item in items}
    if isinstance(value, (list, tuple, AbstractSet)):
        return [_jsonable(item, f"{path}[{index}]") for index, item in enumerate(cast("list[Any]", value))]
    if isinstance(value, Model):
        return _jsonable(value.to_json(), path)
    return _object(value, path)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _key(key: Any, path: str) -> str:
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return key
    raise TypeError(f"{path}: keys must be str, not {type(key).__qualname__}")


def _object(value: Any, path: str) -> Any:
    kind = cast("Any", type(value))
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(value, enum.Enum):
        return _jsonable(value.value, path)
    if isinstance(value, (str, int, float)):
        return value
    if hasattr(kind, "__pydantic_serializer__"):
        return value.__pydantic_serializer__.to_python(value, mode="json", by_alias=True)
    if hasattr(kind, "__dataclass_fields__"):
        import dataclasses

        return {
            field.name: _jsonable(getattr(value, field.name), f"{path}.{field.name}")
            for field in dataclasses.fields(value)
        }
    if isinstance(value, (bytes, bytearray, memoryview)):
        from base64 import b64encode

        return b64encode(cast("bytes", value)).decode("ascii")
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    match kind.__module__, kind.__qualname__:
        case "datetime", "datetime" | "date" | "time":
            return value.isoformat()
        case ("uuid", "UUID") | ("decimal", "Decimal"):
            return str(value)
        case "collections", "deque":
            return [_jsonable(item, f"{path}[{index}]") for index, item in enumerate(value)]
        case _:
            raise TypeError(f"{path}: a value of type {kind.__qualname__} has no JSON form")
