"""Handlers of requests outside the protocol: methods of extensions and vendors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from .._generated.waist import VALUE
from ..client_requests.input_request import InputRequired
from ..options import camel_case, in_ms
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.tool_signature import Signature
from .function import FunctionHandler
from .registry import Registry


class RequestHandler(FunctionHandler):
    """Called with the params of the request. Returns the result, an object."""

    __slots__ = ("_signature",)

    kind = "requestHandler"

    def __init__(
        self, method: str, function: Callable[..., Any], signature: Signature, registration: dict[str, Any]
    ) -> None:
        super().__init__(method, function, signature.parameters, registration)
        self._signature = signature

    def bind(self, body: Any) -> dict[str, Any]:
        return self._signature.bind(body)

    def render(self, value: Any) -> Answer:
        if isinstance(value, InputRequired):
            raise TypeError("requests beyond the protocol cannot ask for input")
        result = jsonable(value)
        if result is None or isinstance(result, Mapping):
            return VALUE, cast("Any", result)
        raise TypeError(f"a result is an object, such as {{'value': ...}}, not {type(value).__qualname__}")


F = TypeVar("F", bound=Callable[..., Any])


class RequestHandlers(Registry):
    """The methods of a server for requests outside the protocol."""

    def request_handler(
        self,
        method: str,
        *,
        params_schema: Mapping[str, Any] | None = None,
        scopes: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Callable[[F], F]:
        """Register the decorated function as the handler of a request that is not part of the
        protocol, and return it unchanged: `@server.request_handler("com.acme/sum")`. See
        `add_request_handler`.
        """

        def decorate(function: F) -> F:
            self.add_request_handler(method, function, params_schema=params_schema, scopes=scopes, timeout=timeout)
            return function

        return decorate

    def add_request_handler(
        self,
        method: str,
        function: Callable[..., Any],
        *,
        params_schema: Mapping[str, Any] | None = None,
        scopes: Sequence[str] = (),
        timeout: float | None = None,
    ) -> None:
        """Adds the handler of a request that the protocol does not have. Clients send it with
        `client.request(method, params)`.

        Args:
            method: a prefix that is not the protocol's, best the domain of the vendor in reverse, a
                slash, and a name, such as `"com.acme/sum"`.
            function: `async def` runs on the event loop, `def` on a thread of the pool. Its
                parameters are the members of the params; it takes the context and dependencies as
                functions of tools do. It returns the result, a dict or an object such as a
                dataclass, or None for an empty one. A `ToolError` is a JSON-RPC error with its
                text.
            params_schema: replaces the schema made from the parameters; params are then passed as
                JSON has them.
            scopes: scopes that the access token of a request must grant beside those of the
                endpoint.
            timeout: the longest time of one run of the function, in seconds. Then the request fails
                and the function is cancelled. Default: none.

        Raises:
            InvalidArgumentError: if the method is one of the protocol, or begins with a prefix of
                it, or has a handler already.
        """
        # Results have no schema.
        signature = Signature(function, "a request handler", input_schema=params_schema, output_schema={})
        registration = camel_case(
            method=method, params_schema=signature.input_schema, scopes=[*scopes] or None, **in_ms(timeout=timeout)
        )
        handler = RequestHandler(method, function, signature, registration)
        handler.require(self._dependencies)
        self._add(handler, f"a handler of {method!r}")

    def remove_request_handler(self, method: str) -> None:
        """Remove the handler of a request.

        Raises:
            InvalidArgumentError: If there is none.
        """
        self._remove("requestHandler", method, f"handler of {method!r}")
