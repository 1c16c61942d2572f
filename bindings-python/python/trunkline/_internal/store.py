"""Custom stores: their functions for the core, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ._generated.store import FUNCTIONS
from ._generated.waist import RESULT
from .errors import InvalidArgumentError
from .features.handler import Handler
from .returns import Answer
from .schema.jsonable import jsonable
from .signature.asynchronous import is_async

if TYPE_CHECKING:
    from .port.port import Port


class StoreError(Exception):
    """Raised by a custom store. `kind` is the reason: `unavailable` (the store cannot be reached;
    any other exception means the same), `full`, or `corrupt` (it contains unreadable data).
    """

    def __init__(self, message: str, kind: Literal["unavailable", "full", "corrupt"] = "unavailable") -> None:
        super().__init__(message)
        self.kind = kind


class StoreHandler(Handler):
    """Calls a method of the store with a call's members. `def` methods run on a pool thread."""

    __slots__ = ("_method", "_params", "_result")

    kind = "store"

    def __init__(self, name: str, method: Callable[..., Any], params: tuple[str, ...], result: str | None) -> None:
        super().__init__(name, {}, in_thread=not is_async(method))
        self._method = method
        self._params = params
        self._result = result

    def call(self, port: Port, ticket: int, body: Any) -> Any:  # noqa: ARG002
        return self._method(*self._arguments(body))

    def failure(self, error: BaseException) -> dict[str, Any]:
        told = isinstance(error, StoreError)
        message = str(error) if told else f"{type(error).__name__}: {error}"
        return {"kind": "protocol", "message": message, "data": {"error": error.kind if told else "unavailable"}}

    def _arguments(self, body: Mapping[str, Any]) -> list[Any]:
        return [body[name] / 1000 if name.endswith("Ms") else body.get(name) for name in self._params]

    def answered(self, value: Any) -> Answer:
        return RESULT, {} if self._result is None else {self._result: jsonable(value)}


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
        name: StoreHandler(name, getattr(store, method), params, result)
        for name, (method, params, result) in FUNCTIONS.items()
    }
