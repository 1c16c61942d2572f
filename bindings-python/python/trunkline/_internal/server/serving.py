"""Serving over stdio and HTTP, on descriptors, and as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import trunkline

from .._generated.option_names import HTTP_OPTIONS, MOUNT_OPTIONS
from ..auth import Auth
from ..errors import BlockingError
from ..features.registry import Registry, running_loop
from ..listener import Listener
from ..model.base import present
from ..options import Unpack, encoded

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike
else:
    FileDescriptorLike: TypeAlias = Any  # only in type stubs


class Serving(Registry):
    """Methods that serve."""

    def run(self) -> None:
        """Serve stdin and stdout until the end: of stdin, or after Ctrl-C or SIGTERM. Calls in
        flight may then complete within the drain deadline before `run` returns. Inside an event
        loop, use `await server.serve_stdio().run()`.

        A handler that blocks the event loop can't keep the process alive. The process exits with
        status 1 if a handler blocks for the whole drain deadline after a signal, or, over stdio, is
        still blocking two seconds after the end.
        """
        _run(self.serve_stdio(), None, "run", "serve_stdio()")

    def run_http(
        self,
        *,
        on_ready: Callable[[Listener], object] | None = None,
        auth: Auth | None = None,
        **options: Unpack[trunkline.HttpOptions],
    ) -> None:
        """Serve Streamable HTTP until Ctrl-C or SIGTERM, and otherwise like `run`. Inside an event
        loop, use `await server.serve_http(...).run()`.

        Args:
            on_ready: Called with the listener once clients can connect. Without it, the URL is
                printed to stderr unless the program has configured `logging`.
            auth: Only admits callers with an access token.
            options: See `HttpOptions`. Times are in seconds.
        """
        _run(self._http(self.run_http, auth, options), on_ready, "run_http", "serve_http(...)")

    def serve_stdio(self) -> Listener:
        """Serve stdin and stdout on the running event loop, until stdin ends. Use the result like
        that of `serve_http`. A process can do this only once.
        """
        return Listener(self, {"type": "stdio"})

    def serve_http(self, *, auth: Auth | None = None, **options: Unpack[trunkline.HttpOptions]) -> Listener:
        """Serve Streamable HTTP on the running event loop.

        `await server.serve_http(...)` returns when serving has ended, and `await
        server.serve_http(...).run()` also ends it on Ctrl-C and SIGTERM. As a context manager, the
        listener is ready inside the block and stops on exit: `async with server.serve_http(port=0)
        as listener: print(listener.url)`.

        Args:
            auth: Only admits callers with an access token.
            options: See `HttpOptions`. Times are in seconds.
        """
        return self._http(self.serve_http, auth, options)

    def _http(self, function: Callable[..., Any], auth: Auth | None, options: Mapping[str, Any]) -> Listener:
        """Return a listener with the options of the function."""
        return Listener(self, {"type": "http", **encoded(HTTP_OPTIONS, options, function), **present(auth=auth)})

    def serve_fd(self, reader: FileDescriptorLike, writer: FileDescriptorLike | None = None) -> Listener:
        """Serve on file descriptors, such as a socket passed by a supervisor, two pipes or a serial
        line, with one JSON message per line as over stdio.

        Runs on the running event loop. Use the result like that of `serve_http`; it ends at the end
        of the input. Not available on Windows.

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


def _run(listener: Listener, on_ready: Callable[[Listener], object] | None, function: str, asynchronous: str) -> None:
    """Run the listener on an event loop of its own."""
    import asyncio

    if running_loop() is not None:
        raise BlockingError(
            f"{function}() cannot be called while an event loop is running in this thread: use "
            f"`await server.{asynchronous}.run()`"
        )
    asyncio.run(listener._run(on_ready))
