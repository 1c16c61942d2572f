"""Types of loaded libraries that validate and build their own values: pydantic and msgspec."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, cast

from .fields import Field
from .node import Schema
from .unsupported import UnsupportedType

Mode: TypeAlias = Literal["input", "output"]


class ForeignType(NamedTuple):
    """A type as its library describes it. The schema refers to definitions as `#/$defs/name`."""

    schema: Schema
    definitions: dict[str, Schema]
    build: Callable[[Any], Any]
    # Converts a value of the type to JSON.
    write: Callable[[Any], Any]
    # True if functions of the program see a value before the library checks its type.
    validates_first: bool = False


def is_pydantic(tp: Any) -> bool:
    """Return True if the class is a pydantic model. Checked only if the program has loaded
    pydantic.
    """
    return "pydantic" in sys.modules and isinstance(tp, type) and hasattr(tp, "__pydantic_validator__")


def belongs_to_pydantic(tp: Any) -> bool:
    """Return True for models and other types that only pydantic can apply."""
    return is_pydantic(tp) or ("pydantic" in sys.modules and hasattr(tp, "__get_pydantic_core_schema__"))


def only_for_pydantic(item: Any) -> bool:
    """Return True for metadata of an `Annotated` type that only pydantic can apply, such as
    validators and serializers, but not bounds and descriptions.
    """
    if "pydantic" not in sys.modules:
        return False
    if hasattr(item, "__get_pydantic_core_schema__") or getattr(item, "discriminator", None):
        return True
    cls = cast("type[Any]", type(item))
    if cls.__name__ == "FieldInfo":
        return callable(item.json_schema_extra) or any(map(only_for_pydantic, item.metadata))
    if cls.__module__ == "annotated_types":
        return hasattr(item, "func") or hasattr(item, "tz")
    # pydantic keeps the pattern of a Field in an object that may contain more.
    return cls.__module__.startswith("pydantic") and not {*getattr(item, "__dict__", ("",))} <= {"pattern"}


def is_msgspec(tp: Any) -> bool:
    """Return True if the class is a msgspec struct."""
    msgspec = sys.modules.get("msgspec")
    return msgspec is not None and isinstance(tp, type) and issubclass(tp, msgspec.Struct)


def annotated_for_pydantic(tp: Any, metadata: tuple[Any, ...]) -> Any:
    """Return `Annotated[tp, *metadata]` with this package's descriptions and fields in pydantic's
    form.
    """
    import pydantic

    def theirs(item: Any) -> Any:
        if isinstance(item, str):
            return pydantic.Field(description=item)
        if not isinstance(item, Field):
            return item
        given = {name: value for name, value in vars(item).items() if value is not None}
        extra = given.pop("extra", None)
        return pydantic.Field(**given, json_schema_extra=None if extra is None else {**extra})

    return Annotated[(tp, *map(theirs, metadata))] if metadata else tp


def of_pydantic(tp: Any, mode: Mode) -> ForeignType:
    """Describe any type that pydantic supports.

    Raises:
        UnsupportedType: If it has no JSON Schema, or needs a package that is missing.
    """
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError
    from pydantic_core import SchemaError

    try:
        adapter: Any = TypeAdapter(tp)
        kind = "validation" if mode == "input" else "serialization"
        schema: Schema = adapter.json_schema(mode=kind, by_alias=True, ref_template="#/$defs/{model}")
    except (PydanticUserError, SchemaError, TypeError, NameError) as error:
        raise UnsupportedType(str(error).partition("\n")[0]) from None
    except ImportError as error:
        # Some types need an additional package.
        raise UnsupportedType(str(error)) from error
    write = partial(adapter.dump_python, mode="json", by_alias=True)
    return ForeignType(
        schema, schema.pop("$defs", {}), adapter.validate_python, write, _validates_first(adapter.core_schema)
    )


def _validates_first(schema: Any) -> bool:
    """Return True if a schema of pydantic's core calls a function of the program before it checks a
    type.
    """
    if isinstance(schema, (list, tuple)):
        return any(map(_validates_first, cast("list[Any]", schema)))
    if not isinstance(schema, dict):
        return False
    members = cast("dict[str, Any]", schema)
    if members.get("type") in _FIRST and "json_schema_input_schema" not in members:
        function: Any = members["function"]["function"]
        if not (getattr(function, "__module__", None) or "").startswith("pydantic"):
            return True
    return any(_validates_first(value) for key, value in members.items() if key not in ("serialization", "metadata"))


_FIRST: Final = frozenset({"function-before", "function-wrap", "function-plain"})


def of_msgspec(tp: Any) -> ForeignType:
    """Describe a msgspec struct.

    Raises:
        UnsupportedType: If a field has no JSON Schema.
    """
    msgspec: Any = sys.modules["msgspec"]
    try:
        (schema,), definitions = msgspec.json.schema_components([tp], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise UnsupportedType(str(error)) from None
    return ForeignType(schema, definitions, partial(msgspec.convert, type=tp), msgspec.to_builtins)
