"""Converts handlers' return values to the core's shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeGuard, Union, cast, get_args, get_origin

from ._generated.models import CallToolResult, ReadResourceResult
from ._generated.waist import CONTENT, INPUT, OBJECT, RESULT, TEXT, VALUE
from .client_requests._generated.prompt_result import GetPromptResult
from .client_requests.input_request import InputRequired
from .messages import Message
from .model.base import Block, Model
from .model.resource_contents import ResourceContents
from .schema.builder import MISSING, Builder, unaliased
from .schema.foreign import of_pydantic
from .schema.jsonable import jsonable, model_json
from .schema.node import Schema

# A shape of docs/bridge.md, and its JSON value.
Answer: TypeAlias = tuple[int, Any]


def _typed_json(value: Any) -> Any:
    return jsonable(value, is_typed=True)


class Returns(NamedTuple):
    """The shape of a tool's results, determined by its return annotation or by each value."""

    schema: Schema | None
    # None: that of each value.
    shape: int | None
    # True if the core wraps the values, as `{"result": value}`.
    wrap: bool = False
    plain: bool = False
    # Converts a value of the annotated type to JSON.
    write: Callable[[Any], Any] = _typed_json

    @classmethod
    def of(cls, annotation: Any, output_schema: Mapping[str, Any] | None) -> Returns:
        """Create it for a return annotation (or MISSING) and the user's schema, if any.

        Raises:
            UnsupportedType: If the annotation has no JSON Schema.
        """
        if output_schema is not None:
            return cls(dict(output_schema), None)
        annotation = _without_input(annotation)
        if _is_undeclared(annotation) or _is_content(annotation):
            return cls(None, None)
        builder = Builder("output")
        node, write = builder.node(annotation), _typed_json
        if builder.serializes:
            # If any part of the type has serializers, the library writes the whole value.
            found = of_pydantic(annotation, "output")
            builder = Builder("output")
            node, write = builder.foreign(found), found.write
        schema, wrap = builder.result_schema(node)
        return cls(schema, VALUE if wrap else OBJECT, wrap=wrap, plain=node.plain, write=write)

    def render(self, value: Any) -> tuple[int, Any]:
        """Return the shape and the JSON value for what the handler returned.

        Raises:
            TypeError: If the value cannot be represented in JSON.
        """
        if type(value) is str and self.write is _typed_json:
            return TEXT, value
        if isinstance(value, InputRequired):
            return INPUT, value.to_json()
        if isinstance(value, CallToolResult):
            return RESULT, jsonable(model_json(value))
        if self.shape is not None and self.plain:
            return self.shape, value
        if self.shape is None:
            if isinstance(value, Block):
                return CONTENT, jsonable(value)
            if _is_list(value) and any(isinstance(item, Block) for item in value):
                return CONTENT, _blocks(value)
            if self.schema is None and isinstance(value, (bytes, bytearray, memoryview)):
                raise TypeError("bytes have no media type: return ImageContent, AudioContent or EmbeddedResource")
        json = jsonable(value) if self.shape is None else self.write(value)
        shape = self.shape or (OBJECT if isinstance(cast("object", json), dict) else VALUE)
        return (TEXT if type(json) is str and shape == VALUE else shape), json


_UNDECLARED: list[Any] = [MISSING, Any, object, None, type(None), str]


def _is_undeclared(annotation: Any) -> bool:
    """Return True if the shape depends on each value, as for a list of `Any`."""
    arguments = get_args(annotation)
    return annotation in _UNDECLARED or (
        (get_origin(annotation) or annotation) in (list, tuple) and all(one in (Any, object, ...) for one in arguments)
    )


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, (list, tuple))


def _blocks(items: list[Any]) -> list[Any]:
    for index, item in enumerate(items):
        if not isinstance(item, (str, Block)):
            raise TypeError(
                f"$[{index}]: a list of content blocks can also contain strings, but not {type(item).__qualname__}"
            )
    return [{"type": "text", "text": item} if isinstance(item, str) else jsonable(item) for item in items]


def _without_input(annotation: Any) -> Any:
    """Return the annotation without `InputRequired`, which a handler returns before its result."""
    value = unaliased(annotation)
    if value is InputRequired:
        return Any
    if get_origin(value) not in (Union, UnionType) or InputRequired not in get_args(value):
        return annotation
    members = tuple(member for member in get_args(value) if member is not InputRequired)
    return Union[members]  # noqa: UP007 - only known at run time


def _is_content(annotation: Any, within: tuple[Any, ...] = ()) -> bool:
    """Return True if content blocks or full results may be returned, in which case no schema is
    declared. `within` are the annotations around this one, which an alias may contain again.
    """
    if any(outer is annotation for outer in within):
        return False
    within, annotation = (*within, annotation), unaliased(annotation)
    if isinstance(annotation, type) and issubclass(annotation, (Block, CallToolResult)):
        return True
    origin = get_origin(annotation)
    if origin in (Union, UnionType, Annotated, list, tuple) or (
        isinstance(origin, type) and origin.__module__ == "collections.abc"
    ):
        return any(_is_content(arg, within) for arg in get_args(annotation))
    return False


def render_messages(value: Any) -> Answer:
    """Return the shape of a prompt's messages."""
    refused = "a list of messages can contain only messages, content and strings"
    return _render(value, (Message, Block), (str, Message, Block), GetPromptResult, refused)


def render_contents(value: Any) -> Answer:
    """Return the shape of a resource's contents."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = ResourceContents(blob=bytes(cast("bytes", value)))
    refused = "a list of ResourceContents can contain nothing else"
    return _render(value, (ResourceContents,), (ResourceContents,), ReadResourceResult, refused)


def _render(
    value: Any, parts: tuple[type[Model], ...], items: tuple[type[Any], ...], whole: type[Model], refused: str
) -> Answer:
    """Return the shape of parts of a result, a list of `items`, a whole result, or any other value.

    Raises:
        TypeError: If the value cannot be represented in JSON, or with `refused` if a list contains
            parts and anything else than `items`.
    """
    if isinstance(value, str):
        return TEXT, str(value)
    if isinstance(value, InputRequired):
        return INPUT, value.to_json()
    if isinstance(value, (*parts, whole)):
        return RESULT if isinstance(value, whole) else CONTENT, jsonable(model_json(value))
    if _is_list(value):
        if value and all(isinstance(item, items) for item in value):
            return CONTENT, [item if isinstance(item, str) else jsonable(model_json(item)) for item in value]
        if any(isinstance(item, parts) for item in value):
            raise TypeError(refused)
    return VALUE, jsonable(value)
