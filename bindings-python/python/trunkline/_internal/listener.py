"""A transport on which a server listens."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from .errors import ClosedError, InvalidArgumentError
from .features.registry import Registry
from .port.lifecycle import close_deadline, current_loop

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from typing_extensions import Self

    from .port.port import Port


class Listener:
    """The listener returned by `Server.serve_http` and its siblings. Await it to serve until the
    end, use it as a context manager to serve inside the block, or call `run` to also end on a
    signal.
    """

    def __init__(self, server: Registry, transport: dict[str, Any]) -> None:
        self._server = server
        self._transport = transport
        self._port: Port | None = None
        self._loop: AbstractEventLoop
        self._handle = 0
        self._verifier: int | None = None
        self._result: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """The URL that clients connect to, once an HTTP listener is ready."""
        return self._fact("url")

    @property
    def host(self) -> str:
        """The address that an HTTP listener listens on, once it is ready."""
        return self._fact("host")

    @property
    def port(self) -> int:
        """The port that an HTTP listener listens on, once it is ready."""
        return self._fact("port")

    async def start(self) -> None:
        """Start to serve. Returns when clients can connect.

        Raises:
            TransportError: If the listener cannot start, for instance because the port is in use.
        """
        await self._start({})

    async def _start(self, ending: dict[str, bool]) -> None:
        """Start to serve. `ending` says how the program ends with this listener, if it does."""
        if self._port is not None:
            raise InvalidArgumentError("this listener was already started: call serve_http() again for another one")
        self._result = {}
        self._loop = loop = current_loop()
        port, server = self._server._acquire(loop)
        self._port, self._handle = port, 0
        try:
            if port.loop is not loop:
                raise InvalidArgumentError(
                    "another event loop already serves this server; connect a SyncClient to it after `start()`"
                )
            transport, self._verifier = self._server._transport(port, self._transport)
            self._handle = port.open({"server": server, "transport": transport, **ending})
            if sys.platform == "win32" and transport["type"] == "stdio":
                leave_stdio()
            result = await port.opened(self._handle)
            if transport["type"] == "fd" and ending.get("signals"):  # descriptors are opened without `ending`
                port.notify(self._handle, {"foreground": True})
            if self._port is not port:
                raise ClosedError("the listener was closed while it was starting")
            self._result = result
        except BaseException:
            if self._port is port:  # otherwise `close` releases it
                await self._let_go(port, 0)
            raise

    async def wait(self) -> None:
        """Wait until serving ends: after `close`, or at the end of stdin.

        Raises:
            TransportError: If the listener failed.
        """
        if self._port is not None:
            await self._port.ended(self._handle)

    async def run(self) -> None:
        """Serve in the foreground, and close: start, unless it has started, and serve until the end
        or a signal. On the main thread, Ctrl-C and SIGTERM shut down gracefully; a second signal
        has its default effect.

        Raises:
            TransportError: If the listener cannot start, or fails.
        """
        await self._run(None)

    async def _run(self, on_ready: Callable[[Listener], object] | None) -> None:
        from .port.foreground import ending_signals, until

        with ending_signals() as (signalled, are_handled):
            # The core also handles signals: it ends the process if the event loop is blocked.
            if self._port is None:
                await self._start({"foreground": True, "signals": are_handled})
                on_ready = on_ready or Listener._print_url
            elif are_handled:
                self._port.notify(self._handle, {"foreground": True})
            try:
                if on_ready is not None:
                    on_ready(self)
                await until(signalled, self.wait())
            finally:
                await self.close()

    def _print_url(self) -> None:
        """Print the URL to stderr, because stdout may carry the protocol, unless the program has
        configured logging, which then records it.
        """
        from .port.unconfigured_log import is_configured

        # Under pythonw there is no stderr.
        if self._transport["type"] == "http" and sys.stderr and not is_configured("trunkline.server.http"):
            print(f"trunkline: serving {self.url}", file=sys.stderr, flush=True)

    async def close(self, deadline: float | None = None) -> None:
        """Stop serving. Calls in flight get until the deadline (in seconds; default: the server's)
        and are then cancelled.
        """
        port = self._port
        if port is None:
            return
        deadline = close_deadline(port.native, self._server._handle, deadline)
        await port.close(self._handle, deadline)
        if self._port is not None:
            await self._let_go(port, deadline)

    async def _let_go(self, port: Port, deadline: float) -> None:
        self._port = None
        verifier, self._verifier = self._verifier, None
        self._server._forget(port, verifier)
        await self._server._release(port, self._loop, deadline)

    def __repr__(self) -> str:
        return f"Listener({self._result.get('url', self._transport['type'])!r})"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_outcome: object) -> None:
        await self.close()

    def _fact(self, name: str) -> Any:
        if name in self._result:
            return self._result[name]
        why = "it is not ready yet" if self._transport["type"] == "http" else "it does not listen for HTTP"
        raise InvalidArgumentError(f"the listener has no {name}: {why}")

    def __await__(self) -> Generator[Any, None, None]:
        return self._serve().__await__()

    async def _serve(self) -> None:
        async with self:
            await self.wait()


def leave_stdio() -> None:
    """Redirect the descriptors of stdin and stdout, as the core does on other systems: it has
    handles of its own. A child process of a handler would also wait for the read of the core.
    """
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # no stderr, as under pythonw
        os.dup2(null, 1)
    os.close(null)
