"""The streams of a client: subscriptions and tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..._generated import methods
from ..._generated.models import CallToolResult, Change, SubscriptionFilter, Task
from ...errors import ClosedError
from ...requests import OnProgress, read_answer, request_json
from ...schema.jsonable import jsonable
from ..tool_results import expect, read_tool_result

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

T = TypeVar("T")


class AsyncStreamClient:
    """The client of a stream."""

    async def _ask(
        self, target: int | None, json: dict[str, Any], on_progress: OnProgress | None = None
    ) -> tuple[int, Any]:
        """Sends a request to the server, or about a stream. Returns its ticket and its result."""
        raise NotImplementedError

    def _cancel(self, ticket: int) -> None:
        raise NotImplementedError


class AsyncStream(Generic[T]):
    """Items from a server, in order of arrival. Ends with the client or with `close`."""

    __slots__ = ("_client", "_over", "_read", "_ticket")

    def __init__(self, client: AsyncStreamClient, read: Callable[[Any], T], ticket: int = 0) -> None:
        self._client = client
        self._read = read
        self._ticket = ticket
        self._over = False

    async def close(self) -> None:
        """Ends the stream; leaving its `with` block does it for you."""
        if not self._over:
            self._over = True
            self._client._cancel(self._ticket)

    def __del__(self) -> None:
        if self._ticket and not self._over:
            self._client._cancel(self._ticket)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        item: Any = None
        if not self._over:
            try:
                _, item = await self._client._ask(self._ticket, {"method": methods.NEXT})
            except ClosedError:
                self._over = True  # while it waited: by `close`, or with its client
        if item is None:
            raise StopAsyncIteration
        return read_answer(methods.NEXT, self._read, item)


class AsyncSubscription(AsyncStream[Change]):
    """The changes at a server, in order of arrival: `async with client.subscribe("notes://today")
    as changes: ...`.

    Iterate over it. It survives a reconnect, and ends with the client or with `close`.
    """

    __slots__ = ("_filter", "honoured")

    def __init__(self, client: AsyncStreamClient, wanted: SubscriptionFilter) -> None:
        super().__init__(client, Change.from_json)
        self._filter = wanted
        # The part of the filter that the server honours.
        self.honoured: SubscriptionFilter = SubscriptionFilter()

    async def open(self) -> None:
        """Subscribes; a `with` block does it for you.

        Raises:
            InvalidArgumentError: if the server announces nothing of the kind.
            TrunklineError: if the server refuses.
        """
        json = {"method": "subscribe", "params": self._filter.to_json()}
        self._ticket, honoured = await self._client._ask(None, json)
        self.honoured = read_answer("subscribe", SubscriptionFilter.from_json, honoured)

    async def __aenter__(self) -> Self:
        await self.open()
        return self


class AsyncClientTask(AsyncStream[Task]):
    """A tool call as a task. Iterate over it for its states; states in quick succession may be
    skipped.

    `close` stops polling and leaves the task alone: `resume_task` resumes it by its id.
    """

    __slots__ = ("state",)

    def __init__(self, client: AsyncStreamClient, ticket: int, state: Any) -> None:
        super().__init__(client, Task.from_json, ticket)
        # The latest state that was seen; None if the server made no task of the call.
        self.state = None if state is None else read_answer("startTask", Task.from_json, state)

    @property
    def id(self) -> str | None:
        """The id of the task; None if the server did not create a task."""
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
        """The result of the call, once the task has ended.

        Args:
            timeout: Seconds to wait (default: the `max_timeout` of the client). The task goes on,
                and can be waited for again.
            on_progress: Gets the progress of a task that `start_task` started, where the revision
                has it for tasks.
            result: The type of the value to return, as for `call_tool` (default: the result as it
                is).
            raise_on_error: Raise a ToolError where the tool says that it failed.

        Raises:
            ProtocolError: The task failed with this error, or the server does not know it.
            CancelledError: The task was cancelled.
            TimeoutError: The task has not ended in time, or the server has deleted it.
            ClosedError: The stream or the connection was closed.
        """
        json = expect(request_json("result", None, timeout, progress=on_progress is not None), result)
        return read_tool_result(result, raise_on_error, (await self._client._ask(self._ticket, json, on_progress))[1])

    async def respond(self, responses: Mapping[str, Any], *, timeout: float | None = None) -> None:
        """Answers the `input_requests` of the state, if you answer them yourself (`manual_input`;
        2026-07-28).

        Args:
            responses: The answers by the keys of the requests.
            timeout: Timeout in seconds (default: the client's).

        Raises:
            InvalidArgumentError: The task asks for no input by its state.
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        await self._client._ask(self._ticket, request_json("respond", jsonable(responses), timeout))

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Cancels the task; has no effect once it has ended. The server may still end it
        differently.

        Args:
            timeout: Timeout in seconds (default: the client's).

        Raises:
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        await self._client._ask(self._ticket, request_json("cancel", None, timeout))
