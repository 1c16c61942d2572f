"""Results of tools as the caller wants them: as they are, or as a value of a type."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from .._generated import methods
from .._generated.models import CallToolResult, TextContent
from ..errors import InvalidArgumentError, ToolError, TransportError
from ..requests import read_answer
from ..schema.builder import Builder
from ..schema.node import Schema
from ..schema.unsupported import UnsupportedType


def expect(json: dict[str, Any], result: Any) -> dict[str, Any]:
    """The request with the schema of a type, by which the core checks the structured content.

    Raises:
        InvalidArgumentError: if the type has no JSON form.
    """
    # A text may be the content alone, as a tool that declares no schema gives it.
    return json if result is None or result is str else {**json, "resultSchema": _typed(result)[0]}


def read_tool_result(result: Any, raise_on_error: bool, answer: Any) -> Any:
    """The result, or its structured content as a value of the type `result`; for `str`, of a tool
    without structured content, its text.

    Raises:
        ToolError: if the tool failed, and the caller wants an error or a value.
        TransportError: if no value of the type can be made of the content.
    """
    found = read_answer(methods.CALL_TOOL, CallToolResult.from_json, answer)
    if found.is_error and (raise_on_error or result is not None):
        raise ToolError(found.text)
    if result is None:
        return found
    if result is str:
        return _text_of(found)
    try:
        return _typed(result)[1](found.structured_content)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise TransportError(f"the structured content is not a {result!r}: {error}") from error


def _text_of(found: CallToolResult) -> str:
    structured: Any = found.structured_content
    if structured is None and found.content and all(isinstance(block, TextContent) for block in found.content):
        return found.text
    text = cast("dict[str, Any]", structured).get("result") if isinstance(structured, dict) else None
    if isinstance(text, str):
        return text
    raise TransportError("the result is not a text alone: call the tool without result=str to see it")


def _typed(result: Any) -> tuple[Schema, Callable[[Any], Any]]:
    try:
        return _kept(result)
    except UnsupportedType as error:
        raise InvalidArgumentError(f"result: {error}") from error


@lru_cache(maxsize=256)
def _kept(result: Any) -> tuple[Schema, Callable[[Any], Any]]:
    builder = Builder("input")
    node = builder.node(result)
    resolved = builder.resolve(node.schema)
    if resolved.get("type") == "object":
        return builder.finish(resolved), node.build
    wrapped: Schema = {"type": "object", "properties": {"result": node.schema}, "required": ["result"]}
    return builder.finish(wrapped), lambda content: node.build(content["result"])
