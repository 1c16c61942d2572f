"""The blocking client."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, cast

import trunkline

from .. import _native
from .._generated.waist import CALL, LOG, NOTIFICATION, TELEMETRY
from ..errors import BlockingError, ClosedError, InvalidArgumentError, ProtocolError, TrunklineError, from_object
from ..options import Unpack
from ..port.lifecycle import close_deadline, end_port, remember_native
from ..port.log import write_logs
from ..port.port import send_request
from ..requests import OnProgress
from ._sync._generated.operations import SyncOperations
from .connection import Connected, Connection, Target, callback_errors
from .transport import TransportCalls

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..port.port import Port
    from ..port.scope import CallScope
    from ..server.server import Server

# How often a waiting call looks for the core's log records (the core enforces timeouts) ...
_WAIT_MS: Final = 1000
# ... and for events that a callback receives.
_CALLBACK_MS: Final = 20
# Events per batch, and batches in a row: more than can precede a reply.
_BATCH: Final = 256
_BATCHES: Final = 200
# How long to wait until the loop of an in-process server has passed on what preceded a reply.
_FLUSH_SECONDS: Final = 1.0


class SyncClient(SyncOperations, Connected):
    """A connection to a server for blocking code: `with SyncClient(["python", "weather.py"]) as
    client: ...`.

    Any thread may use it. It has no background thread: callbacks for notifications and progress run
    on the calling thread, during calls of its methods, in order of arrival. Exceptions in callbacks
    are logged (`trunkline.client`) and otherwise ignored. It takes the arguments of `Client`;
    callbacks are ordinary functions.
    """

    def __init__(self, target: Target, **options: Unpack[trunkline.ConnectOptions]) -> None:
        self._connection = Connection(target, options, blocking=True)
        # Held while one thread opens or takes away the connection.
        self._state = threading.Lock()
        self._native: _native.Port | None = None
        self._handle = 0
        self._progress: dict[int, OnProgress] = {}
        self._receive = self._connection.listen(_run, self._progress)
        # Held while events are delivered, to keep them in order; re-entered when a callback makes a
        # call.
        self._draining = threading.RLock()
        # For an in-process server: its port, and the events received there.
        self._server_port: Port | None = None
        self._inbox: deque[tuple[str, Any, int]] = deque()
        # Requests of the server that wait for a thread: operation, params, ticket.
        self._asked: deque[tuple[str, Any, int]] = deque()
        self._calls: TransportCalls | None = None

    def connect(self) -> None:
        """Connect and negotiate. `with` does this on entry.

        Raises:
            TransportError: If the client cannot connect.
            VersionError: If client and server share no revision.
            TimeoutError: If connecting exceeds the connect timeout.
        """
        self._refuse_deadlock()
        if self._connection.info is not None and not self.is_connected:
            self.close(0)
        with self._state:
            if self._native is not None:
                raise InvalidArgumentError("the client is already connected or connecting")
            native = self._native = self._open()
        try:
            facts = self._wait(native, self._handle)
            with self._state:
                if self._native is not native:
                    raise ClosedError("the client was closed while it was connecting")
                self._connection.opened(facts, native, self._handle)
        except BaseException:
            if self._taken(native):  # otherwise `close` ends it
                self._end(native, 0)
            raise

    def close(self, deadline: float | None = None) -> None:
        """Close the connection. `with` does this on exit. Requests in flight, and an unfinished
        `connect` on another thread, fail with ClosedError.

        Args:
            deadline: Seconds for a server that the client started to exit on its own, before it is
                terminated and then killed; default: the option `close_timeout`.
        """
        native = self._native
        if native is not None:
            deadline = close_deadline(native, self._handle, deadline)
            if self._taken(native):
                self._end(native, deadline)

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()

    def _ask(self, target: int | None, json: dict[str, Any], on_progress: OnProgress | None = None) -> tuple[int, Any]:
        """Send a request to the server or about a subscription. Return its ticket and result."""
        native, connection = self._connected_native(), self._connection
        handle = self._handle if target is None else target
        with connection.span(native, handle, json) as span:
            scope = connection.scope()
            # Progress must not arrive before its callback is known.
            with nullcontext() if on_progress is None else self._draining:
                ticket = span.ticket = self._send(native, handle, {**json, "wait": True}, scope)
                if on_progress is not None:
                    self._progress[ticket] = on_progress
            try:
                result = self._wait(native, ticket, on_progress is not None)
            except ProtocolError:
                connection.raise_exception(scope)
                raise
            finally:
                self._progress.pop(ticket, None)
            connection.raise_exception(scope)
            return ticket, result

    def _send(self, native: _native.Port, handle: int, json: dict[str, Any], scope: CallScope | None) -> int:
        if scope is None or self._server_port is None:
            return send_request(native, handle, json)
        return self._server_port.request_blocking(handle, json, scope)

    def _cancel(self, ticket: int) -> None:
        if self._native is not None:
            with suppress(TrunklineError):  # belongs to another process
                self._native.cancel(ticket, "")

    def _note(self, json: dict[str, Any]) -> None:
        native = self._connected_native()
        self._connection.observe(native, self._handle, json)
        (self._server_port or native).notify(self._handle, json)

    def _connected_native(self) -> _native.Port:
        native = self._native
        if native is None:
            raise ClosedError("the client is not connected: use `with`, or call connect() first")
        self._refuse_deadlock()
        if (server := self._connection.server) is not None and self._server_port is not None:
            server._keep_served(self._server_port)
        return native

    def _wait(self, native: _native.Port, ticket: int, with_progress: bool = False) -> Any:
        """Return the result of a request or an open, delivering events while waiting."""
        look_ms = _CALLBACK_MS if with_progress or self._connection.has_callbacks else _WAIT_MS
        try:
            while (reply := native.wait(ticket, look_ms)) is None:
                self._drain(native)
            self._drain(native, to_the_end=with_progress)
        except BaseException:  # such as Ctrl-C, or a callback that raised
            with suppress(TrunklineError):  # just answered, or closed
                native.cancel(ticket, "")
            raise
        ok, body = reply
        if not ok:
            raise from_object(body)
        return body

    def _drain(self, native: _native.Port, *, to_the_end: bool = False) -> None:
        if not self._draining.acquire(blocking=to_the_end):
            return  # another thread is delivering
        try:
            if self._server_port is not None:
                self._drain_inbox(to_the_end)
                return
            for _ in range(_BATCHES):
                events = native.drain("queue", _BATCH, 0)
                for kind, ticket, _, _, name, body, _, _ in events:
                    if kind == NOTIFICATION:
                        self._receive(name, body, ticket)
                    elif kind == CALL:
                        self._asked.append((name, body, ticket))
                    elif kind == LOG:
                        write_logs(body)
                    elif kind == TELEMETRY and self._connection.telemetry is not None:
                        self._connection.telemetry.receive(body)
                if len(events) < _BATCH:
                    break
        finally:
            self._draining.release()
        # Without the lock: a user may take minutes to answer, and other threads must not wait.
        while True:
            try:
                asked = self._asked.popleft()
            except IndexError:
                return
            self._answer_here(native, *asked)

    def _answer_here(self, native: _native.Port, operation: str, params: Any, ticket: int) -> None:
        handler, calls = self._connection.handlers.get(operation), self._calls
        if handler is not None and calls is not None and not native.cancelled(ticket):
            context, telemetry = copy_context(), self._connection.telemetry
            if telemetry is not None:
                context = telemetry.around_call(native, ticket, context)
            context.run(handler.answer_in_thread, cast("Port", calls), ticket, params, None)

    def _drain_inbox(self, to_the_end: bool) -> None:
        port = self._server_port
        if to_the_end and port is not None and port.serving_loop is not None:
            # Notifications that preceded the reply may still be queued on the loop.
            handled = threading.Event()
            port.drain_elsewhere(handled.set)
            handled.wait(_FLUSH_SECONDS)
        while self._inbox:
            self._receive(*self._inbox.popleft())

    def _open(self) -> _native.Port:
        """Start to connect, and return the port that the connection is on."""
        if (server := self._connection.server) is not None:
            return self._open_in_memory(server)
        native = _native.Port()
        remember_native(native)
        try:
            self._calls = TransportCalls(native, self._connection.handlers)
            with self._connection.opening(native) as json:
                self._calls.telemetry = self._connection.telemetry
                self._handle = native.open({**json, "wait": True})
        except BaseException:
            end_port(native, 0)
            raise
        return native

    def _open_in_memory(self, server: Server) -> _native.Port:
        port, server_handle = server._acquire(None)
        try:
            if port.lifespan is not None and port.loop is not None:
                port.lifespan.open(port.loop, port.context).result()
            with self._connection.opening(port.native, port, server_handle) as json:
                self._handle = port.open({**json, "wait": True}, self._receive_elsewhere, self._connection.handlers)
        except BaseException:
            server._release_blocking(port, 0)
            raise
        self._server_port = port
        return port.native

    def _taken(self, native: _native.Port) -> bool:
        """Take the connection away. Return True if there was one: the caller must then end it."""
        with self._state:
            if self._native is not native:
                return False
            self._native = self._connection.info = None
            return True

    def _receive_elsewhere(self, method: str, params: Any, ticket: int) -> None:
        self._inbox.append((method, params, ticket))

    def _refuse_deadlock(self) -> None:
        from ..features.registry import running_loop

        server = self._connection.server
        if server is not None and (here := running_loop()) is not None and server._serving_loop() is here:
            raise BlockingError("the server runs on this thread's event loop, which this call blocks: use Client")

    def _end(self, native: _native.Port, deadline: float) -> None:
        server, port, self._server_port = self._connection.server, self._server_port, None
        if server is None:
            end_port(native, deadline)
            self._calls = None
        elif port is not None:
            port.close_blocking(self._handle)
            server._release_blocking(port, deadline)


def _run(callback: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    result = None
    with callback_errors():
        result = callback(*arguments)
    if hasattr(result, "__await__"):
        if hasattr(result, "close"):
            result.close()
        raise InvalidArgumentError("callbacks of a SyncClient must be ordinary functions, not async ones")
