"""Verifiers of access tokens."""

from __future__ import annotations

from functools import partial
from typing import Any

from .._generated.models import Identity
from .._generated.waist import OBJECT, VALUE
from ..auth import InsufficientScope, InvalidToken, PresentedToken, Verify
from ..errors import InvalidArgumentError
from ..failures import detail
from ..port.port import Port
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.asynchronous import is_async
from ..signature.dependencies import key_of
from .handler import Handler


class VerifierHandler(Handler):
    """Called with the presented token. Returns the caller's identity, or None."""

    def __init__(self, function: Verify) -> None:
        if not callable(function):
            raise InvalidArgumentError(
                f"a verifier must be a function of an AccessToken, not {type(function).__qualname__}"
            )
        super().__init__("verifier", key_of(function), {}, in_thread=not is_async(function))
        self.function = function

    def call(self, port: Port, ticket: int, body: Any) -> Any:
        return self.function(PresentedToken.presented(body, partial(port.native.describe, ticket)))

    def answered(self, value: Any) -> Answer:
        if value is None:
            return VALUE, None
        if not isinstance(value, Identity):
            raise TypeError(f"a verifier must return an Identity or None, not {type(value).__qualname__}")
        return OBJECT, jsonable(value.to_json())

    def failure(self, error: BaseException) -> dict[str, Any]:
        if isinstance(error, InvalidToken):
            return {"kind": "invalid", "message": str(error)}
        if isinstance(error, InsufficientScope):
            data = {"error": "insufficient_scope", "scopes": [*error.scopes]}
            return {"kind": "protocol", "message": str(error), "data": data}
        from asyncio import CancelledError

        if isinstance(error, CancelledError):  # the request has ended
            return super().failure(error)
        return {"kind": "internal", "message": detail(error)}
