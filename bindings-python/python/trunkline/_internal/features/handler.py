"""Answers of calls: the value of the handler, or its failure."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar

from .. import _native
from ..context._async.context import Context
from ..context._sync.context import SyncContext
from ..failures import InvalidReturn, failure_of, is_suspension, report, send_failure
from ..returns import Answer
from ..schema.jsonable import jsonable

if TYPE_CHECKING:
    from ..port.port import Port
    from ..port.scope import CallScope


class Handler:
    """One registered feature. Classes of kinds say how its function is called and what becomes of
    the value.
    """

    __slots__ = ("completers", "in_thread", "key", "origin", "registration", "task_name", "visible")

    # As docs/bridge.md calls it.
    kind: ClassVar[str] = "request"
    # The last word of the name of its logger.
    subject: ClassVar[str] = "server"

    def __init__(self, key: Hashable, registration: dict[str, Any], *, in_thread: bool) -> None:
        # Unique among the features of its kind on one server.
        self.key = key
        # The registration message, without the server.
        self.registration = {"lane": "pool" if in_thread else "queue", **registration}
        self.in_thread = in_thread
        # Of a feature that can be changed: how it was made, with which function and options.
        self.origin: Any = None
        # Decides who sees it.
        self.visible: Handler | None = None
        # Suggest values for its arguments.
        self.completers: dict[str, Handler] = {}
        self.task_name = f"trunkline {self.kind} {key}"

    def prepare(self) -> bool:
        """Brings the registration message up to date before it is sent: whether that changed it."""
        return False

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:  # noqa: ARG002
        """Runs an `async def` handler."""
        return self.answered(await self.call(port, ticket, body))

    def run_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:  # noqa: ARG002
        """Runs a `def` handler; in the context of its call, as everything else does here."""
        return self.answered(self.call(port, ticket, body))

    def call(self, port: Port, ticket: int, body: Any) -> Any:
        """Calls the function. Returns its value, or the awaitable of an `async def` function."""
        raise NotImplementedError

    def answered(self, value: Any) -> Answer:
        """The answer that the value of the function becomes."""
        raise NotImplementedError

    def failure(self, error: BaseException) -> dict[str, Any]:
        """The failure message for an exception of a handler."""
        return failure_of(error)

    async def answer(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> None:
        """Answers a call on the event loop."""
        try:
            self._complete(port.native, ticket, await self.run(port, ticket, body, scope))
        except GeneratorExit:
            # The loop is gone, perhaps with the interpreter, which can import nothing then.
            message = {"kind": "internal", "message": "the event loop of the handler has ended"}
            try:
                send_failure(port.native, ticket, message)
            except _native.NativeError:
                pass  # the port is closed: nobody waits for the answer
            raise
        except BaseException as error:
            from asyncio import CancelledError

            self._fail(port, ticket, error, scope, Context)
            # All else costs the call alone, as on a thread of the pool: a loop ends with what its
            # tasks raise beyond Exception, such as the SystemExit of a library.
            if isinstance(error, CancelledError):
                raise

    def answer_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> None:
        """Answers a call on a thread of the pool, in the context of the call: hooks and records of
        its failure, validators and serializers see the variables of the handler.
        """
        try:
            self._complete(port.native, ticket, self.run_in_thread(port, ticket, body, scope))
        except BaseException as error:  # noqa: BLE001 - also SystemExit: it must not end a thread of the pool
            self._fail(port, ticket, error, scope, SyncContext)

    @property
    def explainer(self) -> Handler:
        """The handler of calls for the words about refused arguments."""
        return self

    @property
    def where(self) -> str:
        """The name of this feature in errors."""
        return f"the {self.kind} {self.key!r}"

    def _rendered(self, render: Callable[[Any], Answer], value: Any) -> Answer:
        """The answer that a returned value becomes.

        Raises:
            InvalidReturn: if it cannot be sent; the text names the feature.
        """
        try:
            return render(value)
        except (TypeError, ValueError) as error:
            raise InvalidReturn(self.where, error) from None

    def _complete(self, native: _native.Port, ticket: int, answer: Answer) -> None:
        shape, json = answer
        try:
            try:
                native.complete(ticket, shape, json)
            except TypeError:
                # It was not what the annotation promises; it may still have a JSON form.
                native.complete(ticket, shape, jsonable(json))
        except (TypeError, ValueError) as error:
            raise InvalidReturn(self.where, error) from None

    def _fail(
        self,
        port: Port,
        ticket: int,
        error: BaseException,
        scope: CallScope | None,
        context: type[Context | SyncContext],
    ) -> None:
        native = port.native
        try:
            failure = self.failure(error)
            if not is_suspension(error):
                if port.telemetry is not None:
                    port.telemetry.record_exception(error)
                if scope is not None and scope.error is None:
                    scope.error = error
                if failure["kind"] == "internal":
                    report(context(port, ticket, scope), error, self.subject, self.task_name)
                    failure["logged"] = True
            send_failure(native, ticket, failure)
        except BaseException as broken:  # noqa: BLE001 - such an error cannot be told; still its caller must not wait in vain
            message = f"{type(error).__name__}, which cannot be told: {type(broken).__name__}"
            try:
                send_failure(native, ticket, {"kind": "internal", "message": message})
            except _native.NativeError:
                pass  # the port is closed: nobody waits for the answer


def place_of(function: Callable[..., Any]) -> str:
    """The file and line of a function, in brackets; nothing if it is not written in Python."""
    from inspect import unwrap
    from pathlib import Path

    function = unwrap(function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return "" if code is None else f" ({Path(code.co_filename).name}:{code.co_firstlineno})"
