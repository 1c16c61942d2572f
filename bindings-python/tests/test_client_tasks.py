"""Client tasks: one API for 2025-11-25 and for the extension of 2026-07-28, async and blocking."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import environment, run, script, until
from trunkline import (
    AsyncClientTask,
    CancelledError,
    Client,
    ClosedError,
    Context,
    ElicitRequest,
    ElicitResult,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    Task,
    TimeoutError,
    ToolError,
)

WITH_TASKS = ["2025-11-25", "2026-07-28"]
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

PROGRAM = """
import asyncio
from trunkline import Context, Server

server = Server("reports", version="1", task_poll_interval=0.02)

@server.tool(task="optional")
async def report(ctx: Context) -> str:
    await ctx.set_task_message("half of it is written")
    await asyncio.sleep(0.1)
    return "the report"

@server.tool(task="optional")
async def endless() -> str:
    await asyncio.sleep(60)
    return "never"

server.run()
"""


@dataclass
class Weather:
    degrees: float


class Reports:
    """A server whose tools are tasks, each of which waits for the test."""

    def __init__(self) -> None:
        self.server = Server("reports", version="1", task_poll_interval=0.02)
        self.go_on = asyncio.Event()
        self.stopped: list[str] = []

        @self.server.tool(task="optional")
        async def report(ctx: Context) -> str:
            await ctx.set_task_message("half of it is written")
            await ctx.progress(1, 2)
            await self.go_on.wait()
            return "the report"

        @self.server.tool(task="required")
        async def measure() -> Weather:
            return Weather(21.5)

        @self.server.tool(task="optional")
        async def fails() -> str:
            raise ToolError("it failed")

        @self.server.tool(task="optional")
        async def breaks() -> str:
            raise ProtocolError("it broke", -32000, {"a": 1})

        @self.server.tool(task="optional")
        async def endless() -> str:
            try:
                await asyncio.sleep(60)
            finally:
                self.stopped.append("endless")
            return "never"

        @self.server.tool(task="optional")
        async def asks(ctx: Context) -> str:
            answer = await ctx.elicit("Who?", NAME, key="who")
            return f"Hello, {(answer.content or {})['name']}"

        @self.server.tool(task="optional")
        async def ticks(ctx: Context) -> str:
            for tick in range(1000):
                if self.go_on.is_set():
                    break
                await ctx.set_task_message(str(tick))
                await asyncio.sleep(0.01)
            return "over"

        @self.server.tool
        def plain() -> str:
            return "at once"


@pytest.mark.parametrize("revision", WITH_TASKS)
def test_tsk_06_tkx_03_tkx_16_a_task_is_a_stream_of_states_with_a_result(revision: str) -> None:
    async def test() -> None:
        reports = Reports()
        async with Client(reports.server, revision=revision) as client:
            task = await client.start_task("report", ttl=60)
            assert task.state is not None and task.state.status == "working" and task.id is not None
            with pytest.raises(TimeoutError):
                await task.result(timeout=0.01)
            reports.go_on.set()
            states = [state async for state in task]
            assert states[-1].status == "completed" and task.state is states[-1]
            assert (await task.result()).text == "the report"
            await task.close()
            with pytest.raises(ClosedError):
                await task.result()

            async with await client.resume_task(task.id) as again:
                assert (await again.result()).text == "the report"
            assert (await client.get_task(task.id)).status == "completed"
            # TSK-06, TKX-52: a call whose caller wants the result alone.
            assert (await client.call_tool("measure")).structured_content == {"degrees": 21.5}
            assert await (await client.start_task("measure")).result(result=Weather) == Weather(21.5)

    run(test())


@pytest.mark.parametrize("revision", WITH_TASKS)
def test_tsk_04_the_result_of_a_call_without_a_task_is_available_immediately(revision: str) -> None:
    async def test() -> None:
        async with Client(Reports().server, revision=revision) as client:
            task = await client.start_task("plain")
            assert task.id is None and [state async for state in task] == []
            assert (await task.result()).text == "at once"
            await task.cancel()

    run(test())


def test_prg_07_progress_arrives_while_waiting_for_the_result() -> None:
    async def test() -> None:
        reports = Reports()
        seen: list[tuple[float, float | None]] = []
        async with Client(reports.server, revision="2025-11-25") as client:
            task = await client.start_task("report")

            def on_progress(progress: float, total: float | None, _message: str | None) -> None:
                seen.append((progress, total))
                reports.go_on.set()

            assert (await task.result(on_progress=on_progress)).text == "the report"
        assert seen == [(1, 2)]

    run(test())


@pytest.mark.parametrize("revision", WITH_TASKS)
def test_tsk_21_tsk_30_tsk_31_failures_of_tasks_are_typed(revision: str) -> None:
    async def test() -> None:
        reports = Reports()
        async with Client(reports.server, revision=revision) as client:
            with pytest.raises(ProtocolError) as broken:
                await (await client.start_task("breaks")).result()
            assert (broken.value.code, broken.value.data) == (-32000, {"a": 1})
            failed = await client.start_task("fails")
            assert (await failed.result()).is_error
            with pytest.raises(ToolError, match="it failed"):
                await failed.result(raise_on_error=True)

            endless = await client.start_task("endless")
            await endless.cancel()
            with pytest.raises(CancelledError):
                await endless.result()
            await until(lambda: reports.stopped, "the end of the handler")
            with pytest.raises(ProtocolError) as unknown:
                await client.resume_task("nobody")
            assert unknown.value.code == -32602
        async with Client(reports.server, revision="2025-06-18") as client:
            with pytest.raises(InvalidArgumentError):
                await client.resume_task("nobody")

    run(test())


@pytest.mark.parametrize("revision", WITH_TASKS)
def test_tsk_19_tkx_32_handlers_supply_the_input_of_tasks(revision: str) -> None:
    async def test() -> None:
        client = Client(Reports().server, revision=revision)

        @client.on_elicit
        async def fill_in(_request: ElicitRequest) -> ElicitResult[dict[str, str]]:
            return ElicitResult("accept", {"name": "Ada"})

        async with client:
            task = await client.start_task("asks")
            assert (await task.result(timeout=10)).text == "Hello, Ada"
        assert callable(fill_in)

    run(test())


def test_tkx_32_the_caller_answers_a_task_itself() -> None:
    async def test() -> None:
        client = Client(Reports().server, revision="2026-07-28", capabilities={"elicitation": {}})
        async with client:
            task = await client.start_task("asks", manual_input=True)
            states = [state.input_requests async for state in task_until(task, "input_required")]
            assert states[-1] is not None and states[-1]["who"]["params"]["message"] == "Who?"
            await task.close()
            assert task.id is not None
            # The program may be another one by now.
            again = await client.resume_task(task.id, manual_input=True)
            await again.respond({"who": ElicitResult("accept", {"name": "Ada"}).to_json()}, timeout=10)
            assert (await again.result(timeout=10)).text == "Hello, Ada"
        async with Client(Reports().server, revision="2025-11-25") as client:
            task = await client.start_task("asks")
            with pytest.raises(InvalidArgumentError, match="does not take input responses"):
                await task.respond({})

    run(test())


async def task_until(task: AsyncClientTask, status: str) -> AsyncIterator[Task]:
    """The states of a task until it has that status."""
    async for state in task:
        yield state
        if state.status == status:
            return


@pytest.mark.parametrize("revision", WITH_TASKS)
def test_task_states_reach_their_handler(revision: str) -> None:
    async def test() -> None:
        reports, seen = Reports(), list[Task]()
        client = Client(reports.server, revision=revision)
        client.on_task_status(seen.append)
        async with client:
            task = await client.start_task("ticks")
            await until(lambda: seen, "a state")
            reports.go_on.set()
            assert (await task.result()).text == "over"
            assert {state.task_id for state in seen} == {task.id}

    run(test())


def test_tsk_02_tsk_10_a_server_sends_its_requests_as_tasks() -> None:
    async def test() -> None:
        server = Server("asks", version="1", client_request_tasks=True)
        answered = asyncio.Event()

        @server.tool
        async def ask(ctx: Context) -> str:
            return f"Hello, {((await ctx.elicit('Who?', NAME)).content or {})['name']}"

        for most in (None, 0):
            client = Client(server, revision="2025-11-25", max_host_tasks=most, host_task_ttl=60)

            @client.on_elicit
            async def fill_in(_request: ElicitRequest) -> ElicitResult[dict[str, str]]:
                answered.set()
                return ElicitResult("accept", {"name": "Ada"})

            async with client:
                assert (await client.call_tool("ask", timeout=10)).text == "Hello, Ada"
            assert answered.is_set() and callable(fill_in)
            answered.clear()

    run(test())


def test_an_unreferenced_task_is_closed_and_continues() -> None:
    async def test() -> None:
        reports = Reports()
        async with Client(reports.server) as client:
            numbers = client._connected_port().native.describe(0)["things"]
            task: AsyncClientTask | None = await client.start_task("report")
            assert task is not None and task.id is not None
            task_id, task = task.id, None
            gc.collect()
            assert client._connected_port().native.describe(0)["things"] <= numbers + 1  # the call that runs
            reports.go_on.set()
            assert (await (await client.resume_task(task_id)).result()).text == "the report"

    run(test())


@pytest.mark.parametrize("revision", WITH_TASKS)
def test_tsk_25_tkx_15_tasks_of_a_blocking_client(tmp_path: Path, revision: str) -> None:
    with SyncClient(script(tmp_path, PROGRAM), revision=revision, env=environment()) as client:
        with client.start_task("report") as task:
            assert [state.status for state in task][-1] == "completed"
            assert task.result(timeout=10).text == "the report"
            assert task.id is not None
        with client.resume_task(task.id) as again:
            assert again.result().text == "the report"
        with client.start_task("endless") as endless:
            endless.cancel()
            with pytest.raises(CancelledError):
                endless.result()
