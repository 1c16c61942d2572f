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


class CompletionHandler(FunctionHandler):
    """Called with the value typed so far and, if it accepts them, the other arguments."""

    kind = "completion"

    def __init__(self, key: Hashable, function: Callable[..., Any], registration: dict[str, Any] | None = None) -> None:
        parameters = Parameters(function, "a completion")
        super().__init__(key, function, parameters, registration or {})
        names = [parameter.name for parameter in parameters.named]
        if not 1 <= len(names) <= 2:
            raise InvalidArgumentError(
                f"{parameters.where}: a completion takes the text so far, and optionally the other arguments,"
                f" but this one takes {len(names)} parameters"
            )
        self._value_name = names[0]
        self._arguments_name = names[1] if len(names) > 1 else None

    def bind(self, body: Any) -> dict[str, Any]:
        arguments: dict[str, Any] = {self._value_name: body["argument"]["value"]}
        if self._arguments_name is not None:
            context: dict[str, Any] = body.get("context") or {}
            arguments[self._arguments_name] = context.get("arguments") or {}
        return arguments

    def render(self, value: Any) -> Answer:
        if isinstance(value, str):
            raise TypeError("a completion must return a list of strings, not a single string")
        return VALUE, jsonable(value.to_json() if isinstance(value, Completion) else value)


class Completer(CompletionHandler):
    """A completion function in the definition of a prompt or resource template."""

    kind = "completer"
