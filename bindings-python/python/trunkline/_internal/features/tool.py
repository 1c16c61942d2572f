"""Tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, overload

import trunkline

from .._generated.methods import EXPLAIN
from .._generated.option_names import TOOL_OPTIONS, TOOL_REGISTRATION
from .._generated.waist import VALUE
from ..model.base import present
from ..options import Unpack, encoded
from ..port.port import Port
from ..port.scope import CallScope
from ..returns import Answer
from ..signature.tool_signature import Signature
from .function import FunctionHandler
from .handler import Handler
from .registry import F, Registration, Registry, decorator, described


class Explainer(Handler):
    """Called with arguments that the core rejected. Fails with the error message of the library
    that defines the types, or returns whether that library accepts the arguments.
    """

    def __init__(self, tool: Handler, explain: Callable[[dict[str, Any]], bool]) -> None:
        super().__init__(tool.kind, tool.key, {}, in_thread=tool.in_thread)
        self._explain = explain

    async def run(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:
        return self.run_in_thread(port, ticket, body, scope)

    def run_in_thread(self, port: Port, ticket: int, body: Any, scope: CallScope | None) -> Answer:  # noqa: ARG002
        return VALUE, self._explain(body)

    def _fail(self, port: Port, ticket: int, error: BaseException, scope: CallScope | None) -> None:  # noqa: ARG002
        # The explanation is not an exception of the handler, which did not run.
        super()._fail(port, ticket, error, None)


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
        return decorator("tool", partial(self.add_tool, **options), function)

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


def _tool(function: Callable[..., Any], options: Mapping[str, Any]) -> FunctionHandler:
    given = encoded(TOOL_OPTIONS, options)
    input_schema, output_schema = given.pop("inputSchema", None), given.pop("outputSchema", None)
    signature = Signature(function, input_schema=input_schema, output_schema=output_schema)
    tool, registration = described(signature.parameters, given, TOOL_REGISTRATION)
    tool |= present(inputSchema=signature.input_schema or None, outputSchema=signature.returns.schema or None)
    returns, explains = signature.returns, signature.explains or None
    registration |= present(tool=tool, wrapOutput=returns.wrap or None, explains=explains)
    bind = signature.bind if signature.binds else None
    handler = FunctionHandler("tool", tool["name"], signature.parameters, registration, bind, returns.render)
    if explains:
        handler.functions[EXPLAIN] = Explainer(handler, signature.explain)
    return handler
