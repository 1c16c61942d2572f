"""Providers, middleware, and what the server tells its clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from ..errors import InvalidArgument
from ..handlers.base import key_of
from ..handlers.middleware import MiddlewareHandler
from ..handlers.provider import ProviderHandler
from .base import Base

if TYPE_CHECKING:
    from ..handlers.middleware import Middleware
    from ..handlers.provider import Category

P = TypeVar("P")
M = TypeVar("M", bound="Middleware")


class Hooks(Base):
    """What sees requests that registered things do not answer alone."""

    def provider(self, category: Category) -> Callable[[P], P]:
        """Registers the decorated class, or an object, as a provider, and leaves it as it is. See `add_provider`."""

        def decorate(provider: P) -> P:
            self.add_provider(category, provider() if isinstance(provider, type) else provider)
            return provider

        return decorate

    def add_provider(self, category: Category, provider: Any) -> None:
        """Adds a source of things that are not registered, such as rows of a database.

        The provider has two methods, both `async def` or both `def`. `list(cursor, ctx)` returns descriptors as the
        protocol has them, or a tuple of those and the cursor of the next page; `cursor` is None on the first page.
        `get(params, ctx)` is called with the params of a request for a name or URI that is not registered, and returns
        what a handler of that category returns, or None if there is no such thing.

        Args:
            category: `"tools"`, `"resources"`, `"resourceTemplates"` or `"prompts"`.
            provider: the object.
        """
        self._add(ProviderHandler(category, provider), f"this provider of {category}")

    def remove_provider(self, category: Category, provider: Any) -> None:
        """Takes a provider away.

        Raises:
            InvalidArgument: if it is not there.
        """
        self._remove("provider", (category, id(provider)), f"such provider of {category}")

    @overload
    def middleware(self, function: M, /) -> M: ...

    @overload
    def middleware(self, /, *methods: str) -> Callable[[M], M]: ...

    def middleware(self, /, *given: Any) -> Any:
        """Registers the decorated function as middleware, of all requests or of those with the named methods, and
        leaves it as it is: `@server.middleware` or `@server.middleware("tools/call")`. See `add_middleware`.
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
            function: `async def` of the request, of `next`, and of the context. `await next()` runs the rest and gives
                its result as the protocol has it, `await next(params)` does so with other params; it returns a result.
            methods: the methods of the requests, such as `"tools/call"` (default: all that can be wrapped).

        Raises:
            InvalidArgument: if a method cannot be wrapped, or the function is there already.
        """
        for method in methods:
            if not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidArgument(f"middleware wraps methods by name, such as 'tools/call', not {method!r}")
        self._add(MiddlewareHandler(function, methods), "this middleware")

    def remove_middleware(self, function: Middleware) -> None:
        """Takes middleware away.

        Raises:
            InvalidArgument: if it is not there.
        """
        self._remove("middleware", key_of(function), "such middleware")

    def list_changed(self, category: Category) -> None:
        """Tells clients that what a provider lists has changed. What is added and removed here is told by itself."""
        self._tell({"listChanged": category})

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tells the client that was sent to a page with this id that what happens there is done."""
        self._tell({"elicitationComplete": elicitation_id})
