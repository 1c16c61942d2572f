"""Resources and resource templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..asking import InputRequired
from ..contents import ReadResourceResult, ResourceContents
from ..jsonable import jsonable
from ..results import CONTENT, INPUT, RESULT, TEXT, VALUE
from ..texts import TextSignature
from .base import Answer
from .function import FunctionHandler


class ResourceHandler(FunctionHandler):
    """Called without arguments; returns the contents."""

    __slots__ = ("_signature",)

    kind = "resource"

    def __init__(
        self, uri: str, function: Callable[..., Any], signature: TextSignature, registration: dict[str, Any]
    ) -> None:
        super().__init__(uri, function, signature.parameters, registration)
        self._signature = signature

    def bind(self, body: Any) -> dict[str, Any]:
        return self._signature.bind(body.get("variables", {}))

    def render(self, value: Any) -> Answer:
        return render_contents(value)


class ResourceTemplateHandler(ResourceHandler):
    """Called with the variables in the URI."""

    __slots__ = ()

    kind = "resourceTemplate"


def render_contents(value: Any) -> Answer:
    """The shape of what was read."""
    if isinstance(value, str):
        return TEXT, str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return CONTENT, ResourceContents(blob=bytes(cast("bytes", value))).to_json()
    if isinstance(value, ResourceContents):
        return CONTENT, jsonable(value.to_json())
    if isinstance(value, ReadResourceResult):
        return RESULT, jsonable(value.to_json())
    if isinstance(value, InputRequired):
        return INPUT, value.to_json()
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        contents = sum(isinstance(item, ResourceContents) for item in items)
        if contents and contents != len(items):
            raise TypeError("a list of ResourceContents holds something else too")
        if contents:
            return CONTENT, [jsonable(item.to_json()) for item in items]
    return VALUE, jsonable(value)
