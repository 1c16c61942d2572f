"""Serving over stdio and HTTP, on descriptors, and as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import trunkline

from .._generated.option_names import HTTP_OPTIONS, MOUNT_OPTIONS
from ..auth import Auth
from ..errors import BlockingError, InvalidArgumentError
from ..features.registry import Registry, running_loop
from ..listener import Listener
from ..model.base import present
from ..options import Unpack, encoded

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike
else:
    FileDescriptorLike: TypeAlias = Any  # only in type stubs

Transport: TypeAlias = Literal["stdio", "http"]
"""The transports that a server opens itself: standard input and output, or Streamable HTTP."""


class Serving(Registry):
    """Methods that serve."""

    def run(
        self,
        transport: Transport = "stdio",
        *,
        on_ready: Callable[[Listener], object] | None = None,
        auth: Auth | None = None,
        **options: Unpack[trunkline.HttpOptions],
    ) -> None:
        """Serve until the end: of stdin over stdio, or after Ctrl-C or SIGTERM on either transport.
        Calls in flight may then complete within the drain deadline before `run` returns.

        A handler that blocks the event loop can't keep the process alive. The process exits with
        status 1 if a handler blocks for the whole drain deadline after a signal, or, over stdio, is
        still blocking two seconds after the end.

        Args:
            transport: `"stdio"` or `"http"`.
            on_ready: Called with the listener once clients can connect. Without it, the URL is
                printed to stderr unless the program has configured `logging`.
            auth: Only admits callers with an access token.
            options: See `HttpOptions`.
        """
        import asyncio

        if running_loop() is not None:
            raise BlockingError(
                "run() cannot be called while an event loop is running in this thread: use "
                "`await server.run_async(...)` or `serve`"
            )
        asyncio.run(self.run_async(transport, on_ready=on_ready, auth=auth, **options))

    async def run_async(
        self,
        transport: Transport = "stdio",
        *,
        on_ready: Callable[[Listener], object] | None = None,
        auth: Auth | None = None,
        **options: Unpack[trunkline.HttpOptions],
    ) -> None:
        """Serve on the running event loop, with the arguments of `run`. On the main thread, Ctrl-C
        and SIGTERM shut down gracefully; a second signal has its default effect.
        """
        from .foreground import run_until_signal

        await run_until_signal(self.serve(transport, auth=auth, **options), on_ready)

    def serve(
        self, transport: Transport = "stdio", *, auth: Auth | None = None, **options: Unpack[trunkline.HttpOptions]
    ) -> Listener:
        """Serve on the running event loop.

        `await server.serve(...)` returns when serving has ended. As a context manager, the listener
        is ready inside the block and stops on exit: `async with server.serve("http", port=0) as
        listener: print(listener.url)`.

        Args:
            transport: `"stdio"` or `"http"`; the other arguments are for HTTP.
            auth: Only admits callers with an access token.
            options: See `HttpOptions`. Times are in seconds.
        """
        chosen = encoded(HTTP_OPTIONS, options, self.run) | present(auth=auth)
        if transport not in ("stdio", "http"):
            raise InvalidArgumentError(f'transport must be "stdio" or "http", not {transport!r}')
        if transport == "stdio" and chosen:
            raise InvalidArgumentError(f"stdio does not take {', '.join(chosen)}")
        return Listener(self, {"type": transport, **chosen})

    def serve_fd(self, reader: FileDescriptorLike, writer: FileDescriptorLike | None = None) -> Listener:
        """Serve on file descriptors, such as a socket passed by a supervisor, two pipes or a serial
        line, with one JSON message per line as over stdio.

        Runs on the running event loop. Use the result like that of `serve`; it ends at the end of
        the input. Not available on Windows.

        Args:
            reader: The input: a descriptor, or an object with `fileno()`. The caller keeps it; the
                library uses a duplicate and sets it to blocking mode.
            writer: The output. Default: `reader`, for a socket.
        """
        return Listener(self, {"type": "fd", "reader": reader, "writer": reader if writer is None else writer})

    def asgi(self, *, auth: Auth | None = None, **options: Unpack[trunkline.MountOptions]) -> trunkline.ASGIApp:
        """Return the server as an ASGI application, to mount in a web framework or run on an ASGI
        server.

        Nothing starts before the first request, and no lifespan hook is needed. Without `path`, the
        application serves every path, because the framework has already routed the request; without
        `sse` and `messages`, those endpoints are every path that ends with these words.

        Args:
            auth: Only admits callers with an access token.
            options: See `MountOptions`. Times are in seconds.
        """
        from ..http_mount import ASGIApp

        transport = {"type": "http", "mounted": True, **encoded(MOUNT_OPTIONS, options, self.asgi)}
        # The verifier has no handle yet.
        judged = {"auth": auth.to_json(None)} if auth is not None and auth.verifier is None else {}
        self._bind().native.check({"server": self._handle, "transport": transport | judged})
        return ASGIApp(self, transport | present(auth=auth))

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Notify the client that the user has finished with the page with this id."""
        self._tell({"elicitationComplete": elicitation_id})
