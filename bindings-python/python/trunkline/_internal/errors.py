"""Errors. Every class is one of the core's kinds, which are the same in every language."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _native
from ._generated import errors as generated
from ._generated.errors import *  # noqa: F403
from ._generated.errors import CLASSES, FACTS, InternalError, InvalidArgumentError, ProtocolError, TrunklineError
from .model import base

__all__ = ["Suspended", "ToolError", "from_object", "reraise"]
__all__ += generated.__all__

base.invalid = InvalidArgumentError


class ToolError(Exception):
    """Raise it in a handler: the caller gets a result with `is_error` and this text."""


class Suspended(BaseException):
    """Ends a handler whose client is asked first: it is called again with the answer. Not an
    Exception, so that what handlers catch for themselves does not catch this.
    """


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
        return ProtocolError(message, data=data) if code is None else ProtocolError(message, code, data)
    if kind in FACTS:
        return FACTS[kind](message, data)
    return CLASSES.get(kind, InternalError)(message)
