"""How failures of handlers are reported to the caller and logged."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from ._generated.methods import CALL_TOOL
from .errors import ProtocolError, ToolError, TrunklineError
from .port.log import logger
from .schema.jsonable import jsonable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator
    from types import TracebackType

    from .calls import Call

_PACKAGE: Final = __name__.partition(".")[0]
_ERROR_CALLBACK: Final = "an on_error callback"


class InvalidArguments(ValueError):
    """An argument that matches its schema but cannot be converted to the annotated type."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class InvalidReturn(TypeError):
    """A returned value that cannot be sent. Only the message is useful: all frames are in this
    package.
    """

    def __init__(self, where: str, reason: Exception) -> None:
        super().__init__(f"{where} returned a value that cannot be sent: {reason}")


def failure_of(error: BaseException) -> dict[str, Any]:
    from asyncio import CancelledError

    whole = error
    while len(inner := getattr(error, "exceptions", ())) == 1:
        error = inner[0]  # a task group with a single exception
    if isinstance(error, ToolError):
        return {"kind": "tool", "message": str(error)}
    if isinstance(error, InvalidArguments):
        return {"kind": "invalid", "message": error.reason, "path": error.path}
    if isinstance(error, CancelledError):
        return {"kind": "tool", "message": "The call was cancelled."}  # by the host, such as a loop that is closing
    if isinstance(error, ProtocolError):
        failure: dict[str, Any] = {"kind": "protocol", "code": error.code, "message": error.message}
        return failure if error.data is None else {**failure, "data": jsonable(error.data)}
    return {"kind": "internal", "message": detail(whole)}


def report(context: Call, error: BaseException, subject: str, otherwise: str) -> None:
    """Log an error that is hidden from the caller, and pass it to the server's error hooks. The log
    names the call by its method and name, or by `otherwise`.
    """
    log = logger(f"{_PACKAGE}.{subject}")
    # The frames of a value that cannot be sent are all in this package.
    where = (type(error), error, None if isinstance(error, InvalidReturn) else _outside(error.__traceback__))
    try:
        method, name = context.method, context.name
    except TrunklineError:  # the call is over, or belongs to a client
        method = name = ""
    what = " ".join(filter(None, (method, name))) or otherwise  # a verification has neither
    fields = {"tool": name} if method == CALL_TOOL else {"feature": what}
    log.error("%s failed", what, exc_info=where, extra=fields)
    for hook in context._port.error_hooks:
        with logged(subject, _ERROR_CALLBACK, (BaseException,)):  # the caller must get a response
            told = hook(error, context)
            if hasattr(told, "__await__"):
                context._port.finish(finished(cast("Awaitable[object]", told), subject, _ERROR_CALLBACK))


@contextmanager
def logged(
    subject: str, what: str, kinds: tuple[type[BaseException], ...] = (Exception, SystemExit)
) -> Generator[None]:
    """Log exceptions of the program's callbacks, so that they affect neither the waiting call nor
    other events.
    """
    try:
        yield
    except kinds as error:
        logger(f"{_PACKAGE}.{subject}").error("%s failed", what, exc_info=error)


async def finished(callback: Awaitable[object], subject: str, what: str) -> None:
    """Wait for an asynchronous callback, and log its exception."""
    with logged(subject, what):
        await callback


def consists_of(error: BaseException, kinds: type[BaseException] | tuple[type[BaseException], ...]) -> bool:
    """Return whether an exception is of one of these kinds, or a task group's that wraps only such
    exceptions.
    """
    inner = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
    return isinstance(error, kinds) or (bool(inner) and all(consists_of(one, kinds) for one in inner))


def detail(error: BaseException) -> str:
    if isinstance(error, InvalidReturn):
        return str(error)
    import traceback

    return "".join(traceback.format_exception(type(error), error, _outside(error.__traceback__))).rstrip()


def _outside(frames: TracebackType | None) -> TracebackType | None:
    """Drop this package's frames from the start of a traceback; they don't help the author of a
    handler.
    """
    first = frames
    while first is not None and first.tb_frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        first = first.tb_next
    return first or frames
