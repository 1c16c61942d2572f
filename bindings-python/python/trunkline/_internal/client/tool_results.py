"""Tool results as the caller wants them: unchanged, or as a value of a type."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, cast

from .._generated import methods
from .._generated.models import CallToolResult, TextContent
from ..errors import InvalidArgumentError, ToolError, TransportError
from ..requests import read_answer
from ..schema.builder import Builder
from ..schema.unsupported import refusing


def expect(json: dict[str, Any], result: Any) -> dict[str, Any]:
    """Return the request with the schema of `result`, against which the core validates structured
    content.

    Raises:
        InvalidArgumentError: If the type cannot be represented in JSON.
    """
    if not isinstance(result, Hashable):  # such as a JSON Schema
        raise InvalidArgumentError(f"result: {result!r} is not a type")
    # A string may also be plain content, as tools without an output schema return it.
    return json if result is None or result is str else {**json, **_typed(result)[0]}


def read_tool_result(result: Any, raise_on_error: bool, answer: Any) -> Any:
    """Return the result, or its structured content as a value of type `result`. For `str`, and a
    tool without structured content, return the text of the result.

    Raises:
        ToolError: If the tool failed, and the caller wants an error or a value.
        TransportError: If the content cannot be converted to the type.
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
    raise TransportError("the result is not a single text: call the tool without result=str to see it")


@lru_cache(maxsize=256)
def _typed(result: Any) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    builder = Builder("input")
    with refusing("result"):
        node = builder.node(result)
    schema, is_wrapped = builder.result_schema(node)
    expected = {"resultSchema": schema, "wrapResult": is_wrapped}
    return expected, (lambda content: node.build(content["result"])) if is_wrapped else node.build
