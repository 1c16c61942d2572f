"""Base classes of the models, and base64 encoding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, cast

# The error class for values that no message can contain; `errors` sets it to the package's class.
invalid: type[ValueError] = ValueError

# Thirty years.
_MAX_SECONDS: Final = 1e9

# Models of nothing but secrets, which must not get into logs and tracebacks.
_SECRET_MODELS: Final = frozenset(
    {"Credentials", "GivenHeaders", "LoadedCredentials", "Redirect", "ServerDefaults", "Token", "TokenRequest"}
)


class Model:
    """A protocol value. Values compare and print by their fields."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the value in protocol form."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_json() == other.to_json()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if type(self).__name__ in _SECRET_MODELS:
            return f"<{type(self).__name__}>"
        names = [name for base in type(self).__mro__ for name in getattr(base, "__slots__", ())]
        values = {name: value for name in names if (value := getattr(self, name)) not in (None, False)}
        shown = [f"{name}={_shown(name, value)}" for name, value in values.items()]
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
    """A block of binary data."""

    __slots__ = ()

    data: str

    def decode(self) -> bytes:
        """Return the decoded bytes of `data`."""
        return decode_base64(self.data)


class HasToken:
    """A value with a token, which must stay secret."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class HasText:
    """A result with content."""

    __slots__ = ()

    content: Any

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if getattr(block, "TYPE", None) == "text")


def _shown(name: str, value: Any) -> str:
    return shown_url(value) if name == "url" and isinstance(value, str) else repr(value)


def shown_url(url: str) -> str:
    """Return the representation of a URL without the parts that may be secret: the user, the query
    and the fragment.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return repr(url)
    end = min((rest.find(sign) for sign in "/?#" if sign in rest), default=len(rest))
    authority, path = rest[:end], rest[end:]
    shown = f"{scheme}://{authority.rpartition('@')[2]}{path.partition('#')[0].partition('?')[0]}"
    return repr(shown)


def present(**members: Any) -> dict[str, Any]:
    """Return the members of an object that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def list_of(json: Mapping[str, Any], name: str, default: list[Any] | None = None) -> list[Any]:
    """Read an array from a peer's JSON; null is read as missing.

    Raises:
        TypeError, LookupError: If it is missing and there is no default.
    """
    if (value := json.get(name)) is None:
        if default is None:
            raise KeyError(name)
        return default
    if not isinstance(value, list):
        raise TypeError(f"{name} is not an array")
    return cast("list[Any]", value)


def one_or_list_of(json: Mapping[str, Any], name: str) -> list[Any]:
    """Read an array from a peer's JSON; a single value is read as an array with one item.

    Raises:
        LookupError: If it is missing.
    """
    return list_of(json, name) if isinstance(json[name], (list, type(None))) else [json[name]]


def cursor_of(json: Mapping[str, Any]) -> str | None:
    """Read the cursor of the next page.

    Raises:
        TypeError: If it is not a string.
    """
    return None if json.get("nextCursor") is None else string_of(json, "nextCursor")


def checked_time(name: str, seconds: float) -> float:
    """Return the time, limited to the maximum.

    Raises:
        InvalidArgumentError: If it is negative or not a number.
    """
    # NaN compares as false, so this rejects it too.
    if not isinstance(seconds, (int, float)) or not seconds >= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"{name} must be a number of seconds, 0 or more, not {seconds!r}")
    return min(seconds, _MAX_SECONDS)


def seconds_of(json: Mapping[str, Any], name: str) -> float | None:
    """Read a time in milliseconds from a peer's JSON, as seconds; None if it is missing.

    Raises:
        TypeError: If it is not a number.
    """
    if (ms := json.get(name)) is None:
        return None
    if not isinstance(ms, (int, float)) or isinstance(ms, bool):
        raise TypeError(f"{name} is not a number")
    try:
        return ms / 1000
    except OverflowError:
        return math.copysign(_MAX_SECONDS, ms > 0 or -1)


def ms_of(name: str, seconds: float) -> int:
    """Return a time in whole milliseconds; `name` names it in errors.

    Raises:
        InvalidArgumentError: If it is negative or not a number.
    """
    # Less than half a millisecond is not 0, which disables some options.
    return round(checked_time(name, seconds) * 1000) or int(seconds > 0)


def string_of(json: Mapping[str, Any], name: str) -> str:
    """Read a string from a peer's JSON.

    Raises:
        TypeError, LookupError: If it is missing or not a string.
    """
    if not isinstance(value := json[name], str):
        raise TypeError(f"{name} is not a string")
    return value


def flag_of(json: Mapping[str, Any], name: str) -> bool:
    """Read a boolean from a peer's JSON; False if it is missing or null.

    Raises:
        TypeError: If it is not a boolean.
    """
    if (value := json.get(name)) is None:
        return False
    if not isinstance(value, bool):
        raise TypeError(f"{name} is not a boolean")
    return value


def encode_base64(data: bytes | str) -> str:
    """Encode bytes as base64; a string is returned unchanged."""
    if isinstance(data, str):
        return data
    from base64 import b64encode

    return b64encode(data).decode("ascii")


def decode_base64(data: str) -> bytes:
    """Decode a base64 string."""
    from base64 import b64decode

    return b64decode(data, validate=True)
