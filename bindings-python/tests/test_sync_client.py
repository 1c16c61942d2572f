"""The blocking client."""

from __future__ import annotations

import asyncio
import builtins
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support import REVISIONS, TIMEOUT, Heard, environment, run, script
from test_calls import Slow
from test_stdio import ECHO
from trunkline import (
    BlockingError,
    Client,
    ClosedError,
    ElicitRequest,
    ElicitResult,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    TimeoutError,
    TransportError,
)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_child_process(tmp_path: Path, revision: str) -> None:
    with SyncClient(script(tmp_path, ECHO), env=environment(), revision=revision) as client:
        assert client.revision == revision
        assert len(client.list_tools()) == 5
        assert len(client.list_tools_page().tools) == 5
        assert client.call_tool("echo", {"message": "hi"}).text == "hi"
        with pytest.raises(ProtocolError):
            client.call_tool("nothing")
    with pytest.raises(ClosedError):
        client.ping()
    with client:
        client.list_tools()


def test_any_thread_may_call(tmp_path: Path) -> None:
    with SyncClient(script(tmp_path, ECHO), env=environment()) as client, ThreadPoolExecutor(16) as pool:

        def call(number: int) -> str:
            return client.call_tool("echo", {"message": str(number)}).text

        assert list(pool.map(call, range(500))) == [str(number) for number in range(500)]


@pytest.mark.parametrize("name", ["steps", "steps_in_thread"])
def test_an_in_process_server(name: str) -> None:
    slow, heard = Slow(), Heard()
    for _ in range(2):
        with SyncClient(slow.server) as client:
            result = client.call_tool(name, on_progress=heard.hear)
            assert result.text == "done"
            assert heard[-1] == (3, 3, "step 3")
            client.list_tools()
    assert not [thread.name for thread in threading.enumerate() if thread.name == "trunkline-loop"]


def test_progress_of_a_child(tmp_path: Path) -> None:
    source = "from test_calls import Slow\nSlow().server.run()"
    env = environment()
    env["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parent}"
    heard: list[Any] = []
    threads: set[int] = set()

    def hear(*update: Any) -> None:
        threads.add(threading.get_ident())
        heard.append(update)

    with SyncClient(script(tmp_path, source), env=env) as client:
        for name in ("steps", "steps_in_thread"):
            heard.clear()
            client.call_tool(name, on_progress=hear)
            assert heard[-1] == (3, 3, "step 3")
    assert threads == {threading.get_ident()}


def test_a_callback_may_call(tmp_path: Path) -> None:
    source = "from test_calls import Slow\nSlow().server.run()"
    env = environment()
    env["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parent}"
    counts: list[int] = []
    with SyncClient(script(tmp_path, source), env=env) as client:
        client.call_tool("steps", on_progress=lambda _p, _t, _m: counts.append(len(client.list_tools())))
        assert counts and set(counts) == {4}

        def broken(*_: Any) -> None:
            raise ZeroDivisionError

        assert client.call_tool("steps", on_progress=broken).text == "done"
        assert client.call_tool("steps").text == "done"


def test_notifications_of_a_child_arrive_while_a_call_runs(tmp_path: Path) -> None:
    source = """
import time
from trunkline import Server

server = Server("test", version="1")

@server.tool
def grow() -> str:
    server.add_tool(lambda: "late", name="late")
    time.sleep(2)
    return "done"

server.run()
"""
    changed: list[float] = []
    command = script(tmp_path, source)
    with SyncClient(command, env=environment(), on_tools_changed=lambda: changed.append(time.monotonic())) as client:
        client.call_tool("grow")
        assert changed and changed[0] < time.monotonic() - 0.5


def test_progress_after_many_notifications_arrives_before_the_reply(tmp_path: Path) -> None:
    source = """
from trunkline import Server, SyncContext

server = Server("test", version="1")

@server.tool
def chatter(ctx: SyncContext) -> str:
    ctx.progress(1)
    for number in range(2000):
        ctx.info(number)
    ctx.progress(2)
    return "done"

server.run()
"""
    heard, told = Heard(), list[Any]()

    def hear(progress: float, total: float | None, message: str | None) -> None:
        if not heard:
            time.sleep(1)  # the rest piles up meanwhile
        heard.hear(progress, total, message)

    with SyncClient(
        script(tmp_path, source),
        env=environment(),
        revision="2025-06-18",
        on_notification=lambda method, _params: told.append(method),
    ) as client:
        client.call_tool("chatter", on_progress=hear)
        assert heard[-1][0] == 2
        assert told.count("notifications/message") == 2000


CHATTER = """
import asyncio
from trunkline import Context, Server

server = Server("test", version="1")

@server.tool
async def chatter(ctx: Context) -> str:
    for number in range(10):
        await ctx.info(number)
        if number == 4:
            await asyncio.sleep(0.2)
    await asyncio.sleep(0.3)
    return "done"

@server.tool
async def nothing() -> None: ...

server.run()
"""


def test_notifications_stay_in_order_when_a_callback_makes_a_call(tmp_path: Path) -> None:
    told: list[int] = []

    def hear(_method: str, params: Any) -> None:
        told.append(params["data"])
        if len(told) == 1:
            time.sleep(0.4)  # the rest piles up meanwhile
            client.call_tool("nothing")

    command = script(tmp_path, CHATTER)
    with SyncClient(command, env=environment(), revision="2025-06-18", on_notification=hear) as client:
        client.call_tool("chatter")
        assert told == [*range(10)]


def test_a_callback_that_is_interrupted_loses_no_other_notification(tmp_path: Path) -> None:
    told: list[int] = []
    # The interrupt also cancels the call, which sends no more then.
    sent = tmp_path / "sent"
    source = CHATTER.replace(
        "    await asyncio.sleep(0.3)\n", f"    open({str(sent)!r}, 'w').close()\n    await asyncio.sleep(1)\n"
    )

    def hear(_method: str, params: Any) -> None:
        told.append(params["data"])
        if len(told) == 1:
            until = time.monotonic() + TIMEOUT
            while not sent.exists() and time.monotonic() < until:
                time.sleep(0.01)
            raise KeyboardInterrupt

    command = script(tmp_path, source)
    with SyncClient(command, env=environment(), revision="2025-06-18", on_notification=hear) as client:
        with pytest.raises(KeyboardInterrupt):
            client.call_tool("chatter")
        client.ping()
        assert told == [*range(10)]


ASKING = """
from trunkline import Context, Server

server = Server("test", version="1")

@server.tool
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Your name?", {"type": "object", "properties": {"name": {"type": "string"}}})
    return answer.action

server.run()
"""


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_in_a_handler_reaches_the_caller(tmp_path: Path, revision: str, ending: type[BaseException]) -> None:
    client = SyncClient(script(tmp_path, ASKING), env=environment(), revision=revision)
    answers: list[BaseException | ElicitResult[Any]] = [ending(), ElicitResult("decline")]

    @client.on_elicit
    def answer(_: ElicitRequest) -> ElicitResult[Any]:
        if isinstance(given := answers.pop(0), BaseException):
            raise given
        return given

    assert callable(answer)
    with client:
        with pytest.raises(ending):
            client.call_tool("ask")
        assert client.call_tool("ask").text == "decline"


def test_changes_arrive_while_a_method_runs() -> None:
    slow, changes = Slow(), list[str]()
    with SyncClient(slow.server, on_tools_changed=lambda: changes.append("changed")) as client:
        client.list_tools()
        slow.server.add_tool(slow.later, name="late")
        end = time.monotonic() + TIMEOUT
        while not changes and time.monotonic() < end:
            client.list_tools()
            time.sleep(0.01)
        assert changes == ["changed"]


def test_timeouts(tmp_path: Path) -> None:
    with SyncClient(script(tmp_path, ECHO), env=environment(), timeout=0.2) as client:
        with pytest.raises(TimeoutError):
            client.call_tool("hang")
        with pytest.raises(builtins.TimeoutError):
            client.call_tool("hang", timeout=0.05)
        assert client.call_tool("echo", {"message": "x"}, timeout=10).text == "x"


def test_closing_from_another_thread_ends_a_wait(tmp_path: Path) -> None:
    client = SyncClient(script(tmp_path, ECHO), env=environment())
    client.connect()
    timer = threading.Timer(0.3, client.close)
    timer.start()
    start = time.monotonic()
    with pytest.raises((ClosedError, TransportError)):
        client.call_tool("hang")
    assert time.monotonic() - start < 10
    timer.join()


def test_blocking_the_loop_that_must_answer_is_refused() -> None:
    server = Slow().server

    async def check() -> None:
        async with Client(server) as client:
            with pytest.raises(BlockingError, match="use Client"), SyncClient(server):
                pass
            assert (await client.call_tool("steps")).text == "done"
        with pytest.raises(BlockingError, match=r"run\(\) cannot .*serve_stdio\(\)\.run\(\)"):
            server.run()
        with pytest.raises(BlockingError, match=r"run_http\(\) cannot .*serve_http\(\.\.\.\)\.run\(\)"):
            server.run_http()
        # Another loop serves it: blocking this one is only impolite.
        with SyncClient(server) as blocking:
            assert blocking.call_tool("steps").text == "done"

    run(check())


def test_a_handler_may_block_on_another_server() -> None:
    inner, outer = Slow().server, Server("outer", version="1")

    @outer.tool
    def ask() -> str:
        with SyncClient(inner) as client:
            return client.call_tool("steps").text

    with SyncClient(outer) as client:
        assert client.call_tool("ask").text == "done"


def test_async_callbacks_are_refused() -> None:
    async def hear(*_: Any) -> None:
        await asyncio.sleep(0)

    with SyncClient(Slow().server) as client, pytest.raises(InvalidArgumentError, match="ordinary functions"):
        client.call_tool("steps", on_progress=hear)


@pytest.mark.parametrize("target", ["example.com/mcp", "python server.py", "", [], Path("server.py")], ids=repr)
def test_invalid_targets(target: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        SyncClient(target)


def test_options_that_do_not_apply_to_the_target() -> None:
    with pytest.raises(InvalidArgumentError, match="headers"):
        SyncClient(["python"], headers={"a": "b"})
    with pytest.raises(InvalidArgumentError, match="cwd"):
        SyncClient("http://localhost", cwd=".")
    with pytest.raises(InvalidArgumentError, match="both a name and a version"):
        SyncClient(["python"], name="only")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to whole groups")
def test_ctrl_c_ends_a_waiting_call(tmp_path: Path) -> None:
    server = script(tmp_path, ECHO, "server.py")
    # A shell lets what it starts in the background ignore the signal, and so all children of that.
    source = f"""
import signal
from trunkline import SyncClient
signal.signal(signal.SIGINT, signal.default_int_handler)
with SyncClient({server!r}) as client:
    try:
        client.call_tool("hang", on_progress=lambda *_: print("ready", flush=True))
    except KeyboardInterrupt:
        print("interrupted", client.call_tool("echo", {{"message": "fine"}}).text, flush=True)
"""
    child = subprocess.Popen(script(tmp_path, source), stdout=subprocess.PIPE, env=environment(), text=True)
    assert child.stdout is not None
    with child:
        try:
            assert child.stdout.readline() == "ready\n"
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted fine\n"
            assert child.wait(TIMEOUT) == 0
        finally:
            child.kill()
