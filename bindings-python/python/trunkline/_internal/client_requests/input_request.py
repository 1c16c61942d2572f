"""Requests that a handler sends to its client: their parameters, and how results are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from .._generated.models import ElicitAction
from ..errors import ProtocolError
from ..model.base import Model, present
from ..schema.elicitation_forms import Form
from ..schema.jsonable import jsonable
from ..schema.refusals import REFUSALS, refusal

T = TypeVar("T")


class InputRequest(Generic[T]):
    """A request to the client, made with `elicit`, `elicit_url`, `sample` or `list_roots`."""

    __slots__ = ("method", "params", "read")

    def __init__(self, method: str, params: dict[str, Any] | None, read: Callable[[Any], T]) -> None:
        self.method: str = method
        self.params: dict[str, Any] | None = jsonable(params)
        # Reads the client's result.
        self.read: Callable[[Any], T] = read

    def to_json(self) -> dict[str, Any]:
        """Return the request in protocol form."""
        return present(method=self.method, params=self.params)

    def __repr__(self) -> str:
        return f"InputRequest({self.method!r}, {self.params!r})"


class InputRequired:
    """Return this from a handler that needs input from the client first. The handler is then called
    again, with the responses in `ctx.input_responses` and with `state` in `ctx.state`.

    To write a handler as straight-line code instead, use `ctx.elicit` and similar methods.

    Args:
        requests: Client requests, each under a key of your choice.
        state: Any JSON value. It is sealed: the client can neither read nor change it.
    """

    __slots__ = ("requests", "state")

    def __init__(self, requests: Mapping[str, InputRequest[Any]] | None = None, *, state: Any = None) -> None:
        self.requests: dict[str, InputRequest[Any]] = {} if requests is None else dict(requests)
        self.state: Any = state

    def to_json(self) -> dict[str, Any]:
        """Return the form that the core accepts in place of a result."""
        requests = {key: request.to_json() for key, request in self.requests.items()}
        return present(inputRequests=requests, state=jsonable(self.state))

    def __repr__(self) -> str:
        return f"InputRequired({self.requests!r}, state={self.state!r})"


class ElicitResult(Model, Generic[T]):
    """The user's response. `content` is present only if `action` is `"accept"`."""

    __slots__ = ("action", "content")

    def __init__(self, action: ElicitAction, content: T | None = None) -> None:
        self.action: ElicitAction = action
        self.content: T | None = content

    def to_json(self) -> dict[str, Any]:
        """Return the response in protocol form."""
        return present(action=self.action, content=jsonable(self.content))


def read_form(form: Form | None) -> Callable[[Any], ElicitResult[Any]]:
    """Return a function that reads a response to the form. It raises ProtocolError for content that
    matches the schema, but not the class.
    """

    def read(answer: Any) -> ElicitResult[Any]:
        if answer["action"] != "accept" or form is None:
            return ElicitResult(answer["action"])
        content: dict[str, Any] = answer.get("content") or {}
        if form.read is None:
            return ElicitResult("accept", content)
        try:
            return ElicitResult("accept", form.read(content))
        except REFUSALS as error:
            place, reason = refusal(error, content)
            raise ProtocolError(f"Invalid response from the client: {place or '/'}: {reason}", -32600) from error

    return read
