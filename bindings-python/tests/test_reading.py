"""Pipes that the event loop reads itself while messages arrive one by one, which must change
nothing else.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support import environment, finish, run, script
from test_stdio import ECHO
from trunkline import Client, ClosedError, TransportError
from trunkline._internal.port.handoff import ReadHandoff

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="loops there do not watch pipes")

# A server that counts how often its loop has read.
SERVER = """
import asyncio, time
from typing import Any
from trunkline import Server
from trunkline._internal.port.handoff import ReadHandoff

reads = 0
read_ready = ReadHandoff.read_ready

def counting(handoff: ReadHandoff, handle: int, *given: Any) -> None:
    global reads
    reads += 1
    read_ready(handoff, handle, *given)

ReadHandoff.read_ready = counting
server = Server("reading", version="1")

@server.tool
async def echo(message: str) -> str:
    return message

@server.tool
def in_thread(message: str) -> str:
    return message

@server.tool
async def block(seconds: float) -> str:
    time.sleep(seconds)
    return "blocked"

@server.tool
async def read() -> int:
    return reads

@server.tool
async def die() -> str:
    import os, sys
    print("last words", file=sys.stderr, flush=True)
    os._exit(3)

server.run()
"""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each read of a loop of this process."""
    counted: list[int] = []
    read_ready = ReadHandoff.read_ready

    def counting(handoff: ReadHandoff, handle: int, *given: Any) -> None:
        counted.append(handle)
        read_ready(handoff, handle, *given)

    monkeypatch.setattr(ReadHandoff, "read_ready", counting)
    return counted


async def handed_over(client: Client, reads: list[int]) -> None:
    """Calls until the loop reads."""
    for number in range(500):
        assert (await client.call_tool("echo", {"message": str(number)})).text == str(number)
        if reads:
            return
    raise AssertionError("the loop does not read")


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_both_sides_read_on_their_loops(tmp_path: Path, reads: list[int]) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, SERVER), env=environment()) as client:
            await handed_over(client, reads)
            for number in range(100):
                assert (await client.call_tool("echo", {"message": str(number)})).text == str(number)
                assert (await client.call_tool("in_thread", {"message": str(number)})).text == str(number)
            assert len(reads) > 100
            assert int((await client.call_tool("read")).text) > 100

    run(check())


def test_many_at_once_then_one_by_one_again(tmp_path: Path, reads: list[int]) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, SERVER), env=environment()) as client:
            for _ in range(3):
                reads.clear()
                await handed_over(client, reads)
                calls = [client.call_tool("echo", {"message": str(number)}) for number in range(500)]
                results = await asyncio.gather(*calls)
                assert [result.text for result in results] == [str(number) for number in range(500)]

    run(check())


def test_a_message_in_many_pieces(tmp_path: Path, reads: list[int]) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, SERVER), env=environment()) as client:
            await handed_over(client, reads)
            for size in (1_000, 65_536, 70_000, 3_000_000):
                message = "m" * size
                assert (await client.call_tool("echo", {"message": message})).text == message

    run(check())


def test_both_flood_while_both_loops_are_slow(tmp_path: Path, reads: list[int]) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, SERVER), env=environment()) as client:
            await handed_over(client, reads)
            message = "f" * 50_000
            calls = [asyncio.ensure_future(client.call_tool("echo", {"message": message})) for _ in range(300)]
            slow = [asyncio.ensure_future(client.call_tool("block", {"seconds": 0.15})) for _ in range(3)]
            await asyncio.sleep(0)
            for _ in range(3):
                time.sleep(0.15)
                await asyncio.sleep(0.01)
            assert all(result.text == message for result in await asyncio.gather(*calls))
            assert [result.text for result in await asyncio.gather(*slow)] == ["blocked"] * 3

    run(check())


def test_a_blocked_loop_does_not_stop_reads(tmp_path: Path, reads: list[int]) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, SERVER), env=environment()) as client:
            await handed_over(client, reads)
            blocked = asyncio.ensure_future(client.call_tool("block", {"seconds": 1.5}))
            await asyncio.sleep(0.05)
            await client.ping()  # is answered by the core of the server
            assert not blocked.done()
            assert (await blocked).text == "blocked"

    run(check())


def test_a_server_that_dies_during_a_call(tmp_path: Path, reads: list[int]) -> None:
    async def check() -> None:
        left: list[int] = []
        for _ in range(4):
            reads.clear()
            async with Client(script(tmp_path, SERVER), env=environment()) as client:
                await handed_over(client, reads)
                with pytest.raises((TransportError, ClosedError), match="last words"):
                    await client.call_tool("die")
            gc.collect()  # the port of a client goes with the client, which is in a cycle
            left.append(descriptors())
        assert left[-1] <= left[0], f"descriptors are left open: {left}"

    run(check())


def test_a_client_that_is_closed_during_a_call(tmp_path: Path, reads: list[int]) -> None:
    async def check() -> None:
        client = Client(script(tmp_path, ECHO), env=environment())
        await client.connect()
        await handed_over(client, reads)
        hanging = asyncio.ensure_future(client.call_tool("hang"))
        await asyncio.sleep(0.02)
        await client.close()
        with pytest.raises(ClosedError):
            await hanging

    run(check())


LEAVING = """
import asyncio, os, sys
from trunkline import Client, ForkedError

async def main() -> None:
    client = Client({command!r})
    await client.connect()
    for number in range(50):
        await client.call_tool("echo", {{"message": str(number)}})
    assert client._port._handoff.descriptors, "the loop does not read"
    {leave}

asyncio.run(main())
print("left", flush=True)
"""
FORK = """
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            client._port.native.read_ready(client._handle)
        except ForkedError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    for number in range(50):
        assert (await client.call_tool("echo", {"message": str(number)})).text == str(number)
    await client.close()
"""
WAYS = {
    "return": "calls = [asyncio.ensure_future(client.call_tool('hang')) for _ in range(20)]; await asyncio.sleep(0.05)",
    "close": "await client.close()",
    "fork": FORK.strip(),
}


@pytest.mark.parametrize("how", WAYS)
def test_the_interpreter_ends_or_forks_while_the_loop_reads(tmp_path: Path, how: str) -> None:
    source = LEAVING.format(command=script(tmp_path, ECHO, "server.py"), leave=WAYS[how])
    for _ in range(3):
        done = finish(script(tmp_path, source))
        assert (done.returncode, done.stdout) == (0, "left\n"), done.stderr
        assert "Traceback" not in done.stderr and "panicked" not in done.stderr, done.stderr
