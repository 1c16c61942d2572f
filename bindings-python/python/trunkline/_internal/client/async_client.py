"""The asyncio client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import trunkline

from .._generated.methods import NEXT
from ..errors import BusyError, ClosedError, InvalidArgumentError, ProtocolError, result_of
from ..failures import finished, logged
from ..options import Unpack
from ..port.lifecycle import close_deadline, current_loop
from ..port.port import Port
from ..requests import OnProgress, Place
from ._async._generated.operations import AsyncOperations
from .connection import Connected, Target

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

    from typing_extensions import Self


# Maximum number of running `async def` callbacks of a client.
_MAX_CALLBACKS = 10_000


class Client(Connected, AsyncOperations):
    """A connection to a server: `async with Client("http://localhost:8000/mcp") as client: ...`.

    The client belongs to the event loop on which it connects. Times are in seconds. Decorators such
    as `@client.on_elicit` register handlers for the server's requests: `async def` handlers run on
    that loop, `def` handlers on threads.

    Callbacks for notifications and progress also run on that loop, in order of arrival; those of a
    call run before it returns. An `async def` callback runs as a task, and later events don't wait
    for it; while 10,000 tasks run, the callback is not called. Exceptions in callbacks are logged
    (`trunkline.client`) and otherwise ignored.

    Args:
        target: The URL of an endpoint, the command of a server to start (a list), a `Server` in
            this process (served by any thread or event loop), an entry of `mcpServers` (a dict), or
            a configuration with one server (a dict or the path of its `.json` file).
        options: See `ConnectOptions`.
    """

    def __init__(self, target: Target, **options: Unpack[trunkline.ConnectOptions]) -> None:
        super().__init__(target, options, blocking=False)
        self._port: Port | None = None
        self._loop: AbstractEventLoop
        self._callbacks: set[Task[None]] = set()

    async def connect(self) -> None:
        """Connect and negotiate. `async with` does this on entry.

        Raises:
            TransportError: If the client cannot connect.
            VersionError: If client and server share no revision.
            TimeoutError: If connecting exceeds the connect timeout.
        """
        if self._port is not None:
            if self._info is None or self.is_connected:
                raise InvalidArgumentError("the client is already connected or connecting")
            await self.close(0)
        self._loop = loop = current_loop()
        place: dict[str, int] = {}
        if (server := self._server) is None:
            port = Port()
            port.attach(loop)
        else:
            # An in-memory connection lives on the server's port.
            port, place["server"] = server._acquire(loop)
        self._port, self._handle = port, 0
        try:
            with self._opening(port, place) as json:
                self._handle = port.open(json, self._receiver(partial(_run, self._callbacks)), self._handlers)
            facts = await port.opened(self._handle)
            if self._port is not port:
                raise ClosedError("the client was closed while it was connecting")
            self._info = facts
        except BaseException:
            if self._port is port:  # otherwise `close` ends it
                self._port = None
                await self._end(port, self._handle, 0)
            raise

    async def close(self, deadline: float | None = None) -> None:
        """Close the connection. `async with` does this on exit. Requests in flight, and an
        unfinished `connect`, fail with ClosedError.

        Args:
            deadline: Seconds for a server that the client started to exit on its own, before it is
                terminated and then killed; default: the option `close_timeout`.
        """
        if (port := self._port) is not None:
            deadline = close_deadline(port.native, self._handle, deadline)
            self._port = self._info = None
            await self._end(port, self._handle, deadline)

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_outcome: object) -> None:
        await self.close()

    async def _ask(
        self, target: Place | None, json: dict[str, Any], on_progress: OnProgress | None = None
    ) -> tuple[Place, Any]:
        """Send a request to the server or about a stream. Return its place and its result."""
        port, handle = self._reached(target)
        scope = self._scope()
        with port.span(handle, json) as span:
            ticket = span.ticket = port.request(handle, json, scope)
            if on_progress is not None:
                self._progress[ticket] = on_progress
            try:
                result = await port.answer(ticket)
            except ProtocolError:
                self._raise_exception(scope)
                raise
            finally:
                self._progress.pop(ticket, None)
            self._raise_exception(scope)
            return (port, ticket), result

    async def _next(self, stream: Place, unread: set[int]) -> Any:
        from asyncio import shield

        port, handle = self._reached(stream)
        replies = port._replies
        ticket = min(unread & replies.keys(), default=0) or port.request(handle, {"method": NEXT})
        unread.discard(ticket)
        try:
            reply = await shield(replies[ticket])
        except BaseException:
            unread.add(ticket)
            raise
        del replies[ticket]
        return result_of(*reply)

    async def _end(self, port: Port, handle: int, deadline: float) -> None:
        if self._server is None:
            await port.stop(deadline)
            return
        try:
            await port.close(handle, deadline)
        finally:
            await self._server._release(port, self._loop, deadline)

    def __del__(self) -> None:
        # Otherwise the loop keeps the port, and with it a server that the client has started.
        if (port := self._port) is not None and self._server is None and (loop := port.serving_loop) is not None:
            loop.call_soon_threadsafe(port.dispose)


def _run(tasks: set[Task[None]], callback: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    import asyncio

    with logged("client", "a callback"):
        result = callback(*arguments)
        if asyncio.iscoroutine(result):
            if len(tasks) >= _MAX_CALLBACKS:
                result.close()
                raise BusyError(f"dropped an event: {_MAX_CALLBACKS} callbacks are running")
            task: Task[None] = asyncio.ensure_future(finished(result, "client", "a callback"))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
