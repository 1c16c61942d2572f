"""One transport that a server listens on."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from .errors import ClosedError, InvalidArgumentError
from .features.registry import Registry
from .port.lifecycle import close_deadline, current_loop

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import TracebackType

    from typing_extensions import Self

    from .port.port import Port


class Listener:
    """The listener of `Server.serve`: awaited, it serves until the end; as a context manager,
    inside the block.
    """

    def __init__(self, server: Registry, transport: dict[str, Any], *, foreground: bool = False) -> None:
        self._server = server
        # The program ends with it.
        self._foreground = foreground
        # The core takes signals, too: it ends the process while the event loop is blocked.
        self._shares_signals = False
        self._transport = transport
        self._port: Port | None = None
        self._loop: AbstractEventLoop
        self._handle = 0
        self._verifier: int | None = None
        self._result: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """Where clients connect to, once an HTTP listener is ready."""
        return self._fact("url")

    @property
    def host(self) -> str:
        """The address that a ready HTTP listener listens on."""
        return self._fact("host")

    @property
    def port(self) -> int:
        """The port that a ready HTTP listener listens on."""
        return self._fact("port")

    async def start(self) -> None:
        """Begins to serve; returns when clients can connect.

        Raises:
            TransportError: if it cannot, for instance because the port is taken.
        """
        if self._port is not None:
            raise InvalidArgumentError("this listener was started already: call serve() again for another")
        self._result = {}
        self._loop = loop = current_loop()
        port, server = self._server._acquire(loop)
        self._port, self._handle = port, 0
        try:
            if port.loop is not loop:
                raise InvalidArgumentError(
                    "another event loop serves this server already; a SyncClient of it connects after serve()"
                )
            if self._transport["type"] == "stdio":
                # Prints of the lifespan go to standard error already.
                port.native.notify(0, {"holdStdio": True})
            # On Windows the core cannot redirect them.
            with redirect_stdout(sys.stderr) if self._transport["type"] == "stdio" else nullcontext():
                await self._server._ready(port)
            transport, self._verifier = self._server._transport(port, self._transport)
            ending = {"foreground": self._foreground, "signals": self._shares_signals}
            self._handle = port.open({"server": server, "transport": transport, **ending})
            result = await port.opened(self._handle)
            if self._port is not port:
                raise ClosedError("the listener was closed while it was starting")
            self._result = result
        except BaseException:
            if self._port is port:  # otherwise `close` lets go of it
                await self._let_go(port, 0)
            raise

    async def wait(self) -> None:
        """Returns when serving has ended: by `close`, or by itself when stdin ends.

        Raises:
            TransportError: if it ended because something broke.
        """
        if self._port is not None:
            await self._port.ended(self._handle)

    async def close(self, deadline: float | None = None) -> None:
        """Stops: calls in flight get until the deadline (seconds; default: the server's), then they
        are cancelled.
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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
