"""What clients and servers exchange besides content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, cast

# The levels of messages to clients (RFC 5424).
LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
TaskSupport: TypeAlias = Literal["forbidden", "optional", "required"]


class Icon(TypedDict, total=False):
    """An icon; `src` is required."""

    src: str
    mimeType: str
    sizes: Sequence[str]
    theme: Literal["light", "dark"]


class Annotations(TypedDict, total=False):
    """For whom a resource is, and how important: 1 is most, 0 least."""

    audience: Sequence[Literal["user", "assistant"]]
    priority: float
    lastModified: str


class ToolAnnotations(TypedDict, total=False):
    """Hints about what a tool does. A client does not rely on the hints of a server that it does not trust."""

    title: str
    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class Tool:
    """A tool of a server, as a client sees it."""

    __slots__ = ("annotations", "description", "icons", "input_schema", "meta", "name", "output_schema", "title")

    def __init__(
        self,
        name: str,
        *,
        title: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self.input_schema: Mapping[str, Any] = {} if input_schema is None else input_schema
        self.output_schema = output_schema
        self.annotations = annotations
        self.icons = icons
        self.meta = meta

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> Tool:
        """The tool of a peer.

        Raises:
            TypeError, LookupError: if it is none.
        """
        if not isinstance(json["name"], str):
            raise TypeError("the name of a tool is no text")
        return cls(
            json["name"],
            title=json.get("title"),
            description=json.get("description"),
            input_schema=json.get("inputSchema"),
            output_schema=json.get("outputSchema"),
            annotations=json.get("annotations"),
            icons=json.get("icons", ()),
            meta=json.get("_meta"),
        )

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, description={self.description!r})"


class ToolPage:
    """One page of a list of tools."""

    __slots__ = ("next_cursor", "tools")

    def __init__(self, tools: list[Tool], next_cursor: str | None) -> None:
        self.tools = tools
        # Asks for the next page; None on the last one.
        self.next_cursor = next_cursor

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> ToolPage:
        """The page of a peer.

        Raises:
            TypeError, LookupError: if it is none.
        """
        tools, cursor = json["tools"], json.get("nextCursor")
        if not isinstance(tools, list):
            raise TypeError("tools is not an array")
        if cursor is not None and not isinstance(cursor, str):
            raise TypeError("nextCursor is no text")
        return cls([Tool.from_json(tool) for tool in cast("list[Any]", tools)], cursor)

    def __repr__(self) -> str:
        return f"ToolPage(tools={self.tools!r}, next_cursor={self.next_cursor!r})"
