"""The contents of resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from . import base
from .base import Block, Model, decode_base64, encode_base64, present, string_of


class _Contents(Model):
    """Text or base64 data, with its URI and type."""

    __slots__ = ("blob", "mime_type", "text", "uri")

    def __init__(self, text: str | None, blob: bytes | str | None, uri: str | None, mime_type: str | None) -> None:
        if (text is None) == (blob is None):
            raise base.invalid("ResourceContents must have either text or blob")
        self.text: str | None = text
        self.blob: str | None = None if blob is None else encode_base64(blob)
        self.uri: str | None = uri
        self.mime_type: str | None = mime_type

    def decode(self) -> bytes:
        """Return the contents as bytes."""
        return self.text.encode() if self.text is not None else decode_base64(self.blob or "")

    def _members(self, meta: Mapping[str, Any] | None) -> dict[str, Any]:
        return present(uri=self.uri, mimeType=self.mime_type, text=self.text, blob=self.blob, _meta=meta)


class ResourceContents(_Contents):
    """A part of a resource: either `text`, or `blob` (bytes, or a base64 string).

    Args:
        text: The text.
        blob: The bytes.
        uri: URI of this part; default: the requested URI.
        mime_type: MIME type; default: that of the resource.
        meta: The `_meta` of this part.
    """

    __slots__ = ("meta",)

    def __init__(
        self,
        text: str | None = None,
        *,
        blob: bytes | str | None = None,
        uri: str | None = None,
        mime_type: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(text, blob, uri, mime_type)
        self.meta: Mapping[str, Any] | None = meta

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> ResourceContents:
        """Read contents received from a peer.

        Raises:
            TypeError, LookupError, ValueError: If they are invalid.
        """
        text, blob = json.get("text"), json.get("blob")
        if not isinstance(text if blob is None else blob, str):
            raise TypeError("the contents of a resource have neither text nor blob")
        # Some servers write an empty text next to the bytes.
        text = text if blob is None else None
        return cls(text, blob=blob, uri=string_of(json, "uri"), mime_type=json.get("mimeType"), meta=json.get("_meta"))

    def to_json(self) -> dict[str, Any]:
        return self._members(self.meta)


class EmbeddedResource(_Contents, Block):
    """A resource with its contents: either `text`, or `blob` (bytes, or a base64 string)."""

    __slots__ = ("annotations", "meta", "resource_meta")

    TYPE: ClassVar[Literal["resource"]] = "resource"

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
        super().__init__(text, blob, uri, mime_type)
        # The `_meta` of the contents.
        self.resource_meta: Mapping[str, Any] | None = resource_meta
        self.annotations: Mapping[str, Any] | None = annotations
        self.meta: Mapping[str, Any] | None = meta

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> EmbeddedResource:
        """Read a block received from a peer."""
        contents = ResourceContents.from_json(json["resource"])
        return cls(
            contents.uri or "",
            text=contents.text,
            blob=contents.blob,
            mime_type=contents.mime_type,
            resource_meta=contents.meta,
            annotations=json.get("annotations"),
            meta=json.get("_meta"),
        )

    def to_json(self) -> dict[str, Any]:
        resource = self._members(self.resource_meta)
        return present(type="resource", resource=resource, annotations=self.annotations, _meta=self.meta)
