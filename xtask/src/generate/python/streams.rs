//! The streams of clients: subscriptions and tasks, and the methods that open them.

use std::fmt::Write as _;

use super::given;
use crate::generate::surface::{Presence, Surface};

/// The classes, for an asyncio client.
pub(super) const CLASSES: &str = r#"from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..._generated.models import CallToolResult, Change, SubscriptionFilter, Task
from ...requests import OnProgress, read_answer, request_json
from ...schema.jsonable import jsonable
from ..stream import AsyncStream, AsyncStreamClient
from ..tool_results import expect, read_tool_result

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class AsyncSubscription(AsyncStream[Change]):
    """The changes at a server, as they come: `async with client.subscribe("notes://today") as
    changes: ...`.

    Iterate over it. It goes on when the connection is made anew, and ends with the client or with
    `close`.
    """

    __slots__ = ("_filter", "honoured")

    def __init__(self, client: AsyncStreamClient, wanted: SubscriptionFilter) -> None:
        super().__init__(client, Change.from_json)
        self._filter = wanted
        # The part of the filter that the server honours.
        self.honoured: SubscriptionFilter = SubscriptionFilter()

    async def open(self) -> None:
        """Subscribes; a `with` block does it for you.

        Raises:
            InvalidArgumentError: if the server announces nothing of the kind.
            TrunklineError: if the server refuses.
        """
        json = {"method": "subscribe", "params": self._filter.to_json()}
        self._ticket, honoured = await self._client._ask(None, json)
        self.honoured = read_answer("subscribe", SubscriptionFilter.from_json, honoured)

    async def __aenter__(self) -> Self:
        await self.open()
        return self


class AsyncClientTask(AsyncStream[Task]):
    """A call of a tool as a task. Iterate over it for its states; states that follow fast on one
    another may be passed over.

    `close` ends the polling and leaves the task alone: `resume_task` takes it up again by its id.
    """

    __slots__ = ("state",)

    def __init__(self, client: AsyncStreamClient, ticket: int, state: Any) -> None:
        super().__init__(client, Task.from_json, ticket)
        # The latest state that was seen; None if the server made no task of the call.
        self.state = None if state is None else read_answer("startTask", Task.from_json, state)

    @property
    def id(self) -> str | None:
        """The id of the task; None if the server made no task of the call."""
        return None if self.state is None else self.state.task_id

    async def __anext__(self) -> Task:
        self.state = await super().__anext__()
        return self.state

    @overload
    async def result(self, *, timeout: float | None = None, on_progress: OnProgress | None = None, result: type[T], raise_on_error: bool = False) -> T: ...

    @overload
    async def result(self, *, timeout: float | None = None, on_progress: OnProgress | None = None, result: None = None, raise_on_error: bool = False) -> CallToolResult: ...

    async def result(self, *, timeout: float | None = None, on_progress: OnProgress | None = None, result: Any = None, raise_on_error: bool = False) -> Any:
        """The result of the call, once the task is over.

        Args:
            timeout: Seconds to wait (default: the `max_timeout` of the client). The task goes on,
                and can be waited for again.
            on_progress: Gets the progress of a task that `start_task` started, where the revision
                has it for tasks.
            result: The type of the value to return, as for `call_tool` (default: the result as it
                is).
            raise_on_error: Raise a ToolError where the tool says that it failed.

        Raises:
            ProtocolError: The task failed with this error, or the server does not know it any more.
            CancelledError: The task was cancelled.
            TimeoutError: The task is not over, or the server keeps it no longer.
            ClosedError: The stream or the connection was closed.
        """
        json = expect(request_json("result", None, timeout, progress=on_progress is not None), result)
        return read_tool_result(result, raise_on_error, (await self._client._ask(self._ticket, json, on_progress))[1])

    async def respond(self, responses: Mapping[str, Any], *, timeout: float | None = None) -> None:
        """Answers the `input_requests` of the state, where the caller does so itself
        (`manual_input`; 2026-07-28).

        Args:
            responses: The answers by the keys of the requests.
            timeout: Seconds for the answer (default: the client's).

        Raises:
            InvalidArgumentError: The task asks for no input by its state.
            ProtocolError: The server answered with an error.
            TimeoutError: No answer came in time.
            ClosedError, TransportError: The connection ended before the answer.
        """
        await self._client._ask(self._ticket, request_json("respond", jsonable(responses), timeout))

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Cancels the task; of one that is over, nothing changes. The server may let it come to
        another end.

        Args:
            timeout: Seconds for the answer (default: the client's).

        Raises:
            ProtocolError: The server answered with an error.
            TimeoutError: No answer came in time.
            ClosedError, TransportError: The connection ended before the answer.
        """
        await self._client._ask(self._ticket, request_json("cancel", None, timeout))
"#;

/// The methods of a client that open streams.
pub(super) fn methods(surface: &Surface) -> String {
    subscribe(surface) + TASKS
}

/// The subscription of a client, whose parameters are the members of its filter.
fn subscribe(surface: &Surface) -> String {
    let Some(filter) = surface.object("SubscriptionFilter") else { return String::new() };
    let (mut parameters, mut arguments, mut docs) = (String::new(), String::new(), String::new());
    for field in &filter.fields {
        let name = &field.name;
        let _ = match (field.presence, name.as_str()) {
            (_, "resources") => write!(parameters, "*{name}: str, "),
            (Presence::Flag, _) => write!(parameters, "{name}: bool = False, "),
            _ => write!(parameters, "{name}: {} | None = None, ", given(&field.ty)),
        };
        let _ = write!(arguments, "{name}={name}{}, ", if name == "resources" { " or None" } else { "" });
        let _ = writeln!(docs, "            {name}: {}", field.doc);
    }
    format!(
        "\n    def subscribe(self, {parameters}) -> AsyncSubscription:\n        \"\"\"The changes at the server, on every revision: \
         iterate over it in an `async with` block.\n\n        Args:\n{docs}        \"\"\"\n        return AsyncSubscription(self, \
         SubscriptionFilter({arguments}))\n"
    )
}

const TASKS: &str = r#"
    async def start_task(self, name: str, arguments: Mapping[str, Any] | None = None, *, ttl: float | None = None, manual_input: bool = False, timeout: float | None = None, max_timeout: float | None = None) -> AsyncClientTask:
        """Calls a tool as a task, on every revision that has tasks. Where the server makes none of
        the call, the task has no id, and its result at once.

        Args:
            name: The name of the tool.
            arguments: Its arguments, as its input schema says.
            ttl: Seconds that the server is asked to keep the task (2025-11-25; default: as it
                likes).
            manual_input: Answer its requests for input by `respond`, in the place of running
                handlers (2026-07-28).
            timeout: Seconds for the start (default: the client's).
            max_timeout: The most seconds for the start, however often the timeout is renewed.

        Raises:
            ProtocolError: The server answered with an error.
            TimeoutError: No answer came in time.
            ClosedError, TransportError: The connection ended before the answer.
        """
        params = params_of({"name": name, "arguments": arguments, **camel_case(**in_ms(ttl=ttl))})
        json = request_json("startTask", params, timeout, max_timeout)
        if manual_input:
            json["manualInput"] = True
        return AsyncClientTask(self, *await self._ask(None, json))

    async def resume_task(self, task_id: str, *, manual_input: bool = False, timeout: float | None = None) -> AsyncClientTask:
        """Takes up a task by its id, for example one that was started before this program was.

        Args:
            task_id: The id of the task.
            manual_input: As for `start_task`.
            timeout: Seconds for the answer (default: the client's).

        Raises:
            ProtocolError: The server does not know the task, or not any more.
            TimeoutError: No answer came in time.
            ClosedError, TransportError: The connection ended before the answer.
        """
        json = request_json("startTask", {"taskId": task_id}, timeout)
        if manual_input:
            json["manualInput"] = True
        return AsyncClientTask(self, *await self._ask(None, json))
"#;
