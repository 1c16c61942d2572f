"""Results of tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .content import Content, TextContent, content_from_json


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
