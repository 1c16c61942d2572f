"""The host's side of clients: requests from servers, roots, subscriptions; on every revision, async
and blocking.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support import TIMEOUT, environment, run, script, until
from trunkline import (
    Client,
    ClosedError,
    Context,
    CreateMessageResult,
    ElicitRequest,
    ElicitResult,
    ElicitUrlRequest,
    InputRequiredError,
    InvalidArgumentError,
    LogMessage,
    ProtocolError,
    Root,
    SampleRequest,
    Server,
    SyncClient,
    TextContent,
    TrunklineError,
)


@pytest.mark.parametrize("client_class", [Client, SyncClient])
@pytest.mark.parametrize("name", ["on_elicit", "on_sample", "on_log", "on_authorize", "on_resources_changed"])
def test_a_handler_that_is_passed_as_an_option_is_refused_with_the_decorator(
    client_class: type[Client | SyncClient], name: str
) -> None:
    options: dict[str, Any] = {name: print}
    with pytest.raises(TypeError, match=f"{name} is not an option: decorate the function with @client.{name}"):
        client_class(Server("test", version="1"), **options)


ELICITING = ["2025-06-18", "2025-11-25", "2026-07-28"]
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

PROGRAM = """
from trunkline import Context, Server

server = Server("asking", version="1")
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

@server.tool
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Your name?", NAME)
    return f"{answer.action} {answer.content}"

@server.tool
async def where(ctx: Context) -> list[str]:
    return [root.uri for root in await ctx.list_roots()]

server.run()
"""


def asking() -> Server:
    """A server whose tools need the client."""
    server = Server("asking", version="1")

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", NAME)
        return f"{answer.action} {answer.content}"

    @server.tool
    async def page(ctx: Context) -> str:
        return (await ctx.elicit_url("Sign here", "https://example.com/sign")).action

    @server.tool
    async def model(ctx: Context) -> str:
        answer = await ctx.sample("What is this?", max_tokens=9, system_prompt="short")
        return f"{answer.model}: {answer.text}"

    @server.tool
    async def where(ctx: Context) -> str:
        return " ".join([root.uri for root in await ctx.list_roots()])

    @server.resource("note://today")
    def today() -> str:
        return "rain"

    return server


@pytest.mark.parametrize("revision", ELICITING)
def test_eli_01_handlers_answer_requests_of_the_server(revision: str) -> None:
    async def test() -> None:
        client = Client(asking(), revision=revision)
        seen: list[Any] = []

        @client.on_elicit
        async def fill_in(request: ElicitRequest) -> ElicitResult[dict[str, str]]:
            seen.append((request.message, request.requested_schema["required"]))
            return ElicitResult("accept", {"name": "Ann"})

        @client.on_sample
        def continue_conversation(request: SampleRequest) -> CreateMessageResult:
            seen.append((request.system_prompt, request.messages[0].role, threading.current_thread().name))
            return CreateMessageResult(role="assistant", model="m1", content=[TextContent("a cloud")])

        assert callable(fill_in) and callable(continue_conversation)
        async with client:
            assert (await client.call_tool("greet")).text == "accept {'name': 'Ann'}"
            assert (await client.call_tool("model")).text == "m1: a cloud"
        assert seen[0] == ("Your name?", ["name"])
        assert seen[1][:2] == ("short", "user")
        assert seen[1][2] != threading.current_thread().name

    run(test())


def test_mrtr_15_mrtr_16_the_caller_supplies_the_input_of_the_rounds_itself() -> None:
    async def test() -> None:
        # No handler is needed: the option declares what the caller can answer.
        async with Client(asking(), revision="2026-07-28", capabilities={"elicitation": {}}) as client:
            with pytest.raises(InputRequiredError) as needed:
                await client.call_tool("greet", manual_input=True)
            requests, state = needed.value.input_requests, needed.value.request_state
            assert requests is not None
            ((key, request),) = requests.items()
            assert (request["method"], request["params"]["message"]) == ("elicitation/create", "Your name?")
            answers = {key: {"action": "accept", "content": {"name": "Ann"}}}
            result = await client.call_tool("greet", input_responses=answers, request_state=state)
            assert result.text == "accept {'name': 'Ann'}"

    run(test())


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_handler_that_returns_nothing_where_a_result_is_needed(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        client = Client(asking(), revision=revision)

        async def forgets(_request: ElicitRequest) -> None:
            pass

        client.on_elicit(forgets)  # type: ignore[arg-type]
        async with client:
            with pytest.raises(TrunklineError):
                await client.call_tool("greet")

    run(test())
    assert "on_elicit returned NoneType instead of ElicitResult" in caplog.text


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_eli_19_pages_have_their_own_handler(revision: str) -> None:
    async def test() -> None:
        client = Client(asking(), revision=revision)

        @client.on_elicit_url
        async def open_page(request: ElicitUrlRequest) -> Mapping[str, Any]:
            assert request.url == "https://example.com/sign"
            return {"action": "decline"}

        assert callable(open_page)
        async with client:
            assert (await client.call_tool("page")).text == "decline"
            with pytest.raises(ProtocolError, match="did not declare elicitation by form"):
                await client.call_tool("greet")

    run(test())


def test_responses_to_forms_compare_and_print_by_their_fields() -> None:
    assert ElicitResult("accept", {"name": "Ann"}) == ElicitResult("accept", {"name": "Ann"})
    assert ElicitResult("accept", {"name": "Ann"}) != ElicitResult("accept", {"name": "Bob"})
    declined: ElicitResult[None] = ElicitResult("decline")
    assert repr(declined) == "ElicitResult(action='decline')"


@pytest.mark.parametrize("revision", ELICITING)
def test_a_handler_that_fails_affects_only_its_call(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        client = Client(asking(), revision=revision)
        refused = True

        @client.on_elicit
        def fill_in(_: ElicitRequest) -> ElicitResult[Any]:
            if refused:
                raise ProtocolError("the user refused", code=-1)
            return ElicitResult("accept", {"nickname": 3})

        assert callable(fill_in)
        async with client:
            with pytest.raises(TrunklineError, match="the user refused"):
                await client.call_tool("greet", raise_on_error=True)
            refused = False
            # Content that does not match the form is not sent.
            with pytest.raises(TrunklineError):
                await client.call_tool("greet", raise_on_error=True)
            assert [tool.name for tool in await client.list_tools()]

    run(test())


def test_a_handler_is_cancelled_with_its_call() -> None:
    async def test(revision: str) -> None:
        client, cancelled = Client(asking(), revision=revision), asyncio.Event()
        begun = asyncio.Event()

        @client.on_elicit
        async def think(_: ElicitRequest) -> ElicitResult[Any]:
            begun.set()
            try:
                await asyncio.sleep(TIMEOUT)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return ElicitResult("cancel")

        assert callable(think)
        async with client:
            call = asyncio.ensure_future(client.call_tool("greet"))
            await begun.wait()
            call.cancel()
            await cancelled.wait()
            assert [tool.name for tool in await client.list_tools()]

    for revision in ("2025-11-25", "2026-07-28"):
        run(test(revision))


def test_handlers_run_on_the_loop_of_their_client() -> None:
    """The server of this process is served by another thread's loop."""
    server, ready, over = asking(), threading.Event(), threading.Event()

    async def serve() -> None:
        async with Client(server) as first:
            await first.list_tools()
            ready.set()
            await asyncio.to_thread(over.wait, TIMEOUT)

    async def ask() -> None:
        client, loops = Client(server, revision="2025-11-25"), [asyncio.get_running_loop()]

        @client.on_elicit
        async def fill_in(_: ElicitRequest) -> ElicitResult[Any]:
            loops.append(asyncio.get_running_loop())
            return ElicitResult("decline")

        assert callable(fill_in)
        async with client:
            assert (await client.call_tool("greet")).text == "decline None"
        assert loops[0] is loops[1]

    thread = threading.Thread(target=run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(TIMEOUT)
        run(ask())
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_root_03_roots_are_an_option_that_can_be_changed(revision: str) -> None:
    async def test() -> None:
        async with Client(asking(), revision=revision, roots=[Root("file:///a")]) as client:
            assert (await client.call_tool("where")).text == "file:///a"
            client.set_roots([Root("file:///b"), {"uri": "file:///c"}])
            assert (await client.call_tool("where")).text == "file:///b file:///c"
            with pytest.raises(InvalidArgumentError, match="file://"):
                client.set_roots([Root("https://example.com/")])
        with pytest.raises(InvalidArgumentError, match="file://"):
            await Client(asking(), roots=[Root("/work")]).connect()

    run(test())


def test_a_handler_registered_late() -> None:
    async def test() -> None:
        async def decline(_: ElicitRequest) -> ElicitResult[Any]:
            return ElicitResult("decline")

        async with Client(asking(), revision="2026-07-28") as client:
            client.on_elicit(decline)
            assert (await client.call_tool("greet")).text == "decline None"
        async with Client(asking(), revision="2025-11-25") as client:
            with pytest.raises(InvalidArgumentError, match="before connecting"):
                client.on_elicit(decline)
        client = Client(asking())
        with pytest.raises(InvalidArgumentError, match="on_elicit takes a function"):
            client.on_elicit("no function")  # pyright: ignore[reportArgumentType]

    run(test())


@pytest.mark.parametrize("revision", ELICITING)
def test_a_blocking_client_runs_handlers_on_the_waiting_thread(tmp_path: Path, revision: str) -> None:
    client = SyncClient(script(tmp_path, PROGRAM), env=environment(), revision=revision, roots=[Root("file:///a")])
    threads: list[str] = []

    @client.on_elicit
    def fill_in(request: ElicitRequest) -> ElicitResult[dict[str, str]]:
        threads.append(threading.current_thread().name)
        # A handler may use its client.
        assert client.list_tools()
        return ElicitResult("accept", {"name": request.message})

    assert callable(fill_in)
    with client:
        assert client.call_tool("greet", timeout=TIMEOUT).text == "accept {'name': 'Your name?'}"
        assert "file:///a" in client.call_tool("where").text
    assert threads == [threading.current_thread().name]
    with pytest.raises(InvalidArgumentError, match="ordinary functions"):

        @client.on_elicit
        async def no(_: ElicitRequest) -> ElicitResult[Any]:
            return ElicitResult("decline")


def test_a_blocking_client_of_an_in_process_server() -> None:
    client = SyncClient(asking())

    @client.on_elicit
    def fill_in(_: ElicitRequest) -> ElicitResult[dict[str, str]]:
        return ElicitResult("accept", {"name": "Ann"})

    assert callable(fill_in)
    with client:
        assert client.call_tool("greet").text == "accept {'name': 'Ann'}"


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_sub_01_a_subscription_is_a_stream_of_changes(revision: str) -> None:
    async def test() -> None:
        server = asking()
        async with Client(server, revision=revision) as client:
            async with client.subscribe("note://today", tools=True) as changes:
                assert changes.honored.resources == ["note://today"]
                server.resource_updated("note://today")
                change = await anext(changes)
                assert (change.kind, change.uri) == ("resource", "note://today")

                @server.tool
                def late() -> str:
                    return "late"

                assert callable(late)
                assert (await anext(changes)).kind == "tools"
            assert [change async for change in changes] == []
            with pytest.raises(InvalidArgumentError):
                async with client.subscribe():
                    pass

    run(test())


def test_a_subscription_ends_with_its_client() -> None:
    async def test() -> None:
        client = Client(asking())
        await client.connect()
        changes = client.subscribe(tools=True)
        await changes.open()
        waiting = asyncio.ensure_future(anext(changes, None))
        await asyncio.sleep(0.05)
        await client.close()
        assert await waiting is None

    run(test())


def test_streams_of_an_earlier_connection_leave_the_next_one_alone() -> None:
    async def test() -> None:
        server = asking()

        @server.tool
        async def wait() -> str:
            await asyncio.sleep(0.05)
            return "done"

        async with server.serve_http(port=0) as listener:
            client = Client(listener.url)
            await client.connect()
            task = await client.start_task("wait")
            dropped, closed, read = (client.subscribe(tools=True) for _ in range(3))
            await asyncio.gather(dropped.open(), closed.open(), read.open())
            await client.close()
            await client.connect()
            calls = [asyncio.ensure_future(client.call_tool("wait")) for _ in range(10)]
            await asyncio.sleep(0)  # they are on their way
            with pytest.raises(ClosedError):
                await task.result()
            assert await anext(read, None) is None
            await closed.close()
            del dropped, task
            assert [(await call).text for call in calls] == ["done"] * 10
            await client.close()
            await asyncio.to_thread(blocking, server, SyncClient(listener.url))

    def blocking(server: Server, client: SyncClient) -> None:
        client.connect()
        earlier = client.subscribe("note://today")
        earlier.open()
        client.close()
        with client, client.subscribe("note://today") as later:
            server.resource_updated("note://today")
            assert next(earlier, None) is None
            assert next(later).uri == "note://today"

    run(test())


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_wait_that_is_cancelled_as_a_change_arrives_loses_no_change(revision: str) -> None:
    async def test() -> None:
        server, names = asking(), [f"notes://{number}" for number in range(20)]

        @server.resource("notes://{name}")
        def note(name: str) -> str:
            return name

        assert callable(note)
        async with Client(server, revision=revision) as client, client.subscribe(*names) as changes:
            seen: list[str | None] = []
            for name in names:
                waiting = asyncio.ensure_future(anext(changes))
                await asyncio.sleep(0)
                server.resource_updated(name)
                time.sleep(0.005)  # the change arrives, but the loop has not seen it
                waiting.cancel()
                await asyncio.wait({waiting})
                if not waiting.cancelled():
                    seen.append(waiting.result().uri)
            assert len(seen) < len(names)
            while len(seen) < len(names):
                seen.append((await anext(changes)).uri)
            assert set(seen) == set(names)

    run(test())


def test_a_subscription_of_a_blocking_client() -> None:
    server = asking()
    with SyncClient(server) as client, client.subscribe("note://today") as changes:
        server.resource_updated("note://today")
        change = next(changes)
        assert change.uri == "note://today"
        changes.close()
        assert list(changes) == []


def test_requests_and_notifications_without_a_dedicated_method() -> None:
    async def test() -> None:
        async with Client(asking(), revision="2025-11-25") as client:
            listed = await client.request("tools/list", {}, timeout=TIMEOUT)
            assert listed["tools"]
            client.notify("notifications/roots/list_changed")
            with pytest.raises(ProtocolError):
                await client.request("tools/call", {"name": "nothing"})

    run(test())


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_log_01_log_messages_have_a_handler(revision: str) -> None:
    async def test() -> None:
        server = Server("logging", version="1")

        @server.tool
        async def speak(ctx: Context) -> str:
            await ctx.log("warning", {"n": 1}, logger="part")
            return "spoken"

        client, heard = Client(server, revision=revision, log_level="info"), list[LogMessage]()

        @client.on_log
        def hear(message: LogMessage) -> None:
            heard.append(message)

        assert callable(speak) and callable(hear)
        async with client:
            await client.call_tool("speak")
            await until(lambda: heard, "the log message")
        assert (heard[0].level, heard[0].logger, heard[0].data) == ("warning", "part", {"n": 1})

    run(test())
