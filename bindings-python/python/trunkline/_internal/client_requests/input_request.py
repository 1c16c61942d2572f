"""Requests of a handler to its client: what they consist of, and the values that the answers
become.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from .._generated.models import ElicitAction
from ..messages import Message
from ..schema.elicitation_forms import Form
from ..schema.jsonable import jsonable

T = TypeVar("T")

Messages: TypeAlias = str | Message | Sequence[Message | str | Mapping[str, Any]]
"""The prompt for the model: text, or a conversation so far. A text is a message of the user."""


class InputRequest(Generic[T]):
    """One request to the client, made by `elicit`, `elicit_url`, `sample` or `list_roots`."""

    __slots__ = ("method", "params", "read")

    def __init__(self, method: str, params: dict[str, Any] | None, read: Callable[[Any], T]) -> None:
        self.method: str = method
        self.params: dict[str, Any] | None = None if params is None else jsonable(params)
        # Makes the answer out of the client's result.
        self.read: Callable[[Any], T] = read

    def to_json(self) -> dict[str, Any]:
        """The request in the form that the protocol uses."""
        return {"method": self.method} if self.params is None else {"method": self.method, "params": self.params}

    def __repr__(self) -> str:
        return f"InputRequest({self.method!r}, {self.params!r})"


class InputRequired:
    """Returned by a handler that needs input of the client first. It is called again with the
    answers in `ctx.input_responses` and with `state` in `ctx.state`.

    Handlers that would rather write one line after the other use `ctx.elicit` and its like.

    Args:
        requests: the client requests, each under a key of your choice.
        state: any JSON value. It travels sealed: the client can neither read nor change it.
    """

    __slots__ = ("requests", "state")

    def __init__(self, requests: Mapping[str, InputRequest[Any]] | None = None, *, state: Any = None) -> None:
        self.requests: dict[str, InputRequest[Any]] = {} if requests is None else dict(requests)
        self.state: Any = state

    def to_json(self) -> dict[str, Any]:
        """The form that the core takes instead of a result."""
        json: dict[str, Any] = {"inputRequests": {key: request.to_json() for key, request in self.requests.items()}}
        return json if self.state is None else {**json, "state": jsonable(self.state)}

    def __repr__(self) -> str:
        return f"InputRequired({self.requests!r}, state={self.state!r})"


class ElicitResult(Generic[T]):
    """The answer of the user: `content` is there only if `action` is `"accept"`."""

    __slots__ = ("action", "content")

    def __init__(self, action: ElicitAction, content: T | None = None) -> None:
        self.action: ElicitAction = action
        self.content: T | None = content

    def to_json(self) -> dict[str, Any]:
        """The form that the protocol uses."""
        json: dict[str, Any] = {"action": self.action}
        return json if self.content is None else {**json, "content": jsonable(self.content)}

    def __repr__(self) -> str:
        return f"ElicitResult({self.action!r}, {self.content!r})"


def read_form(form: Form | None) -> Callable[[Any], ElicitResult[Any]]:
    """The reader of an answer, whose content is what the form says."""

    def read(answer: Any) -> ElicitResult[Any]:
        if answer["action"] != "accept" or form is None:
            return ElicitResult(answer["action"])
        content: dict[str, Any] = answer.get("content") or {}
        return ElicitResult("accept", content if form.read is None else form.read(content))

    return read


def messages_of(given: Messages) -> list[Any]:
    """A conversation as a list of messages."""
    listed: Sequence[Any] = [given] if isinstance(given, (str, Message)) else given
    return [Message("user", message) if isinstance(message, str) else message for message in listed]
