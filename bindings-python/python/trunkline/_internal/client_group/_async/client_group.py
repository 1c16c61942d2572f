"""The client of many servers."""

from __future__ import annotations

from typing import Any

import trunkline

from ...client.async_client import Client
from ...client.group_target import GroupTarget, ServersOf
from ...options import Unpack
from ._generated.operations import AsyncGroupOperations


class ClientGroup(AsyncGroupOperations, Client):
    """Many servers behind one client: `async with ClientGroup("mcp.json") as group: ...`.

    It has all methods of `Client`, and each request goes to the server that it is for. Tools
    and prompts are named `server__name`, of the signs and within the 64 that the interfaces of
    models take: a name that does not fit is shortened, and ends with a hash of itself.
    Resources are `server+uri`. These names are the same in every run.

    The servers are connected to at once. One that fails does not take the others along: `servers`
    has its error, and the next request to it tries again. Changes of one server come as changes of
    the group, and handlers such as `@group.on_elicit` answer all servers: `request.server_name`
    says which one asks.

    Args:
        servers: A configuration with `mcpServers` (a dict) or its file; or servers by name: each a
            URL, the command of a server to start (a list), or an entry of `mcpServers`.
        options: See `ConnectOptions`. They are those of each connection.
    """

    def __init__(self, servers: GroupTarget, **options: Unpack[trunkline.ConnectOptions]) -> None:
        target: Any = ServersOf(servers)
        super().__init__(target, **options)

    def __repr__(self) -> str:
        return f"ClientGroup({self._connection.target!r})"
