"""A port of the core: its events are handled on one event loop, and calls of `def` handlers by a pool of threads."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from inspect import CORO_CREATED, getcoroutinestate
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

from . import _native
from .bell import make_bell
from .errors import BlockingCallError, ConnectionClosed, ForkedError, from_object, reraise
from .jsonable import jsonable
from .logs import write_logs
from .pool import Pool

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, Task
    from collections.abc import Callable, Coroutine
    from contextvars import Context as ContextVars

    from .asgi import Exchange

    # method, params, ticket of the request or 0
    Receive: TypeAlias = Callable[[str, Any, int], None]

_T = TypeVar("_T")

# The numbers of the event kinds in docs/bridge.md.
CALL: Final = 0
CANCEL: Final = 1
REPLY: Final = 2
NOTIFICATION: Final = 3
SESSION_CLOSED: Final = 4
LOG: Final = 5
STOPPED: Final = 6
HTTP_HEAD: Final = 7
HTTP_CHUNK: Final = 8
HTTP_END: Final = 9
WATCH: Final = 10
FREED: Final = 11

# Events taken at once; with more, the loop gets to run other things in between.
_BATCH: Final = 256
# Added to a deadline of the core before the host stops believing in it.
_GRACE: Final = 10.0


class Handler(Protocol):
    """What answers the calls of one registered thing."""

    @property
    def in_thread(self) -> bool:
        """Whether its calls go to the pool."""
        ...

    async def answer(self, port: Port, ticket: int, body: Any) -> None:
        """Answers on the event loop."""
        ...

    def answer_in_thread(self, port: Port, ticket: int, body: Any, context: ContextVars) -> None:
        """Answers on a thread of the pool."""
        ...


class Port:
    """Queue, bell and event loop. Connections to a server of this process live on the server's port and may belong to
    another loop than the one that handles the events: what they wait for is then handed over.
    """

    def __init__(self, max_threads: int | None = None) -> None:
        self.pid = os.getpid()
        self._bell = make_bell()
        self.native = self._bell.make_port()
        self.handlers: dict[int, Handler] = {}
        # Connection -> its loop, and what receives its notifications there; without a loop, on any thread.
        self._listeners: dict[int, tuple[AbstractEventLoop | None, Receive]] = {}
        self.loop: AbstractEventLoop | None = None
        self.pool = Pool(self, max_threads)
        self._lock = threading.RLock()
        # Found once, because importing asyncio is slow at first and never free.
        self._running_loop: Callable[[], AbstractEventLoop | None]
        self._tasks: dict[int, Task[None]] = {}
        self._replies: dict[int, Future[tuple[bool, Any]]] = {}
        self._ends: dict[int, Future[tuple[bool, Any]]] = {}
        self._exchanges: dict[int, Exchange] = {}
        # Pipes that the loop reads itself, and their descriptors, which are this port's own.
        self._lent: dict[int, int] = {}
        self._lingering = False
        self._stopped: Future[None] | None = None
        self._disposed = False
        _remember(self)

    def register(self, kind: str, json: dict[str, Any], handler: Handler) -> int:
        """Registers a thing that is called; its handler is known before the first call can arrive."""
        if json.get("lane") == "pool" and self.loop is not None:
            self.pool.start()
        with self._lock:
            handle = self.native.register(kind, json)
            self.handlers[handle] = handler
        return handle

    def unregister(self, handle: int) -> None:
        """Takes a thing back; calls of it that have begun already, even if they still wait for their turn, go on."""
        self.native.unregister(handle)
        if self.loop is None:
            self.handlers.pop(handle, None)  # otherwise the core says when its last call is over

    def attach(self, loop: AbstractEventLoop) -> None:
        """Lets `loop` handle the events, unless another loop that is still running does."""
        from asyncio import _get_running_loop

        with self._lock:
            self._running_loop = _get_running_loop
            if self.loop is not None and (self.loop is loop or self.loop.is_running()):
                return
            self.pool.prepare()
            self.move(loop)

    def move(self, loop: AbstractEventLoop) -> None:
        """Lets `loop` handle the events from now on. To be called on the loop that did so far, if that runs."""
        with self._lock:
            self._detach()
            self.loop = loop
        if self._running_loop() is loop:
            self._watch(loop)
        else:
            loop.call_soon_threadsafe(self._watch, loop)

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child and the port its parent's. What that one's loop watches is shared with it."""
        return self.pid != os.getpid()

    @property
    def serving_loop(self) -> AbstractEventLoop | None:
        """The loop that handles the events, if it runs. In a forked child the parent's loop only looks as if it did."""
        loop = self.loop
        return loop if loop is not None and loop.is_running() and not self.is_inherited else None

    def open(self, json: dict[str, Any], receive: Receive | None = None) -> int:
        """Opens a listener or a connection whose notifications go to `receive`; `opened` waits for the outcome."""
        loop = self._here()
        try:
            with self._lock:  # its reply must not be dispatched before someone waits for it
                handle = self.native.open({**json, "driven": self._bell.drives_pipes})
                self._replies[handle] = loop.create_future()
                self._ends[handle] = loop.create_future()
                if receive is not None:
                    self._listeners[handle] = (loop, receive)
        except _native.NativeError as error:
            reraise(error)
        return handle

    async def opened(self, handle: int) -> Any:
        """The result of an open. If there is none, or nobody waits for it any more, nothing is left of it.

        Raises:
            TrunklineError: why there is none.
        """
        try:
            return await self.reply(handle)
        except BaseException:
            self._listeners.pop(handle, None)
            if (end := self._ends.pop(handle, None)) is not None:
                self._settle(end, (True, None))  # who closes it meanwhile waits for this
                self._close(handle, 0)
            raise

    def open_blocking(self, json: dict[str, Any], receive: Receive) -> int:
        """Opens a connection for blocking code, which fetches the outcome itself; `receive` is called on any thread."""
        with self._lock:
            handle = self.native.open({**json, "wait": True})
            self._listeners[handle] = (None, receive)
        return handle

    def close_blocking(self, handle: int) -> None:
        """Ends a connection of blocking code at once; nothing of it is heard any more."""
        self._listeners.pop(handle, None)
        self._close(handle, 0)

    def request(self, handle: int, json: dict[str, Any]) -> int:
        """Sends a request to the server of a connection or the client of a call; `answer` waits for the answer."""
        loop = self._here()
        try:
            with self._lock:
                ticket = send_request(self.native, handle, json)
                self._replies[ticket] = loop.create_future()
        except _native.NativeError as error:
            reraise(error)
        if self._lent and loop is self.loop:
            self._linger_soon()
        return ticket

    async def reply(self, ticket: int) -> Any:
        """The reply to an open or a request.

        Raises:
            TrunklineError: what the core reported instead.
        """
        try:
            ok, body = await self._replies[ticket]
        finally:
            self._replies.pop(ticket, None)
        if not ok:
            raise from_object(body)
        return body

    async def answer(self, ticket: int) -> Any:
        """The result of a request; cancelling the task cancels the request.

        Raises:
            TrunklineError: what the core reported instead.
        """
        try:
            return await self.reply(ticket)
        except Exception:
            raise
        except BaseException as cancelled:  # of asyncio, or of another event loop's own
            self.cancel(ticket, str(cancelled))
            raise

    def http_request(self, listener: int, head: dict[str, Any], exchange: Exchange) -> int:
        """Gives the head of a web framework's request to a mounted listener; the response goes to `exchange`."""
        self._here()
        try:
            with self._lock:
                ticket = self.native.http_request(listener, head, False)
                self._exchanges[ticket] = exchange
        except _native.NativeError as error:
            reraise(error)
        return ticket

    def cancel(self, ticket: int, reason: str) -> None:
        """Ends a request; one that is done already is no error."""
        try:
            self.native.cancel(ticket, reason)
        except _native.NativeError:
            pass  # another process's

    async def close_mounted(self, handle: int, deadline: float) -> None:
        """Ends a mounted listener, which may have been opened on a loop that is gone."""
        self._ends[handle] = self._here().create_future()
        await self.close(handle, deadline)

    async def ended(self, handle: int) -> None:
        """Returns when a listener or connection has ended.

        Raises:
            TrunklineError: if it ended because something broke.
        """
        import asyncio

        end = self._ends.get(handle)
        if end is None:
            return
        ok, body = await asyncio.shield(end)
        if not ok:
            raise from_object(body)

    async def close(self, handle: int, deadline: float) -> None:
        """Ends a listener or connection; calls in flight get until the deadline (seconds)."""
        import asyncio

        end = self._ends.get(handle)
        if end is None or end.done() or self.is_inherited:
            return
        self._close(handle, deadline)
        await asyncio.wait({end}, timeout=deadline + _GRACE)
        self._ends.pop(handle, None)

    def _close(self, handle: int, deadline: float) -> None:
        try:
            self.native.close(handle, round(deadline * 1000))
        except _native.NativeError:
            pass  # another process's

    async def stop(self, deadline: float) -> None:
        """Ends everything on this port and lets go of the loop. Calls in flight get until the deadline (seconds)."""
        import asyncio

        if self._disposed:
            return
        self._stopped = self._stopped or asyncio.get_running_loop().create_future()
        try:
            self.native.close(0, round(deadline * 1000))
            await asyncio.wait({self._stopped}, timeout=deadline + _GRACE)
        except _native.NativeError:
            pass  # closed already, or a port of the parent process: nothing to wait for
        finally:
            self.dispose()

    def dispose(self) -> None:
        """Lets go of the loop, the threads and the bell. Safe to call twice."""
        with self._lock:
            if self._disposed:
                return
            self._disposed = True
            self._detach()
        self.pool.stop()
        self._bell.close()
        if self.is_inherited:
            return
        closed = ConnectionClosed("the connection is closed")
        for future in (*self._replies.values(), *self._ends.values()):
            self._settle(future, (False, {"kind": closed.kind, "message": closed.message}))

    def end_now(self) -> None:
        """Ends everything at once, for the exit of the interpreter: nothing of it may run while that goes away."""
        if self._disposed or self.is_inherited:
            return
        end_port(self.native, 0)
        self.dispose()
        self.pool.join(0.5)

    def __del__(self) -> None:
        if (bell := getattr(self, "_bell", None)) is not None:
            bell.close()
        if (pool := getattr(self, "pool", None)) is not None:
            pool.stop()

    def _here(self) -> AbstractEventLoop:
        """The loop of the caller; it takes over if the one that handled the events is gone."""
        if self.is_inherited:
            raise ForkedError("it belongs to the process that was forked: make a new server or client in the child")
        loop = self._running_loop()
        if loop is None:
            raise BlockingCallError("no event loop runs in this thread: use SyncClient")
        if self.loop is not loop:
            self.attach(loop)
        return loop

    def _watch(self, loop: AbstractEventLoop) -> None:
        if self.loop is loop and not self._disposed:
            self._bell.watch(loop, self)
            loop.call_soon(self.hear)  # what came before may ring no more

    def _read_here(self, handle: int) -> None:
        """Reads a pipe on the loop, which saves the hop from another thread."""
        if self.loop is None or handle in self._lent or (descriptor := self.native.watch(handle)) is None:
            return
        self._lent[handle] = descriptor
        self.loop.add_reader(descriptor, self._pump, handle)

    def _pump(self, handle: int) -> None:
        try:
            lent = self.native.pump(handle)
        except _native.NativeError:
            lent = False
        if not lent:
            self._give_back(self.loop, handle)
        self.hear()

    def _linger_soon(self) -> None:
        """Waits awake for the next message, if the core finds that worth it, once the loop has done what is ready."""
        if self._lent and not self._lingering and self.loop is not None:
            self._lingering = True
            self.loop.call_soon(self._linger)

    def _linger(self) -> None:
        self._lingering = False
        if len(self._lent) != 1:
            return  # one of several would keep the others waiting
        (handle,) = self._lent
        try:
            is_there = self.native.linger(handle)
        except _native.NativeError:
            return
        if is_there:
            self._pump(handle)

    def _give_back(self, loop: AbstractEventLoop | None, handle: int) -> None:
        if (descriptor := self._lent.pop(handle, None)) is not None:
            if loop is not None:
                loop.remove_reader(descriptor)
            os.close(descriptor)

    def _detach(self) -> None:
        loop, self.loop = self.loop, None
        if self.is_inherited or (loop is not None and loop.is_closed()):
            loop = None  # in a forked child it is the parent's, and what it watches is shared with that
        for handle in list(self._lent):  # the core notices that nobody reads them, and does
            self._give_back(loop, handle)
        if loop is not None:
            self._bell.leave(loop)

    def hear(self) -> None:
        """Handles the events that are there; on the loop. With many, the loop gets to run other things in between."""
        if self._take() and (loop := self.loop) is not None:
            loop.call_soon(self.hear)  # the bell rings only when the queue was empty before

    def hear_elsewhere(self, heard: Callable[[], object]) -> None:
        """Lets the loop, if there is one, handle the events that are there and then call `heard`; from any thread."""
        if (loop := self.loop) is not None:
            try:
                loop.call_soon_threadsafe(self._hear_all, heard)
            except RuntimeError:
                pass  # it is closed: the next one takes what is there

    def _hear_all(self, heard: Callable[[], object]) -> None:
        if self._take() and (loop := self.loop) is not None:
            loop.call_soon(self._hear_all, heard)
        else:
            heard()

    def _take(self) -> bool:
        """Handles some events, if this is still their loop. Whether there may be more."""
        loop = self.loop
        if self._disposed or loop is None or loop is not self._running_loop():
            return False
        try:
            events = self.native.drain("queue", _BATCH, 0)
        except _native.NativeError:
            return False  # another process's
        for event in events:
            try:
                self._dispatch(*event)
            except Exception as error:  # noqa: BLE001 - one bad callback must not lose the other events
                loop.call_exception_handler({"message": "an event of trunkline was not handled", "exception": error})
        return len(events) == _BATCH and self.loop is loop

    def _dispatch(self, kind: int, ticket: int, handle: int, ok: bool, name: str, body: Any) -> None:
        if kind == CALL:
            self._call(ticket, handle, body)
        elif kind == REPLY:
            # A reply that nobody waits for any more was cancelled.
            if (future := self._known(self._replies, ticket)) is not None:
                self._settle(future, (ok, body))
        elif kind in (HTTP_HEAD, HTTP_CHUNK, HTTP_END):
            self._pass_on(kind, ticket, ok, body)
        elif kind == NOTIFICATION:
            loop, receive = self._known(self._listeners, handle) or (None, _ignore)
            if loop is None or loop is self.loop:
                receive(name, body, ticket)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(receive, name, body, ticket)
        elif kind == CANCEL:
            self._cancel_call(ticket, body or None)
        elif kind == SESSION_CLOSED:
            self._listeners.pop(handle, None)
            if (end := self._known(self._ends, handle)) is not None:
                self._settle(end, (ok, body))
        elif kind == LOG:
            write_logs(body)
        elif kind == WATCH:
            self._read_here(handle)
        elif kind == FREED:
            self.handlers.pop(handle, None)
        elif self._stopped is not None:
            self._settle(self._stopped, None)

    def _pass_on(self, kind: int, ticket: int, ok: bool, body: Any) -> None:
        exchange = self._known(self._exchanges, ticket)
        if exchange is None:
            return
        if kind == HTTP_END:
            self._exchanges.pop(ticket, None)
        if exchange.loop is self.loop:
            exchange.hear(kind, ok, body)
        elif not exchange.loop.is_closed():
            exchange.loop.call_soon_threadsafe(exchange.hear, kind, ok, body)

    def _call(self, ticket: int, handle: int, body: Any) -> None:
        handler = self._known(self.handlers, handle)
        if handler is None or self.loop is None:
            self.native.fail(ticket, {"kind": "internal", "message": f"nothing is registered as {handle}"})
            return
        task = start_task(self.loop, self._answer(handler, ticket, body))
        if not task.done():
            self._tasks[ticket] = task  # a loop keeps only weak references to its tasks

    async def _answer(self, handler: Handler, ticket: int, body: Any) -> None:
        try:
            await handler.answer(self, ticket, body)
        finally:
            self._tasks.pop(ticket, None)
            self._linger_soon()

    def _cancel_call(self, ticket: int, reason: str | None) -> None:
        task = self._tasks.get(ticket)
        if task is None:
            return
        if (loop := task.get_loop()) is self.loop:
            task.cancel(reason)
            if getcoroutinestate(cast("Coroutine[Any, Any, None]", task.get_coro())) == CORO_CREATED:
                self._tasks.pop(ticket, None)  # it ends without having begun
        elif not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel, reason)

    def handler(self, handle: int) -> Handler | None:
        """What answers calls of `handle`."""
        return self._known(self.handlers, handle)

    def _known(self, table: dict[int, _T], number: int) -> _T | None:
        found = table.get(number)
        if found is None:
            with self._lock:  # another thread may be adding it just now
                found = table.get(number)
        return found

    def _settle(self, future: Future[_T], result: _T) -> None:
        loop = future.get_loop()
        if loop is self.loop:
            _set_result(future, result)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(_set_result, future, result)


def _ignore(_method: str, _params: Any, _ticket: int) -> None:
    pass


def _set_result(future: Future[_T], result: _T) -> None:
    if not future.done():
        future.set_result(result)


if sys.version_info >= (3, 12):

    def start_task(loop: AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> Task[None]:
        """A task that runs up to its first wait at once: most handlers are done then."""
        from asyncio import Task

        return Task(coroutine, loop=loop, eager_start=True)

else:

    def start_task(loop: AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> Task[None]:
        return loop.create_task(coroutine)


_ports: weakref.WeakSet[Port] = weakref.WeakSet()
# Ports without a loop, of blocking clients, and the process that they belong to.
_natives: weakref.WeakKeyDictionary[_native.Port, int] = weakref.WeakKeyDictionary()


def remember_native(native: _native.Port) -> None:
    """Makes sure that the port is ended before the interpreter goes away."""
    _end_at_exit()
    _natives[native] = os.getpid()


def send_request(native: _native.Port, handle: int, json: dict[str, Any]) -> int:
    """Sends a request. Values that JSON does not have become what they become in the results of handlers.

    Raises:
        TypeError: if there is no such form.
    """
    try:
        return native.request(handle, json)
    except TypeError:
        return native.request(handle, jsonable(json))


def end_port(native: _native.Port, deadline: float) -> None:
    """Ends everything on a port from blocking code; what is in flight gets until the deadline (seconds)."""
    try:
        native.close(0, round(deadline * 1000))
        wait_ms = round((deadline + _GRACE) * 1000)
        while events := native.drain("queue", 4096, wait_ms):
            if any(event[0] == STOPPED for event in events):
                return
    except _native.NativeError:
        pass  # closed already, or a port of the parent process


def _remember(port: Port) -> None:
    _end_at_exit()
    _ports.add(port)


def _end_at_exit() -> None:
    if not _ports and not _natives:
        import atexit

        atexit.unregister(_end_all)
        atexit.register(_end_all)


def _end_all() -> None:
    for port in list(_ports):
        port.end_now()
    for native, pid in list(_natives.items()):
        if pid == os.getpid():
            end_port(native, 0)
