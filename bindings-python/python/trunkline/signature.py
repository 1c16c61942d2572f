"""A function as a tool: what it takes, what it returns, and how it is called with a JSON object."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin

from .errors import InvalidArgument
from .fields import Field
from .results import Returns
from .schema import MISSING, Builder, Node, Schema, UnsupportedType

ContextKind: TypeAlias = Literal["async", "sync"]


class BadArgument(ValueError):
    """An argument that fits its schema, but of which no value can be built."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Signature:
    """The plan of a tool, made once when it is registered."""

    __slots__ = ("_all", "_converters", "_factories", "_names", "context_name", "input_schema", "is_async", "returns")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> None:
        where = getattr(function, "__qualname__", None) or repr(function)
        self.is_async = _is_async(function, where)
        hints, parameters = _hints(function, where), _parameters(function, where)
        self.context_name = self._take_context(where, parameters, hints)
        self._all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        self._names = frozenset(parameter.name for parameter in named)
        self._converters: list[tuple[str, Callable[[Any], Any]]] = []
        self._factories: list[tuple[str, Callable[[], Any]]] = []
        if input_schema is None:
            # Without parameters there is nothing to say: the core then refuses any.
            self.input_schema = self._build(where, named, hints) if parameters else None
        else:
            # The schema is the user's own: values are handed over as JSON has them.
            self.input_schema = dict(input_schema)
        self.returns = _returns(where, hints.get("return", MISSING), output_schema)

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the function. Names that it does not have are left out, for JSON Schema allows them.

        Raises:
            BadArgument: if a value fits the schema but not the type, such as the date 2024-02-31.
        """
        if not self._all and not self._names.issuperset(arguments):
            arguments = {name: value for name, value in arguments.items() if name in self._names}
        for name, convert in self._converters:
            if name in arguments:
                try:
                    arguments[name] = convert(arguments[name])
                except (TypeError, ValueError, KeyError, ArithmeticError) as error:
                    raise BadArgument(f"/{name}", str(error).strip() or type(error).__name__) from error
        for name, make in self._factories:
            if name not in arguments:
                arguments[name] = make()
        return arguments

    def _take_context(self, where: str, parameters: list[inspect.Parameter], hints: dict[str, Any]) -> str | None:
        found: str | None = None
        for parameter in list(parameters):
            kind = _context_kind(hints.get(parameter.name))
            if kind is None:
                continue
            if found is not None:
                raise InvalidArgument(f"{where}: {found!r} and {parameter.name!r} are both the context; keep one")
            if kind != ("async" if self.is_async else "sync"):
                wanted, needed = ("Context", "async def") if kind == "async" else ("SyncContext", "def")
                raise InvalidArgument(
                    f"{where}: parameter {parameter.name!r}: {wanted} is for functions made with {needed}"
                )
            found = parameter.name
            parameters.remove(parameter)
        return found

    def _build(self, where: str, parameters: list[inspect.Parameter], hints: dict[str, Any]) -> Schema:
        builder = Builder("input")
        fields: dict[str, tuple[Node, bool, Any]] = {}
        for parameter in parameters:
            annotation, default = hints.get(parameter.name, Any), parameter.default
            if _is_field(default):
                # pydantic's habit: `days: int = Field(default=3, ge=1)`.
                annotation, default = Annotated[annotation, default], self._default_of(parameter.name, default)
            default = MISSING if default is parameter.empty else default
            try:
                node = builder.node(annotation)
            except UnsupportedType as error:
                raise InvalidArgument(f"{where}: parameter {parameter.name!r}: {error}") from error
            has_default = default is not MISSING or any(name == parameter.name for name, _ in self._factories)
            fields[parameter.name] = (node, not has_default, default)
            if node.convert is not None:
                self._converters.append((parameter.name, node.convert))
        return builder.finish(builder.object_node(fields).schema)

    def _default_of(self, name: str, field: Any) -> Any:
        """The default inside a `Field(...)` that stands where a default stands: the function must get that value."""
        factory = getattr(field, "default_factory", None)
        if factory is not None:
            self._factories.append((name, factory))
            return MISSING
        default = getattr(field, "default", inspect.Parameter.empty)
        if (
            default is Ellipsis
            or type(default).__name__ == "PydanticUndefinedType"
            or default is inspect.Parameter.empty
        ):
            return inspect.Parameter.empty
        self._factories.append((name, lambda: default))
        return default


def describe(function: Callable[..., Any]) -> str | None:
    """The docstring of a function as a description."""
    text = inspect.getdoc(function)
    return text.strip() or None if text else None


def _returns(where: str, annotation: Any, output_schema: Mapping[str, Any] | None) -> Returns:
    try:
        return Returns.of(annotation, output_schema)
    except UnsupportedType as error:
        raise InvalidArgument(f"{where}: return annotation: {error}") from error


def _is_async(function: Callable[..., Any], where: str) -> bool:
    if not callable(function):
        raise InvalidArgument(f"a tool must be a function, not {type(function).__qualname__}")
    # A callable object counts by its __call__.
    candidates = [function] if inspect.isroutine(function) else [function, getattr(function, "__call__", None)]  # noqa: B004
    if any(inspect.isasyncgenfunction(one) or inspect.isgeneratorfunction(one) for one in candidates):
        raise InvalidArgument(f"{where}: a tool must return its result, not yield it")
    return any(inspect.iscoroutinefunction(one) for one in candidates)


def _parameters(function: Callable[..., Any], where: str) -> list[inspect.Parameter]:
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{where}: its signature cannot be read: {error}") from error
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise InvalidArgument(
                f"{where}: parameter '*{parameter.name}': arguments come by name; use a list parameter"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidArgument(
                f"{where}: parameter {parameter.name!r} is positional-only, but arguments come by name"
            )
    if parameters and parameters[0].name == "self" and parameters[0].annotation is inspect.Parameter.empty:
        raise InvalidArgument(f"{where} is a method without its object: add it from one, as in add_tool(object.method)")
    return parameters


def _hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    function = inspect.unwrap(function)
    while callable(inner := getattr(function, "func", None)):  # functools.partial
        function = cast("Callable[..., Any]", inner)
    if not inspect.isroutine(function):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError:
        pass
    except TypeError as error:
        raise InvalidArgument(f"{where}: its annotations cannot be read: {error}") from error
    local_names = _caller_names()
    try:
        return typing.get_type_hints(function, localns=local_names, include_extras=True)
    except NameError as error:
        raise InvalidArgument(f"{where}: {_unresolved(function, local_names, error)}") from error


def _caller_names() -> dict[str, Any]:
    """The names where the tool is being defined: a class of a function body is known only there."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return {} if frame is None else dict(frame.f_locals)


def _unresolved(function: Any, local_names: dict[str, Any], error: NameError) -> str:
    for name, annotation in getattr(function, "__annotations__", {}).items():
        if isinstance(annotation, str):
            try:
                eval(annotation, getattr(function, "__globals__", {}), local_names)  # noqa: S307 - as get_type_hints does
            except NameError as unknown:
                which = "return annotation" if name == "return" else f"parameter {name!r}"
                return f"{which}: {annotation!r} cannot be resolved: {unknown}"
            except Exception:  # noqa: BLE001, S112 - only looking for the name
                continue
    return f"its annotations cannot be resolved: {error}"


def _context_kind(annotation: Any) -> ContextKind | None:
    if get_origin(annotation) in (Union, UnionType, Annotated):
        for arg in get_args(annotation):
            if (kind := _context_kind(arg)) is not None:
                return kind
        return None
    from .context import Context, SyncContext

    bases = getattr(annotation, "__mro__", ())
    if SyncContext in bases:
        return "sync"
    return "async" if Context in bases else None


def _is_field(default: Any) -> bool:
    return isinstance(default, Field) or type(default).__name__ == "FieldInfo"
