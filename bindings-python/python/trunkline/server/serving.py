"""The ways to serve."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import BlockingError, InvalidArgumentError
from ..features.registry import Registry, running_loop
from ..listener import Listener
from ..options import camel_case, in_ms

if TYPE_CHECKING:
    from ..auth import Auth
    from ..http_mount import ASGIApp

Transport: TypeAlias = Literal["stdio", "http"]


class Serving(Registry):
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

        from .foreground import run_until_signal

        if running_loop() is not None:
            raise BlockingError("run() blocks, and an event loop runs in this thread: use `await server.serve(...)`")
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
        sse: str | Literal[False] | None = None,
        messages: str | None = None,
        replay_events: int | None = None,
        replay_bytes: int | None = None,
        retry: float | None = None,
        auth: Auth | None = None,
        max_requests: int | None = None,
        max_body_bytes: int | None = None,
        max_connections: int | None = None,
        unix: str | os.PathLike[str] | None = None,
        unix_mode: str | None = None,
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
            sse: where clients of HTTP+SSE (2024-11-05) open their stream; False: they are not served (default /sse).
            messages: where those clients post (default /messages).
            replay_events: events that each session keeps for clients whose connection breaks; 0: none (default 1000).
            replay_bytes: how many bytes of them (default 4 MiB).
            retry: seconds after which a client may come back to a stream that was closed early (default 1).
            auth: lets in only who has an access token.
            max_requests: requests without a session at once, until their calls have ended (default 4096).
            max_body_bytes: bytes of the bodies that are read and served at once (default 256 MiB, and never less than
                one message).
            max_connections: connections at once (default 16384).
            unix: listen on this Unix socket instead of a host and port.
            unix_mode: its permissions (default `"600"`).
        """
        chosen = camel_case(
            host=host,
            port=port,
            path=path,
            stateless=stateless,
            json=json,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            sse=sse,
            messages=messages,
            replay_events=replay_events,
            replay_bytes=replay_bytes,
            auth=auth,
            max_requests=max_requests,
            max_body_bytes=max_body_bytes,
            max_connections=max_connections,
            unix=None if unix is None else os.fspath(unix),
            unix_mode=unix_mode,
            **in_ms(retry=retry),
        )
        if transport not in ("stdio", "http"):
            raise InvalidArgumentError(f'transport must be "stdio" or "http", not {transport!r}')
        if transport == "stdio" and chosen:
            raise InvalidArgumentError(f"stdio has no {', '.join(chosen)}")
        return Listener(self, {"type": transport, **chosen}, self._drain_deadline)

    def asgi(
        self,
        *,
        path: str | None = None,
        stateless: bool | None = None,
        json: bool | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        sse: str | Literal[False] | None = None,
        messages: str | None = None,
        replay_events: int | None = None,
        replay_bytes: int | None = None,
        retry: float | None = None,
        auth: Auth | None = None,
        max_requests: int | None = None,
        max_body_bytes: int | None = None,
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
            sse: where clients of HTTP+SSE (2024-11-05) open their stream; False: they are not served (default:
                every path that ends with sse).
            messages: where those clients post (default: every path that ends with messages).
            replay_events: events that each session keeps for clients whose connection breaks; 0: none (default 1000).
            replay_bytes: how many bytes of them (default 4 MiB).
            retry: seconds after which a client may come back to a stream that was closed early (default 1).
            auth: lets in only who has an access token.
            max_requests: requests without a session at once, until their calls have ended (default 4096).
            max_body_bytes: bytes of the bodies that are read and served at once (default 256 MiB, and never less than
                one message).
        """
        from ..http_mount import ASGIApp

        chosen = camel_case(
            path=path,
            stateless=stateless,
            json=json,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            sse=sse,
            messages=messages,
            replay_events=replay_events,
            replay_bytes=replay_bytes,
            auth=auth,
            max_requests=max_requests,
            max_body_bytes=max_body_bytes,
            **in_ms(retry=retry),
        )
        return ASGIApp(self, chosen, self._drain_deadline)

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tells the client that was sent to a page with this id that what happens there is done."""
        self._tell({"elicitationComplete": elicitation_id})
