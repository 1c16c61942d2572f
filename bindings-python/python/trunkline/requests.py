"""Requests to the peer as the core takes them, and answers as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .errors import TransportError
from .options import camel_case, in_ms

T = TypeVar("T")


def request_json(
    method: str,
    params: dict[str, Any] | None = None,
    timeout: float | None = None,
    max_timeout: float | None = None,
    *,
    progress: bool = False,
    wait: bool = False,
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
    if wait:
        json["wait"] = True
    if all_pages:
        json["all"] = True
    return json


def read_answer(method: str, read: Callable[[Any], T], answer: Any) -> T:
    """What the result of a peer says.

    Raises:
        TransportError: if it does not have the form that the protocol gives it.
    """
    try:
        return read(answer)
    except (AttributeError, LookupError, TypeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise TransportError(f"the answer to {method} makes no sense: {why}") from error


def call_params(name: str, arguments: Mapping[str, Any] | None, meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """The params of a tool call."""
    params: dict[str, Any] = {"name": name}
    if arguments is not None:
        params["arguments"] = arguments
    if meta is not None:
        params["_meta"] = meta
    return params
