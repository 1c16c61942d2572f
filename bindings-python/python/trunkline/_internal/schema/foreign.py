"""Types of libraries that the program has loaded, which check and build their values themselves:
pydantic, msgspec.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from .node import Schema
from .unsupported import UnsupportedType

Mode: TypeAlias = Literal["input", "output"]


class ForeignType(NamedTuple):
    """A type as its library has it. The schema refers to definitions as `#/$defs/name`."""

    schema: Schema
    definitions: dict[str, Schema]
    build: Callable[[Any], Any]


def is_pydantic(tp: Any) -> bool:
    """True if the class is a model of pydantic, which is only looked at if the program has loaded
    it.
    """
    return "pydantic" in sys.modules and isinstance(tp, type) and hasattr(tp, "__pydantic_validator__")


def belongs_to_pydantic(tp: Any) -> bool:
    """True for models, and for validators, serializers and the like, which only pydantic itself can
    apply.
    """
    if is_pydantic(tp):
        return True
    cls: type[Any] = tp if isinstance(tp, type) else type(tp)
    return cls.__module__.startswith("pydantic") and hasattr(tp, "__get_pydantic_core_schema__")


def is_msgspec(tp: Any) -> bool:
    """True if the class is a struct of msgspec."""
    msgspec = sys.modules.get("msgspec")
    return msgspec is not None and isinstance(tp, type) and issubclass(tp, msgspec.Struct)


def of_pydantic(tp: Any, mode: Mode) -> ForeignType:
    """Any type that pydantic knows.

    Raises:
        UnsupportedType: if it has no JSON Schema for it, or a package is missing that it needs.
    """
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: Any = TypeAdapter(tp)
        kind = "validation" if mode == "input" else "serialization"
        schema: Schema = adapter.json_schema(mode=kind, by_alias=True, ref_template="#/$defs/{model}")
    except PydanticUserError as error:
        raise UnsupportedType(str(error).partition("\n")[0]) from None
    except ImportError as error:
        # Some types need a package more.
        raise UnsupportedType(str(error)) from error
    return ForeignType(schema, schema.pop("$defs", {}), adapter.validate_python)


def of_msgspec(tp: Any) -> ForeignType:
    """A struct of msgspec.

    Raises:
        UnsupportedType: if a field has no JSON Schema.
    """
    msgspec: Any = sys.modules["msgspec"]
    try:
        (schema,), definitions = msgspec.json.schema_components([tp], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise UnsupportedType(str(error)) from None
    return ForeignType(schema, definitions, partial(msgspec.convert, type=tp))
