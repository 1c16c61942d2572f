"""Requests of a handler to the client: their params, and the values that the answers become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

from ._generated import methods
from ._generated.models import CreateMessageResult, ElicitAction, ListRootsResult, Root
from ._generated.option_names import SAMPLE_OPTIONS
from .messages import Message
from .options import camel_case, encoded
from .schema.elicitation_forms import Form
from .schema.jsonable import jsonable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._generated.options import SampleOptions

T = TypeVar("T")

# The prompt for the model: text, or a conversation so far.
Messages: TypeAlias = "str | Message | Sequence[Message | str | Mapping[str, Any]]"


class InputRequest(Generic[T]):
    """One question to the client, made by `elicit`, `elicit_url`, `sample` or `list_roots`."""

    __slots__ = ("method", "params", "read")

    def __init__(self, method: str, params: dict[str, Any] | None, read: Callable[[Any], T]) -> None:
        self.method = method
        self.params = params
        # Makes the answer out of the client's result.
        self.read = read

    def to_json(self) -> dict[str, Any]:
        """The question in the form that the protocol uses."""
        return {"method": self.method} if self.params is None else {"method": self.method, "params": self.params}

    def __repr__(self) -> str:
        return f"InputRequest({self.method!r}, {self.params!r})"


class InputRequired:
    """Returned by a handler that needs input of the client first. It is called again with the answers in
    `ctx.input_responses` and with `state` in `ctx.state`.

    Handlers that would rather write one line after the other use `ctx.elicit` and its like.

    Args:
        requests: the questions, each under a key of your choice.
        state: any JSON value. It travels sealed: the client can neither read nor change it.
    """

    __slots__ = ("requests", "state")

    def __init__(self, requests: Mapping[str, InputRequest[Any]] | None = None, *, state: Any = None) -> None:
        self.requests = {} if requests is None else dict(requests)
        self.state = state

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
        self.content = content

    def __repr__(self) -> str:
        return f"ElicitResult({self.action!r}, {self.content!r})"


@overload
def elicit(message: str, schema: type[T]) -> InputRequest[ElicitResult[T]]: ...


@overload
def elicit(message: str, schema: Mapping[str, Any]) -> InputRequest[ElicitResult[dict[str, Any]]]: ...


def elicit(message: str, schema: Any) -> InputRequest[Any]:
    """Asks the user to fill in a form.

    Args:
        message: what is asked, for people.
        schema: a dataclass, TypedDict or pydantic model with fields of text, numbers, yes or no, and choices; or a JSON
            Schema of that form.
    """
    form = Form.of(schema)

    def read(answer: Any) -> ElicitResult[Any]:
        if answer["action"] != "accept":
            return ElicitResult(answer["action"])
        content: dict[str, Any] = answer.get("content") or {}
        return ElicitResult("accept", content if form.read is None else form.read(content))

    return InputRequest(methods.ELICIT, {"message": message, "requestedSchema": form.schema}, read)


def elicit_url(message: str, url: str, *, elicitation_id: str | None = None) -> InputRequest[ElicitResult[None]]:
    """Asks the user to visit a page, where things are said that must not pass through the client.

    Args:
        message: what it is for, for people.
        url: the page.
        elicitation_id: what `Server.elicitation_complete` calls it (default: one that nobody can guess).
    """
    params = camel_case(mode="url", message=message, url=url, elicitation_id=elicitation_id)
    return InputRequest(methods.ELICIT_URL, params, lambda answer: ElicitResult(answer["action"]))


def sample(
    messages: Messages, *, max_tokens: int, **options: Unpack[SampleOptions]
) -> InputRequest[CreateMessageResult]:
    """Asks the client's model.

    Args:
        messages: text of the user, or a conversation.
        max_tokens: the most tokens to generate.
        options: see `SampleOptions`.
    """
    params = {"messages": _messages(messages), "maxTokens": max_tokens, **encoded(SAMPLE_OPTIONS, options)}
    return InputRequest(methods.SAMPLE, jsonable(params), CreateMessageResult.from_json)


def list_roots() -> InputRequest[list[Root]]:
    """Asks for the directories and files that the client lets the server work in."""
    return InputRequest(methods.LIST_ROOTS, None, lambda answer: ListRootsResult.from_json(answer).roots)


def _messages(given: Messages) -> list[Any]:
    listed: Sequence[Any] = [given] if isinstance(given, (str, Message)) else given
    return [Message("user", message) if isinstance(message, str) else message for message in listed]
