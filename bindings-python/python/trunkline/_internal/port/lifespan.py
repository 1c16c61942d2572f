"""The lifespan of a server: entered before its first call and exited after its last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event, Task
    from concurrent.futures import Future
    from contextvars import Context as ContextVars


class Lifespan:
    """The lifespan of a server on one port. It is entered and exited in one task, as task groups
    require. If the loop ends first, the task is cancelled, which also exits the lifespan.
    """

    def __init__(self, enter: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._enter = enter
        self._lock = threading.Lock()
        self._opened: Future[None] | None = None
        self._over: Event
        self._task: Task[None] | None = None
        self._loop: AbstractEventLoop
        self.value: Any = None

    def open(self, loop: AbstractEventLoop, context: ContextVars) -> Future[None]:
        """Enter the lifespan on a loop, in a copy of these context variables, unless it was entered
        already. If entering fails, the future has the exception.
        """
        from concurrent.futures import Future

        with self._lock:
            if self._opened is None:
                self._opened = Future()
                # Others wait for it, too: the cancellation of one must not cancel it.
                self._opened.set_running_or_notify_cancel()
                loop.call_soon_threadsafe(self._start, loop, self._opened, context=context.copy())
            return self._opened

    @property
    def opening(self) -> Future[None] | None:
        """The future of `open` until it is done. Calls of a server that was just mounted wait for
        it.
        """
        opened = self._opened
        return None if opened is None or opened.done() else opened

    async def close(self) -> None:
        """Exit the lifespan; exceptions propagate."""
        if self._task is not None and not self._loop.is_closed():
            await run_on(self._loop, self._leave(self._task))

    async def _leave(self, task: Task[None]) -> None:
        self._over.set()
        await task

    def _start(self, loop: AbstractEventLoop, opened: Future[None]) -> None:
        import asyncio

        self._loop, self._over = loop, asyncio.Event()
        self._task = loop.create_task(self._live(opened), name="trunkline lifespan")

    async def _live(self, opened: Future[None]) -> None:
        try:
            async with self._enter() as self.value:
                opened.set_result(None)
                await self._over.wait()
        except BaseException as error:
            if opened.done():
                raise
            with self._lock:
                self._opened = self._task = None  # the next call tries again
            opened.set_exception(error)


async def run_on(loop: AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> None:
    """Wait for a coroutine that runs on a loop: this one, or one of another thread."""
    import asyncio

    if loop is asyncio.get_running_loop():
        await coroutine
    else:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))
