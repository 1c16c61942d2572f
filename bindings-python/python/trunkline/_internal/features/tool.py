"""Tools."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

import trunkline

from .._generated.option_names import TOOL_OPTIONS, TOOL_REGISTRATION
from .._generated.waist import VALUE
from ..errors import InvalidArgumentError
from ..options import Unpack, camel_case, encoded
from ..returns import Answer
from ..signature.tool_signature import Signature
from .function import FunctionHandler
from .handler import Handler
from .registry import Registration, Registry, described, taken

if TYPE_CHECKING:
    from ..context._async.context import Context
    from ..context._sync.context import SyncContext
    from ..port.port import Port
    from ..port.scope import CallScope


class ToolHandler(FunctionHandler):
    """Called with the arguments object. Returns content, structured content or a full result."""

    __slots__ = ("_signature",)

    kind = "tool"

    def __init__(
        self, name: str, function: Callable[..., Any], signature: Signature, registration: dict[str, Any]
    ) -> None:
        super().__init__(name, function, signature.parameters, registration)
        self._signature = signature

    def bind(self, body: Any) -> dict[str, Any]:
        return self._signature.bind(body)

    def render(self, value: Any) -> Answer:
        return self._signature.returns.render(value)

    @property
    def explainer(self) -> Handler:
        return Explainer(self.key, self._signature, in_thread=self.in_thread)


class Explainer(Handler):
    """Called with arguments that the core rejected. Fails with the error message of the library
    that defines the types, or returns whether that library accepts the arguments.
    """

    __slots__ = ("_signature",)

    kind = "tool"

    def __init__(self, key: Hashable, signature: Signature, *, in_thread: bool) -> None:
        super().__init__(key, {}, in_thread=in_thread)
        self._signature = signature

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:
        return self.run_in_thread(port, ticket, body, scope)

    def call(self, port: Port, ticket: int, body: Any) -> Any:  # noqa: ARG002
        return self._signature.explain(body)

    def answered(self, value: Any) -> Answer:
        return VALUE, value

    def _fail(
        self,
        port: Port,
        ticket: int,
        error: BaseException,
        scope: CallScope | None,  # noqa: ARG002
        context: type[Context | SyncContext],
    ) -> None:
        # The explanation is not an exception of the handler, which did not run.
        super()._fail(port, ticket, error, None, context)


F = TypeVar("F", bound=Callable[..., Any])


class Tools(Registry):
    """The tool methods of a server."""

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, **options: Unpack[trunkline.ToolOptions]) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, **options: Unpack[trunkline.ToolOptions]) -> Any:
        """Register the decorated function as a tool, and return it unchanged. See `ToolOptions` for
        the options.
        """

        def decorate(decorated: F) -> F:
            self.add_tool(decorated, **options)
            return decorated

        if isinstance(function, str):
            raise InvalidArgumentError(f"pass the name of a tool by keyword: @server.tool(name={function!r})")
        return decorate if function is None else decorate(function)

    def add_tool(self, function: Callable[..., Any], **options: Unpack[trunkline.ToolOptions]) -> Registration:
        """Add a tool, and notify connected clients.

        Args:
            function: `async def` runs on the event loop, `def` on a pool thread.
            options: See `ToolOptions`.

        Raises:
            InvalidArgumentError: If an annotation has no JSON Schema, a schema is invalid, or the
                name is taken.
        """
        return self._added(_tool, function, options)

    def get_tool(self, name: str) -> Registration:
        """Return the tool with this name, to change, hide or remove it.

        Raises:
            InvalidArgumentError: If there is no such tool.
        """
        return self._found("tool", name)

    def remove_tool(self, name: str) -> None:
        """Remove a tool, and notify connected clients.

        Raises:
            InvalidArgumentError: If there is no such tool.
        """
        self._remove("tool", name, f"tool named {name!r}")


def _tool(function: Callable[..., Any], options: Mapping[str, Any]) -> tuple[ToolHandler, str]:
    given = encoded(TOOL_OPTIONS, options)
    registration = taken(given, *TOOL_REGISTRATION)
    input_schema, output_schema = given.pop("inputSchema", None), given.pop("outputSchema", None)
    tool = described(function, given)
    signature = Signature(function, input_schema=input_schema, output_schema=output_schema)
    tool |= camel_case(input_schema=signature.input_schema, output_schema=signature.returns.schema)
    wraps, explains = signature.returns.wrap or None, signature.explains or None
    registration |= camel_case(tool=tool, wrap_output=wraps, explains=explains)
    name = tool["name"]
    return ToolHandler(name, function, signature, registration), f"a tool named {name!r}"
