"""Providers: features that are listed and looked up on demand instead of being registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast, overload

from .._generated.models import Prompt, Resource, ResourceTemplate, Tool
from .._generated.waist import VALUE
from ..context._async.context import Context
from ..context._sync.context import SyncContext
from ..errors import InvalidArgumentError
from ..model.base import present
from ..port.port import Port
from ..port.scope import CallScope
from ..returns import Answer, Returns, render_contents, render_messages
from ..schema.jsonable import jsonable
from ..signature.asynchronous import is_async
from .handler import Handler
from .registry import Registry, decorator

Category: TypeAlias = Literal["tools", "resources", "resourceTemplates", "prompts"]
"""The kind of features that a provider lists and gets."""


D_co = TypeVar("D_co", covariant=True)

# Descriptors, and the cursor of the next page if there is one.
ProviderPage: TypeAlias = Sequence[D_co | Mapping[str, Any]] | tuple[Sequence[D_co | Mapping[str, Any]], str | None]


class AsyncProvider(Protocol[D_co]):
    """Lists and gets features that are not registered. `D_co` is the class of their descriptors."""

    async def list(self, cursor: str | None, ctx: Context, /) -> ProviderPage[D_co]:
        """Return a page of descriptors; `cursor` is None for the first page.

        Returns:
            Descriptors, as instances of their class or in protocol form, or a tuple of these and
                the cursor of the next page.
        """
        ...

    async def get(self, params: dict[str, Any], ctx: Context, /) -> object:
        """Return the value that a handler of the category would return, or None if there is no such
        feature.

        Args:
            params: The params of the request, such as a tool's `name` and `arguments`.
            ctx: The context of the request.
        """


class SyncProvider(Protocol[D_co]):
    """A provider with `def` methods, which run on pool threads."""

    def list(self, cursor: str | None, ctx: SyncContext, /) -> ProviderPage[D_co]:
        """See `AsyncProvider.list`."""
        ...

    def get(self, params: dict[str, Any], ctx: SyncContext, /) -> object:
        """See `AsyncProvider.get`."""


Provider: TypeAlias = AsyncProvider[D_co] | SyncProvider[D_co]
"""A provider of features that are not registered. Its methods are both `async def` or both `def`.
"""


class ProviderHandler(Handler):
    """An object with `list(cursor, ctx)` and `get(params, ctx)`."""

    def __init__(self, category: Category, provider: Any) -> None:
        where = type(provider).__qualname__
        self._list = _method(provider, "list", where)
        self._get = _method(provider, "get", where)
        awaits = is_async(self._list)
        if awaits != is_async(self._get):
            raise InvalidArgumentError(f"{where}: list and get must both be defined with async def, or both with def")
        super().__init__("provider", (category, id(provider)), {"of": category}, in_thread=not awaits)
        self._render = partial(_render, category)
        self._category: Category = category
        self.provider = provider

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Any:
        return "list" in body, await self._asked(body, Context(port, ticket, scope))

    def run_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Any:
        return "list" in body, self._asked(body, SyncContext(port, ticket, scope))

    def _asked(self, body: Any, context: Context | SyncContext) -> Any:
        return self._list(body["list"].get("cursor"), context) if "list" in body else self._get(body["get"], context)

    @property
    def where(self) -> str:
        return f"the provider {type(self.provider).__qualname__!r} of {self._category}"


_UNDECLARED = Returns(None, None)


def _render(category: Category, told: tuple[bool, Any]) -> Answer:
    is_list, value = told
    if is_list:
        return _page(value)
    if value is None:
        return VALUE, None  # no such feature
    if category == "tools":
        return _UNDECLARED.render(value)
    return render_messages(value) if category == "prompts" else render_contents(value)


def _method(provider: Any, name: str, where: str) -> Callable[..., Any]:
    from inspect import signature

    try:
        method = getattr(provider, name)
        signature(method).bind(None, None)
    except (AttributeError, TypeError) as error:
        raise InvalidArgumentError(
            f"{where}.{name}: {error}; a provider has list(cursor, ctx) and get(params, ctx)"
        ) from error
    return method


def _page(given: Any) -> Answer:
    items, cursor = cast("tuple[Any, Any]", given) if isinstance(given, tuple) else (given, None)
    return VALUE, present(items=jsonable([*items]), nextCursor=cursor)


P = TypeVar("P")


class Providers(Registry):
    """The provider methods of a server."""

    def provider(self, category: Category) -> Callable[[P], P]:
        """Register the decorated class, or an object, as a provider, and return it unchanged. See
        `add_provider`.
        """

        def add(provider: Any) -> None:
            self.add_provider(category, provider() if isinstance(provider, type) else provider)

        return decorator("provider", add)

    @overload
    def add_provider(self, category: Literal["tools"], provider: Provider[Tool]) -> None: ...

    @overload
    def add_provider(self, category: Literal["resources"], provider: Provider[Resource]) -> None: ...

    @overload
    def add_provider(self, category: Literal["resourceTemplates"], provider: Provider[ResourceTemplate]) -> None: ...

    @overload
    def add_provider(self, category: Literal["prompts"], provider: Provider[Prompt]) -> None: ...

    def add_provider(self, category: Category, provider: Provider[Any]) -> None:
        """Add a provider of features that are not registered, such as rows of a database.

        The provider has the two methods of `AsyncProvider` or `SyncProvider`, both `async def` or
        both `def`. `get` is called for names and URIs that are not registered. Arguments of a tool
        are validated against its listed schema if the caller has listed it. `get` must check scopes
        itself.

        Args:
            category: `"tools"`, `"resources"`, `"resourceTemplates"` or `"prompts"`.
            provider: The provider.
        """
        self._add(ProviderHandler(category, provider))

    def remove_provider(self, category: Category, provider: Any) -> None:
        """Remove a provider.

        Raises:
            InvalidArgumentError: If it is not registered.
        """
        self._remove("provider", (category, id(provider)), f"such provider of {category}")

    def list_changed(self, category: Category) -> None:
        """Notify clients that a provider's list has changed. Not needed when you register or remove
        features.
        """
        self._tell({"listChanged": category})
