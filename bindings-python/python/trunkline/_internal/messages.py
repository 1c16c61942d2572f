"""Messages of prompts and of sampling requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from ._generated.models import Content, Role, TextContent, content_from_json
from .model.base import Model, one_or_list_of, present, string_of


class Message(Model):
    """A message of the user or the assistant. Create one with `user(...)` or `assistant(...)`."""

    __slots__ = ("content", "meta", "role")

    def __init__(
        self, role: Role, content: str | Content | Sequence[Content], *, meta: Mapping[str, Any] | None = None
    ) -> None:
        self.role: Role = role
        self.content: Content | Sequence[Content] = TextContent(content) if isinstance(content, str) else content
        self.meta: Mapping[str, Any] | None = meta

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Message:
        """Read a message received from a peer.

        Raises:
            TypeError, LookupError: If it is invalid.
        """
        blocks = [content_from_json(block) for block in one_or_list_of(json, "content")]
        content = blocks if isinstance(json["content"], list) else blocks[0]
        return cls(cast("Role", string_of(json, "role")), content, meta=json.get("_meta"))

    def to_json(self) -> dict[str, Any]:
        content = self.content
        json = [block.to_json() for block in content] if isinstance(content, Sequence) else content.to_json()
        return present(role=self.role, content=json, _meta=self.meta)


def user(content: str | Content | Sequence[Content]) -> Message:
    """Return a user message. Messages with several blocks are for sampling only."""
    return Message("user", content)


def assistant(content: str | Content | Sequence[Content]) -> Message:
    """Return an assistant message. Messages with several blocks are for sampling only."""
    return Message("assistant", content)


Messages: TypeAlias = str | Message | Sequence[Message | str | Mapping[str, Any]]
"""A prompt for the model: a string, which becomes a user message, or a conversation so far."""


def messages_of(given: Messages) -> list[Any]:
    """Return a conversation as a list of messages."""
    listed: Sequence[Any] = [given] if isinstance(given, (str, Message)) else given
    return [user(message) if isinstance(message, str) else message for message in listed]
