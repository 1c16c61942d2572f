"""Completion functions, registered on their own or in the definition of a feature."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from .._generated.models import Completion
from .._generated.waist import VALUE
from ..errors import InvalidArgumentError
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.parameters import Parameters
from .function import FunctionHandler


def completer(
    kind: str, key: Hashable, function: Callable[..., Any], registration: dict[str, Any] | None = None
) -> FunctionHandler:
    """Return the handler of a function that gets the value typed so far and, if it accepts them,
    the other arguments.
    """
    parameters = Parameters(function, "a completion")
    names = [parameter.name for parameter in parameters.named]
    if not 1 <= len(names) <= 2:
        raise InvalidArgumentError(
            f"{parameters.where}: a completion takes the text so far, and optionally the other arguments,"
            f" but this one takes {len(names)} parameters"
        )

    def bind(body: Any) -> dict[str, Any]:
        context: dict[str, Any] = body.get("context") or {}
        given: list[Any] = [body["argument"]["value"], context.get("arguments") or {}]
        return dict(zip(names, given, strict=False))

    return FunctionHandler(kind, key, parameters, registration or {}, bind, _suggestions)


def _suggestions(value: Any) -> Answer:
    if isinstance(value, str):
        raise TypeError("a completion must return a list of strings, not a single string")
    return VALUE, jsonable(value.to_json() if isinstance(value, Completion) else value)
