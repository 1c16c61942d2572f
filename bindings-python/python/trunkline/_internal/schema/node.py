"""Nodes: the schema of one type, and its conversion from JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]


class Node:
    """A type: its schema, how its values are built, and whether they are plain JSON."""

    def __init__(
        self,
        schema: Schema,
        convert: Callable[[Any], Any] | None = None,
        *,
        plain: bool | None = None,
        is_foreign: bool = False,
    ) -> None:
        self.schema = schema
        # Converts a JSON value that matches the schema to the Python value; None if they are the
        # same.
        self.convert: Callable[[Any], Any] | None = convert
        # True if a Python value of this type can be written as JSON unchanged.
        self.plain = convert is None if plain is None else plain
        # True if a library checks the values, with its own error messages.
        self.is_foreign = is_foreign

    def build(self, value: Any) -> Any:
        return value if self.convert is None else self.convert(value)

    def with_schema(self, schema: Schema) -> Node:
        """Return the same type with another schema."""
        return Node(schema, self.convert, plain=self.plain, is_foreign=self.is_foreign)
