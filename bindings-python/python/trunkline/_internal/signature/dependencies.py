"""Dependencies of handlers, created per request: `db: Annotated[Database, Depends(get_db)]`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import InvalidArgumentError
from .asynchronous import called, innermost, is_async

if TYPE_CHECKING:
    from ..context._async.context import Context
    from ..context._sync.context import SyncContext
    from ..port.loop_side import LoopSide

T = TypeVar("T")


class Depends:
    """Marks a parameter as a dependency whose value `function` provides: `Annotated[Database,
    Depends(get_db)]`.

    The function is `def` or `async def`, or a generator that yields the value and cleans up after
    the `yield`. It can take the context and other dependencies; its other parameters without a
    default get the handler's arguments of the same name. Each dependency is called once per
    request, before the handler. Generators are closed in reverse order when the handler returns,
    and see its exception, which they can replace but not suppress. Dependencies don't appear in
    schemas.

    `def` dependencies run where their handler runs, so those of `async def` handlers must not
    block. `async def` dependencies run on the event loop; the thread of a `def` handler waits for
    them.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function: Callable[..., Any] = function

    def __repr__(self) -> str:
        return f"Depends({getattr(self.function, '__qualname__', self.function)!s})"


class Dependency:
    """How to call a dependency, determined when the handler is registered."""

    def __init__(self, function: Callable[..., Any]) -> None:
        from inspect import isasyncgenfunction, isgeneratorfunction

        self.function = function
        made = [maker for one in called(function) for maker in (one, innermost(one))]
        is_async_generator = any(map(isasyncgenfunction, made))
        self.is_generator = is_async_generator or any(map(isgeneratorfunction, made))
        self.is_async = is_async_generator or is_async(function)
        self.context_name: str | None = None
        # parameter -> its dependency
        self.needs: list[tuple[str, Dependency]] = []
        # Arguments of the handler that it takes as well.
        self.arguments: list[str] = []

    def manager(self, value: Any) -> Any:
        """Return the context manager of a generator that the function made; None for other values,
        such as what a decorator makes of the generator.
        """
        from inspect import isasyncgen, isgenerator

        is_made = self.is_generator and (isasyncgen(value) or isgenerator(value))
        make: Any = asynccontextmanager if self.is_async else contextmanager
        return make(lambda: value)() if is_made else None


class RequestScope(AsyncExitStack):
    """The dependencies of one request. For a `def` handler, its coroutines never suspend: the
    thread blocks while the event loop runs an `async def` dependency.
    """

    def __init__(self, context: Context | SyncContext, arguments: Mapping[str, Any], *, in_thread: bool) -> None:
        super().__init__()
        self._context = context
        self._arguments = arguments
        self._in_thread = in_thread
        self._values: dict[Hashable, Any] = {}
        self._side: LoopSide | None = None

    async def __aexit__(self, *outcome: Any) -> bool:  # noqa: PYI036 - passed on
        """Close the generators. One that catches the exception does not turn it into a success."""
        await super().__aexit__(*outcome)
        return False

    async def value(self, dependency: Dependency) -> Any:
        """Return the value of a dependency, created on first use."""
        key = key_of(dependency.function)
        if key in self._values:
            return self._values[key]
        dependency = self._chosen(dependency)
        arguments = self._given(dependency)
        for name, inner in dependency.needs:
            arguments[name] = await self.value(inner)
        if dependency.is_async and self._in_thread:
            value = self._value_on_loop(dependency, arguments)
        else:
            value = dependency.function(**arguments)
            if (manager := dependency.manager(value)) is None:
                value = await value if dependency.is_async and hasattr(value, "__await__") else value
            elif dependency.is_async:
                value = await self.enter_async_context(manager)
            else:
                value = self.enter_context(manager)
        self._values[key] = value
        return value

    def _chosen(self, dependency: Dependency) -> Dependency:
        overrides = self._context._port.overrides
        override = overrides.get(key_of(dependency.function)) if overrides else None
        return dependency if override is None else override(not self._in_thread)

    def _given(self, dependency: Dependency) -> dict[str, Any]:
        """Return the parameters that are not dependencies."""
        try:
            given = {name: self._arguments[name] for name in dependency.arguments}
        except KeyError as error:
            raise InvalidArgumentError(
                f"{dependency.function!r}: parameter {error} has no value: it is not an argument here"
            ) from None
        if dependency.context_name is not None:
            given[dependency.context_name] = self._context_of(dependency)
        return given

    def _context_of(self, dependency: Dependency) -> Context | SyncContext:
        if not (dependency.is_async and self._in_thread):
            return self._context
        from ..context._async.context import Context

        context = Context(self._context._port, self._context._ticket)
        context._vars = self._context.vars
        return context

    def _value_on_loop(self, dependency: Dependency, arguments: dict[str, Any]) -> Any:
        from ..port.loop_side import LoopSide

        if (side := self._side) is None:
            side = self._side = LoopSide(self._context._port, self._context._ticket)
            self.callback(side.end)
        if not dependency.is_generator:
            return side.run(lambda: dependency.function(**arguments))
        value = dependency.function(**arguments)
        if (manager := dependency.manager(value)) is None:
            return value

        def leave(*outcome: Any) -> bool | None:
            return side.run(lambda: manager.__aexit__(*outcome), cleans_up=True)

        value = side.run(manager.__aenter__)
        self.push(leave)
        return value


def completed(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("a coroutine on a thread has suspended")


def key_of(function: Any) -> Hashable:
    """Return the identity of a function. Methods of one object are the same if they are equal."""
    try:
        hash(function)
    except TypeError:
        return id(function)
    return function
