"""The error for types without a JSON Schema."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..errors import InvalidArgumentError


class UnsupportedType(TypeError):
    """An annotation that has no JSON Schema."""


@contextmanager
def refusing(where: str) -> Generator[None]:
    """Raise InvalidArgumentError for an unsupported type or schema; `where` names its place.

    Raises:
        InvalidArgumentError: If the block raises it or UnsupportedType.
    """
    try:
        yield
    except (UnsupportedType, InvalidArgumentError) as error:
        raise InvalidArgumentError(f"{where}: {error}") from error
