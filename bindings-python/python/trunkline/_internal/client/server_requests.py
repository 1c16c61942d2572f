"""A client's handlers for requests of its server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._generated.waist import OWN, RESULT, RETURNED, SILENT
from ..errors import InvalidArgumentError, keep_cause
from ..features.handler import Handler
from ..model.base import Model
from ..port.port import Port
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.asynchronous import is_async


class ServerRequestHandler(Handler):
    """Called with a request of the server; returns the result. A `def` function runs on a pool
    thread or, in a blocking client, on a waiting thread.
    """

    subject = "client"

    def __init__(self, operation: str, function: Callable[..., Any], read: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise InvalidArgumentError(f"on_{operation} takes a function, not {type(function).__qualname__}")
        super().__init__("request", operation, {}, in_thread=not is_async(function))
        self.function = function
        self.read = read

    def call(self, port: Port, ticket: int, body: Any) -> Any:  # noqa: ARG002
        return self.function(self.read(body))

    def failure(self, error: BaseException) -> dict[str, Any]:
        if self.key not in OWN:
            return super().failure(error)
        # The caller is in this program and gets the exception itself.
        message = str(error) or type(error).__qualname__
        keep_cause(f"{self.key} failed: {message}", error)
        return {"kind": "tool", "message": message}

    def answered(self, value: Any) -> Answer:
        if value is None and self.key in SILENT:
            return RESULT, {}
        if isinstance(value, (Model, Mapping)):
            return RESULT, jsonable(value)
        expected = RETURNED.get(self.key, "a result")
        raise TypeError(f"the handler of on_{self.key} returned {type(value).__qualname__} instead of {expected}")
