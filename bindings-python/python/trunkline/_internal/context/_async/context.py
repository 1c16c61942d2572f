"""The context of `async def` handlers: the call, progress, logging, and requests to the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._generated import methods
from ..._generated.models import LoggingLevel
from ...model.base import present
from ...requests import request_json
from ...schema.jsonable import jsonable
from ._generated.client_requests import AsyncClientRequests


class Context(AsyncClientRequests):
    """The context of an `async def` handler. Annotate a parameter with it to receive it."""

    __slots__ = ()

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the caller. Values must increase; nothing is sent if the caller didn't
        ask for progress.
        """
        self._notify({"progress": progress, "total": total, "message": message})
        await self._let_others_run()

    async def log(self, level: LoggingLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it accepts messages of that level.

        Args:
            level: Severity of the message.
            data: Any JSON value, such as a string.
            logger: Name of the part of the server that logs.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        self._notify({"log": {"level": level, "data": data, **present(logger=logger)}})
        await self._let_others_run()

    async def debug(self, data: Any, logger: str | None = None) -> None:
        """Send a log message with level `debug`, as `log` does.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self.log("debug", data, logger)

    async def info(self, data: Any, logger: str | None = None) -> None:
        """Send a log message with level `info`, as `log` does.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self.log("info", data, logger)

    async def warning(self, data: Any, logger: str | None = None) -> None:
        """Send a log message with level `warning`, as `log` does.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self.log("warning", data, logger)

    async def error(self, data: Any, logger: str | None = None) -> None:
        """Send a log message with level `error`, as `log` does.

        .. deprecated:: 2026-07-28
            Log to standard error or through OpenTelemetry instead.
        """
        await self.log("error", data, logger)

    async def once(self, name: str, function: Callable[[], Any]) -> Any:
        """Call `function` once per request, however often the handler runs for it, and return its
        value.

        Args:
            name: Key under which the value is stored.
            function: Takes no parameters, and is `def` or of the same kind as the handler. Its
                value must have a JSON form, which is what `once` returns.
        """
        async with self._turn(name):  # concurrent calls wait for the value of the first
            kept: dict[str, Any] = self._fact("once")
            if name not in kept:
                value = jsonable(await self._value_of(function))
                self._notify({"once": {"name": name, "value": value}})
                kept[name] = value
            return kept[name]

    async def ping(self, *, timeout: float | None = None) -> None:
        """Wait until the client responds to a ping. Servers can only ping up to revision
        2025-11-25.

        Args:
            timeout: Timeout in seconds; default 60.

        Raises:
            ProtocolError: On later revisions, with code -32601.
            TimeoutError: If no reply arrives in time.
            ClosedError: If the client has disconnected, or the call is already completed.
        """
        await self._request(request_json(methods.PING, None, timeout))

    async def close_stream(self) -> None:
        """Close the HTTP response early, if the client can reconnect for the result (2025-11-25).
        Has no effect otherwise.
        """
        self._notify({"closeStream": True})

    async def start_task(self) -> None:
        """Turn the call into a task, if the tool has `defer_task` and the client supports tasks.
        Has no effect otherwise.
        """
        self._notify({"startTask": True})

    async def set_task_message(self, message: str) -> None:
        """Set the task's status message, which is meant for people. Has no effect if the call is
        not a task.
        """
        self._notify({"taskMessage": message})
