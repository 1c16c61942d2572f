"""Client requests that are not operations, and requests that start tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.base import present
from ...options import in_ms
from ...requests import OnProgress, request_json
from .stream import AsyncClientTask, AsyncStreamClient


class AsyncRequester(AsyncStreamClient):
    """The request methods of a client."""

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        max_timeout: float | None = None,
        on_progress: OnProgress | None = None,
        manual_input: bool = False,
        input_responses: Mapping[str, Any] | None = None,
        request_state: str | None = None,
    ) -> Any:
        """Send a protocol request without a dedicated method, and return the result as JSON.

        Args:
            method: Method name.
            params: Parameters of the method.
            timeout: Timeout in seconds, restarted by progress; default: the client's.
            max_timeout: Maximum time in seconds, regardless of progress.
            on_progress: Called with (progress, total, message).
            manual_input: If the server needs input (2026-07-28), raise InputRequiredError instead
                of running handlers.
            input_responses: Responses to the requests of that error, by key.
            request_state: The `request_state` of that error.

        Raises:
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        given, progress = None if params is None else dict(params), on_progress is not None
        json = request_json(method, given, timeout, max_timeout, progress=progress, manual_input=manual_input)
        json |= present(inputResponses=input_responses, requestState=request_state)
        return (await self._ask(None, json, on_progress))[1]

    async def start_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: float | None = None,
        manual_input: bool = False,
        timeout: float | None = None,
        max_timeout: float | None = None,
    ) -> AsyncClientTask:
        """Call a tool as a task, on any revision that supports tasks. If the server doesn't create
        a task, the returned object has no id and its result is available at once.

        Args:
            name: Name of the tool.
            arguments: Arguments that match the tool's input schema.
            ttl: Seconds for which to ask the server to keep the task (2025-11-25); default: the
                server decides.
            manual_input: Answer requests for input with `respond` instead of running handlers
                (2026-07-28).
            timeout: Timeout in seconds for starting the task; default: the client's.
            max_timeout: Maximum time in seconds for starting the task, regardless of progress.

        Raises:
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        params = present(name=name, arguments=arguments, **in_ms(ttlMs=ttl))
        json = request_json("startTask", params, timeout, max_timeout, manual_input=manual_input)
        return AsyncClientTask(self, *await self._ask(None, json))

    async def resume_task(
        self, task_id: str, *, manual_input: bool = False, timeout: float | None = None
    ) -> AsyncClientTask:
        """Resume a task by its id, for example one that an earlier run of the program started.

        Args:
            task_id: Id of the task.
            manual_input: As for `start_task`.
            timeout: Timeout in seconds; default: the client's.

        Raises:
            ProtocolError: The server does not know the task, or has deleted it.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        json = request_json("startTask", {"taskId": task_id}, timeout, manual_input=manual_input)
        return AsyncClientTask(self, *await self._ask(None, json))
