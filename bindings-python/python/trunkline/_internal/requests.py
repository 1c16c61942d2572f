"""Requests to the peer in the core's form, and results as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from .errors import TransportError
from .model.base import present
from .options import in_ms

T = TypeVar("T")

# The port of a connection, and the handle of the connection or of one of its streams.
Place: TypeAlias = tuple[Any, int]

OnProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None] | None]
"""Called with the progress of a call, and with the total and a message if the server sent them.

Called in order of arrival, before the call returns. Each call of an `async def` function runs as a
task. Exceptions are logged and otherwise ignored.
"""


def request_json(
    method: str,
    params: dict[str, Any] | None = None,
    timeout: float | None = None,
    max_timeout: float | None = None,
    *,
    progress: bool = False,
    all_pages: bool = False,
    manual_input: bool = False,
) -> dict[str, Any]:
    """Return a request in the core's form."""
    times = in_ms(timeoutMs=timeout, maxTimeoutMs=max_timeout)
    flags = {"progress": progress or None, "all": all_pages or None, "manualInput": manual_input or None}
    return present(method=method, params=params, **times, **flags)


def read_answer(method: str, read: Callable[[Any], T], answer: Any) -> T:
    """Read the result of a peer with its model.

    Raises:
        TransportError: If the result doesn't match the protocol.
    """
    try:
        return read(answer)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise TransportError(f"invalid response to {method}: {why}") from error
