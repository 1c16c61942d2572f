"""Tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..asking import InputRequired
from ..results import INPUT
from ..signature import Signature
from .base import Answer
from .function import FunctionHandler


class ToolHandler(FunctionHandler):
    """Called with the arguments object; returns content, structured content or a full result."""

    __slots__ = ("_signature",)

    kind = "tool"

    def __init__(
        self, name: str, function: Callable[..., Any], signature: Signature, registration: dict[str, Any]
    ) -> None:
        super().__init__(name, function, signature.parameters, registration)
        self._signature = signature

    def bind(self, body: Any) -> dict[str, Any]:
        return self._signature.bind(body)

    def render(self, value: Any) -> Answer:
        if isinstance(value, InputRequired):
            return INPUT, value.to_json()
        return self._signature.returns.render(value)
