"""The ways to serve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import trunkline

from .._generated.option_names import HTTP_OPTIONS, MOUNT_OPTIONS
from ..auth import Auth
from ..errors import BlockingError, InvalidArgumentError
from ..features.registry import Registry, running_loop
from ..listener import Listener
from ..options import Unpack, camel_case, encoded

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike
else:
    FileDescriptorLike: TypeAlias = Any  # of stubs alone

Transport: TypeAlias = Literal["stdio", "http"]
"""The ways in that a server opens itself: standard input and output, or Streamable HTTP."""


class Serving(Registry):
    """Options and lifetime of serving."""

    def run(
        self,
        transport: Transport = "stdio",
        *,
        on_ready: Callable[[Listener], object] | None = None,
        auth: Auth | None = None,
        **options: Unpack[trunkline.HttpOptions],
    ) -> None:
        """Serves until the end: of stdin over stdio, by Ctrl-C or SIGTERM on both transports. Then
        calls in flight may complete within the drain deadline, and `run` returns.

        A handler that blocks the event loop would keep the process alive: where one has done since
        a signal for the whole drain deadline, or over stdio still does two seconds after the end,
        the process exits with status 1.

        Args:
            transport: `"stdio"` or `"http"`.
            on_ready: called with the listener once clients can connect. Without it, stderr gets a
                line with the URL if the program has not set up `logging`.
            auth: lets in only callers with an access token.
            options: see `HttpOptions`.
        """
        import asyncio

        if running_loop() is not None:
            raise BlockingError(
                "run() blocks, and an event loop runs in this thread: use `await server.run_async(...)` or `serve`"
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
        """As `run`, on the running event loop. On the main thread Ctrl-C and SIGTERM end it in good
        order; a second signal has its default effect. Arguments: those of `run`.
        """
        from .foreground import run_until_signal

        listener = self._listener(transport, auth, options, foreground=True)
        await run_until_signal(listener, on_ready)

    def serve(
        self, transport: Transport = "stdio", *, auth: Auth | None = None, **options: Unpack[trunkline.HttpOptions]
    ) -> Listener:
        """Serves on the running event loop.

        `await server.serve(...)` returns when serving has ended. As a context manager it is ready
        inside the block and stops at its end: `async with server.serve("http", port=0) as listener:
        print(listener.url)`.

        Args:
            transport: `"stdio"` or `"http"`; the other arguments are for HTTP.
            auth: lets in only callers with an access token.
            options: see `HttpOptions`. Times are in seconds.
        """
        return self._listener(transport, auth, options)

    def serve_fd(self, reader: FileDescriptorLike, writer: FileDescriptorLike | None = None) -> Listener:
        """Serves descriptors of the program's own on the running event loop, one JSON message a
        line as on standard input and output: a socket that a supervisor has passed on, two pipes,
        a serial line. It is used as the result of `serve`, and ends when the input ends. Not on
        Windows.

        Args:
            reader: the input: a number, or an object with `fileno()`, which stays the program's.
                The library uses a duplicate, which it makes blocking.
            writer: the output. Default: `reader`, for a socket.
        """
        return Listener(self, {"type": "fd", "reader": reader, "writer": reader if writer is None else writer})

    def _listener(
        self, transport: Transport, auth: Auth | None, options: Mapping[str, Any], *, foreground: bool = False
    ) -> Listener:
        chosen = {**encoded(HTTP_OPTIONS, options), **camel_case(auth=auth)}
        if transport not in ("stdio", "http"):
            raise InvalidArgumentError(f'transport must be "stdio" or "http", not {transport!r}')
        if transport == "stdio" and chosen:
            raise InvalidArgumentError(f"stdio has no {', '.join(chosen)}")
        return Listener(self, {"type": transport, **chosen}, foreground=foreground)

    def asgi(self, *, auth: Auth | None = None, **options: Unpack[trunkline.MountOptions]) -> trunkline.ASGIApp:
        """The server as an ASGI application, to be mounted in a web framework or run by an ASGI
        server as it is.

        Nothing starts before the first request; no lifespan hook is needed. Without `path` every
        path is served, for the framework has chosen it already; without `sse` and `messages` every
        path that ends with these words.

        Args:
            auth: lets in only callers with an access token.
            options: see `MountOptions`. Times are in seconds.
        """
        from ..http_mount import ASGIApp

        transport = {"type": "http", "mounted": True, **encoded(MOUNT_OPTIONS, options)}
        # A verifier has no handle yet.
        judged = {"auth": auth.to_json(None)} if auth is not None and auth.verifier is None else {}
        self._check(transport | judged)
        return ASGIApp(self, {**transport, **camel_case(auth=auth)})

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Notifies the client that was sent to a page with this id that the interaction there is
        complete.
        """
        self._tell({"elicitationComplete": elicitation_id})
