"""Delivers the core's events to their receivers on one event loop."""

from __future__ import annotations

import sys
import threading
import weakref
from contextlib import suppress
from contextvars import Context as ContextVars
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

from .. import _native
from .._generated import waist
from ..errors import TrunklineError
from ..forked_locks import free_in_child
from .handoff import ReadHandoff
from .log import write_logs
from .scope import NO_SPAN

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, Task
    from collections.abc import Callable, Coroutine, Mapping

    from ..telemetry import SentSpan, Telemetry
    from .scope import CallScope, NoSpan

    # method, params, ticket of the request or 0
    Receive: TypeAlias = Callable[[str, Any, int], None]

_T = TypeVar("_T")

# A call may be caused on another port: that of a server that mounts this one.
_ports: Final[weakref.WeakValueDictionary[int, Events]] = weakref.WeakValueDictionary()

# Between batches, the loop can run other tasks.
_BATCH_SIZE: Final = 256


class Handler(Protocol):
    """A registered feature that answers calls."""

    # True if its calls run in the pool.
    in_thread: bool
    # The name of the tasks that answer its calls.
    task_name: str

    async def answer(self, port: Any, ticket: int, body: Any, scope: CallScope | None) -> None:
        """Answer a call on the event loop, and then remove its task from the port."""

    def answer_in_thread(self, port: Any, ticket: int, body: Any, scope: CallScope | None) -> BaseException | None:
        """Answer a call on a thread, in the context of the call. Return the exception that ended
        it.
        """


class Exchange(Protocol):
    """An HTTP request of a web framework, which receives the events of its response."""

    # The loop of the request.
    loop: AbstractEventLoop

    def receive(self, kind: int, ok: bool, body: Any) -> None:
        """Receive an event, on that loop."""


class Events:
    """The receivers of events, and the loop that takes events from the core's queue."""

    def __init__(self, native: _native.Port) -> None:
        self.native = native
        self.loop: AbstractEventLoop | None = None
        # The context in which the server was started, for work outside of requests.
        self.context: ContextVars = ContextVars()
        self.handlers: dict[int, Handler] = {}
        # Functions by name: connection -> the handlers for requests of its server, server -> the
        # functions of its store, lifespan -> how to open and close it, tool -> its explainer.
        self.hosts: dict[int, Mapping[str, Handler]] = {}
        # Connection -> its loop, and the receiver of its notifications on that loop; without a
        # loop, on any thread.
        self._listeners: dict[int, tuple[AbstractEventLoop | None, Receive]] = {}
        self._exchanges: dict[int, Exchange] = {}
        # Exchange or request -> the scope of the calls that it causes. Calls, such as those of
        # tasks, may begin after its response.
        self._scopes: dict[int, CallScope] = {}
        # Ticket -> the task that answers the call.
        self.tasks: dict[int, Task[None]] = {}
        self._replies: dict[int, Future[tuple[bool, Any]]] = {}
        self._ends: dict[int, Future[tuple[bool, Any]]] = {}
        self._stopped: Future[None] | None = None
        self._disposed = False
        self.telemetry: Telemetry | None = None
        self._lock = threading.RLock()
        free_in_child(self, "_lock")
        self._handoff = ReadHandoff(native)
        # Looked up once, because the first import of asyncio is slow and later ones aren't free.
        self._running_loop: Callable[[], AbstractEventLoop | None]
        _ports[native.describe(0)["number"]] = self

    def drain(self, done: Callable[[], object] | None = None) -> None:
        """Handle the pending events in the context of serving, and then call `done`. Must run on
        the loop. If there are many, other tasks get to run in between.
        """
        # The caller may be in another context: a poll is in that of the call before, and a bell in
        # that of its thread.
        self.context.copy().run(self._drain, done)

    def _drain(self, done: Callable[[], object] | None) -> None:
        loop = self.loop
        events: list[Any] = []
        if loop is not None and loop is self._running_loop() and not self._disposed:
            try:
                events = self.native.drain("queue", _BATCH_SIZE, 0)
            except TrunklineError:
                pass  # belongs to another process
        ending: BaseException | None = None
        for event in events:
            try:
                self._dispatch(*event)
            except Exception as error:  # noqa: BLE001 - one failed callback must not lose the other events
                context = {"message": "an error occurred while handling an event of trunkline", "exception": error}
                cast("AbstractEventLoop", loop).call_exception_handler(context)
            except BaseException as error:  # noqa: BLE001 - such as Ctrl-C
                ending = error
        if ending is not None:
            raise ending
        if loop is not None and loop is self.loop and len(events) == _BATCH_SIZE:
            loop.call_soon(self.drain, done)  # the bell only rings when the queue was empty before
        elif done is not None:
            done()

    def drain_elsewhere(self, done: Callable[[], object]) -> None:
        """Let the loop, if there is one, handle the pending events and then call `done`. Callable
        from any thread.
        """
        if (loop := self.loop) is not None:
            with suppress(RuntimeError):  # it is closed: the next loop takes the pending events
                loop.call_soon_threadsafe(self.drain, done)

    def _dispatch(
        self, kind: int, ticket: int, handle: int, ok: bool, name: str, body: Any, cause: int, cause_port: int
    ) -> None:
        if kind == waist.CALL:
            self._call(ticket, handle, name, body, self.scope(cause, cause_port) if cause else None)
        elif kind == waist.REPLY:
            # A reply without a future belongs to a cancelled request.
            if (future := self._known(self._replies, ticket)) is not None:
                self._settle(future, (ok, body))
        elif kind in (waist.HTTP_HEAD, waist.HTTP_CHUNK, waist.HTTP_END):
            if (exchange := self._known(self._exchanges, ticket)) is not None:
                if kind == waist.HTTP_END:
                    self._exchanges.pop(ticket, None)
                self._run_on(exchange.loop, exchange.receive, kind, ok, body)
        elif kind == waist.NOTIFICATION:
            if (listener := self._known(self._listeners, handle)) is not None:
                loop, receive = listener
                self._run_on(loop, receive, name, body, ticket)
        elif kind == waist.CANCEL:
            self._cancel_call(ticket, body or None)
        elif kind == waist.CLOSED:
            self._forget(handle)
            if (end := self._known(self._ends, handle)) is not None:
                self._settle(end, (ok, body))
        elif kind == waist.LOG:
            write_logs(body)
        elif kind == waist.HANDOFF:
            if self.loop is not None:
                self._handoff.take(handle, self.loop, self.drain)
        elif kind == waist.FREED:
            self.handlers.pop(handle, None)
            self.hosts.pop(handle, None)
            with self._lock:  # another thread may be adding it just now
                self._scopes.pop(handle, None)
        elif kind == waist.TELEMETRY:
            if self.telemetry is not None:
                self.telemetry.receive(body)
        elif self._stopped is not None:
            self._settle(self._stopped, None)

    def _call(self, ticket: int, handle: int, name: str, body: Any, scope: CallScope | None) -> None:
        handler, loop = (not name and self.handlers.get(handle)) or self.handler(handle, name), self.loop
        if handler is None or loop is None:
            self.native.fail(ticket, {"kind": "internal", "message": f"nothing is registered as {handle} {name}"})
            return
        own = (self._listeners[handle][0] if name and handle in self._listeners else None) or loop
        if own is loop:
            self._start(loop, handler, ticket, body, scope)
        else:
            self._run_on(own, self._start, own, handler, ticket, body, scope)

    def _start(
        self, loop: AbstractEventLoop, handler: Handler, ticket: int, body: Any, scope: CallScope | None
    ) -> None:
        # Otherwise the task copies the current context.
        context = self.call_context(ticket, scope, copy_context) if scope or self.telemetry else None
        task = start_task(loop, handler.answer(self, ticket, body, scope), handler.task_name, context)
        if not task.done():
            self.tasks[ticket] = task  # a loop only keeps weak references to its tasks
            if loop is not self.loop and self.native.cancelled(ticket):
                self._cancel_call(ticket, None)  # that event came before the task

    def poll_soon(self) -> None:
        """Poll for the next message of a pipe once the loop has run its ready callbacks, if the
        core considers that worthwhile.
        """
        handoff, loop = self._handoff, self.loop
        if handoff.descriptors and not handoff.is_polling and loop is not None:
            handoff.is_polling = True
            loop.call_soon(handoff.poll, loop, self.drain)

    def _cancel_call(self, ticket: int, reason: str | None) -> None:
        if (task := self.tasks.get(ticket)) is not None:
            # A task that ends before its first step does not remove itself.
            self._run_on(task.get_loop(), task.add_done_callback, partial(self.tasks.pop, ticket))
            self._run_on(task.get_loop(), task.cancel, reason)

    def call_context(self, ticket: int, scope: CallScope | None, copy: Callable[[], ContextVars]) -> ContextVars:
        """Return the context variables of a call: a copy of those of what caused it, or the result
        of `copy`, with the span of its request.
        """
        context = copy() if scope is None else scope.context.copy()
        # A call with values continues its request through middleware, within the span.
        if self.telemetry is not None and (scope is None or scope.vars is None):
            context = self.telemetry.around_call(self.native, ticket, context)
        return context

    def span(self, target: int, json: dict[str, Any]) -> SentSpan | NoSpan:
        """Return the span of a request to the client of a call."""
        return NO_SPAN if self.telemetry is None else self.telemetry.sending(self.native, target, json) or NO_SPAN

    def scope(self, cause: int, port: int) -> CallScope | None:
        """Return the scope of the calls that an exchange or request causes, on the port with that
        number or on this one.
        """
        known = _ports.get(port) if port else self
        return None if known is None else known._known(known._scopes, cause)

    def handler(self, handle: int, name: str) -> Handler | None:
        """Return the receiver of calls of `handle`, or of its function `name`."""
        return (self._known(self.hosts, handle) or {}).get(name) if name else self._known(self.handlers, handle)

    def _known(self, table: dict[int, _T], number: int) -> _T | None:
        if (found := table.get(number)) is None:
            with self._lock:  # another thread may be adding it just now
                found = table.get(number)
        return found

    def _settle(self, future: Future[_T], result: _T) -> None:
        self._run_on(future.get_loop(), _set_result, future, result)

    def _run_on(self, loop: AbstractEventLoop | None, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function on a loop: at once if that handles the events or none is given."""
        if loop is None or loop is self.loop:
            function(*arguments)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(function, *arguments)

    def _forget(self, handle: int) -> None:
        """Remove the receivers of a connection's events."""
        self._listeners.pop(handle, None)
        self.hosts.pop(handle, None)


def _set_result(future: Future[_T], result: _T) -> None:
    if not future.done():
        future.set_result(result)


def start_task(
    loop: AbstractEventLoop,
    coroutine: Coroutine[Any, Any, None],
    name: str | None = None,
    context: ContextVars | None = None,
) -> Task[None]:
    """Start a task in `context`, or in a copy of the current context. If Python can, it runs up to
    its first wait at once; most handlers finish then.
    """
    if sys.version_info >= (3, 12):
        # The module is loaded, and importing it again isn't free.
        return sys.modules["asyncio"].Task(coroutine, loop=loop, eager_start=True, name=name, context=context)
    if context is None:
        return loop.create_task(coroutine, name=name)
    # A task copies the context in which it is created; Python 3.10 doesn't accept one.
    return context.run(partial(loop.create_task, coroutine, name=name))
