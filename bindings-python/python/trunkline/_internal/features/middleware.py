"""Middleware: functions that run around requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

from .._generated.methods import CALL_TOOL, NEXT
from .._generated.waist import INPUT, RESULT
from ..client_requests.input_request import InputRequired
from ..context._async.context import Context
from ..errors import InvalidArgumentError, ProtocolError
from ..model.base import Model
from ..port.scope import CallScope
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.asynchronous import is_async
from ..signature.dependencies import key_of
from ..signature.parameters import name_of
from .handler import Handler, place_of
from .registry import Registry

if TYPE_CHECKING:
    from ..port.port import Port


Next: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
"""Runs the rest of the request: `await next()`, or `await next(params)` with other params. It gives
the result as the protocol has it, and raises what the handler raised; `ProtocolError` is the answer
of the library itself.
"""


class Request:
    """A request that middleware sees: its method and its params, as they came."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method: str = method
        self.params: dict[str, Any] = params

    def __repr__(self) -> str:
        return f"Request({self.method!r}, {self.params!r})"


Middleware: TypeAlias = Callable[[Request, Next, Context], Awaitable["Mapping[str, Any] | InputRequired"]]
"""A function around requests: `async def` of the request, of `next` and of the context. It returns
the result, such as the one that `next` gave; see `Server.middleware`.
"""


class MiddlewareHandler(Handler):
    """Called with the request, what runs the rest of it, and the context."""

    __slots__ = ("function",)

    kind = "middleware"

    def __init__(self, function: Middleware, methods: Sequence[str]) -> None:
        if not is_async(function):
            raise InvalidArgumentError(
                f"{name_of(function)}: middleware is an async def function of (request, next, ctx)"
            )
        super().__init__(key_of(function), {"methods": [*methods]} if methods else {}, in_thread=False)
        self.function = function

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:
        context = Context(port, ticket, scope)
        # Exceptions of the rest, each with the answer that it has become.
        raised: list[tuple[BaseException, dict[str, Any] | ProtocolError]] = []

        async def proceed(params: Mapping[str, Any] | None = None) -> dict[str, Any]:
            rest: dict[str, Any] = {"method": NEXT}
            if params is not None:
                rest["params"] = params
            within = CallScope(context.vars)
            told: dict[str, Any] | ProtocolError
            try:
                told = await port.answer(port.request(ticket, rest, within))
            except ProtocolError as error:
                told = error
            if within.error is not None:
                raised.append((within.error, told))
                raise within.error
            if isinstance(told, ProtocolError):
                raise told
            return told

        request = Request(body["method"], body.get("params") or {})
        try:
            result = await self.function(request, proceed, context)
        except BaseException as error:
            answers = [told for known, told in raised if known is error]
            if not answers:
                raise
            if scope is not None:
                scope.error = error
            # It went through: its caller is told what the handler's failure became.
            if isinstance(told := answers[-1], ProtocolError):
                raise told from None
            return RESULT, told
        return self._rendered(_render, result)

    @property
    def where(self) -> str:
        return f"the middleware {name_of(self.function)!r}{place_of(self.function)}"

    def run_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:
        raise NotImplementedError("middleware runs on the event loop")


def _render(result: Any) -> Answer:
    if isinstance(result, InputRequired):
        return INPUT, result.to_json()
    if isinstance(result, (Model, Mapping)):
        return RESULT, jsonable(result)
    raise TypeError(f"a result is an object, such as the one that next gave, not {type(result).__qualname__}")


M = TypeVar("M", bound="Middleware")


class Middlewares(Registry):
    """Middleware of a server."""

    @overload
    def middleware(self, function: M, /) -> M: ...

    @overload
    def middleware(self, /, *methods: str) -> Callable[[M], M]: ...

    def middleware(self, /, *given: Any) -> Any:
        """Registers the decorated function as middleware, of all requests or of those with the
        named methods, and leaves it as it is: `@server.middleware` or
        `@server.middleware("tools/call")`. See `add_middleware`.
        """
        if len(given) == 1 and callable(given[0]):
            self.add_middleware(cast("Middleware", given[0]))
            return given[0]

        def decorate(function: M) -> M:
            self.add_middleware(function, *given)
            return function

        return decorate

    def add_middleware(self, function: Middleware, *methods: str) -> None:
        """Adds something that runs around requests, the first added outermost.

        Args:
            function: `async def` of the request, of `next`, and of the context. `await next()` runs
                the rest and gives its result as the protocol has it, `await next(params)` does so
                with other params; it returns a result. The rest runs in a copy of the context
                variables of the middleware, and `next` raises what its handler raised.
            methods: the methods of the requests, such as `"tools/call"` (default: all that can be
                wrapped).

        A handler that asks its client on 2026-07-28 runs again with the answers, and so does its
        middleware, once in each round. The result of a round that asks has the `resultType`
        `"input_required"`, the last one `"complete"`.

        Raises:
            InvalidArgumentError: if a method cannot be wrapped, or the function is there already.
        """
        for method in methods:
            if not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidArgumentError(f"middleware wraps methods by name, such as {CALL_TOOL!r}, not {method!r}")
        self._add(MiddlewareHandler(function, methods), "this middleware")

    def remove_middleware(self, function: Middleware) -> None:
        """Takes middleware away.

        Raises:
            InvalidArgumentError: if it is not there.
        """
        self._remove("middleware", key_of(function), "such middleware")
