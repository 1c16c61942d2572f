"""The requests of a client that are not operations, and those that start tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...options import camel_case, in_ms
from ...requests import OnProgress, params_of, request_json
from ...schema.jsonable import jsonable
from .stream import AsyncClientTask, AsyncStreamClient


class AsyncRequester(AsyncStreamClient):
    """A client by what it sends."""

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
        """Sends a protocol request that has no method here. Returns the result as JSON.

        Args:
            method: The method.
            params: Its parameters.
            timeout: Timeout in seconds; progress restarts it (default: the client's).
            max_timeout: Maximum seconds in total, regardless of progress.
            on_progress: Called with (progress, total, message).
            manual_input: Raise an InputRequiredError where the server needs input (2026-07-28), in
                the place of running handlers.
            input_responses: The answers to the requests of that error, by their keys.
            request_state: The `request_state` of that error.

        Raises:
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        given = None if params is None else dict(params)
        json = request_json(method, given, timeout, max_timeout, progress=on_progress is not None)
        if manual_input:
            json["manualInput"] = True
        if input_responses is not None:
            json["inputResponses"] = jsonable(input_responses)
        if request_state is not None:
            json["requestState"] = request_state
        return (await self._ask(None, json, on_progress))[1]

    def _note(self, json: dict[str, Any]) -> None:
        raise NotImplementedError

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Sends a notification that has no method here to the server."""
        self._note({"method": method, "params": jsonable(params or {})})

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
        """Calls a tool as a task, on every revision that supports tasks. If the server does not
        create a task, the task has no id, and its result is available at once.

        Args:
            name: The name of the tool.
            arguments: Its arguments, as its input schema says.
            ttl: Seconds that the server is asked to keep the task (2025-11-25; default: as it
                likes).
            manual_input: Answer its requests for input by `respond`, in the place of running
                handlers (2026-07-28).
            timeout: Timeout in seconds for starting it (default: the client's).
            max_timeout: Maximum seconds in total for starting it, regardless of progress.

        Raises:
            ProtocolError: The server replied with an error.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        params = params_of({"name": name, "arguments": arguments, **camel_case(**in_ms(ttl=ttl))})
        json = request_json("startTask", params, timeout, max_timeout)
        if manual_input:
            json["manualInput"] = True
        return AsyncClientTask(self, *await self._ask(None, json))

    async def resume_task(
        self, task_id: str, *, manual_input: bool = False, timeout: float | None = None
    ) -> AsyncClientTask:
        """Resumes a task by its id, for example one started before this program.

        Args:
            task_id: The id of the task.
            manual_input: As for `start_task`.
            timeout: Timeout in seconds (default: the client's).

        Raises:
            ProtocolError: The server does not know the task, or has deleted it.
            TimeoutError: No reply arrived in time.
            ClosedError, TransportError: The connection ended before the reply.
        """
        json = request_json("startTask", {"taskId": task_id}, timeout)
        if manual_input:
            json["manualInput"] = True
        return AsyncClientTask(self, *await self._ask(None, json))
