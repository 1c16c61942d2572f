"""Handlers that are one function: its arguments, context and dependencies are filled in for each call."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import Context as ContextVars
from typing import TYPE_CHECKING, Any

from .._generated.waist import VALUE
from ..context._generated.sync_context import SyncContext
from ..context.context import Context
from ..errors import InvalidArgumentError
from ..returns import Answer
from ..signature.dependencies import AsyncScope, Scope
from .handler import Handler

if TYPE_CHECKING:
    from ..port.port import Port
    from ..signature.parameters import Parameters
    from ..signature.string_arguments import TextSignature


class FunctionHandler(Handler):
    """A function and the plan of its parameters."""

    __slots__ = ("_context_name", "_dependencies", "function")

    def __init__(
        self, key: Hashable, function: Callable[..., Any], parameters: Parameters, registration: dict[str, Any]
    ) -> None:
        super().__init__(key, registration, in_thread=not parameters.is_async)
        self.function = function
        self._context_name = parameters.context_name
        self._dependencies = parameters.dependencies

    def bind(self, body: Any) -> dict[str, Any]:
        """The arguments in the body of a call."""
        raise NotImplementedError

    def render(self, value: Any) -> Answer:
        """The shape of what the function returned."""
        raise NotImplementedError

    async def run(self, port: Port, ticket: int, body: Any) -> Answer:
        arguments = self.bind(body)
        if self._dependencies:
            return self.render(await self._run_with_dependencies(Context(port, ticket), arguments))
        if self._context_name is not None:
            arguments[self._context_name] = Context(port, ticket)
        return self.render(await self.function(**arguments))

    def run_in_thread(self, port: Port, ticket: int, body: Any, context: ContextVars) -> Answer:
        arguments = self.bind(body)
        if self._dependencies:
            value = context.run(self._run_in_thread_with_dependencies, SyncContext(port, ticket), arguments)
            return self.render(value)
        if self._context_name is not None:
            arguments[self._context_name] = SyncContext(port, ticket)
        return self.render(context.run(self.function, **arguments))

    async def _run_with_dependencies(self, context: Context, arguments: dict[str, Any]) -> Any:
        async with AsyncScope(context) as scope:
            for name, dependency in self._dependencies:
                arguments[name] = await scope.value(dependency)
            if self._context_name is not None:
                arguments[self._context_name] = context
            return await self.function(**arguments)

    def _run_in_thread_with_dependencies(self, context: SyncContext, arguments: dict[str, Any]) -> Any:
        with Scope(context) as scope:
            for name, dependency in self._dependencies:
                arguments[name] = scope.value(dependency)
            if self._context_name is not None:
                arguments[self._context_name] = context
            return self.function(**arguments)


class TextHandler(FunctionHandler):
    """A function that receives texts."""

    __slots__ = ("_signature",)

    def __init__(
        self, key: Hashable, function: Callable[..., Any], signature: TextSignature, registration: dict[str, Any]
    ) -> None:
        super().__init__(key, function, signature.parameters, registration)
        self._signature = signature

    def bind(self, body: Any) -> dict[str, Any]:
        return self._signature.bind(body)


class VisibilityHandler(FunctionHandler):
    """A function that decides who sees and calls a feature."""

    __slots__ = ()

    kind = "visibility"

    def __init__(self, function: Callable[..., Any]) -> None:
        from ..signature.parameters import Parameters

        parameters = Parameters(function, "a decision on who sees a feature")
        if parameters.named:
            name = parameters.named[0].name
            raise InvalidArgumentError(f"{parameters.where}: it takes the context and dependencies only, not {name!r}")
        super().__init__(None, function, parameters, {})

    def bind(self, body: Any) -> dict[str, Any]:  # noqa: ARG002 - it has the name of the feature only
        return {}

    def render(self, value: Any) -> Answer:
        if not isinstance(value, bool):
            raise TypeError(f"visible returned {value!r}, not True or False")
        return VALUE, value
