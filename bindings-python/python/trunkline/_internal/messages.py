"""Messages of a conversation: prompts give them, and models are asked with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ._generated.models import Content, Role, TextContent, content_from_json
from .model.base import Model, list_of, string_of


class Message(Model):
    """A message of the user or the assistant. `user(...)` and `assistant(...)` make one."""

    __slots__ = ("content", "meta", "role")

    def __init__(
        self, role: Role, content: str | Content | Sequence[Content], *, meta: Mapping[str, Any] | None = None
    ) -> None:
        self.role: Role = role
        self.content: Content | Sequence[Content] = TextContent(content) if isinstance(content, str) else content
        self.meta: Mapping[str, Any] | None = meta

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Message:
        """The message of a peer.

        Raises:
            TypeError, LookupError: if it is invalid.
        """
        content = json["content"]
        blocks = (
            [content_from_json(block) for block in list_of(json, "content")]
            if isinstance(content, list)
            else content_from_json(content)
        )
        return cls(cast("Role", string_of(json, "role")), blocks, meta=json.get("_meta"))

    def to_json(self) -> dict[str, Any]:
        content = self.content
        json: dict[str, Any] = {
            "role": self.role,
            "content": [block.to_json() for block in content] if isinstance(content, Sequence) else content.to_json(),
        }
        return json if self.meta is None else {**json, "_meta": self.meta}


def user(content: str | Content | Sequence[Content]) -> Message:
    """A message of the user. Several blocks in one message are for sampling only."""
    return Message("user", content)


def assistant(content: str | Content | Sequence[Content]) -> Message:
    """A message of the assistant. Several blocks in one message are for sampling only."""
    return Message("assistant", content)


class GetPromptResult(Model):
    """All that a prompt gives, where its messages alone do not say enough.

    Args:
        messages: the messages; text is what the user says.
        description: what this prompt is (default: the prompt's description).
        meta: the `_meta` of the result.
    """

    __slots__ = ("description", "messages", "meta")

    def __init__(
        self,
        messages: Sequence[Message | str],
        *,
        description: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.messages: list[Message] = [user(message) if isinstance(message, str) else message for message in messages]
        self.description: str | None = description
        self.meta: Mapping[str, Any] | None = meta

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> GetPromptResult:
        """The result of a server.

        Raises:
            TypeError, LookupError: if it is invalid.
        """
        messages = [Message.from_json(message) for message in list_of(json, "messages")]
        return cls(messages, description=json.get("description"), meta=json.get("_meta"))

    def to_json(self) -> dict[str, Any]:
        json: dict[str, Any] = {"messages": [message.to_json() for message in self.messages]}
        if self.description is not None:
            json["description"] = self.description
        return json if self.meta is None else {**json, "_meta": self.meta}
