"""Parameters of handlers, read once when a handler is registered."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable
from contextlib import suppress
from keyword import iskeyword
from types import SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

from ..errors import InvalidArgumentError
from ..schema.builder import MISSING, typed_dict_fields, unaliased, unpacked
from ..schema.fields import Field, alias_of, metadata_of
from ..schema.node import Schema
from ..schema.unsupported import UnsupportedType, refusing
from .asynchronous import called, innermost, is_async
from .dependencies import Dependency, Depends
from .docstrings import read_docstring

if TYPE_CHECKING:
    from inspect import Parameter

# Dependencies may depend on others.
_MAX_DEPTH: Final = 32


class Parameters:
    """The parameters that callers fill, and those that the package fills: the context and
    dependencies.
    """

    def __init__(self, function: Callable[..., Any], noun: str = "a handler") -> None:
        from functools import partial
        from inspect import getdoc

        self.function = function
        self.where = where = name_of(function)
        self.is_async = _checked_async(function, where, noun)
        given = _parameters(function, where)
        self.hints = _hints(function, where, given)
        # The fields of `**options: Unpack[Options]` without which it can be called.
        self._optional = frozenset(_unpack(where, given, self.hints))
        self.context_name = _take_context(where, given, self.hints, is_async=self.is_async)
        names = frozenset(
            parameter.name
            for parameter in given
            if parameter.kind is not parameter.VAR_KEYWORD
            and parameter.name not in self._optional
            and _mark(parameter, self.hints) is None
        )
        self.dependencies = Planner(self.is_async, (where,), names).take(given, self.hints)
        # The parameter for all other arguments, if there is one.
        self.rest = next((parameter for parameter in given if parameter.kind is parameter.VAR_KEYWORD), None)
        self.named = [parameter for parameter in given if parameter is not self.rest]
        # The docstring without the sections on parameters, results and exceptions.
        documented: Any = function.func if isinstance(function, partial) else function
        self.description, self._described = read_docstring(getdoc(documented) or "")

    def about(self, parameter: Parameter, schema: Schema) -> Schema:
        """Return the parameter's schema. Without a description of its own, it gets the one from the
        docstring.
        """
        described = self._described.get(parameter.name)
        return {**schema, "description": described} if described and "description" not in schema else schema

    def read(self, parameter: Parameter) -> Given:
        """Return the argument's name, its annotation and its default."""
        annotation, default = self.hints.get(parameter.name, Any), parameter.default
        if _is_field(default):
            # The pydantic style: `days: int = Field(default=3, ge=1)`.
            annotation, default = Annotated[annotation, default], parameter.empty
        with refusing(f"{self.where}: parameter {parameter.name!r}"):
            name = alias_of(annotation) or parameter.name
        if default is not parameter.empty:
            return Given(name, annotation, default)
        # The function must get the value inside.
        for field in filter(_is_field, reversed(metadata_of(annotation))):
            if (factory := getattr(field, "default_factory", None)) is not None:
                return Given(name, annotation, make=factory)
            value: Any = getattr(field, "default", Ellipsis)
            if value is not Ellipsis and type(value).__name__ != "PydanticUndefinedType":
                return Given(name, annotation, value, make=lambda value=value: value)
        return Given(name, annotation, may_be_absent=parameter.name in self._optional)


def _is_field(value: Any) -> bool:
    return isinstance(value, Field) or type(value).__name__ == "FieldInfo"


class Given(NamedTuple):
    """A parameter: the name of its argument, its annotation, its default (or MISSING), a function
    that creates its value if Python wouldn't, and whether it may have no value at all.
    """

    name: str
    annotation: Any
    default: Any = MISSING
    make: Callable[[], Any] | None = None
    may_be_absent: bool = False

    @property
    def is_required(self) -> bool:
        """True if the parameter is required."""
        return self.default is MISSING and self.make is None and not self.may_be_absent


def name_of(function: Any) -> str:
    """Return the name of a function for error messages."""
    return getattr(function, "__qualname__", None) or repr(function)


def _take_context(where: str, parameters: list[Parameter], hints: dict[str, Any], *, is_async: bool) -> str | None:
    found: str | None = None
    for parameter in list(parameters):
        if (kind := _context_kind(hints.get(parameter.name))) is None:
            continue
        if found is not None:
            raise InvalidArgumentError(f"{where}: {found!r} and {parameter.name!r} are both the context; keep one")
        if kind != (wanted := "Context" if is_async else "SyncContext"):
            needed = "def" if is_async else "async def"
            raise InvalidArgumentError(
                f"{where}: parameter {parameter.name!r}: {kind} is for functions defined with {needed}; use {wanted}"
            )
        found = parameter.name
        parameters.remove(parameter)
    return found


def _mark(parameter: Parameter, hints: dict[str, Any]) -> Depends | None:
    marks = metadata_of(unaliased(hints.get(parameter.name)))
    return next((mark for mark in marks if isinstance(mark, Depends)), None)


class Planner(NamedTuple):
    """Plans the dependencies of handlers of one kind whose arguments are `names`, or of any handler
    (None). `within` and `makers` are the functions that need them, the outermost first.
    """

    is_async: bool
    within: tuple[str, ...]
    names: frozenset[str] | None = frozenset()
    makers: tuple[Callable[..., Any], ...] = ()

    def take(self, parameters: list[Parameter], hints: dict[str, Any]) -> list[tuple[str, Dependency]]:
        """Remove the parameters that are dependencies, and return how to create their values."""
        found: list[tuple[str, Dependency]] = []
        for parameter in list(parameters):
            if isinstance(parameter.default, Depends):
                raise InvalidArgumentError(
                    f"{self.within[-1]}: parameter {parameter.name!r}: write Annotated[type, Depends(function)], "
                    "not a default"
                )
            if (mark := _mark(parameter, hints)) is not None:
                found.append((parameter.name, self.plan(mark)))
                parameters.remove(parameter)
        return found

    def plan(self, mark: Depends) -> Dependency:
        """Return how to create the value of a dependency."""
        function, where = mark.function, name_of(mark.function)
        if not callable(function):
            raise InvalidArgumentError(
                f"{self.within[-1]}: Depends needs a function, not {type(function).__qualname__}"
            )
        path = " -> ".join([*self.within, where])
        # Compare identities, because functions made by one factory share a name. Limit the depth,
        # because an annotation that creates new functions would recurse forever.
        if any(maker is function for maker in self.makers) or len(self.makers) > _MAX_DEPTH:
            raise InvalidArgumentError(f"{path}: circular dependency")
        dependency = Dependency(function)
        parameters = _parameters(function, path)
        hints = _hints(function, path, parameters)
        # A `def` dependency runs where its handler does, and has the same context.
        is_async = self.is_async or dependency.is_async
        dependency.context_name = _take_context(path, parameters, hints, is_async=is_async)
        inner = self._replace(within=(*self.within, where), makers=(*self.makers, function))
        dependency.needs = inner.take(parameters, hints)
        for parameter in parameters:
            if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
                continue
            if self.names is not None and parameter.name not in self.names:
                raise InvalidArgumentError(
                    f"{path}: parameter {parameter.name!r} has no value: it is neither the context, nor a "
                    "dependency, nor an argument of the handler"
                )
            dependency.arguments.append(parameter.name)
        return dependency


def _checked_async(function: Callable[..., Any], where: str, noun: str) -> bool:
    from inspect import isasyncgenfunction, isgeneratorfunction

    if not callable(function):
        raise InvalidArgumentError(f"{noun} must be a function, not {type(function).__qualname__}")
    if isinstance(function, type):
        raise InvalidArgumentError(f"{noun} must be a function, not the class {where}: pass a method of an instance")
    if hasattr(function, "dispatch") and hasattr(function, "registry"):
        raise InvalidArgumentError(f"{where}: {noun} cannot be a singledispatch function: arguments are passed by name")
    if any(isasyncgenfunction(one) or isgeneratorfunction(one) for one in called(function)):
        raise InvalidArgumentError(f"{where}: {noun} must return its result, not yield it")
    return is_async(function)


def _parameters(function: Callable[..., Any], where: str) -> list[Parameter]:
    from inspect import signature

    try:
        parameters = [*signature(function).parameters.values()]
    except (NameError, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{where}: its signature cannot be read: {error}") from error
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise InvalidArgumentError(
                f"{where}: parameter '*{parameter.name}': arguments are passed by name; use a list parameter"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidArgumentError(
                f"{where}: parameter {parameter.name!r} is positional-only, but arguments are passed by name"
            )
    if parameters and parameters[0].name == "self" and parameters[0].annotation is parameters[0].empty:
        raise InvalidArgumentError(
            f"{where} is an unbound method: add it from an instance, as in add_tool(object.method)"
        )
    return parameters


def _unpack(where: str, parameters: list[Parameter], hints: dict[str, Any]) -> list[str]:
    """Replace `**options: Unpack[Options]` by the fields of that TypedDict, and return the names of
    those that are not required.
    """
    if not parameters or (rest := parameters[-1]).kind is not rest.VAR_KEYWORD:
        return []
    if (cls := unpacked(hints.get(rest.name))) is None:
        return []
    taken = {parameter.name for parameter in parameters[:-1]}
    with refusing(f"{where}: parameter '**{rest.name}'"):
        fields = typed_dict_fields(cls)
        for name, _, _ in fields:
            if name in taken:
                raise UnsupportedType(f"the field {name!r} is also a parameter: rename one")
            if not name.isidentifier() or iskeyword(name):
                raise UnsupportedType(f"the field {name!r} cannot be a parameter: rename it")
    parameters[-1:] = [rest.replace(name=name, kind=rest.KEYWORD_ONLY) for name, _, _ in fields]
    del hints[rest.name]
    hints |= {name: hint for name, hint, _ in fields}
    return [name for name, _, is_required in fields if not is_required]


def _hints(function: Callable[..., Any], where: str, parameters: list[Parameter]) -> dict[str, Any]:
    from inspect import isroutine

    outer, function = function, innermost(function)
    if isinstance(function, type):
        function = function.__init__
    elif not isroutine(function):
        function = type(function).__call__
    try:
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError:
            hints = typing.get_type_hints(function, localns=_caller_names(), include_extras=True)
        # Parameters that a decorator adds by `__signature__` have their annotations only there.
        given = [one for one in parameters if one.name not in hints and one.annotation is not one.empty]
        added = SimpleNamespace(__annotations__={parameter.name: parameter.annotation for parameter in given})
        names = (getattr(one, "__globals__", {}) for one in (outer, function))
        return hints | typing.get_type_hints(added, *names, include_extras=True)
    except NameError as error:
        raise InvalidArgumentError(f"{where}: {_unresolved(function, error)}") from error
    except TypeError as error:
        raise InvalidArgumentError(f"{where}: its annotations cannot be read: {error}") from error


def _caller_names() -> dict[str, Any]:
    """Return the names in scope where the tool is defined, because classes local to a function are
    only known there.
    """
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return {} if frame is None else dict(frame.f_locals)


def _unresolved(function: Any, error: NameError) -> str:
    annotations: dict[str, Any] = {}
    with suppress(NameError):  # since 3.14, which evaluates annotations as a whole
        annotations = getattr(function, "__annotations__", {})
    for name, annotation in annotations.items():
        if isinstance(annotation, str) and error.name in re.findall(r"\w+", annotation):
            which = "return annotation" if name == "return" else f"parameter {name!r}"
            return f"{which}: {annotation!r} cannot be resolved: {error}"
    return f"its annotations cannot be resolved: {error}"


def _context_kind(annotation: Any) -> str | None:
    annotation = unaliased(annotation)
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return next(filter(None, map(_context_kind, get_args(annotation))), None)
    from ..context._async.context import Context
    from ..context._sync.context import SyncContext

    return next((cls.__name__ for cls in (SyncContext, Context) if cls in getattr(annotation, "__mro__", ())), None)
