"""Handlers that call one function, with its arguments, context and dependencies: those of features,
and those that decide who sees them or suggest values for their arguments.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any

from .._generated.waist import VALUE
from ..context._async.context import Context
from ..context._sync.context import SyncContext
from ..errors import InvalidArgumentError
from ..port.port import Port
from ..port.scope import CallScope
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.dependencies import Depends, RequestScope, completed
from ..signature.parameters import Parameters, Planner, name_of
from .handler import Handler, place_of


class FunctionHandler(Handler):
    """A function, and how to fill its parameters. `bind` returns the arguments in the body of a
    call; without it, the body is the arguments. `render` returns the shape of the function's
    result.
    """

    def __init__(
        self,
        kind: str,
        key: Hashable,
        parameters: Parameters,
        registration: dict[str, Any],
        bind: Callable[[Any], dict[str, Any]] | None,
        render: Callable[[Any], Answer],
    ) -> None:
        super().__init__(kind, key, registration, in_thread=not parameters.is_async)
        self.function = parameters.function
        self._bind = bind
        self._render = render
        self._context_name = parameters.context_name
        self._dependencies = parameters.dependencies
        # Defaults of arguments, because dependencies can take arguments too.
        self._defaults: dict[str, Any] = {
            parameter.name: parameter.default
            for parameter in parameters.named
            if self._dependencies and parameter.default is not parameter.empty
        }

    def require(self, marks: Sequence[Depends]) -> None:
        """Run these dependencies before the handler's own. Their values are not used."""
        planner = Planner(not self.in_thread, (name_of(self.function),))
        self._dependencies = [*(("", planner.plan(mark)) for mark in marks), *self._dependencies]

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Any:
        arguments = body if self._bind is None else self._bind(body)
        if self._dependencies:
            return await self._run_with_dependencies(Context(port, ticket, scope), arguments)
        if self._context_name is not None:
            arguments[self._context_name] = Context(port, ticket, scope)
        value = self.function(**arguments)
        return await value if hasattr(value, "__await__") else value

    def run_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Any:
        arguments = body if self._bind is None else self._bind(body)
        if self._dependencies:
            return completed(self._run_with_dependencies(SyncContext(port, ticket, scope), arguments))
        if self._context_name is not None:
            arguments[self._context_name] = SyncContext(port, ticket, scope)
        value = self.function(**arguments)
        return _awaited(port, ticket, value) if hasattr(value, "__await__") else value

    @property
    def where(self) -> str:
        return super().where + place_of(self.function)

    async def _run_with_dependencies(self, context: Context | SyncContext, arguments: dict[str, Any]) -> Any:
        async with RequestScope(context, self._defaults | arguments, in_thread=self.in_thread) as scope:
            for name, dependency in self._dependencies:
                value = await scope.value(dependency)
                if name:
                    arguments[name] = value
            if self._context_name is not None:
                arguments[self._context_name] = context
            value = self.function(**arguments)
            if not hasattr(value, "__await__"):
                return value
            return _awaited(context._port, context._ticket, value) if self.in_thread else await value


def _awaited(port: Port, ticket: int, value: Awaitable[Any]) -> Any:
    """Await the result of a function on a thread, such as a `def` function that wraps an `async
    def`.
    """
    from ..port.loop_side import LoopSide

    side = LoopSide(port, ticket)
    try:
        return side.run(lambda: value)
    finally:
        side.end()


def visibility(function: Callable[..., Any]) -> FunctionHandler:
    """Return the handler of a function that decides which callers see and may call a feature."""
    parameters = Parameters(function, "a decision on who sees a feature")
    if parameters.named:
        name = parameters.named[0].name
        raise InvalidArgumentError(f"{parameters.where}: it can take only the context and dependencies, not {name!r}")
    # The body only contains the name of the feature.
    return FunctionHandler("visibility", None, parameters, {}, lambda _: {}, _decision)


def _decision(value: Any) -> Answer:
    if not isinstance(value, bool):
        raise TypeError(f"visible returned {value!r}, not True or False")
    return VALUE, value


def completer(
    kind: str, key: Hashable, function: Callable[..., Any], registration: dict[str, Any] | None = None
) -> FunctionHandler:
    """Return the handler of a function that gets the value typed so far and, if it accepts them,
    the other arguments.
    """
    parameters = Parameters(function, "a completion")
    names = [parameter.name for parameter in parameters.named]
    if not 1 <= len(names) <= 2:
        raise InvalidArgumentError(
            f"{parameters.where}: a completion takes the text so far, and optionally the other arguments,"
            f" but this one takes {len(names)} parameters"
        )

    def bind(body: Any) -> dict[str, Any]:
        context: dict[str, Any] = body.get("context") or {}
        given: list[Any] = [body["argument"]["value"], context.get("arguments") or {}]
        return dict(zip(names, given, strict=False))

    return FunctionHandler(kind, key, parameters, registration or {}, bind, _suggestions)


def _suggestions(value: Any) -> Answer:
    if isinstance(value, str):
        raise TypeError("a completion must return a list of strings, not a single string")
    return VALUE, jsonable(value)
