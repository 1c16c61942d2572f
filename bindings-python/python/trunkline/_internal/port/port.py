"""A port of the core: its events are handled on one event loop, and calls of `def` handlers on a
pool of threads.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import TrunklineError, result_of
from ..schema.jsonable import passed
from .lifecycle import GRACE_PERIOD, Lifecycle
from .scope import CallScope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import FileDescriptorLike

    from .events import Exchange, Handler, Receive


class Port(Lifecycle):
    """A queue, a bell and an event loop. Connections to a server in this process use the server's
    port, and may belong to another loop than the one that handles the events; results are then
    passed to their loop.
    """

    def register(self, kind: str, json: dict[str, Any], handler: Handler) -> int:
        """Register a feature. Its handler is known before the first call can arrive."""
        if json.get("lane") == "pool" and self.loop is not None:
            self.pool.start()
        with self._lock:
            handle = self.native.register(kind, json)
            self.handlers[handle] = handler
        return handle

    def unregister(self, handle: int) -> None:
        """Remove a feature. Calls that have begun continue, including those still queued."""
        self.native.unregister(handle)
        if self.loop is None:
            # Otherwise the core reports when its last call ends.
            self.handlers.pop(handle, None)
            self.hosts.pop(handle, None)

    def open(
        self, json: dict[str, Any], receive: Receive | None = None, handlers: Mapping[str, Handler] | None = None
    ) -> int:
        """Open a listener or a connection. `receive` gets the server's notifications, and
        `handlers` its requests; `opened` waits for the outcome. Blocking code passes `wait`, and
        fetches the outcome itself.
        """
        loop = None if "wait" in json else self.here()
        self._start_pool(json)
        with self._lock:  # its reply must not be dispatched before the future exists
            handle = self._begin(json)
            if loop is not None:
                self._replies[handle] = loop.create_future()
                self._ends[handle] = loop.create_future()
            if receive is not None:
                self._listeners[handle] = (loop, receive)
            if handlers is not None:
                self.hosts[handle] = handlers
        return handle

    def _begin(self, json: dict[str, Any]) -> int:
        transport = json["transport"]
        if transport["type"] == "fd":
            reader, writer = transport["reader"], transport["writer"]
            return self.native.open_pipe(json["server"], descriptor_of(reader), descriptor_of(writer))
        return self.native.open({**json, "hostDrivenReads": self._bell.drives_pipes})

    async def opened(self, handle: int) -> Any:
        """Wait for the result of an open. Clean up if it fails or the caller stops waiting.

        Raises:
            TrunklineError: If the open failed.
        """
        try:
            return await self.answer(handle)
        except BaseException:
            self._forget(handle)
            if (end := self._ends.pop(handle, None)) is not None:
                self._settle(end, (True, None))  # a concurrent close waits for this
                self._close(handle, 0)
            raise

    def notify(self, handle: int, json: dict[str, Any]) -> None:
        """Send a notification to a connection's server, or a note about it to the core."""
        self._start_pool(json)
        passed(self.native.notify, handle, json)

    def request(self, handle: int, json: dict[str, Any], scope: CallScope | None = None) -> int:
        """Send a request to the server of a connection or the client of a call, for `answer` to
        wait on. The calls that it causes in this process run in `scope`.
        """
        loop = self.here()
        with self._lock:
            ticket = self.send(handle, json, scope)
            self._replies[ticket] = loop.create_future()
        if loop is self.loop:
            self.poll_soon()
        return ticket

    async def answer(self, ticket: int) -> Any:
        """Wait for the reply to an open or a request. Cancelling the task cancels the request.

        Raises:
            TrunklineError: If the core reports an error.
        """
        try:
            reply = await self._replies[ticket]
        except BaseException as cancelled:  # of asyncio, or of another event loop's own
            self.cancel(ticket, str(cancelled))
            raise
        finally:
            self._replies.pop(ticket, None)
        return result_of(*reply)

    def http_request(self, listener: int, head: dict[str, Any], exchange: Exchange) -> int:
        """Pass the head of a web framework's request to a mounted listener. `exchange` gets the
        response.
        """
        self.here()
        with self._lock:
            ticket = self.native.http_request(listener, head, False)
            self._exchanges[ticket] = exchange
            self._scopes[ticket] = CallScope()
        return ticket

    def send(self, handle: int, json: dict[str, Any], scope: CallScope | None) -> int:
        """Send a request. The calls that it causes in this process run in `scope`.

        Raises:
            InvalidArgumentError: If a value has no JSON form.
        """
        if scope is not None:
            json = {**json, "causes": True}
        with self._lock:
            ticket = passed(self.native.request, handle, json)
            if scope is not None:
                self._scopes[ticket] = scope
        return ticket

    def cancel(self, ticket: int, reason: str) -> None:
        """Cancel a request. Has no effect if it is already completed."""
        with suppress(TrunklineError):  # belongs to another process
            self.native.cancel(ticket, reason)

    async def close_mounted(self, handle: int, deadline: float) -> None:
        """End a mounted listener, even if its loop has ended."""
        self._ends[handle] = self.here().create_future()
        await self.close(handle, deadline)

    async def ended(self, handle: int) -> None:
        """Wait until a listener or connection has ended.

        Raises:
            TrunklineError: If it failed.
        """
        import asyncio

        if (end := self._ends.get(handle)) is not None:
            result_of(*await asyncio.shield(end))

    async def close(self, handle: int, deadline: float) -> None:
        """End a listener or connection. Calls in flight get until the deadline (in seconds)."""
        import asyncio

        end = self._ends.get(handle)
        if end is None or end.done() or self._disposed or self.is_inherited:
            return
        if end.get_loop().is_closed():  # nothing can complete it
            end = self._ends[handle] = self.here().create_future()
        self._close(handle, deadline)
        await asyncio.wait({end}, timeout=deadline + GRACE_PERIOD)
        self._ends.pop(handle, None)

    def _start_pool(self, json: dict[str, Any]) -> None:
        if "pool" in json.get("handlers", {}).values():
            self.pool.start()

    def _close(self, handle: int, deadline: float) -> None:
        with suppress(TrunklineError):  # belongs to another process
            self.native.close(handle, round(deadline * 1000))


def descriptor_of(file: FileDescriptorLike) -> int:
    """Return the number of a descriptor, given as such or as a file or socket."""
    return file if isinstance(file, int) else file.fileno()
