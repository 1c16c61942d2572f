"""Shutdown: the interpreter with work in flight, processes that fork, and objects that were never
closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import operator
import os
import subprocess
import sys
from pathlib import Path

import pytest

import trunkline
from support import REVISIONS, TIMEOUT, environment, finish, script, until
from test_stdio import ECHO
from trunkline import Client, ClosedError, InvalidArgumentError, Server

IN_FLIGHT = """
import asyncio, sys, time
from trunkline import Client, Context, Server, SyncContext

server = Server("test", version="1")

@server.tool
async def later() -> str:
    await asyncio.sleep(60)
    return "done"

@server.tool
def spin(ctx: SyncContext) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end and not ctx.cancelled:
        time.sleep(0.001)
    return "done"

async def main() -> None:
    client = Client(server)
    await client.connect()
    calls = [asyncio.ensure_future(client.call_tool(name)) for name in ("later", "spin") * 20]
    await asyncio.sleep(0.05)
    print("leaving", flush=True)
    {leave}

asyncio.run(main())
"""

LEAVING = {
    "return": "return",
    "exit": "sys.exit(0)",
    "close": "await client.close(); await asyncio.gather(*calls, return_exceptions=True)",
}


@pytest.mark.parametrize("how", LEAVING)
def test_the_interpreter_ends_with_calls_in_flight(tmp_path: Path, how: str) -> None:
    command = script(tmp_path, IN_FLIGHT.replace("{leave}", LEAVING[how]))
    for _ in range(10):
        done = finish(command)
        assert (done.returncode, done.stdout) == (0, "leaving\n"), done.stderr
        assert "Traceback" not in done.stderr and "panicked" not in done.stderr, done.stderr


def test_the_interpreter_ends_with_calls_on_a_loop_that_was_never_closed(tmp_path: Path) -> None:
    left_open = "asyncio.new_event_loop().run_until_complete(main())"
    done = finish(script(tmp_path, IN_FLIGHT.replace("{leave}", "return").replace("asyncio.run(main())", left_open)))
    assert (done.returncode, done.stdout) == (0, "leaving\n"), done.stderr
    assert "Traceback" not in done.stderr and "panicked" not in done.stderr, done.stderr


def test_the_interpreter_ends_with_an_open_blocking_client(tmp_path: Path) -> None:
    server = script(tmp_path, ECHO, "server.py")
    source = f"""
import threading
from trunkline import SyncClient
client = SyncClient({server!r})
client.connect()
threading.Thread(target=lambda: client.call_tool("hang"), daemon=True).start()
client.call_tool("echo", {{"message": "x"}})
print("leaving", flush=True)
"""
    for _ in range(5):
        done = finish(script(tmp_path, source))
        assert (done.returncode, done.stdout) == (0, "leaving\n"), done.stderr


def test_a_server_that_was_never_served_starts_nothing(tmp_path: Path) -> None:
    source = """
import gc, threading, warnings
warnings.simplefilter("error")
from trunkline import Server
for _ in range(300):
    server = Server("test", version="1")
    @server.tool
    def hello() -> str:
        return "hello"
assert threading.active_count() == 1
del server
gc.collect()
print("leaving", flush=True)
"""
    done = finish([sys.executable, "-X", "dev", *script(tmp_path, source)[1:]])
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


FORK = """
import asyncio, os, sys
from trunkline import Client, ForkedError, Server, SyncClient

server = Server("test", version="1")

@server.tool
async def hello() -> str:
    return "hello"

@server.tool
def hello_from_thread() -> str:
    return "hello"

def child(client: SyncClient) -> int:
    try:
        client.call_tool("hello")
    except ForkedError as error:
        assert "parent" in str(error) or "fork" in str(error), error
    else:
        return 10
    with SyncClient(server) as own:
        assert own.call_tool("hello").text == "hello"
        assert own.call_tool("hello_from_thread").text == "hello"
    async def again() -> None:
        async with Client(server) as own:
            assert (await own.call_tool("hello")).text == "hello"
    asyncio.run(again())
    return 0

with SyncClient(server) as client:
    assert client.call_tool("hello_from_thread").text == "hello"
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            code = 11
            try:
                code = child(client)
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)
    assert client.call_tool("hello").text == "hello"
print("parent is fine", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_gets_a_clear_error_or_starts_fresh(tmp_path: Path) -> None:
    command = script(tmp_path, FORK)
    done = finish([command[0], "-W", "ignore::DeprecationWarning", command[1]])
    assert (done.returncode, done.stdout) == (0, "parent is fine\n"), done.stderr


FORK_IN_A_LOOP = """
import asyncio, os, sys
from trunkline import Client, ForkedError, Server

async def fails(what) -> int:
    try:
        await what
    except ForkedError as error:
        assert "in the child" in str(error), error
        return 0
    return 1

async def in_child(client: Client) -> int:
    code = await fails(client.list_tools())
    await client.close()  # ends nothing of the parent's
    async with Client({server!r}) as own:
        assert (await own.call_tool("echo", {{"message": "x"}})).text == "x"
    return code

async def main() -> None:
    async with Client({server!r}) as client:
        for _ in range(20):  # turns enough for the pipe to be read on the loop
            await client.call_tool("echo", {{"message": "x"}})
        pid = os.fork()
        if pid == 0:
            code = 11
            try:
                code = asyncio.run(in_child(client))
            finally:
                os._exit(code)
        _, status = await asyncio.to_thread(os.waitpid, pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)
        for _ in range(20):
            result = await asyncio.wait_for(client.call_tool("echo", {{"message": "y"}}), 10)
            assert result.text == "y"
        print("parent is fine", flush=True)

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_leaves_the_loop_of_its_parent_alone(tmp_path: Path) -> None:
    server = script(tmp_path, ECHO, "server.py")
    command = script(tmp_path, FORK_IN_A_LOOP.format(server=server))
    done = finish([command[0], "-W", "ignore::DeprecationWarning", command[1]])
    assert (done.returncode, done.stdout) == (0, "parent is fine\n"), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_that_returns_normally(tmp_path: Path) -> None:
    source = """
import os
from trunkline import Server, SyncClient
server = Server("test", version="1")
with SyncClient(server) as client:
    client.list_tools()
    if os.fork():
        _, status = os.wait()
        assert status == 0, status
        client.list_tools()
        print("parent is fine", flush=True)
    else:
        raise SystemExit(0)
"""
    command = script(tmp_path, source)
    done = finish([command[0], "-W", "ignore::DeprecationWarning", command[1]])
    assert (done.returncode, done.stdout) == (0, "parent is fine\n"), done.stderr


def test_importing_is_cheap_and_starts_nothing(tmp_path: Path) -> None:
    source = """
import sys, threading
import trunkline
assert threading.active_count() == 1
heavy = {"asyncio", "dataclasses", "inspect", "logging", "pydantic", "socket", "ssl", "subprocess"}
# The latter has hundreds of annotations, which `typing` compiles one by one.
heavy |= {"concurrent.futures", "trunkline._internal._generated.options"}
print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path[:0] = {environment()['PYTHONPATH'].split(os.pathsep)!r}\n{source}",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr + done.stdout


def test_bodies_of_any_kind_are_contained() -> None:
    from trunkline._internal import _native

    port = _native.Port()
    with pytest.raises(InvalidArgumentError):
        port.register("carrier pigeon", {})
    with pytest.raises(InvalidArgumentError):
        port.open({"transport": {"type": "nothing"}})
    with pytest.raises(InvalidArgumentError):
        port.drain("nowhere", 1, 0)
    with pytest.raises(InvalidArgumentError):
        port.complete(1, 99, None)
    with pytest.raises(TypeError):
        port.register("server", object())
    with pytest.raises(OverflowError):
        port.unregister(-1)
    with pytest.raises(InvalidArgumentError):
        port.describe(2**60)
    assert port.complete(12345, 0, "late") is False
    assert port.fail(12345, {"kind": "tool", "message": "late"}) is False
    assert port.cancelled(12345) is True
    port.cancel(12345, "late")
    port.close(0, 0)
    port.close(0, 0)
    assert [event[0] for event in port.drain("queue", 10, 1000)] == [6]
    with pytest.raises(ClosedError):
        port.register("server", {"info": {"name": "a", "version": "1"}})


def test_the_package_reports_its_installed_version() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "trunkline"], env=environment(), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert shown[0] == f"trunkline {trunkline.__version__}"
    assert Path(shown[1].removeprefix("library: ")).is_file()
    assert shown[2].startswith("interpreter: ")
    assert shown[3].removeprefix("revisions: ").split(", ") == REVISIONS


def test_without_an_asyncio_loop_the_error_says_what_to_do() -> None:
    server = Server("test", version="1")
    for coroutine in (Client(server).connect(), server.serve_http(port=0).start()):
        with pytest.raises(RuntimeError, match="Under trio, use SyncClient"):
            coroutine.send(None)


def held() -> tuple[int, int, int]:
    """The descriptors, threads and child processes of this process."""
    gc.collect()
    threads = list(Path("/proc/self/task").iterdir())
    children: list[str] = []
    for thread in threads:
        # Idle threads of servers that nobody closed end at any time.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children += (thread / "children").read_text(encoding="ascii").split()
    return len(list(Path("/proc/self/fd").iterdir())), len(threads), len(children)


@pytest.mark.skipif(sys.platform != "linux", reason="they are counted in /proc")
@pytest.mark.parametrize("place", ["child", "http", "memory"])
def test_closed_clients_and_servers_leave_nothing_behind(place: str, tmp_path: Path) -> None:
    command = script(tmp_path, ECHO)

    def echo(message: str) -> str:
        return message

    async def once() -> None:
        server = Server("counted", version="1")
        server.tool(echo)
        if place == "http":
            async with server.serve_http(port=0) as listener, Client(listener.url) as client:
                assert (await client.call_tool("echo", {"message": "x"})).text == "x"
        elif place == "child":
            async with Client(command, env=environment()) as client:
                assert (await client.call_tool("echo", {"message": "x"})).text == "x"
        else:
            async with Client(server) as client:
                assert (await client.call_tool("echo", {"message": "x"})).text == "x"

    async def check() -> None:
        for _ in range(2):  # threads of the runtime and of pools begin once
            await once()
        before = held()
        for _ in range(5):
            await once()
        # Some of them end a moment after the close.
        await until(lambda: all(map(operator.le, held(), before)), f"no more than {before}")

    asyncio.run(asyncio.wait_for(check(), 4 * TIMEOUT))
