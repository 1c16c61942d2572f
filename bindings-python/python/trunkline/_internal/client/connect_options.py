"""The options of clients, as a type."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from .._generated.options import ChildOptions, ClientOptions, EndpointOptions, OAuth

# method, params
OnNotification: TypeAlias = Callable[[str, Any], Awaitable[None] | None]
OnToolsChanged: TypeAlias = Callable[[], Awaitable[None] | None]


class ConnectOptions(ClientOptions, ChildOptions, EndpointOptions, total=False):
    """Options of `Client` and `SyncClient`. Times are in seconds."""

    name: str
    """Name with which the client introduces itself, together with `version`."""

    version: str
    """The version of the program that uses the client."""

    auth: str | OAuth
    """An access token, or how to get one: `OAuth()` asks the server and opens the browser."""

    on_notification: OnNotification
    """Called with the method and the params of every notification."""

    on_tools_changed: OnToolsChanged
    """Called when the server's list of tools has changed."""

    raise_exceptions: bool
    """For tests, of a `Server` of this process: a request raises the exception that a handler
    raised, where its caller is otherwise told of an internal error. Default: False.
    """
