"""The life of ports, and their end: also from blocking code, and at the exit of the interpreter."""

from __future__ import annotations

import os
import weakref
from contextvars import Context as ContextVars
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from .. import _native
from .._generated.waist import STOPPED
from ..errors import BlockingError, ClosedError, ForkedError
from ..model.base import checked_time
from .bell import make_bell
from .events import Events
from .log import wanted_level
from .pool import Pool

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task
    from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence

    from .lifespan import Lifespan

# Added to a deadline of the core before the host stops believing in it.
GRACE: Final = 10.0


def current_loop() -> AbstractEventLoop:
    """The running event loop.

    Raises:
        RuntimeError: if there is none: nothing runs, or a framework that is not asyncio.
    """
    from asyncio import get_running_loop

    try:
        return get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "no event loop of asyncio runs here: trunkline needs one. Under trio, use SyncClient, or "
            "server.run(), on a thread: trio.to_thread.run_sync(...)"
        ) from None


class Lifecycle(Events):
    """The life of a port: its bell, its threads and its loop, until everything on it has ended."""

    def __init__(self, max_threads: int | None = None) -> None:
        self.pid: int = os.getpid()
        self._bell = make_bell()
        super().__init__(self._bell.make_port())
        self.pool: Pool = Pool(self, max_threads)
        self.lifespan: Lifespan | None = None
        # The context in which the server was started, for work outside of requests.
        self.context: ContextVars = ContextVars()
        # Functions of `on_error` that are running.
        self._hooks: set[Task[None]] = set()
        # The functions that get the errors of handlers, and what is in the place of dependencies;
        # both belong to the server.
        self.error_hooks: Sequence[Callable[[BaseException, Any], object]] = ()
        self.overrides: Mapping[Hashable, Callable[[bool], Any]] = {}
        _end_at_exit()
        _ports.add(self)

    def attach(self, loop: AbstractEventLoop) -> None:
        """Lets `loop` handle the events, unless another loop that is still running does."""
        from asyncio import _get_running_loop

        with self._lock:
            self._running_loop = _get_running_loop
            if self.loop is not None and (self.loop is loop or self.loop.is_running()):
                return
            self.context = copy_context()
            self.pool.prepare(self.context)
            self.native.notify(0, {"logLevel": wanted_level()})
            self.move(loop)

    def move(self, loop: AbstractEventLoop) -> None:
        """Lets `loop` handle the events from now on. To be called on the loop that did so far, if
        that runs.
        """
        with self._lock:
            self._detach()
            self.loop = loop
        if self._running_loop() is loop:
            self._watch(loop)
        else:
            loop.call_soon_threadsafe(self._watch, loop)

    @property
    def is_inherited(self) -> bool:
        """True if this is a forked child and the port its parent's, whose loop shares its
        descriptors.
        """
        return self.pid != os.getpid()

    @property
    def serving_loop(self) -> AbstractEventLoop | None:
        """The loop that handles the events, if it runs. In a forked child the parent's loop only
        looks as if it did.
        """
        loop = self.loop
        return loop if loop is not None and loop.is_running() and not self.is_inherited else None

    def finish(self, hook: Coroutine[Any, Any, None]) -> None:
        """Runs a function of `on_error` to its end, on the loop, in the context variables of the
        caller; from any thread.
        """
        if (loop := self.serving_loop) is None:
            hook.close()
        else:
            loop.call_soon_threadsafe(self._begin_hook, loop, hook)

    def _begin_hook(self, loop: AbstractEventLoop, hook: Coroutine[Any, Any, None]) -> None:
        task = loop.create_task(hook, name="trunkline on_error")
        self._hooks.add(task)
        task.add_done_callback(self._hooks.discard)

    async def stop(self, deadline: float) -> None:
        """Ends everything on this port and lets go of the loop. Calls in flight get until the
        deadline (seconds).
        """
        import asyncio

        if self._disposed:
            return
        self._stopped = self._stopped or asyncio.get_running_loop().create_future()
        try:
            self.native.close(0, round(deadline * 1000))
            await asyncio.wait({self._stopped, *self._hooks}, timeout=deadline + GRACE)
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
        closed = ClosedError("the connection is closed")
        for future in (*self._replies.values(), *self._ends.values()):
            self._settle(future, (False, {"kind": closed.kind, "message": closed.message}))

    def end_now(self) -> None:
        """Ends everything at once, for the exit of the interpreter: nothing of it may run while
        that goes away.
        """
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

    def here(self) -> AbstractEventLoop:
        """The loop of the caller; it takes over if the one that handled the events is gone."""
        if self.is_inherited:
            raise ForkedError("it belongs to the process that was forked: make a new server or client in the child")
        loop = self._running_loop()
        if loop is None:
            raise BlockingError("no event loop runs in this thread: use SyncClient")
        if self.loop is not loop:
            self.attach(loop)
        return loop

    def _watch(self, loop: AbstractEventLoop) -> None:
        if self.loop is loop and not self._disposed:
            self._bell.watch(loop, self)
            loop.call_soon(self.drain)  # what came before may ring no more

    def _detach(self) -> None:
        loop, self.loop = self.loop, None
        if self.is_inherited or (loop is not None and loop.is_closed()):
            loop = None  # in a forked child it is the parent's, and what it watches is shared with that
        self._handoff.give_back_all(loop)
        if loop is not None:
            self._bell.leave(loop)


_ports: weakref.WeakSet[Lifecycle] = weakref.WeakSet()
# Ports without a loop, of blocking clients, and the process that they belong to.
_natives: weakref.WeakKeyDictionary[_native.Port, int] = weakref.WeakKeyDictionary()


def remember_native(native: _native.Port) -> None:
    """Makes sure that a port of blocking code is ended before the interpreter goes away."""
    _end_at_exit()
    _natives[native] = os.getpid()


def close_deadline(native: _native.Port, handle: int, given: float | None) -> float:
    """The deadline of a close in seconds: as given, or as the options of a server or a connection
    name it.
    """
    if given is not None:
        return checked_time("deadline", given)
    try:
        return native.close_deadline_ms(handle) / 1000
    except _native.NativeError:
        return 0.0  # never opened, closed already, or a port of the parent process


def end_port(native: _native.Port, deadline: float) -> None:
    """Ends everything on a port from blocking code; what is in flight gets until the deadline
    (seconds).
    """
    try:
        native.close(0, round(deadline * 1000))
        wait_ms = round((deadline + GRACE) * 1000)
        while events := native.drain("queue", 4096, wait_ms):
            if any(event[0] == STOPPED for event in events):
                return
    except _native.NativeError:
        pass  # closed already, or a port of the parent process


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
