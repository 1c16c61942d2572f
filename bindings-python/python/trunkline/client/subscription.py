"""The subscription of an asyncio client; that of a blocking one is generated from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .._generated.models import Change, SubscriptionFilter
from ..errors import ClosedError
from ..requests import read_answer

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    class AsyncSubscriber(Protocol):
        """The client of a subscription."""

        async def _ask(self, target: int | None, json: dict[str, Any]) -> tuple[int, Any]: ...

        def _cancel(self, ticket: int) -> None: ...


class AsyncSubscription:
    """The changes at a server, as they come: `async with client.subscribe("notes://today") as changes: ...`.

    Iterate over it. It goes on when the connection is made anew, and ends with the client or with `close`.
    """

    __slots__ = ("_client", "_filter", "_over", "_ticket", "honoured")

    def __init__(self, client: AsyncSubscriber, wanted: SubscriptionFilter) -> None:
        self._client = client
        self._filter = wanted
        self._ticket = 0
        self._over = False
        # The part of the filter that the server honours.
        self.honoured = SubscriptionFilter()

    async def open(self) -> None:
        """Subscribes; `async with` does it for you.

        Raises:
            InvalidArgumentError: if the server announces nothing of the kind.
            TrunklineError: if the server refuses.
        """
        json = {"method": "subscribe", "params": self._filter.to_json()}
        self._ticket, honoured = await self._client._ask(None, json)
        self.honoured = read_answer("subscribe", SubscriptionFilter.from_json, honoured)

    async def close(self) -> None:
        """Ends the subscription; `async with` does it for you."""
        if not self._over:
            self._over = True
            self._client._cancel(self._ticket)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        change: Any = None
        if not self._over:
            try:
                _, change = await self._client._ask(self._ticket, {"method": "next"})
            except ClosedError:
                pass  # while it waited: by `close`, or with its client
        if change is None:
            self._over = True
            raise StopAsyncIteration
        return read_answer("next", Change.from_json, change)
