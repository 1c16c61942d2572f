"""Constraints and descriptions for parameters: `Annotated[int, Field(ge=1, description="how
many")]`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, cast, get_args, get_origin

from .unsupported import UnsupportedType


class Field:
    """JSON Schema constraints on a value, beyond its type. The core checks them before the handler
    runs.

    `min_length` and `max_length` count the characters of strings, the items of arrays or the keys
    of objects.
    """

    def __init__(
        self,
        *,
        description: str | None = None,
        title: str | None = None,
        examples: Sequence[Any] | None = None,
        gt: float | None = None,
        ge: float | None = None,
        lt: float | None = None,
        le: float | None = None,
        multiple_of: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        about = {"description": description, "title": title, "examples": examples, "extra": extra}
        bounds = {"gt": gt, "ge": ge, "lt": lt, "le": le, "multiple_of": multiple_of}
        # Attributes, by which `keywords` reads the fields of any library.
        vars(self).update(about, **bounds, min_length=min_length, max_length=max_length, pattern=pattern)


def keywords(metadata: Sequence[Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema keywords for the metadata of an `Annotated` type whose plain schema is
    `schema`.

    Supported metadata: strings (the description), `Field`, and, recognized by their attributes,
    objects of annotated_types, pydantic's `Field` and `typing_extensions.Doc`. None of these
    libraries has to be installed.
    """
    found: dict[str, Any] = {}
    for item in metadata:
        if isinstance(item, str):
            found["description"] = item
        else:
            _collect(item, schema, found)
    return found


def metadata_of(annotation: Any) -> tuple[Any, ...]:
    """Return the metadata of an `Annotated` type."""
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def alias_of(annotation: Any) -> str | None:
    """Return the name that pydantic's `Field(alias=...)` gives to a value.

    Raises:
        UnsupportedType: If there are several aliases.
    """
    for item in metadata_of(annotation):
        alias = getattr(item, "validation_alias", None) or getattr(item, "alias", None)
        if isinstance(alias, str):
            return alias
        if alias is not None:
            raise UnsupportedType(f"{alias!r}: an argument can have only one name")
    return None


_COUNTED = {"string": "Length", "array": "Items", "object": "Properties"}
_NUMBERS = frozenset({"integer", "number"})
_TEXTS = frozenset({"string"})
# re.UNICODE, which every string pattern has.
_DEFAULT_FLAGS = 32
_NUMERIC = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}


def _collect(item: Any, schema: Mapping[str, Any], found: dict[str, Any]) -> None:
    for name, keyword in _NUMERIC.items():
        if (value := getattr(item, name, None)) is not None:
            _kind(schema, name, _NUMBERS, "an int or a float")
            found[keyword] = _checked(name, value, (int, float), "a number")
    for name, prefix in (("min_length", "min"), ("max_length", "max")):
        if (value := getattr(item, name, None)) is not None and (prefix, value) != ("min", 0):
            kind = _kind(schema, name, _COUNTED, "a type with a length (str, list or dict)")
            found[prefix + _COUNTED[kind]] = _checked(name, value, int, "a whole number")
    if (value := getattr(item, "pattern", None)) is not None:
        _kind(schema, "pattern", _TEXTS, "text")
        if getattr(value, "flags", _DEFAULT_FLAGS) != _DEFAULT_FLAGS:
            raise TypeError("pattern: JSON Schema does not support regex flags")
        found["pattern"] = _checked("pattern", getattr(value, "pattern", value), str, "a regular expression")
    if getattr(item, "deprecated", None):
        found["deprecated"] = True
    for name, keyword in (("description", "description"), ("title", "title"), ("documentation", "description")):
        if isinstance(value := getattr(item, name, None), str):
            found[keyword] = value
    if isinstance(examples := getattr(item, "examples", None), (list, tuple)):
        found["examples"] = [*cast("list[Any]", examples)]
    for name in ("extra", "json_schema_extra"):
        if isinstance(extra := getattr(item, name, None), Mapping):
            found.update(cast("Mapping[str, Any]", extra))
    # pydantic keeps the constraints of its Field in a list of separate objects.
    if isinstance(inner := getattr(item, "metadata", None), list):
        found.update(keywords(cast("list[Any]", inner), schema) | found)


def _kind(schema: Mapping[str, Any], name: str, kinds: Collection[str], needed: str) -> str:
    """Return the type of the values that a keyword applies to."""
    for candidate in (schema, *schema.get("anyOf", ())):
        if isinstance(kind := candidate.get("type"), str) and kind in kinds:
            return kind
    raise TypeError(f"{name} needs {needed}")


def _checked(name: str, value: Any, classes: type | tuple[type, ...], needed: str) -> Any:
    if isinstance(value, classes) and not isinstance(value, bool):
        return value
    raise TypeError(f"{name} must be {needed}, not {value!r}")
