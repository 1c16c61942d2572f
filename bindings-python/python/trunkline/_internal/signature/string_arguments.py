"""Functions called with strings: the arguments of a prompt, or the variables of a URI template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin

from .. import _native
from ..errors import InvalidArgumentError
from ..failures import InvalidArguments
from ..schema.builder import Builder
from ..schema.node import Schema
from ..schema.refusals import REFUSALS, refusal
from ..schema.unsupported import refusing
from .parameters import Given, Parameters

if TYPE_CHECKING:
    from inspect import Parameter


class TextArgument:
    """A parameter that is filled from a string, or from a list of strings."""

    def __init__(
        self, parameters: Parameters, parameter: Parameter, lists: frozenset[str] | None, given: Given | None = None
    ) -> None:
        where = f"{parameters.where}: parameter {parameter.name!r}"
        given = given or parameters.read(parameter)
        self.name = given.name
        self.parameter = parameter.name if parameter is not parameters.rest else given.name
        annotation, self._is_list = given.annotation, given.name in (lists or ())
        if self._is_list and (annotation := _item(annotation)) is None:
            raise InvalidArgumentError(f"{where}: its value is a list of strings, so its type must be list[...]")
        builder = Builder("input")
        with refusing(where):
            # Of the value, or of each item of the list.
            self._node = builder.node(annotation)
        self._schema = schema = builder.finish(parameters.about(parameter, builder.resolve(self._node.schema)))
        structures = _types(schema) & _STRUCTURES
        if lists is not None and structures:
            raise InvalidArgumentError(f"{where}: its value is a string, which cannot be an {structures.pop()}")
        self.title: str | None = schema.get("title")
        self.description: str | None = schema.get("description")
        if structures:
            form = _native.to_json({key: value for key, value in schema.items() if key not in _ANNOTATIONS}).decode()
            self.description = f"{self.description or ''} As JSON: {form}".lstrip()
        self.is_required = given.is_required
        self._make = given.make
        # The core has only seen strings.
        self._checks = _native.Schema(schema)

    def fill(self, texts: dict[str, Any], arguments: dict[str, Any]) -> None:
        """Set the value of this parameter.

        Raises:
            InvalidArguments: If the string doesn't match the annotation.
        """
        if self.name in texts:
            given = texts[self.name]
            arguments[self.parameter] = [self._read(text) for text in given] if self._is_list else self._read(given)
        elif self._make is not None:
            arguments[self.parameter] = self._make()

    def _read(self, text: str) -> Any:
        problems: list[tuple[str, str]] = []
        for value in _values(text, self._schema):
            try:
                if (problem := self._checks.problem(value)) is None:
                    return self._node.build(value)
            except REFUSALS as error:
                problem = refusal(error, value)
            problems.append(problem)
        place, reason = problems[0]  # that of the narrowest type
        raise InvalidArguments(f"/{self.name}{place}", reason)


class TextSignature:
    """How to call a function with strings: that of a prompt, or that of a resource, where `lists`
    are the parameters with several values. The strings of a prompt may be JSON.
    """

    def __init__(self, function: Callable[..., Any], noun: str, lists: frozenset[str] | None = None) -> None:
        self.parameters = Parameters(function, noun)
        self._lists = lists
        self.arguments = [TextArgument(self.parameters, parameter, lists) for parameter in self.parameters.named]

    def other(self, name: str) -> TextArgument | None:
        """Return how to read an argument without a parameter of its own, or None if it is passed on
        as it is.

        Raises:
            InvalidArgumentError: If it cannot be read from a string.
        """
        if (rest := self.parameters.rest) is None or (hint := self.parameters.hints.get(rest.name, Any)) is Any:
            return None
        return TextArgument(self.parameters, rest, self._lists, Given(name, hint))

    def bind(self, texts: dict[str, Any]) -> dict[str, Any]:
        """Return keyword arguments for the function, without names that it doesn't have.

        Raises:
            InvalidArguments: If a string doesn't match the annotation of its parameter.
        """
        arguments: dict[str, Any] = {}
        if self.parameters.rest is not None:
            taken = {name for argument in self.arguments for name in (argument.name, argument.parameter)}
            for name in texts.keys() - taken:
                if (other := self.other(name)) is None:
                    arguments[name] = texts[name]
                else:
                    other.fill(texts, arguments)
        for argument in self.arguments:
            argument.fill(texts, arguments)
        return arguments


def _item(annotation: Any) -> Any:
    """Return the item type if the annotation is a list, or `list | None`."""
    if annotation is Any or annotation is list:
        return str
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _item(args[0])
    if origin in (Union, UnionType):
        others = [arg for arg in args if arg is not type(None)]
        return _item(others[0]) if len(others) == 1 else None
    return args[0] if origin in (list, Sequence) else None


_STRUCTURES: Final = frozenset({"array", "object"})
# The members of a schema that are shown separately.
_ANNOTATIONS: Final = frozenset({"title", "description", "default"})


def _types(schema: Schema, inherited: Mapping[str, Schema] | None = None) -> set[str]:
    definitions: Mapping[str, Schema] = inherited or schema.get("$defs", {})
    members = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if "$ref" in schema:
        members.append(definitions.get(schema["$ref"].removeprefix("#/$defs/"), {}))
    if members:
        return set[str]().union(*(_types(member, definitions) for member in members))
    kind = schema.get("type", "string")
    return {kind} if isinstance(kind, str) else set(kind)


def _values(text: str, schema: Schema) -> list[Any]:
    """Return the values that the string may represent, the narrowest type first; itself if there
    are none.
    """
    types = _types(schema)
    values: list[Any] = []
    if "enum" in schema:  # possibly of several types
        values += [value for value in schema["enum"] if str(value) == text]
    if "boolean" in types and text.lower() in ("true", "false"):
        values.append(text.lower() == "true")
    if types & {"integer", "number", *_STRUCTURES}:
        try:
            json = _native.from_json(text.strip().encode())
            number = float(json) if "number" in types and isinstance(json, (int, float)) else None
        except (ValueError, OverflowError):
            json = number = None
        if isinstance(json, (list, dict)) and types & _STRUCTURES:
            values.append(json)
        elif isinstance(json, (int, float)) and not isinstance(json, bool):
            if "number" in types:
                values += [json, number]
            elif "integer" in types and json % 1 == 0:
                values.append(json)
    if "string" in types:
        values.append(text)
    return values or [text]
