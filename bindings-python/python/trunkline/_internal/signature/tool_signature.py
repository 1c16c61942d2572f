"""Functions called with a JSON object: those of tools and request handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Union

from .. import _native
from ..failures import InvalidArguments
from ..returns import Returns
from ..schema.builder import MISSING, Builder, ObjectField
from ..schema.node import Node, Schema
from ..schema.refusals import REFUSALS, refusal
from ..schema.unsupported import refusing
from .parameters import Parameters


class Signature:
    """How to call a function, determined once when it is registered."""

    def __init__(
        self,
        function: Callable[..., Any],
        noun: str = "a tool",
        *,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.parameters = parameters = Parameters(function, noun)
        self._names = frozenset(parameter.name for parameter in parameters.named)
        # The arguments to convert.
        self._converted: dict[str, Node] = {}
        # The type of all arguments but the function's own, if they are converted.
        self._rest: Node | None = None
        self._own: frozenset[str] = frozenset()
        self._factories: dict[str, Callable[[], Any]] = {}
        # Arguments whose name differs from their parameter's.
        self._aliases: dict[str, str] = {}
        # Matches arguments that may be accepted although the schema rejects them.
        self._accepted: _native.Schema | None = None
        if input_schema is None:
            # Without parameters no schema is needed: the core then rejects all arguments.
            self.input_schema = self._build() if parameters.named or parameters.rest else None
        else:
            # The user's own schema: values are passed on as JSON.
            self.input_schema = dict(input_schema)
        # False if arguments that match the schema are the keyword arguments.
        self.binds = input_schema is not None or bool(self._converted or self._aliases or self._factories or self._rest)
        # True if a library has its own messages for arguments that the schema rejects, or may
        # accept them.
        converted = [*self._converted.values(), self._rest]
        self.explains = any(node is not None and node.is_foreign for node in converted)
        with refusing(f"{parameters.where}: return annotation"):
            self.returns = Returns.of(parameters.hints.get("return", MISSING), output_schema)

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return keyword arguments for the function, without names that it doesn't have, which a
        user's schema may allow.

        Raises:
            InvalidArguments: If a value matches the schema but not the type, such as the date
                2024-02-31.
        """
        for name, node in self._nodes(arguments):
            arguments[name] = _convert(name, node, arguments[name])
        if self._aliases:
            for name in (arguments.keys() & self._aliases.values()) - self._aliases.keys():
                raise InvalidArguments(f"/{name}", "the function's parameter of this name has another name here")
            arguments = {self._aliases.get(name, name): value for name, value in arguments.items()}
        if self.parameters.rest is None and not self._names.issuperset(arguments):
            arguments = {name: value for name, value in arguments.items() if name in self._names}
        for name, make in self._factories.items():
            if name not in arguments:
                arguments[name] = make()
        return arguments

    def explain(self, arguments: dict[str, Any]) -> bool:
        """Return True if the library accepts the arguments. If it rejects one, raise
        InvalidArguments with the library's message.
        """
        for name, node in self._nodes(arguments):
            if node.is_foreign:
                _convert(name, node, arguments[name])
        if self._accepted is None or self._accepted.problem(arguments) is not None:
            return False
        self.bind({**arguments})
        return True

    def _nodes(self, arguments: dict[str, Any]) -> list[tuple[str, Node]]:
        """Return the arguments to convert, with their types."""
        nodes = [(name, node) for name, node in self._converted.items() if name in arguments]
        if self._rest is not None:
            nodes += [(name, self._rest) for name in arguments if name not in self._own]
        return nodes

    def _build(self) -> Schema:
        builder = Builder("input")
        schema = self._schema(builder)
        if builder.validates_first:
            self._accepted = _native.Schema(self._schema(Builder("input", trusts_validators=True)))
        return schema

    def _schema(self, builder: Builder) -> Schema:
        fields: dict[str, ObjectField] = {}
        for parameter in self.parameters.named:
            given = self.parameters.read(parameter)
            if (name := given.name) != parameter.name:
                self._aliases[name] = parameter.name
            if given.make is not None:
                self._factories[parameter.name] = given.make
            with refusing(f"{self.parameters.where}: parameter {parameter.name!r}"):
                node = builder.node(given.annotation)
                if given.default is None and _native.Schema(builder.finish(node.schema)).problem(None):
                    node = builder.node(Union[given.annotation, None])  # noqa: UP007 - also of a name in a string
            described = node.with_schema(self.parameters.about(parameter, node.schema))
            fields[name] = ObjectField(described, given.is_required, given.default)
            if node.convert is not None:
                self._converted[name] = node
        self._own = frozenset(fields)
        return builder.finish({**builder.object_schema(fields), **self._others(builder)})

    def _others(self, builder: Builder) -> Schema:
        """Return the part of the schema about arguments without a parameter of their own."""
        if (rest := self.parameters.rest) is None:
            return {"additionalProperties": False}
        with refusing(f"{self.parameters.where}: parameter '**{rest.name}'"):
            node = builder.node(self.parameters.hints.get(rest.name, Any))
        if node.convert is not None:
            self._rest = node
        return {"additionalProperties": node.schema} if node.schema else {}


def _convert(name: str, node: Node, value: Any) -> Any:
    try:
        return node.build(value)
    except REFUSALS as error:
        raise InvalidArguments(*refusal(error, value, name)) from error
