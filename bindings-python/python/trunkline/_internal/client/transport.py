"""Custom transports, as the core calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import _native
from ..errors import InvalidArgumentError, ProtocolError
from ..port.pool import Pool
from ._generated.transport import FUNCTIONS
from .server_requests import ServerRequestHandler


def transport_handlers(transport: Any, *, blocking: bool) -> dict[str, ServerRequestHandler]:
    """Return the functions of a transport, by the names of their calls.

    Raises:
        InvalidArgumentError: If a blocking client is given asynchronous methods, for which it has
            no event loop.
    """
    from inspect import iscoroutinefunction

    methods = {name: getattr(transport, row[0]) for name, row in FUNCTIONS.items()}
    if blocking and any(iscoroutinefunction(method) for method in methods.values()):
        raise InvalidArgumentError(
            "the methods of this transport are asynchronous: use Client, or give SyncClient ordinary functions"
        )
    functions = {name: _function(methods[name], *row[1:]) for name, row in FUNCTIONS.items()}
    return {name: ServerRequestHandler(name, function, dict) for name, function in functions.items()}


class TransportCalls:
    """Answers the transport calls of a blocking client, on its own threads, until it is dropped."""

    error_hooks: tuple[()] = ()
    telemetry: None = None

    def __init__(self, native: _native.Port, functions: Mapping[str, ServerRequestHandler]) -> None:
        self.native = native
        self.handlers: dict[int, ServerRequestHandler] = {}
        self.hosts: dict[int, Mapping[str, ServerRequestHandler]] = {}
        self._functions = functions
        self._pool = Pool(self, None)
        if FUNCTIONS.keys() <= functions.keys():
            self._pool.start()

    def handler(self, handle: int, name: str) -> ServerRequestHandler | None:  # noqa: ARG002
        """Return the function with this name."""
        return self._functions.get(name)

    def scope(self, cause: int, port: int) -> None:
        """Return None: nothing in this process causes calls of a transport."""

    def __del__(self) -> None:
        self._pool.stop()


def _function(method: Callable[..., Any], params: tuple[str, ...], result: str | None) -> Callable[..., Any]:
    """Return the function for the core. Its exception becomes the connection's error."""
    from inspect import iscoroutinefunction

    def returned(value: Any) -> Mapping[str, Any]:
        return {} if result is None else {result: value}

    def wrong(error: Exception) -> ProtocolError:
        return ProtocolError(f"{type(error).__name__}: {error}")

    async def call_async(given: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return returned(await method(*(given[name] for name in params)))
        except Exception as error:
            raise wrong(error) from error

    def call(given: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return returned(method(*(given[name] for name in params)))
        except Exception as error:
            raise wrong(error) from error

    return call_async if iscoroutinefunction(method) else call
