"""Custom transports, as the core calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _native
from ..errors import InvalidArgumentError
from ..features.handler import Handler
from ..features.method import MethodHandler
from ..port.events import Events
from ..port.pool import Pool
from ._generated.transport import FUNCTIONS


class TransportHandler(MethodHandler):
    """Calls a method of the transport. Its exception becomes the connection's error."""

    subject = "client"


def transport_handlers(transport: Any, *, blocking: bool) -> dict[str, Handler]:
    """Return the functions of a transport, by the names of their calls.

    Raises:
        InvalidArgumentError: If a blocking client is given asynchronous methods, for which it has
            no event loop.
    """
    handlers: dict[str, Handler] = {
        name: TransportHandler(name, getattr(transport, method), params, result)
        for name, (method, params, result) in FUNCTIONS.items()
    }
    if blocking and not all(handler.in_thread for handler in handlers.values()):
        raise InvalidArgumentError(
            "the methods of this transport are asynchronous: use Client, or give SyncClient ordinary functions"
        )
    return handlers


class TransportCalls(Events):
    """Answers the transport calls of a blocking client, on its own threads, until it is dropped."""

    error_hooks: tuple[()] = ()

    def __init__(self, native: _native.Port, functions: Mapping[str, Handler]) -> None:
        super().__init__(native)
        self._functions = functions
        self._pool = Pool(self, None)
        if FUNCTIONS.keys() <= functions.keys():
            self._pool.start()

    def handler(self, handle: int, name: str) -> Handler | None:  # noqa: ARG002
        """Return the function with this name."""
        return self._functions.get(name)

    def __del__(self) -> None:
        self._pool.stop()
