"""A client of many servers."""

from __future__ import annotations

from typing import Any

import trunkline

from ...client.async_client import Client
from ...client.group_target import GroupTarget, ServersOf
from ...options import Unpack
from ._generated.operations import AsyncGroupOperations


class ClientGroup(AsyncGroupOperations, Client):
    """Many servers behind one client: `async with ClientGroup("mcp.json") as group: ...`.

    A group has all methods of `Client`, and routes each request to the right server. Tools and
    prompts are named `server__name`. These names meet the limits of model APIs (their characters,
    and a length of 64): a name that doesn't fit is shortened and ends with a hash of the full name.
    Resources are `server+uri`. All names are the same in every run.

    The group connects to all servers concurrently. If a connection fails, the other servers stay
    usable: `servers` reports the error, and the next request to the failed server reconnects.
    Changes of a server arrive as changes of the group. Handlers such as `@group.on_elicit` answer
    the requests of all servers; `request.server_name` names the server that asks.

    Args:
        servers: A configuration with `mcpServers` (a dict) or the path of its file; or servers by
            name, each a URL, the command of a server to start (a list), an entry of `mcpServers`,
            or a connected client.
        options: See `ConnectOptions`. They apply to each connection.
    """

    def __init__(self, servers: GroupTarget, **options: Unpack[trunkline.ConnectOptions]) -> None:
        target: Any = ServersOf(servers)
        super().__init__(target, **options)

    def __repr__(self) -> str:
        return f"ClientGroup({self._target!r})"
