"""The port of a blocking client, whose waiting calls handle its events."""

from __future__ import annotations

from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from .bell import ThreadBell
from .port import Port

if TYPE_CHECKING:
    from .scope import CallScope

# Together, more events than can precede a reply.
_BATCH_SIZE: Final = 256
_MAX_BATCHES: Final = 200


class BlockingPort(Port):
    """A port without an event loop. Its `def` handlers run on pool threads or, with the lane
    `queue`, on a thread that calls `answer_requests`.
    """

    def __init__(self) -> None:
        super().__init__(bell=ThreadBell())
        # Events that were taken from the queue. A callback that makes a call handles them first.
        self._events: deque[Any] = deque()
        # Requests of the server that wait for a thread: ticket, handle, operation, params.
        self._asked: deque[tuple[int, int, str, Any]] = deque()

    def handle_events(self) -> None:
        """Handle the pending events. Only one thread may do so at a time, to keep them in order."""
        for _ in range(_MAX_BATCHES):
            events = self.native.drain("queue", _BATCH_SIZE, 0)
            self._events.extend(events)
            while self._events:
                self._dispatch(*self._events.popleft())
            if len(events) < _BATCH_SIZE:
                return

    def answer_requests(self) -> None:
        """Answer the requests of the server that have arrived.

        Raises:
            BaseException: What ended a handler and is not an Exception, such as Ctrl-C.
        """
        while True:
            try:
                ticket, handle, operation, params = self._asked.popleft()
            except IndexError:
                return
            handler = self.handler(handle, operation)
            if handler is not None and not self.native.cancelled(ticket):
                context = self.call_context(ticket, None, copy_context)
                error = context.run(handler.answer_in_thread, self, ticket, params, None)
                if error is not None and not isinstance(error, Exception):
                    raise error

    def _call(self, ticket: int, handle: int, name: str, body: Any, scope: CallScope | None) -> None:  # noqa: ARG002
        self._asked.append((ticket, handle, name, body))
