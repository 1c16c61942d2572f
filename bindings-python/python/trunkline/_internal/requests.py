"""Requests to the peer as the core takes them, and answers as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from .errors import TransportError
from .options import camel_case, in_ms

T = TypeVar("T")

OnProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None] | None]
"""Called with the progress of a call, the total and a message, the latter two as far as the server
gives them. In the order of arrival, before the call returns; of an `async def` function, each call
is a task of its own. An exception is logged, and costs nothing else.
"""


def request_json(
    method: str,
    params: dict[str, Any] | None = None,
    timeout: float | None = None,
    max_timeout: float | None = None,
    *,
    progress: bool = False,
    all_pages: bool = False,
) -> dict[str, Any]:
    """One request as the core takes it."""
    json: dict[str, Any] = {"method": method}
    if params is not None:
        json["params"] = params
    if timeout is not None or max_timeout is not None:
        json |= camel_case(**in_ms(timeout=timeout, max_timeout=max_timeout))
    if progress:
        json["progress"] = True
    if all_pages:
        json["all"] = True
    return json


def read_answer(method: str, read: Callable[[Any], T], answer: Any) -> T:
    """The result of a peer, read by its model.

    Raises:
        TransportError: if it does not have the form that the protocol gives it.
    """
    try:
        return read(answer)
    except (AttributeError, LookupError, TypeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise TransportError(f"the answer to {method} makes no sense: {why}") from error


def params_of(members: dict[str, Any]) -> dict[str, Any] | None:
    """The params of a request: the members that were given, or None if there are none."""
    return {name: value for name, value in members.items() if value is not None} or None
