"""The lifespan of a server: opened before its first call and closed after its last."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event, Task
    from concurrent.futures import Future
    from contextvars import Context as ContextVars


class Lifespan:
    """The lifespan of a server on one port. It is entered and left in one task, as task groups and
    the like need it; where its loop ends first, that cancels the task, which closes everything as
    well.
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
        """Enters it on a loop, in a copy of these context variables, unless that was begun already.
        The future has the exception that kept it from that.
        """
        from concurrent.futures import Future

        with self._lock:
            if self._opened is None:
                self._opened = Future()
                loop.call_soon_threadsafe(self._start, loop, self._opened, context=context.copy())
            return self._opened

    async def close(self) -> None:
        """Leaves it; raises what that raises."""
        import asyncio

        if (task := self._task) is None or self._loop.is_closed():
            return
        if self._loop is asyncio.get_running_loop():
            await self._leave(task)
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._leave(task), self._loop))

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
                self._opened = self._task = None  # the next one tries again
            opened.set_exception(error)
