"""The part of a thread's call that runs on the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ..errors import ClosedError

if TYPE_CHECKING:
    from asyncio import Queue, Task

    from .lifecycle import Lifecycle

T = TypeVar("T")
# A function that returns an awaitable, whether it cleans up, and its outcome.
Job: TypeAlias = tuple[Callable[[], Awaitable[Any]], bool, Future[Any]]

# A waiting thread checks whether the call was cancelled or the loop has ended.
_CHECK_INTERVAL: Final = 0.1


class LoopSide:
    """A task on the event loop for a call on a thread, so that what is entered on the loop is
    exited in the same task. It has the call's context variables. Cancelling the call cancels the
    task's current job, once, unless it cleans up.
    """

    def __init__(self, port: Lifecycle, ticket: int) -> None:
        from asyncio import Queue

        if (loop := port.serving_loop) is None:
            raise ClosedError("the event loop of the call is closed")
        self._native = port.native
        self._ticket = ticket
        self._loop = loop
        self._jobs: Queue[Job | None] = Queue()
        self._task: Task[None] | None = None
        self._is_cancelled = False
        # True while a job runs that a cancelled call no longer needs.
        self._can_cancel = False
        loop.call_soon_threadsafe(self._start)

    def run(self, make: Callable[[], Awaitable[T]], *, cleans_up: bool = False) -> T:
        """Call `make` on the loop, and wait for the awaitable that it returns. If it `cleans_up`,
        it is not cancelled with the call.

        Raises:
            ClosedError: If the loop has ended.
        """
        done: Future[T] = Future()
        self._hand((make, cleans_up, done))
        while not wait([done], _CHECK_INTERVAL).done:
            if self._loop.is_closed() or (self._task is not None and self._task.done()):
                raise ClosedError("the event loop of the call is closed")
            if not cleans_up and not self._is_cancelled and self._native.cancelled(self._ticket):
                self._loop.call_soon_threadsafe(self._cancel)
        return done.result()

    def end(self) -> None:
        """End the task."""
        if not self._loop.is_closed():
            self._hand(None)

    def _hand(self, job: Job | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._jobs.put_nowait, job)
        except RuntimeError:
            raise ClosedError("the event loop of the call is closed") from None

    def _start(self) -> None:
        self._task = self._loop.create_task(self._work(), name="trunkline thread")

    def _cancel(self) -> None:
        # Between jobs, it would end the task, which has yet to exit what it entered.
        if self._task is not None and self._can_cancel and not self._is_cancelled:
            self._is_cancelled = True
            self._task.cancel()

    async def _work(self) -> None:
        from asyncio import CancelledError

        while (job := await self._jobs.get()) is not None:
            make, cleans_up, done = job
            self._can_cancel = not cleans_up
            try:
                done.set_result(await make())
            except CancelledError as error:
                done.set_exception(error)
                if not self._is_cancelled:
                    raise  # the loop ends
            except BaseException as error:  # noqa: BLE001 - it is raised on the thread
                done.set_exception(error)
            finally:
                self._can_cancel = False
