"""The context of calls that this program causes, and of requests that it sends."""

from __future__ import annotations

import sys
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..telemetry import Telemetry


class CallScope:
    """The context of the calls caused by an exchange, an in-memory request or a middleware's
    `next`: context variables, the values of their request, and the exception that ended the call.
    """

    __slots__ = ("context", "error", "vars")

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self.context: Context = copy_context()
        self.vars: dict[str, Any] | None = values
        self.error: BaseException | None = None


class NoSpan:
    """Replaces the span of a request without telemetry."""

    __slots__ = ("ticket",)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_outcome: object) -> None:
        pass


NO_SPAN: Final = NoSpan()


def telemetry_of(wanted: bool | None) -> Telemetry | None:
    """Return the telemetry, if enabled. By default it is enabled if the program has loaded
    OpenTelemetry.

    Raises:
        ImportError: If it is enabled explicitly and OpenTelemetry is not installed.
    """
    if wanted is False or (wanted is None and "opentelemetry.trace" not in sys.modules):
        return None
    from ..telemetry import Telemetry

    return Telemetry()
