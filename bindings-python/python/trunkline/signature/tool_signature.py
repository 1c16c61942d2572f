"""Calls of a tool's function with a JSON object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidArgumentError
from ..failures import InvalidArguments
from ..returns import Returns
from ..schema.builder import MISSING, Builder, Node, Schema, UnsupportedType
from .parameters import Parameters


class Signature:
    """The plan of a tool, made once when it is registered."""

    __slots__ = ("_all", "_converters", "_factories", "_names", "input_schema", "parameters", "returns")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.parameters = parameters = Parameters(function, "a tool")
        self._all = parameters.takes_all
        self._names = frozenset(parameter.name for parameter in parameters.named)
        self._converters: list[tuple[str, Callable[[Any], Any]]] = []
        self._factories: list[tuple[str, Callable[[], Any]]] = []
        if input_schema is None:
            # Without parameters there is nothing to say: the core then refuses any.
            self.input_schema = self._build() if parameters.named or parameters.takes_all else None
        else:
            # The schema is the user's own: values are handed over as JSON has them.
            self.input_schema = dict(input_schema)
        try:
            self.returns = Returns.of(parameters.hints.get("return", MISSING), output_schema)
        except UnsupportedType as error:
            raise InvalidArgumentError(f"{parameters.where}: return annotation: {error}") from error

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the function. Names that it does not have are left out, for JSON Schema allows them.

        Raises:
            InvalidArguments: if a value fits the schema but not the type, such as the date 2024-02-31.
        """
        if not self._all and not self._names.issuperset(arguments):
            arguments = {name: value for name, value in arguments.items() if name in self._names}
        for name, convert in self._converters:
            if name in arguments:
                try:
                    arguments[name] = convert(arguments[name])
                except (TypeError, ValueError, KeyError, ArithmeticError) as error:
                    raise InvalidArguments(f"/{name}", str(error).strip() or type(error).__name__) from error
        for name, make in self._factories:
            if name not in arguments:
                arguments[name] = make()
        return arguments

    def _build(self) -> Schema:
        builder = Builder("input")
        fields: dict[str, tuple[Node, bool, Any]] = {}
        for parameter in self.parameters.named:
            given = self.parameters.read(parameter)
            if given.make is not None:
                self._factories.append((parameter.name, given.make))
            try:
                node = builder.node(given.annotation)
            except UnsupportedType as error:
                raise InvalidArgumentError(f"{self.parameters.where}: parameter {parameter.name!r}: {error}") from error
            fields[parameter.name] = (node, given.is_required, given.default)
            if node.convert is not None:
                self._converters.append((parameter.name, node.convert))
        return builder.finish(builder.object_node(fields).schema)
