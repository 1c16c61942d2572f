"""Custom stores: their functions for the core, and their errors."""

from __future__ import annotations

from typing import Any, Literal

from ._generated.store import FUNCTIONS
from .errors import InvalidArgumentError
from .features.method import MethodHandler


class StoreError(Exception):
    """Raised by a custom store. `kind` is the reason: `unavailable` (the store cannot be reached;
    any other exception means the same), `full`, or `corrupt` (it contains unreadable data).
    """

    def __init__(self, message: str, kind: Literal["unavailable", "full", "corrupt"] = "unavailable") -> None:
        super().__init__(message)
        self.kind = kind


class StoreHandler(MethodHandler):
    """Calls a method of the store."""

    def failure(self, error: BaseException) -> dict[str, Any]:
        told = isinstance(error, StoreError)
        message = str(error) if told else f"{type(error).__name__}: {error}"
        return {"kind": "protocol", "message": message, "data": {"error": error.kind if told else "unavailable"}}


def store_handlers(store: Any) -> dict[str, StoreHandler]:
    """Return the functions of a store, by the names of their calls.

    Raises:
        InvalidArgumentError: If a method is missing.
    """
    missing = [method for method, *_ in FUNCTIONS.values() if not callable(getattr(store, method, None))]
    if missing:
        raise InvalidArgumentError(
            f"store: a URL, or a store with the methods of trunkline.Store; "
            f"{type(store).__qualname__} lacks {', '.join(missing)}"
        )
    return {
        name: StoreHandler("store", name, getattr(store, method), params, result)
        for name, (method, params, result) in FUNCTIONS.items()
    }
