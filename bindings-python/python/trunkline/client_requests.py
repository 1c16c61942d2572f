"""What a handler may ask the client for: the questions, and what the answers become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast, overload

from .model.content import Content, TextContent, content_from_json
from .model.messages import Message, Role
from .options import camel_case
from .schema.elicitation_forms import Form
from .schema.jsonable import jsonable

T = TypeVar("T")

# What is asked: text, or a conversation so far.
Messages: TypeAlias = "str | Message | Sequence[Message | str | Mapping[str, Any]]"


class InputRequest(Generic[T]):
    """One question to the client, made by `elicit`, `elicit_url`, `sample` or `roots`."""

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
        """What the core takes instead of a result."""
        json: dict[str, Any] = {"inputRequests": {key: request.to_json() for key, request in self.requests.items()}}
        return json if self.state is None else {**json, "state": jsonable(self.state)}

    def __repr__(self) -> str:
        return f"InputRequired({self.requests!r}, state={self.state!r})"


class ElicitResult(Generic[T]):
    """What the user did: `content` is there only if `action` is `"accept"`."""

    __slots__ = ("action", "content")

    def __init__(self, action: Literal["accept", "decline", "cancel"], content: T | None = None) -> None:
        self.action: Literal["accept", "decline", "cancel"] = action
        self.content = content

    def __repr__(self) -> str:
        return f"ElicitResult({self.action!r}, {self.content!r})"


class CreateMessageResult:
    """What the client's model said."""

    __slots__ = ("content", "meta", "model", "role", "stop_reason")

    def __init__(
        self,
        role: Role,
        content: list[Content],
        model: str,
        *,
        stop_reason: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.role: Role = role
        self.content = content
        self.model = model
        self.stop_reason = stop_reason
        self.meta = meta

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> CreateMessageResult:
        """The result of a client."""
        content = json["content"]
        blocks: list[Any] = cast("list[Any]", content) if isinstance(content, list) else [content]
        return cls(
            json["role"],
            [content_from_json(block) for block in blocks],
            json["model"],
            stop_reason=json.get("stopReason"),
            meta=json.get("_meta"),
        )

    def __repr__(self) -> str:
        return f"CreateMessageResult({self.role!r}, {self.content!r}, model={self.model!r})"


class Root:
    """A folder or the like that the client lets the server work in."""

    __slots__ = ("meta", "name", "uri")

    def __init__(self, uri: str, *, name: str | None = None, meta: Mapping[str, Any] | None = None) -> None:
        self.uri = uri
        self.name = name
        self.meta = meta

    def __repr__(self) -> str:
        return f"Root({self.uri!r}, name={self.name!r})"


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

    return InputRequest("elicitation/create", {"message": message, "requestedSchema": form.schema}, read)


def elicit_url(message: str, url: str, *, elicitation_id: str | None = None) -> InputRequest[ElicitResult[None]]:
    """Asks the user to visit a page, where things are said that must not pass through the client.

    Args:
        message: what it is for, for people.
        url: the page.
        elicitation_id: what `Server.elicitation_complete` calls it (default: one that nobody can guess).
    """
    params = camel_case(mode="url", message=message, url=url, elicitation_id=elicitation_id)
    return InputRequest("elicitation/create", params, lambda answer: ElicitResult(answer["action"]))


def sample(
    messages: Messages,
    *,
    max_tokens: int,
    system_prompt: str | None = None,
    temperature: float | None = None,
    stop_sequences: Sequence[str] | None = None,
    model_preferences: Mapping[str, Any] | None = None,
    include_context: Literal["none", "thisServer", "allServers"] | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    tool_choice: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> InputRequest[CreateMessageResult]:
    """Asks the client's model.

    Args:
        messages: text of the user, or a conversation.
        max_tokens: how long the answer may get.
        system_prompt: the system prompt that the server would like.
        temperature: how free the answer is.
        stop_sequences: texts at which the answer ends.
        model_preferences: which model the server would like, as the protocol's ModelPreferences.
        include_context: what of the context of servers should be added.
        tools: tools that the model may use, as the protocol's Tool; the client must have declared `sampling.tools`.
        tool_choice: how it uses them, as the protocol's ToolChoice.
        metadata: for the model's provider.
    """
    params = camel_case(
        messages=_messages(messages),
        max_tokens=max_tokens,
        system_prompt=system_prompt,
        temperature=temperature,
        stop_sequences=stop_sequences,
        model_preferences=model_preferences,
        include_context=include_context,
        tools=tools,
        tool_choice=tool_choice,
        metadata=metadata,
    )
    return InputRequest("sampling/createMessage", jsonable(params), CreateMessageResult.from_json)


def roots() -> InputRequest[list[Root]]:
    """Asks which roots the client has."""
    return InputRequest("roots/list", None, _roots)


def _messages(given: Messages) -> list[Any]:
    listed: Sequence[Any] = [given] if isinstance(given, (str, Message)) else given
    return [
        Message("user", message).to_json()
        if isinstance(message, str)
        else message.to_json()
        if isinstance(message, Message)
        else message
        for message in listed
    ]


def _roots(answer: Any) -> list[Root]:
    return [Root(root["uri"], name=root.get("name"), meta=root.get("_meta")) for root in answer["roots"]]
