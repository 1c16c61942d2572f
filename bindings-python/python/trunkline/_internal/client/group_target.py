"""Targets of a client group."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from ..features.mount import ProxiedClient
from ..model.base import shown_url
from ..schema.jsonable import jsonable

ServerTarget: TypeAlias = str | Sequence[str | os.PathLike[str]] | Mapping[str, Any] | ProxiedClient
"""A server of a group: a URL, the command of a server to start, an entry of `mcpServers`, or a
connected client whose connection the group shares.
"""
GroupTarget: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""The servers of a group: a configuration with `mcpServers`, the path of its file, or targets by
name.
"""


class ServersOf:
    """The servers of a group."""

    def __init__(self, servers: GroupTarget) -> None:
        self._servers: Any = servers if isinstance(servers, Mapping) else jsonable(servers)

    def json(self) -> Any:
        """Return the servers in the core's form; clients are given by their connections."""
        if isinstance(servers := self._servers, Mapping):
            return {name: place(server) for name, server in cast("Mapping[str, Any]", servers).items()}
        return servers

    def __repr__(self) -> str:
        # Entries may contain secrets.
        json: Any = self._servers
        if isinstance(json, str):
            return shown_url(json)
        return repr([*(json.get("mcpServers") or json.get("servers") or json)] if hasattr(json, "get") else json)


def place(server: ServerTarget) -> Any:
    """Return a server in the core's form; a client is given by its connection."""
    shared: Callable[[], Any] | None = getattr(server, "_shared", None)
    return jsonable(server) if shared is None else shared()
