"""How a call is answered: with what its handler gives, or with why it failed."""

from __future__ import annotations

from collections.abc import Hashable
from contextvars import Context as ContextVars
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, cast

from .. import _native
from ..errors import ProtocolError, Suspended, ToolError
from ..jsonable import jsonable
from ..signature import BadArgument

if TYPE_CHECKING:
    from types import TracebackType

    from ..port import Port

# A shape of docs/bridge.md and the JSON value in it.
Answer: TypeAlias = tuple[int, Any]

_PACKAGE: Final = __name__.partition(".")[0]


class Handler:
    """One registered thing. Classes of kinds say how its function is called and what becomes of the value."""

    __slots__ = ("in_thread", "key", "registration")

    # As docs/bridge.md calls it.
    kind: ClassVar[str]

    def __init__(self, key: Hashable, registration: dict[str, Any], *, in_thread: bool) -> None:
        # Unique among the things of its kind on one server.
        self.key = key
        # What is registered with the core, without the server.
        self.registration = {"lane": "pool" if in_thread else "queue", **registration}
        self.in_thread = in_thread

    async def run(self, port: Port, ticket: int, body: Any) -> Answer:
        """Runs an `async def` handler."""
        raise NotImplementedError

    def run_in_thread(self, port: Port, ticket: int, body: Any, context: ContextVars) -> Answer:
        """Runs a `def` handler."""
        raise NotImplementedError

    def failure(self, error: BaseException) -> dict[str, Any]:
        """What the core is told when the handler has raised this."""
        return _failure(error)

    async def answer(self, port: Port, ticket: int, body: Any) -> None:
        """Answers a call on the event loop."""
        try:
            _complete(port.native, ticket, await self.run(port, ticket, body))
        except BaseException as error:
            self._fail(port.native, ticket, error)
            if not isinstance(error, Exception) and not _is_suspension(error):
                raise

    def answer_in_thread(self, port: Port, ticket: int, body: Any, context: ContextVars) -> None:
        """Answers a call on a thread of the pool."""
        try:
            _complete(port.native, ticket, self.run_in_thread(port, ticket, body, context))
        except BaseException as error:  # noqa: BLE001 - also SystemExit: it must not end a thread of the pool
            self._fail(port.native, ticket, error)

    def _fail(self, native: _native.Port, ticket: int, error: BaseException) -> None:
        try:
            _send(native, ticket, self.failure(error))
        except Exception as broken:  # noqa: BLE001 - such an error cannot be told; still its caller must not wait in vain
            try:
                _send(native, ticket, {"kind": "internal", "message": _detail(broken)})
            except _native.NativeError:
                pass  # the port is closed: nobody waits for the answer


def key_of(function: Any) -> Hashable:
    """What tells a function from others. Two methods of one object are the same if they are equal."""
    try:
        hash(function)
    except TypeError:
        return id(function)
    return function


def _complete(native: _native.Port, ticket: int, answer: Answer) -> None:
    shape, json = answer
    try:
        native.complete(ticket, shape, json)
    except TypeError:
        # It was not what the annotation promises; it may still have a JSON form.
        native.complete(ticket, shape, jsonable(json))


def _failure(error: BaseException) -> dict[str, Any]:
    from asyncio import CancelledError

    if isinstance(error, ToolError):
        return {"kind": "tool", "message": str(error)}
    if isinstance(error, BadArgument):
        return {"kind": "invalid", "message": error.reason, "path": error.path}
    if isinstance(error, CancelledError):
        return {"kind": "tool", "message": "The call was cancelled."}  # by the host, such as a loop that ends
    if isinstance(error, ProtocolError):
        failure: dict[str, Any] = {"kind": "protocol", "code": error.code, "message": error.message}
        return failure if error.data is None else {**failure, "data": jsonable(error.data)}
    return {"kind": "internal", "message": _detail(error)}


def _is_suspension(error: BaseException) -> bool:
    """Whether the handler has ended because the client is asked first; a task group wraps that."""
    if isinstance(error, Suspended):
        return True
    inner = getattr(error, "exceptions", ())
    return bool(inner) and all(map(_is_suspension, cast("tuple[BaseException, ...]", inner)))


def _detail(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(type(error), error, _outside(error.__traceback__))).rstrip()


def _outside(frames: TracebackType | None) -> TracebackType | None:
    """The frames without those of this package at the start, which say nothing to the author of a handler."""
    first = frames
    while first is not None and first.tb_frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        first = first.tb_next
    return first or frames


def _send(native: _native.Port, ticket: int, failure: dict[str, Any]) -> None:
    # Text from anywhere may hold lone surrogates, which have no UTF-8 form.
    failure["message"] = failure["message"].encode("utf-8", "replace").decode("utf-8")
    native.fail(ticket, failure)
