"""Converts Python values to JSON values."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, TypeAlias, TypeVar, cast

from .. import _native
from ..errors import InvalidArgumentError
from ..model.base import Block, Model, encode_base64
from .durations import write_duration
from .foreign import is_msgspec

T = TypeVar("T")


def jsonable(value: Any, *, is_typed: bool = False) -> Any:
    """Convert `value` to dict, list, str, int, float, bool and None.

    Supported are dataclasses, TypedDicts, models of pydantic, attrs and msgspec, enums, dates, time
    spans, UUIDs, paths, decimals, bytes (as base64), the standard containers, and everything that
    pydantic supports if the program has loaded it.

    Keys must be strings unless a type such as `dict[int, str]` says otherwise (`is_typed`). They
    are then converted: `1` to `"1"`, and a date to its ISO form.

    Raises:
        InvalidArgumentError: For any other value; the message names the path.
    """
    try:
        return _jsonable(value, "$", _key_of_type if is_typed else _key)
    except RecursionError:
        raise InvalidArgumentError("$: nested too deeply (does it contain itself?)") from None
    except TypeError as error:
        raise InvalidArgumentError(str(error)) from error


def passed(function: Callable[..., T], *given: Any) -> T:
    """Pass a message, the last argument, to a function of the core. Values without a JSON type are
    converted as in handler results.

    Raises:
        InvalidArgumentError: If a value has no JSON form.
    """
    try:
        try:
            return function(*given)
        except TypeError:
            return function(*given[:-1], jsonable(given[-1]))
    except ValueError as error:
        raise InvalidArgumentError(str(error)) from None


def model_json(value: Model, path: str = "$") -> dict[str, Any]:
    """Return the JSON form of a protocol object; `path` names its place in errors.

    Raises:
        TypeError: If a member contains an object that doesn't belong there.
    """
    try:
        return value.to_json()
    except AttributeError as error:
        if error.name != "to_json":
            raise
        remedy = ": wrap it in a TextContent" if isinstance(error.obj, str) else ""
        kind = type(error.obj).__qualname__
        raise TypeError(f"{path}{_place_of(error.obj, value)}: {kind} is not a protocol object{remedy}") from None


def _place_of(wrong: Any, holder: Model) -> str:
    for name in (name for base in type(holder).__mro__ for name in getattr(base, "__slots__", ())):
        member: Any = getattr(holder, name, None)
        if member is wrong:
            return f".{name}"
        for index, item in enumerate(cast("list[Any]", member) if isinstance(member, (list, tuple)) else ()):
            if item is wrong:
                return f".{name}[{index}]"
            if isinstance(item, Model) and (place := _place_of(wrong, item)):
                return f".{name}[{index}]{place}"
    return ""


def _jsonable(value: Any, path: str, key: Key) -> Any:
    kind = cast("Any", type(value))
    if kind in _SCALARS:
        return value
    if kind is dict or isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        members = {(name := key(one, path)): _jsonable(item, f"{path}.{name}", key) for one, item in items.items()}
        if len(members) != len(items):
            raise TypeError(f"{path}: two keys are the same string in JSON")
        return members
    if isinstance(value, (list, tuple, AbstractSet)):
        return [_jsonable(item, f"{path}[{index}]", key) for index, item in enumerate(cast("list[Any]", value))]
    if isinstance(value, Model):
        if path != "$" and isinstance(value, Block):
            raise TypeError(f"{path}: a content block inside a value: return it alone, or in a list of blocks")
        return _jsonable(model_json(value, path), path, key)
    return _object(value, path, key)


# Writes a key, given the key and its path.
Key: TypeAlias = Callable[[Any, str], str]

_SCALARS = frozenset({str, int, float, bool, type(None)})


def _key(key: Any, path: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return key
    raise TypeError(f"{path}: keys must be str, not {type(key).__qualname__}")


def _key_of_type(key: Any, path: str) -> str:
    written = _jsonable(key, path, _key)
    if isinstance(written, (int, float)):
        written = _native.to_json(written).decode()
    if isinstance(written, str):
        return written
    raise TypeError(f"{path}: keys must be strings, not {type(key).__qualname__}")


def _object(value: Any, path: str, key: Key) -> Any:
    kind = cast("Any", type(value))
    if isinstance(value, Enum):
        return _jsonable(value.value, path, key)
    if isinstance(value, (str, int, float)):
        return value
    if hasattr(kind, "__pydantic_serializer__"):
        return value.__pydantic_serializer__.to_python(value, mode="json", by_alias=True)
    if hasattr(kind, "__dataclass_fields__"):
        names = (field.name for field in sys.modules["dataclasses"].fields(kind))
        return _jsonable({name: getattr(value, name) for name in names}, path, key)
    if hasattr(kind, "__attrs_attrs__"):
        # A schema has the names of the constructor's parameters, without leading underscores.
        return _jsonable({field.alias: getattr(value, field.name) for field in kind.__attrs_attrs__}, path, key)
    if is_msgspec(kind):
        return _jsonable(sys.modules["msgspec"].to_builtins(value), path, key)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return encode_base64(cast("bytes", value))
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    for base in kind.__mro__:  # database drivers return subclasses
        name = f"{base.__module__}.{base.__qualname__}"
        if name in ("datetime.datetime", "datetime.date", "datetime.time"):
            return value.isoformat()
        if name == "datetime.timedelta":
            return write_duration(value)
        if name in ("uuid.UUID", "decimal.Decimal"):
            return str(value)
    return _unknown(value, path, key)


def _unknown(value: Any, path: str, key: Key) -> Any:
    kind = cast("Any", type(value))
    # Where a type allows it, values that can only be read once are written too.
    if isinstance(value, Collection) or (isinstance(value, Iterable) and key is _key_of_type):
        return [_jsonable(item, f"{path}[{index}]", key) for index, item in enumerate(cast("Iterable[Any]", value))]
    for base, remedy in _REMEDIES.items():
        if isinstance(value, base):
            raise TypeError(f"{path}: a value of type {kind.__qualname__} cannot be represented in JSON: {remedy}")
    if (pydantic := sys.modules.get("pydantic_core")) is not None:
        try:
            return pydantic.to_jsonable_python(value)
        except ValueError:
            pass
    raise TypeError(f"{path}: a value of type {kind.__qualname__} cannot be represented in JSON")


_REMEDIES: dict[Any, str] = {
    BaseException: "raise it",
    Coroutine: "await it",
    Iterator: "convert it to a list",
    AsyncIterator: "convert it to a list",
    type: "create an instance of it",
}
