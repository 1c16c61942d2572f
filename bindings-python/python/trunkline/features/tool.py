"""Tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..client_requests import InputRequired
from ..errors import InvalidArgumentError
from ..options import camel_case
from ..returns import INPUT, Answer
from ..signature.parameters import describe
from ..signature.tool_signature import Signature
from .function import FunctionHandler
from .registry import Registry, own_name, with_meta

if TYPE_CHECKING:
    from .._generated.models import Icon, ToolAnnotations
    from ..model.types import TaskSupport


class ToolHandler(FunctionHandler):
    """Called with the arguments object; returns content, structured content or a full result."""

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
        if isinstance(value, InputRequired):
            return INPUT, value.to_json()
        return self._signature.returns.render(value)


F = TypeVar("F", bound=Callable[..., Any])


class Tools(Registry):
    """The tool methods of a server."""

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] | None = None,
        meta: Mapping[str, Any] | None = None,
        requires: Mapping[str, Any] | None = None,
        scopes: Sequence[str] | None = None,
        task: TaskSupport | None = None,
        defer_task: bool | None = None,
        ui: str | None = None,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, **options: Any) -> Any:
        """Registers the decorated function as a tool, and leaves it as it is. Options: see `add_tool`."""

        def decorate(decorated: F) -> F:
            self.add_tool(decorated, **options)
            return decorated

        if isinstance(function, str):
            raise InvalidArgumentError(f"the name of a tool goes by keyword: @server.tool(name={function!r})")
        return decorate if function is None else decorate(function)

    def add_tool(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] | None = None,
        meta: Mapping[str, Any] | None = None,
        requires: Mapping[str, Any] | None = None,
        scopes: Sequence[str] | None = None,
        task: TaskSupport | None = None,
        defer_task: bool | None = None,
        ui: str | None = None,
    ) -> None:
        """Adds a tool; clients that are connected are told.

        Args:
            function: `async def` runs on the event loop, `def` on a thread of the pool.
            name: the name of the tool (default: the function's).
            title: the name for people.
            description: what the tool does (default: the docstring).
            input_schema: replaces the schema made from the parameters; arguments are then passed as JSON has them.
            output_schema: replaces the schema made from the return annotation.
            annotations: hints for clients.
            icons: icons for user interfaces.
            meta: the `_meta` of the tool.
            requires: client capabilities without which a call is refused, such as `{"sampling": {}}`.
            scopes: what the access token of a call must grant beside what the endpoint needs.
            task: whether calls may or must run as tasks, where client and revision have those (default: they do not).
            defer_task: on 2026-07-28 a call begins as a call, and becomes a task with `ctx.start_task`.
            ui: the `ui://` URI of a resource that shows what the tool does (MCP Apps): `ui.resourceUri` in `meta`.

        Raises:
            InvalidArgumentError: if an annotation has no JSON Schema, a schema is wrong, or the name is taken.
        """
        name = own_name(function, name)
        signature = Signature(function, input_schema=input_schema, output_schema=output_schema)
        tool = camel_case(
            name=name,
            title=title,
            description=describe(function) if description is None else description,
            input_schema=signature.input_schema,
            output_schema=signature.returns.schema,
            annotations=annotations,
            icons=icons,
            execution=camel_case(task_support=task),
        )
        registration = camel_case(
            tool=with_meta(tool, meta if ui is None else _shown_by(ui, meta or {})),
            wrap_output=signature.returns.wrap or None,
            requires=requires,
            scopes=scopes,
            defer_task=defer_task,
        )
        self._add(ToolHandler(name, function, signature, registration), f"a tool named {name!r}")

    def remove_tool(self, name: str) -> None:
        """Takes a tool away; clients that are connected are told.

        Raises:
            InvalidArgumentError: if there is no such tool.
        """
        self._remove("tool", name, f"tool named {name!r}")


def _shown_by(ui: str, meta: Mapping[str, Any]) -> dict[str, Any]:
    """The `_meta` of a tool whose user interface is at that URI."""
    return {**meta, "ui": {**(meta.get("ui") or {}), "resourceUri": ui}}
