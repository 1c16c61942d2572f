"""Elicitation forms: a Python class as a flat schema, and the user's input as an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from ..errors import InvalidArgumentError
from .builder import Builder
from .node import Schema
from .unsupported import refusing

_ABOUT: Final = ("type", "title", "description", "default")
# The keywords of a field's schema, by type.
_KEYWORDS: Final[dict[str, tuple[str, ...]]] = {
    "string": (*_ABOUT, "minLength", "maxLength", "format", "enum", "oneOf", "enumNames"),
    "integer": (*_ABOUT, "minimum", "maximum"),
    "number": (*_ABOUT, "minimum", "maximum"),
    "boolean": _ABOUT,
    "array": (*_ABOUT, "items", "minItems", "maxItems"),
}
_FORMATS: Final = ("email", "uri", "date", "date-time")


class Form(NamedTuple):
    """The schema of a form, and how its content is converted for the handler."""

    schema: Mapping[str, Any]
    # None: the content is passed on as JSON.
    read: Callable[[Any], Any] | None

    @classmethod
    def of(cls, source: Any) -> Form:
        """Create a form for a dataclass, TypedDict or pydantic model, or from a JSON Schema, which
        is used unchanged.

        Raises:
            InvalidArgumentError: If a field is not a string, number, boolean or choice.
        """
        if isinstance(source, Mapping):
            return cls(cast("Mapping[str, Any]", source), None)
        try:
            hash(source)
        except TypeError:
            raise InvalidArgumentError(
                f"{source!r} is not a dataclass, TypedDict, pydantic model or JSON Schema"
            ) from None
        return _form(source)


# Cached, because handlers use the same few classes. Bounded, because classes can be made inside a
# handler.
@lru_cache(maxsize=64)
def _form(source: Any) -> Form:
    builder = Builder("input")
    where = getattr(source, "__qualname__", repr(source))
    with refusing(f"the form {where}"):
        node = builder.node(source)
    schema = builder.resolve(node.schema)
    if schema.get("type") != "object" or "properties" not in schema:
        raise InvalidArgumentError(f"the form {where} must be a dataclass, a TypedDict or a pydantic model")
    fields = {name: _field(builder, f"{where}.{name}", field) for name, field in schema["properties"].items()}
    flat: Schema = {"type": "object", "properties": fields}
    if required := schema.get("required"):
        flat["required"] = required
    return Form(flat, node.convert)


def _field(builder: Builder, where: str, given: Schema) -> Schema:
    schema = builder.resolve(given)
    if "anyOf" in schema:
        # Forms have no null: a field that may be None is an optional field.
        members = [member for member in map(builder.resolve, schema["anyOf"]) if member.get("type") != "null"]
        if len(members) == 1:
            schema = {**{key: value for key, value in schema.items() if key != "anyOf"}, **members[0]}
    if "const" in schema:
        schema = {**{key: value for key, value in schema.items() if key != "const"}, "enum": [schema["const"]]}
    if schema.get("default", ...) is None:
        schema = {key: value for key, value in schema.items() if key != "default"}
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS or (kind != "string" and "enum" in schema):
        raise InvalidArgumentError(f"{where}: a form supports only strings, numbers, booleans and choices of strings")
    if kind == "string" and schema.get("format") not in _FORMATS:
        schema = {key: value for key, value in schema.items() if key != "format"}
    if kind == "array":
        choices = builder.resolve(cast("Schema", schema.get("items", {})))
        if choices.get("type") != "string" or "enum" not in choices:
            raise InvalidArgumentError(
                f"{where}: a list in a form must be a list of choices: list[Literal[...]] or a list of an Enum"
            )
        schema = {key: value for key, value in schema.items() if key != "uniqueItems"}
        schema["items"] = {"type": "string", "enum": choices["enum"]}
    if unknown := [key for key in schema if key not in _KEYWORDS[kind]]:
        raise InvalidArgumentError(f"{where}: a form does not support {', '.join(unknown)}")
    return schema
