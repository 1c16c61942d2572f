"""Calls of functions with texts: the arguments of a prompt, or the variables of a URI template."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from .. import _native
from ..errors import InvalidArgumentError
from ..failures import InvalidArguments
from ..schema.builder import Builder, Node, UnsupportedType
from .parameters import Parameters

# The keywords of a schema here: others would not be checked, for callers send texts.
_SAID = frozenset({"type", "enum", "const", "format", "title", "description", "examples", "anyOf"})


class TextArgument:
    """One parameter that is filled with a text, or with a list of them."""

    __slots__ = ("_is_list", "_make", "_node", "_types", "description", "is_required", "name", "title")

    def __init__(
        self, name: str, node: Node, *, is_required: bool, make: Callable[[], Any] | None, is_list: bool
    ) -> None:
        """`node`: of the value, or of each in the list."""
        self.name = name
        self._is_list = is_list
        self.title: str | None = node.schema.get("title")
        self.description: str | None = node.schema.get("description")
        self.is_required = is_required
        self._make = make
        self._node = node
        self._types = _types(node.schema)

    def fill(self, texts: dict[str, Any], arguments: dict[str, Any]) -> None:
        """Adds the value of this parameter.

        Raises:
            InvalidArguments: if the text is not one of what the annotation allows.
        """
        if self.name in texts:
            given = texts[self.name]
            arguments[self.name] = [self._read(text) for text in given] if self._is_list else self._read(given)
        elif self._make is not None:
            arguments[self.name] = self._make()

    def _read(self, text: str) -> Any:
        for value in _values(text, self._types, self._node.schema):
            if self._node.accepts(value):
                try:
                    return self._node.build(value)
                except (TypeError, ValueError, KeyError, ArithmeticError) as error:
                    raise InvalidArguments(f"/{self.name}", str(error).strip() or type(error).__name__) from error
        raise InvalidArguments(f"/{self.name}", f"{text!r} is not {_expected(self._node.schema)}")


class TextSignature:
    """The plan of a function that is called with texts; `lists` are the parameters that get several."""

    __slots__ = ("_lists", "arguments", "parameters")

    def __init__(self, function: Callable[..., Any], noun: str, lists: frozenset[str] = frozenset()) -> None:
        self.parameters = Parameters(function, noun)
        self._lists = lists
        self.arguments = [self._argument(parameter) for parameter in self.parameters.named]

    def bind(self, texts: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the function; names that it does not have are left out.

        Raises:
            InvalidArguments: if a text is not one of what its parameter's annotation allows.
        """
        arguments: dict[str, Any] = dict(texts) if self.parameters.takes_all else {}
        for argument in self.arguments:
            argument.fill(texts, arguments)
        return arguments

    def _argument(self, parameter: inspect.Parameter) -> TextArgument:
        given = self.parameters.read(parameter)
        where = f"{self.parameters.where}: parameter {parameter.name!r}"
        annotation, is_list = given.annotation, parameter.name in self._lists
        if is_list and (annotation := _item(annotation)) is None:
            raise InvalidArgumentError(f"{where}: it is filled with a list of texts, so its type is list[...]")
        try:
            builder = Builder("input")
            node = builder.node(annotation)
        except UnsupportedType as error:
            raise InvalidArgumentError(f"{where}: {error}") from error
        if unchecked := _unchecked(builder.resolve(node.schema)):
            raise InvalidArgumentError(f"{where}: it is filled with text, for which {unchecked} cannot be checked")
        return TextArgument(parameter.name, node, is_required=given.is_required, make=given.make, is_list=is_list)


def _item(annotation: Any) -> Any:
    """The type of the items, if the annotation is one of a list; `list | None` is one, too."""
    if annotation is Any or annotation is list:
        return str
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _item(args[0])
    if origin in (Union, UnionType):
        others = [arg for arg in args if arg is not type(None)]
        return _item(others[0]) if len(others) == 1 else None
    return args[0] if origin in (list, Sequence) else None


def _unchecked(schema: dict[str, Any]) -> str:
    if schema.get("type") in ("object", "array"):
        return f"the type {schema['type']}"
    for inner in schema.get("anyOf", ()):
        if found := _unchecked(inner):
            return found
    if isinstance(schema.get("type"), list):
        return ""  # Decimal checks itself
    return ", ".join(key for key in schema if key not in _SAID)


def _types(schema: dict[str, Any]) -> set[str]:
    if "anyOf" in schema:
        return set[str]().union(*(_types(inner) for inner in schema["anyOf"]))
    kind = schema.get("type", "string")
    return {kind} if isinstance(kind, str) else set(kind)


def _values(text: str, types: set[str], schema: dict[str, Any]) -> list[Any]:
    """The values that the text may stand for, the narrowest type first."""
    values: list[Any] = []
    if "enum" in schema:  # perhaps of several types
        values += [value for value in schema["enum"] if str(value) == text]
    if "boolean" in types and text.lower() in ("true", "false"):
        values.append(text.lower() == "true")
    if types & {"integer", "number"}:
        try:
            number = _native.from_json(text.strip().encode())
        except (_native.NativeError, UnicodeEncodeError):
            number = None
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            values += [number, float(number)] if "number" in types else [number]
    if "string" in types:
        values.append(text)
    return values


def _expected(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_expected(inner) for inner in schema["anyOf"] if inner.get("type") != "null")
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "boolean":
        return "true or false"
    if schema.get("type") == "integer":
        return "an integer"
    return f"a {schema['format']}" if "format" in schema else "a number"
