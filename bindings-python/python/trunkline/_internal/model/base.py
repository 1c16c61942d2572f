"""Bases of the model classes, and bytes as base64 text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, cast

# The class of errors for values that no message can have; `errors` puts that of the package here.
invalid: type[ValueError] = ValueError

# Thirty years.
_LONGEST: Final = 1e9


class Model:
    """A value of the protocol: values compare and print by their fields."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """The value in the form that the protocol uses."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_json() == other.to_json()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = [name for base in type(self).__mro__ for name in getattr(base, "__slots__", ())]
        shown = [f"{name}={value!r}" for name in names if (value := getattr(self, name)) not in (None, False)]
        return f"{type(self).__name__}({', '.join(shown)})"


class Block(Model):
    """A content block."""

    __slots__ = ()


class OtherContent(Block):
    """A block of a type that this version does not know; `data` is the whole block."""

    __slots__ = ("data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data: Mapping[str, Any] = data

    def to_json(self) -> dict[str, Any]:
        return dict(self.data)


class HasData:
    """A block of bytes."""

    __slots__ = ()

    data: str

    def decode(self) -> bytes:
        """The bytes that `data` stands for."""
        return decode_base64(self.data)


class HasToken:
    """A value with a token, which is a secret."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class HasText:
    """A result with content."""

    __slots__ = ()

    content: Any

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks."""
        return "\n".join(block.text for block in self.content if getattr(block, "TYPE", None) == "text")


# Members of the objects that are written as dicts, as other SDKs name them.
_PROTOCOL_NAMES: Final = {
    "cost_priority": "costPriority",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "intelligence_priority": "intelligencePriority",
    "last_modified": "lastModified",
    "mime_type": "mimeType",
    "open_world_hint": "openWorldHint",
    "read_only_hint": "readOnlyHint",
    "speed_priority": "speedPriority",
}


def protocol_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """An object that is written as a dict, such as `ToolAnnotations`, with the names of the
    protocol.
    """
    return {_PROTOCOL_NAMES.get(name, name): value for name, value in given.items()}


def list_of(json: Mapping[str, Any], name: str, default: list[Any] | None = None) -> list[Any]:
    """An array of a peer.

    Raises:
        TypeError, LookupError: if there is none, and no default.
    """
    value: Any = json[name] if default is None else json.get(name, default)
    if not isinstance(value, list):
        raise TypeError(f"{name} is not an array")
    return cast("list[Any]", value)


def one_or_list_of(json: Mapping[str, Any], name: str) -> list[Any]:
    """An array of a peer; one value stands for an array of it.

    Raises:
        LookupError: if there is none.
    """
    return list_of(json, name) if isinstance(json[name], list) else [json[name]]


def cursor_of(json: Mapping[str, Any]) -> str | None:
    """The cursor of the next page.

    Raises:
        TypeError: if it is not a string.
    """
    return None if json.get("nextCursor") is None else string_of(json, "nextCursor")


def checked_time(name: str, seconds: float) -> float:
    """The time, or the longest there is if it is longer.

    Raises:
        InvalidArgumentError: if it is negative or not a number.
    """
    # NaN compares as false, so this refuses it as well.
    if not isinstance(seconds, (int, float)) or not seconds >= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"{name} must be a number of seconds, 0 or more, not {seconds!r}")
    return min(seconds, _LONGEST)


def ms_of(name: str, seconds: float) -> int:
    """A time in whole milliseconds; `name` is its place, for an error.

    Raises:
        InvalidArgumentError: if it is negative or not a number.
    """
    return round(checked_time(name, seconds) * 1000)


def string_of(json: Mapping[str, Any], name: str) -> str:
    """A string of a peer.

    Raises:
        TypeError, LookupError: if there is none.
    """
    value = json[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a string")
    return value


def flag_of(json: Mapping[str, Any], name: str) -> bool:
    """A boolean of a peer, false where it is absent.

    Raises:
        TypeError: if the member is something else.
    """
    value = json.get(name, False)
    if not isinstance(value, bool):
        raise TypeError(f"{name} is neither true nor false")
    return value


def encode_base64(data: bytes | str) -> str:
    """Bytes as base64 text; text is such a text already."""
    if isinstance(data, str):
        return data
    from base64 import b64encode

    return b64encode(data).decode("ascii")


def decode_base64(data: str) -> bytes:
    """The bytes of a base64 text."""
    from base64 import b64decode

    return b64decode(data, validate=True)
