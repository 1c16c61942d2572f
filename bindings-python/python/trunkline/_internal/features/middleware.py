"""Middleware: functions that run around requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, overload

from .._generated.methods import CALL_TOOL, NEXT
from .._generated.waist import INPUT, RESULT
from ..client_requests.input_request import InputRequired
from ..context._async.context import Context
from ..errors import InvalidArgumentError, ProtocolError
from ..model.base import Model, present
from ..port.port import Port
from ..port.scope import CallScope
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.asynchronous import is_async
from ..signature.dependencies import key_of
from ..signature.parameters import name_of
from .handler import Handler, place_of
from .registry import Registry, decorator

Next: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
"""Runs the rest of the request: `await next()`, or `await next(params)` to change the params.

Returns the result in protocol form. Raises the handler's exception, or `ProtocolError` if the
library itself replied with an error.
"""


class Request:
    """A request as middleware sees it: its method, and its params as received."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method: str = method
        self.params: dict[str, Any] = params

    def __repr__(self) -> str:
        return f"Request({self.method!r}, {self.params!r})"


Middleware: TypeAlias = Callable[[Request, Next, Context], Awaitable["Mapping[str, Any] | InputRequired"]]
"""An `async def` function of the request, `next` and the context that runs around requests. It
returns a result, such as the one that `next` returned. See `Server.middleware`.
"""


class MiddlewareHandler(Handler):
    """Called with the request, `next`, and the context."""

    def __init__(self, function: Middleware, methods: Sequence[str]) -> None:
        if not is_async(function):
            raise InvalidArgumentError(
                f"{name_of(function)}: middleware is an async def function of (request, next, ctx)"
            )
        super().__init__("middleware", key_of(function), {"methods": [*methods]} if methods else {})
        self._render = _render
        self.function = function

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Any:
        context = Context(port, ticket, scope)
        # Exceptions raised by `next`, each with the reply that it was converted to.
        raised: list[tuple[BaseException, dict[str, Any] | ProtocolError]] = []

        async def proceed(params: Mapping[str, Any] | None = None) -> dict[str, Any]:
            rest = present(method=NEXT, params=params)
            within = CallScope(context.vars)
            try:
                told: dict[str, Any] | ProtocolError = await port.answer(port.request(ticket, rest, within))
            except ProtocolError as error:
                told = error
            if within.error is not None:
                raised.append((within.error, told))
                raise within.error
            if isinstance(told, ProtocolError):
                raise told
            return told

        try:
            return await self.function(Request(body["method"], body.get("params") or {}), proceed, context)
        except BaseException as error:
            if not (answers := [told for known, told in raised if known is error]):
                raise
            if scope is not None:
                scope.error = error
            # The exception passed through: the caller gets the reply that the failure was converted
            # to.
            if isinstance(told := answers[-1], ProtocolError):
                raise told from None
            return told

    @property
    def where(self) -> str:
        return f"the middleware {name_of(self.function)!r}{place_of(self.function)}"


def _render(result: Any) -> Answer:
    if isinstance(result, InputRequired):
        return INPUT, result.to_json()
    if isinstance(result, (Model, Mapping)):
        return RESULT, jsonable(result)
    raise TypeError(f"a result must be an object, such as the one that next returned, not {type(result).__qualname__}")


M = TypeVar("M", bound="Middleware")


class Middlewares(Registry):
    """The middleware of a server."""

    @overload
    def middleware(self, function: M, /) -> M: ...

    @overload
    def middleware(self, /, *methods: str) -> Callable[[M], M]: ...

    def middleware(self, /, *given: Any) -> Any:
        """Register the decorated function as middleware, and return it unchanged. It runs around
        all requests with `@server.middleware`, or around those with the given methods, as in
        `@server.middleware("tools/call")`. See `add_middleware`.
        """
        if len(given) == 1 and callable(given[0]):
            return decorator("middleware", self.add_middleware, given[0])
        return decorator("middleware", lambda function: self.add_middleware(function, *given))

    def add_middleware(self, function: Middleware, *methods: str) -> None:
        """Add middleware that runs around requests. The first one added is the outermost.

        Args:
            function: An `async def` function of the request, `next` and the context that returns a
                result. `await next()` runs the rest of the request and returns its result in
                protocol form; `await next(params)` does the same with other params. The rest runs
                in a copy of the middleware's context variables, and `next` raises the handler's
                exception.
            methods: Methods of the requests, such as `"tools/call"`; default: all that can be
                wrapped.

        On 2026-07-28, a handler that sends requests to its client runs again with the responses,
        and so does its middleware, once per round. The result of a round that needs input has the
        `resultType` `"input_required"`; that of the last round has `"complete"`.

        Raises:
            InvalidArgumentError: If a method cannot be wrapped, or the function is already
                registered.
        """
        for method in methods:
            if not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidArgumentError(f"middleware wraps methods by name, such as {CALL_TOOL!r}, not {method!r}")
        self._add(MiddlewareHandler(function, methods))

    def remove_middleware(self, function: Middleware) -> None:
        """Remove middleware.

        Raises:
            InvalidArgumentError: If the function is not registered.
        """
        self._remove("middleware", key_of(function), "such middleware")
