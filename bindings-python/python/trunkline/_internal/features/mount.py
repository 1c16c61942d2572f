"""Servers mounted in another server: in this process, or behind a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import trunkline

from .._generated.option_names import PROXY_OPTIONS
from ..errors import InvalidArgumentError
from ..options import Unpack, encoded
from .handler import Handler
from .registry import Registry, Removable


class ProxiedClient(Protocol):
    """A connected client or client group."""

    def _shared(self) -> dict[str, int]: ...


class MountHandler(Handler):
    """Represents a mounted server, in this process (`mount`) or behind a client (`proxy`). The core
    serves it, so it is never called.
    """

    def __init__(self, kind: str, prefix: str, given: dict[str, Any], place: Callable[[], dict[str, int]]) -> None:
        super().__init__(kind, prefix, {"prefix": prefix, **given})
        self._place = place
        self.mounted: Registry | None = None

    def prepare(self) -> bool:
        before = self.registration
        self.registration = {**before, **self._place()}
        return self.registration != before


class Mount(Removable):
    """A mounted server, as returned by `mount` and `proxy`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Mount({self._key[1]!r})"


class Mounts(Registry):
    """The methods of a server that mount other servers."""

    def mount(self, prefix: str, server: Registry) -> Mount:
        """Add the features of another server, including features that it adds later.

        Tools and prompts are named `prefix__name`, resources `prefix+uri`. The other server's
        middleware runs for its own features, inside that of this server. The options of this server
        apply.

        Args:
            prefix: Letters, digits, `-` and `_`. An empty prefix, which only one server can have,
                leaves names and URIs unchanged.
            server: The server to mount. It may also be served on its own.

        Returns:
            A handle that unmounts it.

        Raises:
            InvalidArgumentError: If the prefix is taken or invalid, or the server is already
                mounted, is this server, or mounts this server.
        """
        if not isinstance(server, Registry):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgumentError(f"mount() takes a Server, not {server!r}; for a client, use proxy()")
        handler = MountHandler("mount", prefix, {}, server._mountable)
        handler.mounted = server
        mount = Mount(self, self._add(handler))
        self._lend(server)
        return mount

    def proxy(self, client: ProxiedClient, **options: Unpack[trunkline.ProxyOptions]) -> Mount:
        """Add the features of the server behind a client, whatever revisions the two sides use.

        With a client group, each of its servers is mounted under its name for as long as it is in
        the group.

        Progress, log messages and cancellations are forwarded, and the server's requests go to the
        client whose call caused them. For servers of revisions before 2026-07-28, each caller gets
        its own connection, opened with the client's options.

        Args:
            client: A connected client or client group.
            options: See `ProxyOptions`.

        Returns:
            A handle that unmounts it.

        Raises:
            ClosedError: If the client is not connected.
            InvalidArgumentError: If the prefix is taken or invalid, the client or a server of the
                group is this server itself, or a server of the group is itself a group.
        """
        if (shared := getattr(client, "_shared", None)) is None:
            raise InvalidArgumentError(f"proxy() takes a connected client, not {client!r}")
        prefix = options.get("prefix") or ""
        return Mount(self, self._add(MountHandler("proxy", prefix, encoded(PROXY_OPTIONS, options), shared)))
