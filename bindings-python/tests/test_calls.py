"""Progress, cancellation, timeouts and list changes, with clients of both kinds and handlers of
both kinds.
"""

from __future__ import annotations

import asyncio
import builtins
import gc
import logging
import threading
import time
import types
import weakref

import pytest

from support import REVISIONS, TIMEOUT, Heard, ignore, run, until
from trunkline import (
    CancelledError,
    Client,
    ClosedError,
    Context,
    InvalidArgumentError,
    Server,
    SyncContext,
    TimeoutError,
    TrunklineError,
)
from trunkline._internal.client import async_client


class Slow:
    """A server with handlers that take long, and what happened to them."""

    def __init__(self) -> None:
        self.server = Server("slow", version="1")
        self.started = threading.Event()
        self.ended: list[str] = []
        self.server.add_tool(self.later)
        self.server.add_tool(self.in_thread)
        self.server.add_tool(self.steps)
        self.server.add_tool(self.steps_in_thread)

    async def later(self) -> str:
        self.started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        return "done"

    def in_thread(self, ctx: SyncContext) -> str:
        self.started.set()
        end = time.monotonic() + 20
        try:
            while time.monotonic() < end:
                ctx.raise_if_cancelled()
                time.sleep(0.005)
        except CancelledError:
            self.ended.append("cancelled")
            raise
        return "done"

    async def steps(self, ctx: Context) -> str:
        for step in range(1, 4):
            await ctx.progress(step, total=3, message=f"step {step}")
            await asyncio.sleep(0.02)
        return "done"

    def steps_in_thread(self, ctx: SyncContext) -> str:
        for step in range(1, 4):
            ctx.progress(step, 3, f"step {step}")
            time.sleep(0.02)
        return "done"


HANDLERS = pytest.mark.parametrize("name", ["later", "in_thread"])


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("name", ["steps", "steps_in_thread"])
def test_progress_arrives_before_the_result(name: str, revision: str) -> None:
    heard = Heard()

    async def check() -> None:
        async with Client(Slow().server, revision=revision) as client:
            result = await client.call_tool(name, on_progress=heard.hear)
            assert result.text == "done"
            told = len(heard)
            await client.ping()
            assert len(heard) == told

    run(check())
    # A client that is slow to look sees only the latest.
    told = [progress for progress, _, _ in heard]
    assert told == sorted(set(told)) and told[-1] == 3
    if revision > "2024-11-05":  # which has no message
        assert heard[-1] == (3, 3, "step 3")


def test_progress_callbacks_may_be_async_and_are_optional() -> None:
    heard: list[float] = []

    async def hear(progress: float, _total: float | None, _message: str | None) -> None:
        await asyncio.sleep(0)
        heard.append(progress)

    async def check() -> None:
        async with Client(Slow().server) as client:
            await client.call_tool("steps", on_progress=hear)
            assert (await client.call_tool("steps")).text == "done"
            await until(lambda: heard[-1:] == [3], "the last progress")

    run(check())


@pytest.mark.parametrize("revision", REVISIONS)
@HANDLERS
def test_cancelling_the_task_cancels_the_call(name: str, revision: str) -> None:
    slow = Slow()

    async def check() -> None:
        async with Client(slow.server, revision=revision) as client:
            task = asyncio.ensure_future(client.call_tool(name))
            await until(slow.started.is_set, "the handler")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: slow.ended == ["cancelled"], "the handler's end")
            assert (await client.call_tool("steps")).text == "done"

    run(check())


@HANDLERS
def test_a_cancelled_handler_is_no_failure(name: str, caplog: pytest.LogCaptureFixture) -> None:
    slow, seen = Slow(), list[BaseException]()

    @slow.server.on_error
    def hook(error: BaseException, _ctx: object) -> None:
        seen.append(error)

    async def check() -> None:
        async with Client(slow.server) as client:
            task = asyncio.ensure_future(client.call_tool(name))
            await until(slow.started.is_set, "the handler")
            task.cancel()
            await until(lambda: slow.ended == ["cancelled"], "the handler's end")
            # By the end of another call, the failure would have been reported.
            assert (await client.call_tool("steps_in_thread")).text == "done"

    assert hook
    run(check())
    assert seen == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@HANDLERS
def test_a_timeout_ends_the_call_on_both_sides(name: str) -> None:
    slow = Slow()

    async def check() -> None:
        async with Client(slow.server) as client:
            with pytest.raises(TimeoutError) as caught:
                await client.call_tool(name, timeout=1)  # long enough for the handler to begin
            assert isinstance(caught.value, builtins.TimeoutError)
            assert isinstance(caught.value, TrunklineError)
            await until(lambda: slow.ended == ["cancelled"], "the handler's end")

    run(check())


def test_progress_renews_the_timeout_up_to_the_cap() -> None:
    slow = Slow()

    async def forever(ctx: Context) -> None:
        for step in range(1, 1000):
            await ctx.progress(step)
            await asyncio.sleep(0.05)

    slow.server.add_tool(forever)

    async def check() -> None:
        async with Client(slow.server) as client:
            start = time.monotonic()
            with pytest.raises(TimeoutError):
                await client.call_tool("forever", timeout=1, max_timeout=2, on_progress=ignore)
            assert 1.9 < time.monotonic() - start < 10

    run(check())


@HANDLERS
def test_closing_the_client_ends_requests_in_flight(name: str) -> None:
    slow = Slow()

    async def check() -> None:
        client = Client(slow.server)
        await client.connect()
        call = asyncio.ensure_future(client.call_tool(name))
        await until(slow.started.is_set, "the handler")
        await client.close()
        with pytest.raises(ClosedError):
            await call
        await until(lambda: slow.ended == ["cancelled"], "the handler's end")
        with pytest.raises(ClosedError, match="not connected"):
            await client.ping()
        with pytest.raises(ClosedError):
            _ = client.revision
        await client.close()

    run(check())


def test_a_client_connects_once_at_a_time() -> None:
    async def check() -> None:
        client = Client(Slow().server)
        with pytest.raises(ClosedError, match="not connected"):
            await client.list_tools()
        for _ in range(2):
            async with client:
                assert client.revision
                with pytest.raises(InvalidArgumentError, match="already connected"):
                    await client.connect()

    run(check())


@pytest.mark.parametrize("revision", REVISIONS)
def test_changes_of_the_tools_are_notified(revision: str) -> None:
    slow = Slow()
    changes: list[str] = []
    methods: list[str] = []

    async def check() -> None:
        async with Client(
            slow.server,
            revision=revision,
            on_tools_changed=lambda: changes.append("changed"),
            on_notification=lambda method, _: methods.append(method),
        ) as client:
            await client.list_tools()
            slow.server.add_tool(slow.later, name="late")
            await until(lambda: changes, "the first change")
            assert "late" in [tool.name for tool in await client.list_tools()]
            changes.clear()
            slow.server.remove_tool("late")
            await until(lambda: changes, "the second change")
            assert "late" not in [tool.name for tool in await client.list_tools()]

    run(check())
    assert "notifications/tools/list_changed" in methods


def test_async_callbacks_that_never_end_are_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(async_client, "_MAX_CALLBACKS", 3)
    server = Server("chatter", version="1")
    told: list[object] = []

    @server.tool
    def chatter(ctx: SyncContext) -> None:
        for number in range(5):
            ctx.log("info", number)

    async def check() -> None:
        freed = asyncio.Event()
        ended: list[object] = []

        async def hear(_method: str, params: dict[str, object]) -> None:
            told.append(params["data"])
            await freed.wait()
            ended.append(params["data"])

        async def fill(client: Client, dropped: int) -> None:
            await client.call_tool("chatter")
            await until(lambda: caplog.text.count("3 callbacks are running") == dropped, "the dropped events")
            freed.set()
            await until(lambda: len(ended) == len(told), "the end of the callbacks")
            freed.clear()

        async with Client(server, revision="2025-11-25", on_notification=hear) as client:
            await fill(client, 2)
            await fill(client, 4)

    run(check())
    assert told == [0, 1, 2, 0, 1, 2]
    assert caplog.text.count("BusyError: dropped an event: 3 callbacks are running") == 4


def test_a_tool_added_from_another_thread_is_called_at_once() -> None:
    slow = Slow()

    async def check() -> None:
        async with Client(slow.server) as client:
            for number in range(20):
                name = f"added_{number}"
                await asyncio.to_thread(slow.server.add_tool, slow.steps_in_thread if number % 2 else _quick, name=name)
                assert not (await client.call_tool(name)).is_error

    run(check())


async def _quick() -> str:
    return "quick"


def test_a_removed_feature_completes_its_calls_and_is_then_released() -> None:
    server, go_on = Server("test", version="1", max_threads=1), threading.Event()

    def work() -> str:
        go_on.wait(TIMEOUT)
        return "done"

    async def check() -> None:
        async with Client(server) as client:
            port = server._bind()
            for _ in range(3):
                go_on.clear()
                function = types.FunctionType(work.__code__, globals(), "work", closure=work.__closure__)
                kept = weakref.ref(function)
                server.add_tool(function)
                del function
                calls = [asyncio.ensure_future(client.call_tool("work")) for _ in range(3)]
                await asyncio.sleep(0)
                await client.ping()  # the server has heard of the calls by then
                server.remove_tool("work")
                go_on.set()
                assert [(await call).text for call in calls] == ["done"] * 3
                await until(lambda kept=kept: gc.collect() >= 0 and kept() is None, "the end of the function")
            assert port.handlers == {}

    run(check())


def test_calls_cancelled_before_they_start_are_dropped() -> None:
    slow = Slow()

    async def check() -> None:
        async with Client(slow.server) as client:
            for _ in range(20):
                call = asyncio.ensure_future(client.call_tool("later"))
                await asyncio.sleep(0)
                call.cancel()
                # So that the call and its cancellation come together.
                time.sleep(0.01)
                with pytest.raises(asyncio.CancelledError):
                    await call
            await until(lambda: slow.server._bind().tasks == {}, "the end of all calls")

    run(check())


def test_a_handler_that_only_logs_lets_other_calls_run() -> None:
    began, stop = asyncio.Event(), asyncio.Event()
    server = Server("chatter", version="1")

    @server.tool
    async def chatter(ctx: Context) -> str:
        """Logs until it is stopped."""
        began.set()
        for _ in range(100_000):
            await ctx.info("a message")
            if stop.is_set():
                return "stopped"
        return "nobody else came"

    @server.tool
    async def quiet() -> str:
        """Stops it."""
        stop.set()
        return "quiet"

    async def run() -> None:
        async with Client(server) as client:
            call = asyncio.create_task(client.call_tool("chatter"))
            await began.wait()
            await client.call_tool("quiet")
            assert (await call).text == "stopped"

    asyncio.run(run())
