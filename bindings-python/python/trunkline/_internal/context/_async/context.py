"""The context of handlers made with `async def`: the call, progress, logging, and requests to the
client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._generated import methods
from ..._generated.models import LoggingLevel
from ...requests import request_json
from ...schema.jsonable import jsonable
from ._generated.client_requests import AsyncClientRequests


class Context(AsyncClientRequests):
    """The context of a handler made with `async def`: a parameter annotated with it receives it."""

    __slots__ = ()

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Reports progress to the caller. Values must rise; nothing is sent if the caller did not
        ask.
        """
        await self._report(progress, total, message)

    async def log(self, level: LoggingLevel, data: Any, logger: str | None = None) -> None:
        """Sends a log message to the client, if it wants messages of that level.

        Args:
            level: how bad it is.
            data: any JSON value, such as a text.
            logger: the name of the part of the server that speaks.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self._log(level, data, logger)

    async def debug(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level debug.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self._log("debug", data, logger)

    async def info(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level info.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self._log("info", data, logger)

    async def warning(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level warning.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self._log("warning", data, logger)

    async def error(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level error.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self._log("error", data, logger)

    async def once(self, name: str, function: Callable[[], Any]) -> Any:
        """The value of `function`, which is called only once, however often this handler runs for
        one request.

        Args:
            name: what the value is kept under.
            function: takes no parameters and is made as the handler is, or with `def`; its value
                must have a JSON form, and that is returned.
        """
        known, value = self._kept(name)
        if not known:
            value = jsonable(await self._value_of(function))
            self._keep(name, value)
        return value

    async def ping(self, *, timeout: float | None = None) -> None:
        """Returns when the client has answered. Only revisions up to 2025-11-25 let a server ask.

        Args:
            timeout: seconds for the answer (default 60).

        Raises:
            ProtocolError: on other revisions, with the code -32601.
            TimeoutError: if no reply arrived in time.
            ClosedError: if the client has disconnected, or the call is already completed.
        """
        await self._request(request_json(methods.PING, None, timeout))

    async def close_stream(self) -> None:
        """Closes the HTTP response early where the client can come back for the answer
        (2025-11-25); else nothing.
        """
        self._notify({"closeStream": True})

    async def start_task(self) -> None:
        """From here on the call is a task, if the tool has `defer_task` and the client can have
        one; else nothing.
        """
        self._notify({"startTask": True})

    async def set_task_message(self, message: str) -> None:
        """Says what the task does now, for people who look at it; nothing where the call is not a
        task.
        """
        self._notify({"taskMessage": message})
