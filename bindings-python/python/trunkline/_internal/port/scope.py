"""The context of calls that this program causes, and of requests that it sends."""

from __future__ import annotations

import sys
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from contextvars import Context

    from typing_extensions import Self

    from ..telemetry import Telemetry


class CallScope:
    """The context of the calls that an exchange, a request in memory or `next` of a middleware
    causes: its context variables, the values of the request that it belongs to, and the exception
    that ended the call.
    """

    __slots__ = ("context", "error", "vars")

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self.context: Context = copy_context()
        self.vars: dict[str, Any] | None = values
        self.error: BaseException | None = None


def begins_request(scope: CallScope | None) -> bool:
    """True if a call is the first of its request here: not one that middleware caused."""
    return scope is None or scope.vars is None


class NoSpan:
    """The place of the span of a request that is not observed."""

    __slots__ = ("ticket",)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_outcome: object) -> None:
        pass


NO_SPAN: Final = NoSpan()


def telemetry_of(wanted: bool | None) -> Telemetry | None:
    """Telemetry, if it is wanted: by default where the program has loaded OpenTelemetry.

    Raises:
        ImportError: if it is asked for and not installed.
    """
    if wanted is False or (wanted is None and "opentelemetry.trace" not in sys.modules):
        return None
    from ..telemetry import Telemetry

    return Telemetry()
