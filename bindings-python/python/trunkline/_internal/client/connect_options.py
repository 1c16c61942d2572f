"""The type of client options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from .._generated.options import ChildOptions, ClientOptions, EndpointOptions, OAuth

OnNotification: TypeAlias = Callable[[str, Any], Awaitable[None] | None]
"""Called with the method and params of each notification, in order of arrival. Exceptions are
logged and otherwise ignored.
"""
OnToolsChanged: TypeAlias = Callable[[], Awaitable[None] | None]
"""Called when the server's list of tools has changed. Exceptions are logged."""


class ConnectOptions(ClientOptions, ChildOptions, EndpointOptions, total=False):
    """Options of `Client` and `SyncClient`. Times are in seconds."""

    name: str
    """The client's name, sent to servers together with `version`. Default: `"trunkline-python"`."""

    version: str
    """The version of the program. Default: the version of this package."""

    auth: str | OAuth
    """An access token, or how to get one: `OAuth()` discovers the authorization server and opens
    the browser. Default: none.
    """

    on_notification: OnNotification
    """Called with the method and params of every notification. Default: none."""

    on_tools_changed: OnToolsChanged
    """Called when the server's list of tools has changed. Default: none."""

    raise_exceptions: bool
    """For tests with a `Server` in this process: requests raise the handler's exception instead of
    an internal error. Default: False.
    """
