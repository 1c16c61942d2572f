"""Handlers answer calls with the function's value or its failure."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, ClassVar

from .. import _native
from ..context._async.context import Context
from ..context._sync.context import SyncContext
from ..errors import CancelledError, ClosedError, Suspended, TrunklineError
from ..failures import InvalidReturn, consists_of, failure_of, report
from ..port.port import Port
from ..port.scope import CallScope
from ..returns import Answer
from ..schema.jsonable import jsonable


class Handler:
    """A registered feature. Subclasses define how its function is called and its value is sent; a
    feature that the core serves, such as a skill, is never called.
    """

    # The last segment of the logger's name.
    subject: ClassVar[str] = "server"

    def __init__(self, kind: str, key: Hashable, registration: dict[str, Any], *, in_thread: bool = False) -> None:
        # The name of the kind in docs/bridge.md.
        self.kind = kind
        # Unique among the server's features of this kind.
        self.key = key
        # The registration message, without the server.
        self.registration = {"lane": "pool" if in_thread else "queue", **registration}
        self.in_thread = in_thread
        # Returns the answer for what `run` returned. Raises TypeError or ValueError if that cannot
        # be sent.
        self._render: Callable[[Any], Answer] = lambda answer: answer
        # On the server's current port; 0 if it could not be registered there.
        self.handle = 0
        self.is_enabled = True
        # For features that can be changed: the factory, function and options they were made with.
        self.origin: Any = None
        # Decides who sees the feature.
        self.visible: Handler | None = None
        # Suggest values for arguments.
        self.completers: dict[str, Handler] = {}
        # Functions that are called with its handle, by name.
        self.functions: dict[str, Handler] = {}
        self.task_name = f"trunkline {self.kind} {key}"

    def prepare(self) -> bool:
        """Update the registration message before it is sent. Return whether it changed."""
        return False

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Any:  # noqa: ARG002
        """Run an `async def` handler. Return what to render."""
        return self.answered(await self.call(port, ticket, body))

    def run_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Any:  # noqa: ARG002
        """Run a `def` handler, in the context of its call. Return what to render."""
        return self.answered(self.call(port, ticket, body))

    def call(self, port: Port, ticket: int, body: Any) -> Any:
        """Call the function. Return its value, or the awaitable of an `async def` function."""
        raise NotImplementedError

    def answered(self, value: Any) -> Answer:
        """Return the answer for the value of the function."""
        raise NotImplementedError

    def failure(self, error: BaseException) -> dict[str, Any]:
        """Return the failure message for an exception of the handler."""
        return failure_of(error)

    async def answer(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> None:
        """Answer a call on the event loop."""
        try:
            self._complete(port.native, ticket, await self.run(port, ticket, body, scope))
        except GeneratorExit:
            # The loop is closed, perhaps because the interpreter exits and can't import anything.
            with suppress(TrunklineError):  # the port is closed: nothing waits for the answer
                port.native.fail(ticket, {"kind": "internal", "message": "the event loop of the handler is closed"})
            raise
        except BaseException as error:
            import asyncio

            self._fail(port, ticket, error, scope)
            # Any other exception only fails this call, as it does on a pool thread. An event loop
            # would end on exceptions of its tasks that are not an Exception, such as a library's
            # SystemExit.
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            port.tasks.pop(ticket, None)
            port.poll_soon()

    def answer_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> BaseException | None:
        """Answer a call on a thread, in the context of the call, so that error hooks, log records,
        validators and serializers see the handler's context variables. Return the exception that
        ended it.
        """
        try:
            self._complete(port.native, ticket, self.run_in_thread(port, ticket, body, scope))
            return None
        except BaseException as error:  # noqa: BLE001 - including SystemExit, which must not end a pool thread
            self._fail(port, ticket, error, scope)
            return error

    @property
    def where(self) -> str:
        """The name of this feature in errors."""
        return f"the {self.kind} {self.key!r}"

    def _complete(self, native: _native.Port, ticket: int, value: Any) -> None:
        try:
            shape, json = self._render(value)
            try:
                native.complete(ticket, shape, json)
            except TypeError:  # a value that doesn't match its annotation may still have a JSON form
                native.complete(ticket, shape, jsonable(json))
        except (TypeError, ValueError) as error:
            raise InvalidReturn(self.where, error) from None

    def _fail(self, port: Port, ticket: int, error: BaseException, scope: CallScope | None) -> None:
        native = port.native
        try:
            failure = self.failure(error)
            # The handler ended to wait for its client, or because nothing waits for its answer.
            is_expected = consists_of(error, Suspended) or (
                consists_of(error, (CancelledError, ClosedError)) and native.cancelled(ticket)
            )
            if not is_expected:
                if port.telemetry is not None:
                    port.telemetry.record_exception(error)
                if scope is not None and scope.error is None:
                    scope.error = error
                if failure["kind"] == "internal":
                    context = SyncContext if self.in_thread else Context
                    report(context(port, ticket, scope), error, self.subject, self.task_name)
                    failure["logged"] = True
            native.fail(ticket, failure)
        except BaseException as broken:  # noqa: BLE001 - it cannot be reported, but the caller must get a reply
            why = broken if isinstance(broken, TrunklineError) else type(broken).__name__
            message = f"{type(error).__name__}, which cannot be described: {why}"
            with suppress(TrunklineError):  # the port is closed: nothing waits for the answer
                native.fail(ticket, {"kind": "internal", "message": message})


def place_of(function: Callable[..., Any]) -> str:
    """Return the file and line of a function in parentheses; empty if it is not in Python."""
    from inspect import unwrap
    from pathlib import Path

    code = getattr(unwrap(function), "__code__", None)
    return "" if code is None else f" ({Path(code.co_filename).name}:{code.co_firstlineno})"
