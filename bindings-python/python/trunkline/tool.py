"""A registered tool: how its calls are answered."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context as ContextVars
from typing import TYPE_CHECKING, Any

from . import _native
from .context import Context, SyncContext
from .errors import ProtocolError, ToolError
from .jsonable import jsonable
from .signature import BadArgument, Signature

if TYPE_CHECKING:
    from .port import Port


class RegisteredTool:
    """A function, the plan of its signature, and what the core was told about it."""

    __slots__ = ("_context_name", "_signature", "description", "function", "in_thread", "name")

    def __init__(
        self, name: str, function: Callable[..., Any], signature: Signature, description: dict[str, Any]
    ) -> None:
        self.name = name
        self.function = function
        # What is registered with the core, without the server.
        self.description = description
        self.in_thread = not signature.is_async
        self._signature = signature
        self._context_name = signature.context_name

    async def answer(self, port: Port, ticket: int, body: dict[str, Any]) -> None:
        """Answers a call on the event loop."""
        native = port.native
        try:
            arguments = self._signature.bind(body)
        except BadArgument as error:
            _fail(native, ticket, {"kind": "invalid", "message": error.reason, "path": error.path})
            return
        if self._context_name is not None:
            arguments[self._context_name] = Context(port, ticket)
        try:
            self._complete(native, ticket, await self.function(**arguments))
        except BaseException as error:
            _fail(native, ticket, _failure(error))
            if not isinstance(error, Exception):
                raise

    def answer_in_thread(self, port: Port, ticket: int, body: dict[str, Any], context: ContextVars) -> None:
        """Answers a call on a thread of the pool."""
        native = port.native
        try:
            arguments = self._signature.bind(body)
        except BadArgument as error:
            _fail(native, ticket, {"kind": "invalid", "message": error.reason, "path": error.path})
            return
        if self._context_name is not None:
            arguments[self._context_name] = SyncContext(port, ticket)
        try:
            self._complete(native, ticket, context.run(self.function, **arguments))
        except BaseException as error:  # noqa: BLE001 - also SystemExit: it must not end a thread of the pool
            _fail(native, ticket, _failure(error))

    def _complete(self, native: _native.Port, ticket: int, value: Any) -> None:
        shape, json = self._signature.returns.render(value)
        try:
            native.complete(ticket, shape, json)
        except TypeError:
            # It was not what the annotation promises; it may still have a JSON form.
            native.complete(ticket, shape, jsonable(json))


def _failure(error: BaseException) -> dict[str, Any]:
    from asyncio import CancelledError

    if isinstance(error, ToolError):
        return {"kind": "tool", "message": str(error)}
    if isinstance(error, CancelledError):
        return {"kind": "tool", "message": "The tool was cancelled."}  # by the host, such as a loop that ends
    if isinstance(error, ProtocolError):
        failure: dict[str, Any] = {"kind": "protocol", "code": error.code, "message": error.message}
        return failure if error.data is None else {**failure, "data": jsonable(error.data)}
    return {"kind": "internal", "message": _detail(error)}


def _detail(error: BaseException) -> str:
    import traceback

    # Without the frame of this module.
    inner = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, inner)).rstrip()


def _fail(native: _native.Port, ticket: int, failure: dict[str, Any]) -> None:
    # Text from anywhere may hold lone surrogates, which have no UTF-8 form.
    failure["message"] = failure["message"].encode("utf-8", "replace").decode("utf-8")
    try:
        native.fail(ticket, failure)
    except _native.NativeError:
        pass  # the port is closed: nobody waits for the answer
