"""Options of this package as the core's JSON names them."""

from __future__ import annotations

from typing import Any

from .errors import InvalidArgument


def camel_case(**options: Any) -> dict[str, Any]:
    """The options that were given, under their JSON names; empty objects are left out, too."""
    return {_camel_case(name): value for name, value in options.items() if value is not None and value != {}}


def milliseconds(seconds: float | None) -> int | None:
    """A time in seconds as whole milliseconds."""
    if seconds is None:
        return None
    # NaN compares as false, so this refuses it as well.
    if not isinstance(seconds, (int, float)) or not 0 <= seconds <= 1e9:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgument(f"a time must be a number of seconds from 0 to 1e9, not {seconds!r}")
    return round(seconds * 1000)


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
