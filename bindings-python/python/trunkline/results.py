"""What a handler returns, as one of the core's shapes."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Final, Union, cast, get_args, get_origin

from .asking import InputRequired
from .content import Block, Content, TextContent, content_from_json
from .jsonable import jsonable
from .schema import MISSING, Builder, Schema, is_pydantic, is_typed_dict

TEXT: Final = 0
CONTENT: Final = 1
OBJECT: Final = 2
VALUE: Final = 3
RESULT: Final = 4
INPUT: Final = 5


class CallToolResult:
    """The result of a tool call, as a client receives it and as a handler may return it."""

    __slots__ = ("content", "is_error", "meta", "structured_content")

    def __init__(
        self,
        content: list[Content] | None = None,
        *,
        structured_content: Any = None,
        is_error: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.content: list[Content] = [] if content is None else content
        self.structured_content = structured_content
        self.is_error = is_error
        self.meta = meta

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> CallToolResult:
        """The result of a peer.

        Raises:
            TypeError, AttributeError: if it is none.
        """
        content, is_error = json.get("content", []), json.get("isError", False)
        if not isinstance(content, list):
            raise TypeError("content is not an array")
        if not isinstance(is_error, bool):
            raise TypeError("isError is neither true nor false")
        return cls(
            [content_from_json(block) for block in cast("list[Any]", content)],
            structured_content=json.get("structuredContent"),
            is_error=is_error,
            meta=json.get("_meta"),
        )

    def to_json(self) -> dict[str, Any]:
        """The result in the form that the protocol uses."""
        json: dict[str, Any] = {"content": [block.to_json() for block in self.content]}
        if self.structured_content is not None:
            json["structuredContent"] = self.structured_content
        if self.is_error:
            json["isError"] = True
        if self.meta is not None:
            json["_meta"] = self.meta
        return json

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CallToolResult) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [
            f"{name}={value!r}"
            for name in ("content", "structured_content", "is_error", "meta")
            if (value := getattr(self, name))
        ]
        return f"CallToolResult({', '.join(shown)})"


class Returns:
    """How the results of one tool are shaped; decided by its return annotation, or else by each value."""

    __slots__ = ("_plain", "_shape", "schema", "wrap")

    def __init__(self, schema: Schema | None, shape: int | None, *, wrap: bool = False, plain: bool = False) -> None:
        self.schema = schema
        # Whether the schema describes `{"result": value}`.
        self.wrap = wrap
        self._shape = shape
        self._plain = plain

    @classmethod
    def of(cls, annotation: Any, output_schema: Mapping[str, Any] | None) -> Returns:
        """For a return annotation (or MISSING) and the schema that the user gave, if any.

        Raises:
            UnsupportedType: if there is no JSON Schema for the annotation.
        """
        if output_schema is not None:
            return cls(dict(output_schema), None)
        annotation = _without_input(annotation)
        if annotation in _UNDECLARED or _is_content(annotation):
            return cls(None, None)
        builder = Builder("output")
        node = builder.node(annotation)
        resolved = builder.resolve(node.schema)
        if _is_object(annotation) and resolved.get("type") == "object":
            return cls(builder.finish(resolved), OBJECT, plain=node.plain)
        wrapped: Schema = {"type": "object", "properties": {"result": node.schema}, "required": ["result"]}
        return cls(builder.finish(wrapped), VALUE, wrap=True, plain=node.plain)

    def render(self, value: Any) -> tuple[int, Any]:
        """The shape and the JSON value for what the handler returned.

        Raises:
            TypeError: if the value has no JSON form.
        """
        if type(value) is str:
            return TEXT, value
        if isinstance(value, CallToolResult):
            return RESULT, jsonable(value.to_json())
        if self._shape is not None and self._plain:
            return self._shape, value
        shape = self._shape_of(value) if self._shape is None else self._shape
        if shape == CONTENT:
            blocks = [value] if isinstance(value, Block) else value
            return CONTENT, [jsonable(block) for block in blocks]
        json = jsonable(value)
        return (TEXT if type(json) is str and shape == VALUE else shape), json

    def _shape_of(self, value: Any) -> int:
        if isinstance(value, Block):
            return CONTENT
        if isinstance(value, (list, tuple)):
            items = cast("list[Any]", value)
            blocks = sum(isinstance(item, Block) for item in items)
            if blocks and blocks != len(items):
                raise TypeError("a list of content blocks holds something else too: wrap text in TextContent")
            return CONTENT if blocks else VALUE
        if isinstance(value, dict) and self.schema is not None:
            return OBJECT
        cls: Any = type(cast("object", value))
        return OBJECT if hasattr(cls, "__dataclass_fields__") or is_pydantic(cls) else VALUE


_UNDECLARED: list[Any] = [MISSING, Any, object, None, type(None), str]


def _without_input(annotation: Any) -> Any:
    """The annotation of the results alone: a handler that asks first gives something else meanwhile."""
    if annotation is InputRequired:
        return Any
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    members = tuple(member for member in get_args(annotation) if member is not InputRequired)
    return Union[members]  # noqa: UP007 - made of what is known only now


def _is_content(annotation: Any) -> bool:
    """Whether content blocks or full results may be returned: then no schema is declared."""
    if isinstance(annotation, type) and issubclass(annotation, (Block, CallToolResult)):
        return True
    origin = get_origin(annotation)
    if origin in (Union, UnionType, Annotated, list, tuple) or (
        isinstance(origin, type) and origin.__module__ == "collections.abc"
    ):
        return any(_is_content(arg) for arg in get_args(annotation))
    return False


def _is_object(annotation: Any) -> bool:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    cls = get_origin(annotation) or annotation
    return hasattr(cls, "__dataclass_fields__") or is_typed_dict(cls) or is_pydantic(cls)
