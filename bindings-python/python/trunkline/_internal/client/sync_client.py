"""The blocking client."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import trunkline

from ..errors import BlockingError, ClosedError, InvalidArgumentError, ProtocolError, result_of
from ..failures import logged
from ..forked_locks import free_in_child
from ..options import Unpack
from ..port.blocking import BlockingPort
from ..port.lifecycle import close_deadline
from ..requests import OnProgress, Place
from ._sync._generated.operations import SyncOperations
from .connection import Connected, Target

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..port.port import Port

# A waiting call delivers the core's log records (the core enforces timeouts) ...
_LOG_POLL_INTERVAL_MS: Final = 1000
# ... and events, if a callback receives them.
_CALLBACK_POLL_INTERVAL_MS: Final = 20


class SyncClient(Connected, SyncOperations):
    """A connection to a server for blocking code: `with SyncClient(["python", "weather.py"]) as
    client: ...`.

    Any thread may use it. It has no background thread: callbacks for notifications and progress run
    on the calling thread, during calls of its methods, in order of arrival. Exceptions in callbacks
    are logged (`trunkline.client`) and otherwise ignored. It takes the arguments of `Client`;
    callbacks are ordinary functions.
    """

    def __init__(self, target: Target, **options: Unpack[trunkline.ConnectOptions]) -> None:
        super().__init__(target, options, blocking=True)
        # Held while one thread opens or takes away the connection.
        self._state = threading.Lock()
        self._port: BlockingPort | None = None
        # Held while events are delivered, to keep them in order; re-entered when a callback makes a
        # call.
        self._draining = threading.RLock()
        free_in_child(self, "_state", "_draining")
        # The port of a server in this process.
        self._server_port: Port | None = None

    def connect(self) -> None:
        """Connect and negotiate. `with` does this on entry.

        Raises:
            TransportError: If the client cannot connect.
            VersionError: If client and server share no revision.
            TimeoutError: If connecting exceeds the connect timeout.
        """
        self._refuse_deadlock()
        if self._info is not None and not self.is_connected:
            self.close(0)
        with self._state:
            if self._port is not None:
                raise InvalidArgumentError("the client is already connected or connecting")
            port = self._port = self._open()
        try:
            facts = self._wait(port, self._handle)
            with self._state:
                if self._port is not port:
                    raise ClosedError("the client was closed while it was connecting")
                self._info = facts
        except BaseException:
            if self._taken(port):  # otherwise `close` ends it
                self._end(port, 0)
            raise

    def close(self, deadline: float | None = None) -> None:
        """Close the connection. `with` does this on exit. Requests in flight, and an unfinished
        `connect` on another thread, fail with ClosedError.

        Args:
            deadline: Seconds for a server that the client started to exit on its own, before it is
                terminated and then killed; default: the option `close_timeout`.
        """
        if (port := self._port) is not None:
            deadline = close_deadline(port.native, self._handle, deadline)
            if self._taken(port):
                self._end(port, deadline)

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()

    def _ask(
        self, target: Place | None, json: dict[str, Any], on_progress: OnProgress | None = None
    ) -> tuple[Place, Any]:
        """Send a request to the server or about a stream. Return its place and its result."""
        port, handle = self._reached(target)
        scope = self._scope()
        with port.span(handle, json) as span:
            # Progress must not arrive before its callback is known.
            with nullcontext() if on_progress is None else self._draining:
                ticket = span.ticket = port.send(handle, {**json, "wait": True}, scope)
                if on_progress is not None:
                    self._progress[ticket] = on_progress
            try:
                result = self._wait(port, ticket, on_progress is not None)
            except ProtocolError:
                self._raise_exception(scope)
                raise
            finally:
                self._progress.pop(ticket, None)
            self._raise_exception(scope)
            return (port, ticket), result

    def _connected_port(self) -> BlockingPort:
        port = super()._connected_port()
        self._refuse_deadlock()
        if (server := self._server) is not None and self._server_port is not None:
            server._keep_served(self._server_port)
        return port

    def _wait(self, port: BlockingPort, ticket: int, with_progress: bool = False) -> Any:
        """Return the result of a request or an open, delivering events while waiting."""
        has_callbacks = with_progress or self._on_notification or self._listeners or self._handlers
        poll_ms = _CALLBACK_POLL_INTERVAL_MS if has_callbacks else _LOG_POLL_INTERVAL_MS
        try:
            while (reply := port.native.wait(ticket, poll_ms)) is None:
                self._drain(port)
            self._drain(port, to_the_end=with_progress)
        except BaseException:  # such as Ctrl-C, or a callback that raised
            port.cancel(ticket, "")
            raise
        return result_of(*reply)

    def _drain(self, port: BlockingPort, *, to_the_end: bool = False) -> None:
        if not self._draining.acquire(blocking=to_the_end):
            return  # another thread is delivering
        try:
            port.handle_events()
        finally:
            self._draining.release()
        # Without the lock: a user may take minutes to answer, and other threads must not wait.
        port.answer_requests()

    def _open(self) -> BlockingPort:
        """Start to connect, and return the port that the connection is on."""
        port, place = BlockingPort(), dict[str, int]()
        try:
            if (server := self._server) is not None:
                self._server_port, handle = server._acquire(None)
                place = {"server": handle, "port": self._server_port.native.describe(0)["number"]}
            with self._opening(port, place) as json:
                self._handle = port.open({**json, "wait": True}, self._receiver(_run), self._handlers)
        except BaseException:
            self._end(port, 0)
            raise
        return port

    def _taken(self, port: BlockingPort) -> bool:
        """Take the connection away. Return True if there was one: the caller must then end it."""
        with self._state:
            if self._port is not port:
                return False
            self._port = self._info = None
            return True

    def _refuse_deadlock(self) -> None:
        from ..features.registry import running_loop

        server = self._server
        if server is not None and (here := running_loop()) is not None and server._serving_loop() is here:
            raise BlockingError("the server runs on this thread's event loop, which this call blocks: use Client")

    def _end(self, port: BlockingPort, deadline: float) -> None:
        server, server_port, self._server_port = self._server, self._server_port, None
        if server is not None and server_port is not None:
            server._keep_served(server_port)  # the end of the connection waits for that of the lifespan
        port.end_blocking(deadline if server is None else 0)
        if server is not None and server_port is not None:
            server._release_blocking(server_port, deadline)


def _run(callback: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    result = None
    with logged("client", "a callback"):
        result = callback(*arguments)
    if hasattr(result, "__await__"):
        if hasattr(result, "close"):
            result.close()
        raise InvalidArgumentError("callbacks of a SyncClient must be ordinary functions, not async ones")
