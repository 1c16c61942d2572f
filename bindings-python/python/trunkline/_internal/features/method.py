"""Handlers that call the methods of an object, such as a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._generated.waist import RESULT
from ..errors import ProtocolError
from ..returns import Answer
from ..schema.jsonable import jsonable
from ..signature.asynchronous import is_async
from .handler import Handler


class MethodHandler(Handler):
    """Calls a method with a call's members. `def` methods run on a pool thread."""

    def __init__(
        self, kind: str, name: str, method: Callable[..., Any], params: tuple[str, ...], result: str | None
    ) -> None:
        super().__init__(kind, name, {}, in_thread=not is_async(method))
        self._method = method
        self._params = params
        self._result = result

    def call(self, port: Any, ticket: int, body: Any) -> Any:  # noqa: ARG002
        return self._method(*(body[name] / 1000 if name.endswith("Ms") else body.get(name) for name in self._params))

    def answered(self, value: Any) -> Answer:
        return RESULT, {} if self._result is None else {self._result: jsonable(value)}

    def failure(self, error: BaseException) -> dict[str, Any]:
        if isinstance(error, Exception):
            error = ProtocolError(f"{type(error).__name__}: {error}")
        return super().failure(error)
