"""The ways to serve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import BlockingCallError, InvalidArgument
from ..listener import Listener
from ..options import camel_case
from .base import Base, running_loop

if TYPE_CHECKING:
    from ..asgi import ASGIApp

Transport: TypeAlias = Literal["stdio", "http"]


class Serving(Base):
    """How a server is served."""

    def run(
        self,
        transport: Transport = "stdio",
        *,
        on_ready: Callable[[Listener], object] | None = None,
        **options: Any,
    ) -> None:
        """Serves until the end: of stdin over stdio, by Ctrl-C or SIGTERM on both transports. Then calls in flight get
        until the drain deadline, and `run` returns.

        Args:
            transport: `"stdio"` or `"http"`.
            on_ready: called with the listener once clients can connect.
            options: see `serve`.
        """
        import asyncio

        from ..signals import run_until_signal

        if running_loop() is not None:
            raise BlockingCallError(
                "run() blocks, and an event loop runs in this thread: use `await server.serve(...)`"
            )
        asyncio.run(run_until_signal(self.serve(transport, **options), on_ready))

    def serve(
        self,
        transport: Transport = "stdio",
        *,
        host: str | None = None,
        port: int | None = None,
        path: str | None = None,
        stateless: bool | None = None,
        json: bool | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
    ) -> Listener:
        """Serves on the running event loop.

        `await server.serve(...)` returns when serving has ended. As a context manager it is ready inside the block and
        stops at its end: `async with server.serve("http", port=0) as listener: print(listener.url)`.

        Args:
            transport: `"stdio"` or `"http"`; the other arguments are for HTTP.
            host: the address to listen on (default 127.0.0.1).
            port: the port to listen on; 0 takes a free one (default 8000).
            path: the path of the endpoint (default /mcp).
            stateless: no sessions for revisions that have them.
            json: answer with one JSON document where no stream is needed.
            allowed_hosts: further names in the Host header that are served.
            allowed_origins: further origins that are served.
        """
        chosen = camel_case(
            host=host,
            port=port,
            path=path,
            stateless=stateless,
            json=json,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
        )
        if transport not in ("stdio", "http"):
            raise InvalidArgument(f'transport must be "stdio" or "http", not {transport!r}')
        if transport == "stdio" and chosen:
            raise InvalidArgument(f"stdio has no {', '.join(chosen)}")
        return Listener(self, {"type": transport, **chosen}, self._drain_deadline)

    def asgi(
        self,
        *,
        path: str | None = None,
        stateless: bool | None = None,
        json: bool | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
    ) -> ASGIApp:
        """The server as an ASGI application, to be mounted in a web framework or run by an ASGI server as it is.

        Nothing starts before the first request; no lifespan hook is needed.

        Args:
            path: the only path that is served, below the mount and with or without a slash at its end (default: every
                path, for the framework has chosen it already).
            stateless: no sessions for revisions that have them. Needed where several processes share the requests.
            json: answer with one JSON document where no stream is needed.
            allowed_hosts: names in the Host header that are served beside those of this machine; `"*"` allows all.
            allowed_origins: origins whose pages are served beside those of this machine.
        """
        from ..asgi import ASGIApp

        chosen = camel_case(
            path=path,
            stateless=stateless,
            json=json,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
        )
        return ASGIApp(self, chosen, self._drain_deadline)
