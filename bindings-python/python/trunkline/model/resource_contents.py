"""The contents of resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .content import decode_base64, encode_base64

CacheScope: TypeAlias = Literal["public", "private"]


class ResourceContents:
    """One part of what a resource holds: either `text`, or `blob` (bytes, or their base64 text).

    Args:
        text: the text.
        blob: the bytes.
        uri: where exactly this is from (default: the URI that was asked for).
        mime_type: what it is (default: what the resource says).
        meta: its `_meta`.
    """

    __slots__ = ("blob", "meta", "mime_type", "text", "uri")

    def __init__(
        self,
        text: str | None = None,
        *,
        blob: bytes | str | None = None,
        uri: str | None = None,
        mime_type: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        if (text is None) == (blob is None):
            raise ValueError("ResourceContents have either text or blob")
        self.text = text
        self.blob = None if blob is None else encode_base64(blob)
        self.uri = uri
        self.mime_type = mime_type
        self.meta = meta

    def decode(self) -> bytes:
        """The bytes."""
        return self.text.encode() if self.text is not None else decode_base64(self.blob or "")

    def to_json(self) -> dict[str, Any]:
        """The contents in the form that the protocol uses."""
        members = {
            "uri": self.uri,
            "mimeType": self.mime_type,
            "text": self.text,
            "blob": self.blob,
            "_meta": self.meta,
        }
        return {name: value for name, value in members.items() if value is not None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResourceContents) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name in sorted(self.__slots__) if (value := getattr(self, name)) is not None]
        return f"ResourceContents({', '.join(shown)})"


class ReadResourceResult:
    """All that reading gives, where the contents alone do not say enough.

    Args:
        contents: the parts.
        ttl: for how many seconds clients may keep them (default: as the resource was registered).
        cache_scope: whether others than this caller may be given what was kept.
        meta: the `_meta` of the result.
    """

    __slots__ = ("cache_scope", "contents", "meta", "ttl")

    def __init__(
        self,
        contents: Sequence[ResourceContents],
        *,
        ttl: float | None = None,
        cache_scope: CacheScope | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.contents = contents
        self.ttl = ttl
        self.cache_scope = cache_scope
        self.meta = meta

    def to_json(self) -> dict[str, Any]:
        """The result in the form that the protocol uses."""
        from ..options import camel_case, in_ms

        json = {
            "contents": [part.to_json() for part in self.contents],
            **camel_case(cache_scope=self.cache_scope, **in_ms(ttl=self.ttl)),
        }
        return json if self.meta is None else {**json, "_meta": self.meta}

    def __repr__(self) -> str:
        return f"ReadResourceResult({self.contents!r})"
