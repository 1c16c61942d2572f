"""The surroundings of calls that come of something that this program does."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any


class CallScope:
    """The surroundings of the calls that an exchange, a request in memory or `next` of a middleware
    causes: its context variables, the values of the request that it belongs to, and the exception
    that ended the call.
    """

    __slots__ = ("context", "error", "vars")

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self.context = copy_context()
        self.vars = values
        self.error: BaseException | None = None
