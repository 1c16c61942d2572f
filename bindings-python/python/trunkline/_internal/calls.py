"""The part of a call that `Context` and `SyncContext` share."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Lock
from typing import Any, Final

from ._generated.facts import CallDescription
from .client_requests.input_request import InputRequest
from .errors import CancelledError, result_of
from .port.port import Port
from .port.scope import CallScope
from .requests import request_json
from .schema.jsonable import passed

# Longer waits are repeated. The core enforces the timeout of each request.
_MAX_WAIT_MS: Final = 60_000
# Yield to the event loop after this many progress reports or log messages.
_MESSAGES_IN_A_ROW: Final = 16
_messages = count(1)


class Call(CallDescription):
    """Base of both contexts. The core describes the call on demand."""

    __slots__ = ("_info", "_port", "_ticket", "_turns", "_vars")

    def __init__(self, port: Port, ticket: int, scope: CallScope | None = None) -> None:
        self._port = port
        self._ticket = ticket
        self._info: dict[str, Any] | None = None
        self._vars = None if scope is None else scope.vars
        # The locks of `once`, by name.
        self._turns: dict[str, Any] = {}

    @property
    def vars(self) -> dict[str, Any]:
        """Values shared by this request's middleware, dependencies and handler."""
        if self._vars is None:
            self._vars = {}
        return self._vars

    @property
    def lifespan(self) -> Any:
        """The value of the server's lifespan; None without a lifespan.

        Raises:
            ClosedError: If the event loop on which it was entered has ended, or one of its tasks
                has failed.
        """
        lifespan = self._port.lifespan
        return None if lifespan is None else lifespan.value

    @property
    def cancelled(self) -> bool:
        """True if the result is no longer needed."""
        return self._port.native.cancelled(self._ticket)

    def _fact(self, name: str) -> Any:
        if self._info is None:
            self._info = self._port.native.describe(self._ticket)
        return self._info.get(name) if self._info else None

    def _notify(self, json: dict[str, Any]) -> None:
        passed(self._port.native.notify, self._ticket, json)

    def _request_of(self, request: InputRequest[Any], key: str | None, timeout: float | None) -> dict[str, Any]:
        json = request_json(request.method, request.params, timeout)
        return json if key is None else {**json, "key": key}


class AsyncCall(Call):
    """A call handled by an `async def` function."""

    __slots__ = ()

    async def _let_others_run(self) -> None:
        if next(_messages) % _MESSAGES_IN_A_ROW == 0:
            import asyncio

            await asyncio.sleep(0)

    async def _request(self, json: dict[str, Any]) -> Any:
        port = self._port
        with port.span(self._ticket, json) as span:
            ticket = span.ticket = port.request(self._ticket, json)
            return await port.answer(ticket)

    def _turn(self, name: str) -> Any:
        from asyncio import Lock

        return self._turns.setdefault(name, Lock())

    async def _value_of(self, function: Callable[[], Any]) -> Any:
        value = function()
        return await value if hasattr(value, "__await__") else value


class SyncCall(Call):
    """A call handled by a `def` function, on a pool thread."""

    __slots__ = ()

    def raise_if_cancelled(self) -> None:
        """Abort the handler if its result is no longer needed.

        Raises:
            CancelledError: If the result is no longer needed.
        """
        if self.cancelled:
            raise CancelledError("the caller cancelled the request")

    def _let_others_run(self) -> None:
        """Do nothing: other threads run anyway."""

    def _request(self, json: dict[str, Any]) -> Any:
        port, json = self._port, {**json, "wait": True}
        with port.span(self._ticket, json) as span:
            ticket = span.ticket = port.send(self._ticket, json, None)
            while (reply := port.native.wait(ticket, _MAX_WAIT_MS)) is None:
                pass
            return result_of(*reply)

    def _turn(self, name: str) -> Any:
        return self._turns.setdefault(name, Lock())

    def _value_of(self, function: Callable[[], Any]) -> Any:
        return function()
