"""Dependencies of handlers, made for each request: `db: Annotated[Database, Depends(get_db)]`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AsyncExitStack, ExitStack

    from typing_extensions import Self

    from ..context._generated.sync_context import SyncContext
    from ..context.context import Context


class Depends:
    """Marks a parameter whose value `function` makes: `Annotated[Database, Depends(get_db)]`.

    The function may be `def` or `async def`, or a generator that yields the value and cleans up behind the `yield`, and
    it may itself take the context and further dependencies. Each is called once per request, before the handler; what
    was opened is closed in the opposite order when the handler is done, and sees its exception. None of this appears in
    schemas. `def` dependencies run where their handler runs, so those of `async def` handlers must not block.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"Depends({getattr(self.function, '__qualname__', self.function)!s})"


class Dependency:
    """The plan of one dependency, made when the handler is registered."""

    __slots__ = ("call", "context_name", "function", "is_async", "is_generator", "needs")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.call: Callable[..., Any] = function
        is_async_generator = inspect.isasyncgenfunction(function)
        self.is_generator = is_async_generator or inspect.isgeneratorfunction(function)
        self.is_async = is_async_generator or inspect.iscoroutinefunction(function)
        if self.is_generator:
            from contextlib import asynccontextmanager, contextmanager

            self.call = asynccontextmanager(function) if is_async_generator else contextmanager(function)
        self.context_name: str | None = None
        # parameter -> what it needs
        self.needs: list[tuple[str, Dependency]] = []


class AsyncScope:
    """The dependencies of one request to an `async def` handler."""

    def __init__(self, context: Context) -> None:
        from contextlib import AsyncExitStack

        self._context = context
        self._stack: AsyncExitStack = AsyncExitStack()
        self._values: dict[int, Any] = {}

    async def value(self, dependency: Dependency) -> Any:
        """The value of a dependency, made when it is first asked for."""
        key = id(dependency.function)
        if key in self._values:
            return self._values[key]
        arguments = {name: await self.value(inner) for name, inner in dependency.needs}
        if dependency.context_name is not None:
            arguments[dependency.context_name] = self._context
        value: Any = dependency.call(**arguments)
        if not dependency.is_generator:
            value = await value if dependency.is_async else value
        elif dependency.is_async:
            value = await self._stack.enter_async_context(value)
        else:
            value = self._stack.enter_context(value)
        self._values[key] = value
        return value

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)


class Scope:
    """The dependencies of one request to a `def` handler."""

    def __init__(self, context: SyncContext) -> None:
        from contextlib import ExitStack

        self._context = context
        self._stack: ExitStack = ExitStack()
        self._values: dict[int, Any] = {}

    def value(self, dependency: Dependency) -> Any:
        """The value of a dependency, made when it is first asked for."""
        key = id(dependency.function)
        if key in self._values:
            return self._values[key]
        arguments = {name: self.value(inner) for name, inner in dependency.needs}
        if dependency.context_name is not None:
            arguments[dependency.context_name] = self._context
        value: Any = dependency.call(**arguments)
        if dependency.is_generator:
            value = self._stack.enter_context(value)
        self._values[key] = value
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, traceback)
