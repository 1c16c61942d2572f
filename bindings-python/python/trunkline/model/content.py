"""The content blocks of a result. Handlers return them, clients receive them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias


class Block:
    """What the content blocks have in common: they compare and print by their fields."""

    __slots__ = ("annotations", "meta")

    annotations: Mapping[str, Any] | None
    meta: Mapping[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """The block in the form that the protocol uses."""
        raise NotImplementedError

    def _finish(self, json: dict[str, Any]) -> dict[str, Any]:
        if self.annotations is not None:
            json["annotations"] = self.annotations
        if self.meta is not None:
            json["_meta"] = self.meta
        return json

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = [*type(self).__slots__, *Block.__slots__]
        shown = [f"{name}={value!r}" for name in names if (value := getattr(self, name)) is not None]
        return f"{type(self).__name__}({', '.join(shown)})"


class TextContent(Block):
    """Text."""

    __slots__ = ("text",)

    def __init__(
        self, text: str, *, annotations: Mapping[str, Any] | None = None, meta: Mapping[str, Any] | None = None
    ) -> None:
        self.text = text
        self.annotations = annotations
        self.meta = meta

    def to_json(self) -> dict[str, Any]:
        return self._finish({"type": "text", "text": self.text})


class _Binary(Block):
    __slots__ = ("data", "mime_type")

    def __init__(
        self,
        data: bytes | str,
        mime_type: str,
        *,
        annotations: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.data = encode_base64(data)
        self.mime_type = mime_type
        self.annotations = annotations
        self.meta = meta

    def decode(self) -> bytes:
        """The bytes that `data` stands for."""
        return decode_base64(self.data)


class ImageContent(_Binary):
    """An image: `data` is its bytes, or their base64 text."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        return self._finish({"type": "image", "data": self.data, "mimeType": self.mime_type})


class AudioContent(_Binary):
    """Sound: `data` is its bytes, or their base64 text."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        return self._finish({"type": "audio", "data": self.data, "mimeType": self.mime_type})


class EmbeddedResource(Block):
    """The contents of a resource: either `text`, or `blob` (bytes, or their base64 text)."""

    __slots__ = ("blob", "mime_type", "resource_meta", "text", "uri")

    def __init__(
        self,
        uri: str,
        *,
        text: str | None = None,
        blob: bytes | str | None = None,
        mime_type: str | None = None,
        resource_meta: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        if (text is None) == (blob is None):
            raise ValueError("an EmbeddedResource has either text or blob")
        self.uri = uri
        self.text = text
        self.blob = None if blob is None else encode_base64(blob)
        self.mime_type = mime_type
        self.resource_meta = resource_meta
        self.annotations = annotations
        self.meta = meta

    def decode(self) -> bytes:
        """The bytes of the resource."""
        return self.text.encode() if self.text is not None else decode_base64(self.blob or "")

    def to_json(self) -> dict[str, Any]:
        resource: dict[str, Any] = {"uri": self.uri}
        if self.mime_type is not None:
            resource["mimeType"] = self.mime_type
        if self.text is not None:
            resource["text"] = self.text
        if self.blob is not None:
            resource["blob"] = self.blob
        if self.resource_meta is not None:
            resource["_meta"] = self.resource_meta
        return self._finish({"type": "resource", "resource": resource})


class ResourceLink(Block):
    """A resource that the client may read later."""

    __slots__ = ("description", "icons", "mime_type", "name", "size", "title", "uri")

    def __init__(
        self,
        uri: str,
        name: str,
        *,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        annotations: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.uri = uri
        self.name = name
        self.title = title
        self.description = description
        self.mime_type = mime_type
        self.size = size
        self.icons = icons
        self.annotations = annotations
        self.meta = meta

    def to_json(self) -> dict[str, Any]:
        json: dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        for key, value in (
            ("title", self.title),
            ("description", self.description),
            ("mimeType", self.mime_type),
            ("size", self.size),
            ("icons", self.icons),
        ):
            if value is not None:
                json[key] = value
        return self._finish(json)


class OtherContent(Block):
    """A block of a type that this version does not know; `data` is the whole block."""

    __slots__ = ("data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.annotations = None
        self.meta = None

    def to_json(self) -> dict[str, Any]:
        return dict(self.data)


Content: TypeAlias = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink | OtherContent


def content_from_json(json: dict[str, Any]) -> Content:
    """The block of a peer. What does not look like its type is kept as it is.

    Raises:
        TypeError: if it is no object.
    """
    if not isinstance(json, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("a block of content is not an object")
    annotations, meta = json.get("annotations"), json.get("_meta")
    try:
        match json.get("type"):
            case "text":
                return TextContent(json["text"], annotations=annotations, meta=meta)
            case "image":
                return ImageContent(json["data"], json["mimeType"], annotations=annotations, meta=meta)
            case "audio":
                return AudioContent(json["data"], json["mimeType"], annotations=annotations, meta=meta)
            case "resource":
                resource = json["resource"]
                return EmbeddedResource(
                    resource["uri"],
                    text=resource.get("text"),
                    blob=resource.get("blob"),
                    mime_type=resource.get("mimeType"),
                    resource_meta=resource.get("_meta"),
                    annotations=annotations,
                    meta=meta,
                )
            case "resource_link":
                return ResourceLink(
                    json["uri"],
                    json["name"],
                    title=json.get("title"),
                    description=json.get("description"),
                    mime_type=json.get("mimeType"),
                    size=json.get("size"),
                    icons=json.get("icons"),
                    annotations=annotations,
                    meta=meta,
                )
            case _:
                return OtherContent(json)
    except (KeyError, TypeError, ValueError, AttributeError):
        return OtherContent(json)


def encode_base64(data: bytes | str) -> str:
    """Bytes as base64 text; text is such a text already."""
    if isinstance(data, str):
        return data
    from base64 import b64encode

    return b64encode(data).decode("ascii")


def decode_base64(data: str) -> bytes:
    """The bytes of a base64 text."""
    from base64 import b64decode

    return b64decode(data, validate=True)
