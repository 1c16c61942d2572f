"""Prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..asking import InputRequired
from ..content import Block
from ..jsonable import jsonable
from ..messages import GetPromptResult, Message
from ..results import CONTENT, INPUT, RESULT, TEXT, VALUE
from ..texts import TextSignature
from .base import Answer
from .function import FunctionHandler


class PromptHandler(FunctionHandler):
    """Called with the prompt's arguments; returns messages."""

    __slots__ = ("_signature",)

    kind = "prompt"

    def __init__(
        self, name: str, function: Callable[..., Any], signature: TextSignature, registration: dict[str, Any]
    ) -> None:
        super().__init__(name, function, signature.parameters, registration)
        self._signature = signature

    def bind(self, body: Any) -> dict[str, Any]:
        return self._signature.bind(body)

    def render(self, value: Any) -> Answer:
        return render_messages(value)


def render_messages(value: Any) -> Answer:
    """The shape of a prompt's messages."""
    if isinstance(value, str):
        return TEXT, str(value)
    if isinstance(value, (Message, Block)):
        return CONTENT, jsonable(value.to_json())
    if isinstance(value, GetPromptResult):
        return RESULT, jsonable(value.to_json())
    if isinstance(value, InputRequired):
        return INPUT, value.to_json()
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        if items and all(isinstance(item, (str, Message, Block)) for item in items):
            return CONTENT, [item if isinstance(item, str) else jsonable(item.to_json()) for item in items]
        if any(isinstance(item, (Message, Block)) for item in items):
            raise TypeError("a list of messages holds something that is neither a message, nor content, nor text")
    return VALUE, jsonable(value)
