"""Converts options of this package to the core's JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from ._generated.models import protocol_names
from .model.base import encode_base64, ms_of

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack  # noqa: PLC0414 - for other modules
else:
    try:
        from typing import Unpack
    except ImportError:  # Python 3.10, where it is only evaluated in annotations
        from typing import Optional as Unpack  # noqa: F401 - for other modules


def encoded(
    names: Mapping[str, str],
    options: Mapping[str, Any],
    function: Callable[..., Any] | None = None,
    others: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the given options under the names of a generated table. Times are converted to
    milliseconds, bytes to base64.

    Args:
        function: The function that takes the options: its parameters are valid names, too.
        others: More names that are valid there.

    Raises:
        TypeError: If there is no such option.
        InvalidArgumentError: If a time is negative or not a number.
    """
    if unknown := [name for name in options if name not in names]:
        raise TypeError(_unexpected(unknown[0], [*names, *others, *_keywords(function)]))
    return {names[name]: in_json(name, names[name], value) for name, value in options.items() if value is not None}


def _keywords(function: Callable[..., Any] | None) -> list[str]:
    from inspect import Parameter, signature

    parameters = signature(function).parameters.values() if function else ()
    return [one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY]


def _unexpected(name: str, valid: Sequence[str]) -> str:
    from difflib import get_close_matches

    similar = get_close_matches(name, valid, n=1)
    hint = f"Did you mean {similar[0]!r}?" if similar else f"Valid names are {', '.join(sorted(set(valid)))}"
    return f"got an unexpected keyword argument {name!r}. {hint}"


def in_json(name: str, json: str, value: Any) -> Any:
    """Return an option in JSON form."""
    if json.endswith("Ms"):
        return ms_of(name, value)
    if isinstance(value, (bytes, bytearray)):
        return encode_base64(bytes(value))
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    written = json if json in _WRITTEN_AS_DICTS else ""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return protocol_names(members) if written else dict(members)
    if isinstance(value, (list, tuple)):
        return [in_json(name, written, item) for item in cast("list[Any]", value)]
    return value


_WRITTEN_AS_DICTS: Final = frozenset({"annotations", "icons", "modelPreferences"})


def in_ms(**times: float | None) -> dict[str, Any]:
    """Return the given times, by their JSON names, in whole milliseconds."""
    return {name: ms_of(snake_case(name), time) for name, time in times.items() if time is not None}


def snake_case(json: str) -> str:
    """Return the Python name of an option."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in json.removesuffix("Ms"))
