"""Python values to values that JSON has."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, cast

from .. import _native
from ..model.base import Block, Model
from .foreign import is_msgspec


def jsonable(value: Any) -> Any:
    """`value` made of dict, list, str, int, float, bool and None.

    Dataclasses, TypedDicts, models of pydantic, attrs and msgspec, enums, dates, time spans, UUIDs,
    paths, decimals, bytes (as base64) and the standard containers are understood, and what pydantic
    knows if the program has loaded it.

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
        if path != "$" and isinstance(value, Block):
            raise TypeError(f"{path}: a content block inside a value: return it alone, or in a list of blocks")
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
        return _fields(value, kind.__dataclass_fields__, path)
    if hasattr(kind, "__attrs_attrs__"):
        return _fields(value, (field.name for field in kind.__attrs_attrs__), path)
    if is_msgspec(kind):
        return _jsonable(sys.modules["msgspec"].to_builtins(value), path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        from base64 import b64encode

        return b64encode(cast("bytes", value)).decode("ascii")
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    match kind.__module__, kind.__qualname__:
        case "datetime", "datetime" | "date" | "time":
            return value.isoformat()
        case "datetime", "timedelta":
            return _native.write_duration((value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds)
        case ("uuid", "UUID") | ("decimal", "Decimal"):
            return str(value)
        case "collections", "deque":
            return [_jsonable(item, f"{path}[{index}]") for index, item in enumerate(value)]
        case _:
            return _unknown(value, path)


def _fields(value: Any, names: Iterable[str], path: str) -> dict[str, Any]:
    return {name: _jsonable(getattr(value, name), f"{path}.{name}") for name in names}


def _unknown(value: Any, path: str) -> Any:
    kind = cast("Any", type(value))
    for base, remedy in _REMEDIES.items():
        if isinstance(value, base):
            raise TypeError(f"{path}: a value of type {kind.__qualname__} has no JSON form: {remedy}")
    if (pydantic := sys.modules.get("pydantic_core")) is not None:
        try:
            return pydantic.to_jsonable_python(value)
        except ValueError:
            pass
    raise TypeError(f"{path}: a value of type {kind.__qualname__} has no JSON form")


_REMEDIES: dict[Any, str] = {
    BaseException: "raise it",
    Coroutine: "await it",
    Iterator: "make a list of it",
    AsyncIterator: "make a list of it",
    type: "make an instance of it",
}
