"""Errors. Each class corresponds to an error kind of the core, as in every other language."""

from __future__ import annotations

import errno
import os
from collections import deque
from typing import Any, Final

from . import _native
from ._generated import errors as kinds
from ._generated.errors import *  # noqa: F403
from .model import base

__all__ = ["Suspended", "ToolError", "error_of", "from_object", "keep_cause", "result_of"]
__all__ += kinds.__all__

base.invalid = kinds.InvalidArgumentError


class ToolError(Exception):
    """Raised by a handler to give the caller a result with `is_error` and this message."""


class Suspended(BaseException):
    """Ends a handler until the client's response arrives; the handler then runs again. Not an
    Exception, so that a handler's own `except Exception` doesn't catch it.
    """


# The end of the core's message, before that of the exception of a lifespan.
LIFESPAN_FAILURE: Final = "the lifespan of the server could not be opened: "

# The latest exceptions raised by credential functions and lifespans, by the ends of the messages of
# the errors that result from them.
_causes: Final[deque[tuple[str, BaseException]]] = deque(maxlen=8)


def keep_cause(end: str, error: BaseException) -> None:
    """Keep an exception of a callback as the cause of errors whose message ends with `end`. The
    core only passes on strings.
    """
    _causes.append((end, error))


def from_object(error: dict[str, Any]) -> kinds.TrunklineError | Suspended:
    """Return the exception for an error object of the core."""
    return error_of(error.get("kind", "internal"), error.get("message", ""), error.get("code"), error.get("data"))


def result_of(ok: bool, body: Any) -> Any:
    """Return the body of a reply; raise its error, or the exception of a lifespan, if it failed."""
    if not ok:
        error = from_object(body)
        raise (LIFESPAN_FAILURE in str(error) and error.__cause__) or error
    return body


def error_of(kind: str, message: str, code: int | None, data: Any) -> kinds.TrunklineError | Suspended:
    """Return the exception of a kind. The native module raises what this returns."""
    if kind == "suspended":
        return Suspended(message)
    if kind == kinds.ProtocolError.kind:
        return kinds.ProtocolError(message, data=data) if code is None else kinds.ProtocolError(message, code, data)
    if kind in kinds.FACTS:
        error = kinds.FACTS[kind](message, data)
        number: int | None = getattr(errno, error.code or "", None) if isinstance(error, kinds.TransportError) else None
        if kind == kinds.AuthorizationRequiredError.kind or LIFESPAN_FAILURE in message:
            error.__cause__ = next((cause for end, cause in reversed(tuple(_causes)) if message.endswith(end)), None)
        elif number is not None:
            # The subclass for the errno, such as ConnectionRefusedError.
            error.__cause__ = OSError(number, os.strerror(number))
        return error
    return kinds.CLASSES.get(kind, kinds.InternalError)(message)


_native.raise_with(error_of)
