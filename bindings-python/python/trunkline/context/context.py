"""The context of handlers made with `async def`: the call, progress, logging, and requests to the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .._generated.models import CreateMessageResult, LoggingLevel, Root
from ..calls import AsyncCall
from ..client_requests import ElicitResult, InputRequest, Messages, elicit, elicit_url, list_roots, sample
from ..requests import read_answer, request_json
from ..schema.jsonable import jsonable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._generated.options import SampleOptions

T = TypeVar("T")


class Context(AsyncCall):
    """The context of a handler made with `async def`: a parameter annotated with it receives it."""

    __slots__ = ()

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tells the caller how far the work is. Values must rise; nothing is sent if the caller did not ask."""
        self._progress(progress, total, message)

    async def log(self, level: LoggingLevel, data: Any, logger: str | None = None) -> None:
        """Sends a log message to the client, if it wants messages of that level.

        Args:
            level: how bad it is.
            data: any JSON value, such as a text.
            logger: the name of the part of the server that speaks.
        """
        self._log(level, data, logger)

    async def debug(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level debug."""
        self._log("debug", data, logger)

    async def info(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level info."""
        self._log("info", data, logger)

    async def warning(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level warning."""
        self._log("warning", data, logger)

    async def error(self, data: Any, logger: str | None = None) -> None:
        """`log` with the level error."""
        self._log("error", data, logger)

    @overload
    async def elicit(
        self, message: str, schema: type[T], *, key: str | None = None, timeout: float | None = None
    ) -> ElicitResult[T]: ...

    @overload
    async def elicit(
        self, message: str, schema: Mapping[str, Any], *, key: str | None = None, timeout: float | None = None
    ) -> ElicitResult[dict[str, Any]]: ...

    async def elicit(
        self, message: str, schema: Any, *, key: str | None = None, timeout: float | None = None
    ) -> ElicitResult[Any]:
        """Asks the user to fill in a form.

        The same code serves all revisions. Where the client is asked by rounds (2026-07-28), the handler ends here and
        is called again from the top when the answer is there: an effect before a question belongs in
        `once`. A user who declines is no error.

        Args:
            message: what is asked, for people.
            schema: a dataclass, TypedDict or pydantic model with fields of text, numbers, yes or no, and choices; or a
                JSON Schema of that form.
            key: which answer belongs to this question (default: questions of a kind are counted).
            timeout: seconds for the answer (default: the server's `input_timeout`).

        Raises:
            ProtocolError: if the client cannot be asked, or refuses.
            TimeoutError: if no answer came in time.
            ClosedError: if the client is gone, or the call is answered already.
        """
        return await self._ask(elicit(message, schema), key, timeout)

    async def elicit_url(
        self,
        message: str,
        url: str,
        *,
        elicitation_id: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> ElicitResult[None]:
        """Asks the user to visit a page; as `elicit`. `"accept"` says that the user agreed to, not that all is done.

        Args:
            message: what it is for, for people.
            url: the page.
            elicitation_id: what `Server.elicitation_complete` calls it (default: one that nobody can guess).
            key: which answer belongs to this question.
            timeout: seconds for the answer.
        """
        return await self._ask(elicit_url(message, url, elicitation_id=elicitation_id), key, timeout)

    async def sample(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        key: str | None = None,
        timeout: float | None = None,
        **options: Unpack[SampleOptions],
    ) -> CreateMessageResult:
        """Asks the client's model; as `elicit`. The arguments are those of the function `sample`."""
        return await self._ask(sample(messages, max_tokens=max_tokens, **options), key, timeout)

    async def list_roots(self, *, key: str | None = None, timeout: float | None = None) -> list[Root]:
        """Asks which roots the client has; as `elicit`."""
        return await self._ask(list_roots(), key, timeout)

    async def once(self, name: str, function: Callable[[], Any]) -> Any:
        """The value of `function`, which is called only once, however often this handler runs for one request.

        Args:
            name: what the value is kept under.
            function: takes no parameters and is made as the handler is, or with `def`; its value must have a JSON form,
                and that is returned.
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
            TimeoutError: if no answer came in time.
            ClosedError: if the client is gone, or the call is answered already.
        """
        await self._request(request_json("ping", None, timeout))

    async def close_stream(self) -> None:
        """Closes the HTTP response early where the client can come back for the answer (2025-11-25); else nothing."""
        self._notify({"closeStream": True})

    async def start_task(self) -> None:
        """From here on the call is a task, if the tool has `defer_task` and the client can have one; else nothing."""
        self._notify({"startTask": True})

    async def set_task_message(self, message: str) -> None:
        """Says what the task does now, for people who look at it; nothing where the call is no task."""
        self._notify({"taskMessage": message})

    async def _ask(self, request: InputRequest[T], key: str | None, timeout: float | None) -> T:
        return read_answer(request.method, request.read, await self._request(self._request_of(request, key, timeout)))
