"""Client streams: subscriptions and tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..._generated import methods
from ..._generated.models import CallToolResult, Change, SubscriptionFilter, Task
from ...errors import ClosedError
from ...requests import OnProgress, Place, read_answer, request_json
from ..tool_results import expect, read_tool_result

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class AsyncStreamClient:
    """The part of a client that its streams need."""

    async def _ask(
        self, target: Place | None, json: dict[str, Any], on_progress: OnProgress | None = None
    ) -> tuple[Place, Any]:
        """Send a request to the server or about a stream. Return its place and its result."""
        raise NotImplementedError

    async def _next(self, stream: Place, unread: set[int]) -> Any:  # noqa: ARG002 - for event loops
        """Return the next item of a stream. A wait that an event loop cancels leaves its request in
        `unread`, for the next wait, because its item may be on the way.
        """
        return (await self._ask(stream, {"method": methods.NEXT}))[1]

    def _cancel(self, stream: Place, unread: set[int]) -> None:
        raise NotImplementedError


class AsyncStream(Generic[T]):
    """Items from a server, in order of arrival. Ends when the client closes, or with `close`."""

    __slots__ = ("_client", "_over", "_place", "_read", "_unread")

    def __init__(self, client: AsyncStreamClient, read: Callable[[Any], T], place: Place = (None, 0)) -> None:
        self._client = client
        self._read = read
        self._place = place
        self._over = False
        # Requests for items whose wait was cancelled.
        self._unread: set[int] = set()

    async def close(self) -> None:
        """End the stream. A `with` block does this on exit."""
        if not self._over:
            self._over = True
            self._client._cancel(self._place, self._unread)

    def __del__(self) -> None:
        if not self._over:
            self._client._cancel(self._place, self._unread)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_outcome: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        item: Any = None
        if not self._over:
            try:
                item = await self._client._next(self._place, self._unread)
            except ClosedError:
                self._over = True  # closed while waiting, by `close` or with the client
        if item is None:
            raise StopAsyncIteration
        return read_answer(methods.NEXT, self._read, item)


class AsyncSubscription(AsyncStream[Change]):
    """Changes at a server, in order of arrival: `async with client.subscribe("notes://today") as
    changes: ...`.

    Iterate over it. It survives a reconnect, and ends when the client closes, or with `close`.
    """

    __slots__ = ("_filter", "honored")

    def __init__(self, client: AsyncStreamClient, wanted: SubscriptionFilter) -> None:
        super().__init__(client, Change.from_json)
        self._filter = wanted
        # The part of the filter that the server accepted.
        self.honored: SubscriptionFilter = SubscriptionFilter()

    async def open(self) -> None:
        """Subscribe. A `with` block does this on entry.

        Raises:
            InvalidArgumentError: If the server doesn't announce such changes.
            TrunklineError: If the server refuses the subscription.
        """
        json = {"method": "subscribe", "params": self._filter.to_json()}
        self._place, honored = await self._client._ask(None, json)
        self.honored = read_answer("subscribe", SubscriptionFilter.from_json, honored)

    async def __aenter__(self) -> Self:
        await self.open()
        return self


class AsyncClientTask(AsyncStream[Task]):
    """A tool call that runs as a task. Iterate over it to get its states; states in quick
    succession may be skipped.

    `close` stops polling but doesn't cancel the task: `resume_task` resumes it by its id.
    """

    __slots__ = ("state",)

    def __init__(self, client: AsyncStreamClient, place: Place, state: Any) -> None:
        super().__init__(client, Task.from_json, place)
        # The latest known state; None if the server didn't create a task.
        self.state = None if state is None else read_answer("startTask", Task.from_json, state)

    @property
    def id(self) -> str | None:
        """The id of the task; None if the server didn't create a task."""
        return None if self.state is None else self.state.task_id

    async def __anext__(self) -> Task:
        self.state = await super().__anext__()
        return self.state

    @overload
    async def result(
        self,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        result: type[T],
        raise_on_error: bool = False,
    ) -> T: ...

    @overload
    async def result(
        self,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        result: None = None,
        raise_on_error: bool = False,
    ) -> CallToolResult: ...

    async def result(
        self,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        result: Any = None,
        raise_on_error: bool = False,
    ) -> Any:
        """Wait for the task to end, and return the result of the call.

        Args:
            timeout: Timeout in seconds; default: the client's `max_timeout`. The task keeps
                running, and you can wait for it again.
            on_progress: Called with the progress of a task that `start_task` started, if the
                revision reports progress for tasks.
            result: Type of the value to return, as for `call_tool`; default: the result itself.
            raise_on_error: Raise a ToolError if the tool reports a failure.

        Raises:
            ProtocolError: The task failed with this error, or the server does not know it.
            CancelledError: The task was cancelled.
            TimeoutError: The task did not end in time, or the server has deleted it.
            ClosedError: The stream or the connection was closed.
        """
        json = expect(request_json("result", None, timeout, progress=on_progress is not None), result)
        return read_tool_result(result, raise_on_error, (await self._client._ask(self._place, json, on_progress))[1])

    async def respond(self, responses: Mapping[str, Any], *, timeout: float | None = None) -> None:
        """Answer the `input_requests` of the current state, if you passed `manual_input`
        (2026-07-28).

        Args:
            responses: Responses by the keys of the requests.
            timeout: Timeout in seconds; default: the client's.

        Raises:
            InvalidArgumentError: The task's state does not request input.
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        await self._client._ask(self._place, request_json("respond", {**responses}, timeout))

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Cancel the task. Has no effect once the task has ended, and the task may still end
        differently.

        Args:
            timeout: Timeout in seconds; default: the client's.

        Raises:
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        await self._client._ask(self._place, request_json("cancel", None, timeout))
