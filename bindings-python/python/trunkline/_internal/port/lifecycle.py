"""The lifetime of ports: they can also end from blocking code and at interpreter exit."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from contextvars import Context as ContextVars
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from .. import _native
from .._generated.methods import CLOSE
from .._generated.waist import CALL, LOG, RESULT, STOPPED, TELEMETRY
from ..errors import BlockingError, ClosedError, ForkedError, TrunklineError
from ..model.base import checked_time
from .bell import Bell, make_bell
from .events import Events
from .log import wanted_level
from .pool import Pool
from .standard_streams import open_closed_streams

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task
    from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence

    from .background import BackgroundLoop
    from .lifespan import Lifespan

# Added to the core's deadline before the host stops waiting for it. The core waits for a lifespan
# to close, for at most 30 seconds.
GRACE_PERIOD: Final = 40.0


def current_loop() -> AbstractEventLoop:
    """Return the running event loop.

    Raises:
        RuntimeError: If no asyncio event loop is running.
    """
    from asyncio import get_running_loop

    try:
        return get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "no asyncio event loop is running: trunkline needs one. Under trio, use SyncClient, or "
            "server.run(), on a thread: trio.to_thread.run_sync(...)"
        ) from None


class Lifecycle(Events):
    """The lifetime of a port: its bell, threads and loop, until everything on it has ended."""

    def __init__(self, max_threads: int | None = None, bell: Bell | None = None) -> None:
        self.pid: int = os.getpid()
        open_closed_streams()
        self._bell = bell or make_bell()
        super().__init__(self._bell.make_port())
        self.pool: Pool = Pool(self, max_threads)
        self.lifespan: Lifespan | None = None
        # A loop for blocking clients, and for users that remain when theirs has ended.
        self.background: BackgroundLoop | None = None
        # Running `on_error` functions.
        self._hooks: set[Task[None]] = set()
        # The error hooks and the overrides of dependencies, which belong to the server.
        self.error_hooks: Sequence[Callable[[BaseException, Any], object]] = ()
        self.overrides: Mapping[Hashable, Callable[[bool], Any]] = {}
        _end_at_exit()
        _ports.add(self)

    def attach(self, loop: AbstractEventLoop) -> None:
        """Let `loop` handle the events, unless another running loop already does."""
        from asyncio import _get_running_loop

        with self._lock:
            self._running_loop = _get_running_loop
            if self.loop is not None and (self.loop is loop or self.loop.is_running()):
                return
            self.context: ContextVars = copy_context()
            hosted = [handler for handlers in [*self.hosts.values()] for handler in handlers.values()]
            if any(handler.in_thread for handler in [*self.handlers.values(), *hosted]):
                self.pool.start()
            self.native.notify(0, {"logLevel": wanted_level()})
            self.move(loop)

    def move(self, loop: AbstractEventLoop) -> None:
        """Let `loop` handle the events from now on. Call this on the previous loop if that is
        running.
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
        """True in a forked child if the port belongs to the parent, whose loop shares its
        descriptors.
        """
        return self.pid != os.getpid()

    @property
    def serving_loop(self) -> AbstractEventLoop | None:
        """The loop that handles the events, if it is running. In a forked child, the parent's loop
        only seems to be.
        """
        loop = self.loop
        return loop if loop is not None and loop.is_running() and not self.is_inherited else None

    def background_loop(self) -> AbstractEventLoop:
        """Return the loop on a background thread, which starts on first use."""
        if self.background is None:
            from .background import BackgroundLoop

            self.background = BackgroundLoop()
        return self.background.loop

    def end_background(self) -> None:
        """End the background loop, if there is one, from another thread."""
        if self.background is not None:
            self.background.stop()

    def finish(self, hook: Coroutine[Any, Any, None]) -> None:
        """Run an `on_error` function to completion on the loop, in the caller's context variables.
        Callable from any thread.
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
        """End everything on this port, and release the loop. Calls in flight get until the deadline
        (in seconds).
        """
        import asyncio

        if self._disposed:
            return
        self._stopped = self._stopped or asyncio.get_running_loop().create_future()
        try:
            with suppress(TrunklineError):  # already closed, or the parent process's port: nothing to wait for
                self.native.close(0, round(deadline * 1000))
                await asyncio.wait({self._stopped, *self._hooks}, timeout=deadline + GRACE_PERIOD)
        finally:
            self.dispose()

    def raise_failure(self) -> None:
        """Raise the exception of the lifespan's exit, if there is one."""
        if self.lifespan is not None and self.lifespan.failure is not None:
            raise self.lifespan.failure

    def dispose(self) -> None:
        """Release the loop, the threads and the bell. Safe to call twice."""
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
        """End everything at once. Used at interpreter exit, when nothing may keep running."""
        if self._disposed or self.is_inherited:
            return
        self.end_blocking(0)
        self.pool.join(0.5)

    def end_blocking(self, deadline: float) -> None:
        """End everything from blocking code. Calls in flight get until the deadline (in seconds).
        Safe to call twice.
        """
        with suppress(TrunklineError):  # already closed, or the parent process's port
            self.native.close(0, round(deadline * 1000))
            while events := self.native.drain("queue", 4096, round((deadline + GRACE_PERIOD) * 1000)):
                for event in events:
                    if event[0] in (LOG, TELEMETRY):
                        self._dispatch(*event)
                    elif event[0] == CALL and event[4] == CLOSE:  # the lifespan ends with its loop
                        self.native.complete(event[1], RESULT, {})
                if any(event[0] == STOPPED for event in events):
                    break
        self.dispose()

    def __del__(self) -> None:
        if (bell := getattr(self, "_bell", None)) is not None:
            bell.close()
        if (pool := getattr(self, "pool", None)) is not None:
            pool.stop()

    def here(self) -> AbstractEventLoop:
        """Return the caller's loop. It takes over if the loop that handled the events has ended."""
        if self.is_inherited:
            raise ForkedError("it was created before fork(): create a new server or client in the child process")
        if (loop := self._running_loop()) is None:
            raise BlockingError("no event loop is running in this thread: use SyncClient")
        if self.loop is not loop:
            self.attach(loop)
        return loop

    def _watch(self, loop: AbstractEventLoop) -> None:
        if self.loop is loop and not self._disposed:
            self._bell.watch(loop, self)
            loop.call_soon(self.drain)  # events that arrived earlier may not ring again

    def _detach(self) -> None:
        loop, self.loop = self.loop, None
        if self.is_inherited or (loop is not None and loop.is_closed()):
            loop = None  # the parent's loop: a forked child shares the descriptors that it watches
        self._handoff.give_back_all(loop)
        if loop is not None:
            self._bell.leave(loop)


_ports: weakref.WeakSet[Lifecycle] = weakref.WeakSet()


async def run_on(loop: AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> None:
    """Wait for a coroutine that runs on a loop: this one, or one of another thread."""
    import asyncio

    if loop is asyncio.get_running_loop():
        await coroutine
    else:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))


def close_deadline(native: _native.Port, handle: int, given: float | None) -> float:
    """Return the deadline of a close in seconds: as given, or from the options of the server or
    connection.
    """
    if given is not None:
        return checked_time("deadline", given)
    try:
        return native.close_deadline_ms(handle) / 1000
    except TrunklineError:
        return 0.0  # never opened, already closed, or the parent process's port


def _end_at_exit() -> None:
    if not _ports:
        import atexit

        atexit.unregister(_end_all)
        atexit.register(_end_all)


def _end_all() -> None:
    for port in list(_ports):
        port.end_now()
