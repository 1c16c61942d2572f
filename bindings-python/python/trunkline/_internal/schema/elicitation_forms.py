"""Elicitation forms: a Python class as a flat schema, and the user's input as an instance."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

from .. import _native
from ..errors import InvalidArgumentError
from .builder import Builder
from .unsupported import refusing


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
        if not isinstance(source, Hashable):
            raise InvalidArgumentError(f"{source!r} is not a dataclass, TypedDict, pydantic model or JSON Schema")
        return _form(source)


# Cached, because handlers use the same few classes. Bounded, because classes can be made inside a
# handler.
@lru_cache(maxsize=64)
def _form(source: Any) -> Form:
    builder = Builder("input")
    where = getattr(source, "__qualname__", repr(source))
    with refusing(f"the form {where}"):
        node = builder.node(source)
    schema = builder.finish(builder.resolve(node.schema))
    if schema.get("type") != "object" or "properties" not in schema:
        raise InvalidArgumentError(f"the form {where} must be a dataclass, a TypedDict or a pydantic model")
    return Form(_native.form_schema(where, schema), node.convert)
