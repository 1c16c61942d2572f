"""Messages of a conversation: prompts give them, and models are asked with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .content import Content, TextContent

Role: TypeAlias = Literal["user", "assistant"]


class Message:
    """What the user or the assistant says. `user(...)` and `assistant(...)` make one."""

    __slots__ = ("content", "meta", "role")

    def __init__(
        self, role: Role, content: str | Content | Sequence[Content], *, meta: Mapping[str, Any] | None = None
    ) -> None:
        self.role: Role = role
        self.content = TextContent(content) if isinstance(content, str) else content
        self.meta = meta

    def to_json(self) -> dict[str, Any]:
        """The message in the form that the protocol uses."""
        content = self.content
        json: dict[str, Any] = {
            "role": self.role,
            "content": [block.to_json() for block in content] if isinstance(content, Sequence) else content.to_json(),
        }
        return json if self.meta is None else {**json, "_meta": self.meta}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Message({self.role!r}, {self.content!r})"


def user(content: str | Content | Sequence[Content]) -> Message:
    """A message of the user. Several blocks in one message are for sampling only."""
    return Message("user", content)


def assistant(content: str | Content | Sequence[Content]) -> Message:
    """A message of the assistant. Several blocks in one message are for sampling only."""
    return Message("assistant", content)


class GetPromptResult:
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
        self.messages = [user(message) if isinstance(message, str) else message for message in messages]
        self.description = description
        self.meta = meta

    def to_json(self) -> dict[str, Any]:
        """The result in the form that the protocol uses."""
        json: dict[str, Any] = {"messages": [message.to_json() for message in self.messages]}
        if self.description is not None:
            json["description"] = self.description
        return json if self.meta is None else {**json, "_meta": self.meta}

    def __repr__(self) -> str:
        return f"GetPromptResult({self.messages!r})"
