"""Constraints and descriptions for parameters: `Annotated[int, Field(ge=1, description="how
many")]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast


class Field:
    """Constraints on a value beyond its type, in JSON Schema. The core checks them before the
    handler runs.

    `min_length` and `max_length` count characters of text, items of arrays or keys of objects.
    """

    __slots__ = (
        "description",
        "examples",
        "extra",
        "ge",
        "gt",
        "le",
        "lt",
        "max_length",
        "min_length",
        "multiple_of",
        "pattern",
        "title",
    )

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
        self.description: str | None = description
        self.title: str | None = title
        self.examples: Sequence[Any] | None = examples
        self.gt: float | None = gt
        self.ge: float | None = ge
        self.lt: float | None = lt
        self.le: float | None = le
        self.multiple_of: float | None = multiple_of
        self.min_length: int | None = min_length
        self.max_length: int | None = max_length
        self.pattern: str | None = pattern
        self.extra: Mapping[str, Any] | None = extra


def keywords(metadata: Sequence[Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema keywords for the metadata of an `Annotated` type whose plain schema is
    `schema`.

    Understood are plain text (the description), `Field`, and by their attributes the objects of
    annotated_types, pydantic's `Field` and `typing_extensions.Doc`, none of which has to be
    installed.
    """
    found: dict[str, Any] = {}
    for item in metadata:
        if isinstance(item, str):
            found["description"] = item
        else:
            _collect(item, schema, found)
    return found


_COUNTED = {"string": "Length", "array": "Items", "object": "Properties"}
_NUMERIC = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}


def _collect(item: Any, schema: Mapping[str, Any], found: dict[str, Any]) -> None:
    for name, keyword in _NUMERIC.items():
        if (value := _scalar(item, name)) is not None:
            found[keyword] = value
    for name, prefix in (("min_length", "min"), ("max_length", "max")):
        if (value := _scalar(item, name)) is not None and not (prefix == "min" and value == 0):
            found[prefix + _counted(schema, name)] = value
    for name in ("description", "title", "pattern"):
        if isinstance(value := getattr(item, name, None), str):
            found[name] = value
    if isinstance(documentation := getattr(item, "documentation", None), str):
        found["description"] = documentation
    if isinstance(examples := getattr(item, "examples", None), (list, tuple)):
        found["examples"] = [*cast("list[Any]", examples)]
    for name in ("extra", "json_schema_extra"):
        if isinstance(extra := getattr(item, name, None), Mapping):
            found.update(cast("Mapping[str, Any]", extra))
    # pydantic keeps the constraints of its Field in a list of further objects.
    if isinstance(inner := getattr(item, "metadata", None), list):
        found.update(
            {key: value for key, value in keywords(cast("list[Any]", inner), schema).items() if key not in found}
        )


def _scalar(item: Any, name: str) -> float | None:
    value = getattr(item, name, None)
    return value if isinstance(value, (int, float)) else None


def _counted(schema: Mapping[str, Any], name: str) -> str:
    for candidate in (schema, *schema.get("anyOf", ())):
        if isinstance(kind := candidate.get("type"), str) and kind in _COUNTED:
            return _COUNTED[kind]
    raise TypeError(f"{name} needs a type that can be counted (text, a list or a dict)")
