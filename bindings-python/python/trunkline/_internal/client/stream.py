"""Streams of an asyncio client: what subscriptions and tasks share. Those of a blocking one are
generated from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from .._generated import methods
from ..errors import ClosedError
from ..requests import OnProgress, read_answer

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

T = TypeVar("T")


class AsyncStreamClient(Protocol):
    """The client of a stream."""

    async def _ask(
        self, target: int | None, json: dict[str, Any], on_progress: OnProgress | None = None
    ) -> tuple[int, Any]: ...

    def _cancel(self, ticket: int) -> None: ...


class AsyncStream(Generic[T]):
    """Items of a server, as they come. It ends with the client or with `close`."""

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
