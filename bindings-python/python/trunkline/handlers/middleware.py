"""Middleware: what runs around requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context as ContextVars
from typing import TYPE_CHECKING, Any, TypeAlias

from ..asking import InputRequired
from ..context import Context
from ..errors import InvalidArgument
from ..jsonable import jsonable
from ..parameters import name_of
from ..results import INPUT, RESULT
from .base import Answer, Handler, key_of

if TYPE_CHECKING:
    from ..port import Port

# Runs the rest of the request, with other params if some are given, and gives its result.
Next: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]


class Request:
    """A request that middleware sees: its method and its params, as they came."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method = method
        self.params = params

    def __repr__(self) -> str:
        return f"Request({self.method!r}, {self.params!r})"


Middleware: TypeAlias = Callable[[Request, Next, Context], Awaitable["Mapping[str, Any] | InputRequired"]]


class MiddlewareHandler(Handler):
    """Called with the request, what runs the rest of it, and the context."""

    __slots__ = ("function",)

    kind = "middleware"

    def __init__(self, function: Middleware, methods: Sequence[str]) -> None:
        import inspect

        called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
        if not inspect.iscoroutinefunction(called):
            raise InvalidArgument(f"{name_of(function)}: middleware is an async def function of (request, next, ctx)")
        super().__init__(key_of(function), {"methods": [*methods]} if methods else {}, in_thread=False)
        self.function = function

    async def run(self, port: Port, ticket: int, body: Any) -> Answer:
        async def proceed(params: Mapping[str, Any] | None = None) -> dict[str, Any]:
            rest: dict[str, Any] = {"method": "next"}
            if params is not None:
                rest["params"] = params
            return await port.answer(port.request(ticket, rest))

        request = Request(body["method"], body.get("params") or {})
        result = await self.function(request, proceed, Context(port, ticket))
        if isinstance(result, InputRequired):
            return INPUT, result.to_json()
        return RESULT, jsonable(result)

    def run_in_thread(self, port: Port, ticket: int, body: Any, context: ContextVars) -> Answer:
        raise NotImplementedError("middleware runs on the event loop")
