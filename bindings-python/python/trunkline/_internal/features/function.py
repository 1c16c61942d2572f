"""Handlers that call one function, with its arguments, context and dependencies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from .._generated.waist import VALUE
from ..context._async.context import Context
from ..context._sync.context import SyncContext
from ..errors import InvalidArgumentError
from ..port.port import Port
from ..port.scope import CallScope
from ..returns import Answer
from ..signature.asynchronous import is_awaitable
from ..signature.dependencies import Depends, RequestScope, completed
from ..signature.parameters import Parameters, Planner, name_of
from ..signature.string_arguments import TextSignature
from ..signature.tool_signature import Signature
from .handler import Handler, place_of


class FunctionHandler(Handler):
    """A function, and how to fill its parameters."""

    def __init__(
        self, key: Hashable, function: Callable[..., Any], parameters: Parameters, registration: dict[str, Any]
    ) -> None:
        super().__init__(key, registration, in_thread=not parameters.is_async)
        self.function = function
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

    def bind(self, body: Any) -> dict[str, Any]:
        """Return the arguments in the body of a call."""
        raise NotImplementedError

    def render(self, value: Any) -> Answer:
        """Return the shape of the function's result."""
        raise NotImplementedError

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:
        arguments = self.bind(body)
        if self._dependencies:
            return self._rendered(
                self.render, await self._run_with_dependencies(Context(port, ticket, scope), arguments)
            )
        if self._context_name is not None:
            arguments[self._context_name] = Context(port, ticket, scope)
        value = self.function(**arguments)
        return self._rendered(self.render, await value if is_awaitable(value) else value)

    def run_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:
        arguments = self.bind(body)
        if self._dependencies:
            value = completed(self._run_with_dependencies(SyncContext(port, ticket, scope), arguments))
        else:
            if self._context_name is not None:
                arguments[self._context_name] = SyncContext(port, ticket, scope)
            value = self.function(**arguments)
        if is_awaitable(value):
            value = _awaited(port, ticket, value)
        return self._rendered(self.render, value)

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
            return await value if is_awaitable(value) and not self.in_thread else value


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


S = TypeVar("S", bound="Signature | TextSignature")


class SignatureHandler(FunctionHandler, Generic[S]):
    """A function whose arguments are converted to the types of its parameters."""

    def __init__(self, key: Hashable, function: Callable[..., Any], signature: S, registration: dict[str, Any]) -> None:
        super().__init__(key, function, signature.parameters, registration)
        self._signature = signature

    def bind(self, body: Any) -> dict[str, Any]:
        return self._signature.bind(body)


class VisibilityHandler(FunctionHandler):
    """A function that decides which callers see and may call a feature."""

    kind = "visibility"

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = Parameters(function, "a decision on who sees a feature")
        if parameters.named:
            name = parameters.named[0].name
            raise InvalidArgumentError(
                f"{parameters.where}: it can take only the context and dependencies, not {name!r}"
            )
        super().__init__(None, function, parameters, {})

    def bind(self, body: Any) -> dict[str, Any]:  # noqa: ARG002 - it only contains the name of the feature
        return {}

    def render(self, value: Any) -> Answer:
        if not isinstance(value, bool):
            raise TypeError(f"visible returned {value!r}, not True or False")
        return VALUE, value
