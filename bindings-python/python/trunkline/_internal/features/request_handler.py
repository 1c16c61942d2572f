"""Handlers of requests outside the protocol: methods of extensions and vendors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import trunkline

from .._generated.option_names import REQUEST_HANDLER_OPTIONS
from .._generated.waist import VALUE
from ..client_requests.input_request import InputRequired
from ..options import Unpack, encoded
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.tool_signature import Signature
from .function import FunctionHandler
from .registry import F, Registry, decorator


class RequestHandlers(Registry):
    """The methods of a server for requests outside the protocol."""

    def request_handler(self, method: str, **options: Unpack[trunkline.RequestHandlerOptions]) -> Callable[[F], F]:
        """Register the decorated function as the handler of a request that is not part of the
        protocol, and return it unchanged: `@server.request_handler("com.acme/sum")`. See
        `add_request_handler`.
        """
        return decorator("request handler", partial(self.add_request_handler, method, **options))

    def add_request_handler(
        self, method: str, function: Callable[..., Any], **options: Unpack[trunkline.RequestHandlerOptions]
    ) -> None:
        """Add the handler of a request that is not part of the protocol. Clients send it with
        `client.request(method, params)`.

        Args:
            method: A prefix that the protocol doesn't use, preferably the vendor's reversed domain,
                a slash, and a name, such as `"com.acme/sum"`.
            function: `async def` runs on the event loop, `def` on a pool thread. Its parameters are
                the members of the params; it can also take the context and dependencies, as tools
                do. It returns the result, a dict or an object such as a dataclass, or None for an
                empty one. A `ToolError` becomes a JSON-RPC error with its message.
            options: See `RequestHandlerOptions`.

        Raises:
            InvalidArgumentError: If the method, or its prefix, belongs to the protocol, or the
                method already has a handler.
        """
        # Results have no schema.
        given = encoded(REQUEST_HANDLER_OPTIONS, options)
        signature = Signature(function, "a request handler", input_schema=given.get("paramsSchema"), output_schema={})
        registration = {"method": method, **given, "paramsSchema": signature.input_schema}
        handler = FunctionHandler("requestHandler", method, signature.parameters, registration, signature.bind, _render)
        handler.require(self._dependencies)
        self._add(handler)

    def remove_request_handler(self, method: str) -> None:
        """Remove the handler of a request.

        Raises:
            InvalidArgumentError: If there is none.
        """
        self._remove("requestHandler", method, f"handler of {method!r}")


def _render(value: Any) -> Answer:
    if isinstance(value, InputRequired):
        raise TypeError("custom requests cannot ask for input")
    result = jsonable(value)
    if result is None or isinstance(result, Mapping):
        return VALUE, cast("Any", result)
    raise TypeError(f"a result must be an object, such as {{'value': ...}}, not {type(value).__qualname__}")
