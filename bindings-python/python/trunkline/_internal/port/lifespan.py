"""The lifespan of a server: opened before its first call and closed after its last."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from .._generated.waist import RESULT
from ..errors import LIFESPAN_FAILURE, ClosedError, keep_cause
from .log import logger

if TYPE_CHECKING:
    from asyncio import Future


class Lifespan:
    """Answers the calls that open and close a lifespan. It is entered and exited in one task, as
    task groups require. If the loop ends first, the task is cancelled, which also exits it.
    """

    in_thread = False
    task_name = "trunkline lifespan"

    def __init__(self, enter: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._enter = enter
        # While it is open: the ticket of the call that closes it.
        self._closing: Future[int] | None = None
        self._value: Any = None
        # The exception of its exit, for the one who closes the server.
        self.failure: BaseException | None = None

    @property
    def value(self) -> Any:
        """The value of the context manager.

        Raises:
            ClosedError: If it was exited although the server is in use.
        """
        if self._closing is not None and self._closing.done():
            raise ClosedError("the lifespan has ended before its server: with its event loop, or by a failed task")
        return self._value

    async def answer(self, port: Any, ticket: int, body: Any, scope: Any) -> None:  # noqa: ARG002
        """Enter it, and exit it with the next call."""
        try:
            await self._enter_or_exit(port, ticket)
        finally:
            port.tasks.pop(ticket, None)

    def answer_in_thread(self, port: Any, ticket: int, body: Any, scope: Any) -> None:
        """Never called: it lives on the event loop."""

    async def _enter_or_exit(self, port: Any, ticket: int) -> None:
        from asyncio import CancelledError, get_running_loop

        closing, self._closing = self._closing, None
        if closing is not None:
            loop = closing.get_loop()
            if closing.done() or loop.is_closed():  # it was exited with its loop
                port.native.complete(ticket, RESULT, {})
            else:
                loop.call_soon_threadsafe(closing.set_result, ticket)
            return
        closing, self.failure = get_running_loop().create_future(), None
        try:
            async with self._enter() as value:
                self._value, self._closing = value, closing
                try:
                    if not port.native.complete(ticket, RESULT, {}):
                        # The opening was cancelled meanwhile.
                        self._closing = None
                        return
                    ticket = await closing
                finally:
                    self._value = None
        except BaseException as error:
            if isinstance(error, CancelledError) and closing.cancelled():
                raise  # the loop ends
            if not closing.done():
                message = str(error) or type(error).__name__
                keep_cause(f"{LIFESPAN_FAILURE}{message}", error)
                port.native.fail(ticket, {"kind": "internal", "message": message})
                return
            self.failure = error
            if closing.cancelled():  # by a task group, one of whose tasks failed
                logger("trunkline.server").error("the lifespan has ended before its server", exc_info=error)
        port.native.complete(ticket, RESULT, {})
