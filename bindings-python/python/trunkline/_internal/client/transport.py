"""Custom transports, as the core calls them."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgumentError
from ..features.handler import Handler
from ..features.method import MethodHandler
from ..returns import Answer
from ._generated.transport import FUNCTIONS


class TransportHandler(MethodHandler):
    """Calls a method of the transport. Its exception becomes the connection's error."""

    subject = "client"

    def answered(self, value: Any) -> Answer:
        if isinstance(value, (bytes, bytearray)):
            raise TypeError("a message is a string, not bytes: decode it as UTF-8")
        return super().answered(value)


def transport_handlers(transport: Any, *, blocking: bool) -> dict[str, Handler]:
    """Return the functions of a transport, by the names of their calls.

    Raises:
        InvalidArgumentError: If a blocking client is given asynchronous methods, for which it has
            no event loop.
    """
    handlers: dict[str, Handler] = {
        name: TransportHandler("request", name, getattr(transport, method), params, result)
        for name, (method, params, result) in FUNCTIONS.items()
    }
    if blocking and not all(handler.in_thread for handler in handlers.values()):
        raise InvalidArgumentError(
            "the methods of this transport are asynchronous: use Client, or give SyncClient ordinary functions"
        )
    return handlers
