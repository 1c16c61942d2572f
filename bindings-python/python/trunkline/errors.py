"""What can go wrong. Every class is one of the core's error kinds, which are the same in every language."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, NoReturn

from . import _native


class TrunklineError(Exception):
    """The base of all errors of this package, except ToolError."""

    kind: ClassVar[str] = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ProtocolError(TrunklineError):
    """The peer answered with a JSON-RPC error. A handler may raise it, too: the caller then gets exactly that error."""

    kind = "protocol"

    def __init__(self, message: str, code: int = -32603, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.code, self.data))


class TimeoutError(TrunklineError, builtins.TimeoutError):  # noqa: A001 - the name of the kind
    """No answer came in time; the peer was told to cancel."""

    kind = "timeout"


class CancelledError(TrunklineError):
    """The request was cancelled by the caller."""

    kind = "cancelled"


class ClosedError(TrunklineError, ConnectionError):
    """The connection or the server is closed, or was closed while waiting."""

    kind = "closed"


class TransportError(TrunklineError, ConnectionError):
    """The connection could not be made, or it broke."""

    kind = "transport"


class VersionError(TrunklineError):
    """The two sides have no revision of the protocol in common."""

    kind = "version"


class InvalidArgumentError(TrunklineError, ValueError):
    """An argument of this package's own functions is wrong."""

    kind = "invalidArgument"


class BusyError(TrunklineError):
    """A limit was reached: requests in flight, calls waiting, or bytes."""

    kind = "busy"


class BlockingError(TrunklineError):
    """The call would wait on the very thread that has to do the work."""

    kind = "blocking"


class ForkedError(TrunklineError):
    """The object belongs to the parent process: make a new one after the fork."""

    kind = "forked"


class InternalError(TrunklineError):
    """A bug in trunkline, contained."""

    kind = "internal"


class ToolError(Exception):
    """Raise it in a handler: the caller gets a result with `is_error` and this text."""


class Suspended(BaseException):
    """Ends a handler whose client is asked first: it is called again with the answer. Not an Exception, so that what
    handlers catch for themselves does not catch this.
    """


_CLASSES: dict[str, type[TrunklineError]] = {
    cls.kind: cls
    for cls in (
        TimeoutError,
        CancelledError,
        ClosedError,
        TransportError,
        VersionError,
        InvalidArgumentError,
        BusyError,
        BlockingError,
        ForkedError,
        InternalError,
    )
}


def from_object(error: dict[str, Any]) -> TrunklineError | Suspended:
    """The exception for an error object of the core."""
    return _make(error.get("kind", "internal"), error.get("message", ""), error.get("code"), error.get("data"))


def reraise(error: _native.NativeError) -> NoReturn:
    """Raises the public exception for a native one."""
    raise _make(*error.args) from None


def _make(kind: str, message: str, code: int | None, data: Any) -> TrunklineError | Suspended:
    if kind == "suspended":
        return Suspended(message)
    if kind == ProtocolError.kind:
        return ProtocolError(message, -32603 if code is None else code, data)
    return _CLASSES.get(kind, InternalError)(message)
