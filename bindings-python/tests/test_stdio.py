"""Servers as child processes, over their stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from raw import MODERN, Peer
from support import REVISIONS, TIMEOUT, Lifeline, environment, finish, run, script
from trunkline import (
    Client,
    ClosedError,
    InvalidArgumentError,
    Server,
    SyncClient,
    TimeoutError,
    TransportError,
    TrunklineError,
)

ECHO = """
import os, subprocess, sys
from trunkline import Context, Server

server = Server("echo", version="1")

@server.tool
async def echo(message: str) -> str:
    return message

@server.tool
def noisy(message: str) -> str:
    print("a stray print")
    print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)
    os.write(1, b"straight to the descriptor\\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    assert sys.stdin.read() == ""
    return message

@server.tool
async def environment(name: str) -> str:
    return f"{os.environ.get(name)} {os.getcwd()}"

@server.tool
async def die() -> str:
    print("last words", file=sys.stderr, flush=True)
    os._exit(3)

@server.tool
async def hang(ctx: Context) -> str:
    import asyncio
    await ctx.progress(1)
    await asyncio.sleep(60)
    return "done"

if __name__ == "__main__":
    server.run()
"""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


@pytest.mark.parametrize("revision", [*REVISIONS, "auto"])
def test_every_revision(tmp_path: Path, revision: str) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, ECHO), env=environment(), revision=revision) as client:
            assert revision in ("auto", client.revision)
            assert len(await client.list_tools()) == 5
            assert (await client.call_tool("echo", {"message": "grüße 🎉"})).text == "grüße 🎉"

    run(check())


def test_stray_output_does_not_reach_the_protocol(tmp_path: Path) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, ECHO), env=environment()) as client:
            for number in range(5):
                assert (await client.call_tool("noisy", {"message": str(number)})).text == str(number)

    run(check())


def test_the_child_gets_its_environment_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    async def seen(name: str, **options: Any) -> str:
        async with Client(script(tmp_path, ECHO), cwd=folder, **options) as client:
            return (await client.call_tool("environment", {"name": name})).text

    async def check() -> None:
        env = {"PYTHONPATH": environment()["PYTHONPATH"]}
        monkeypatch.setenv("TRUNKLINE_TEST", "inherited")
        assert await seen("TRUNKLINE_TEST", env=env) == f"None {folder}"
        assert await seen("PATH", env=env) == f"{os.environ['PATH']} {folder}"
        assert await seen("TRUNKLINE_TEST", env=env, inherit_env=True) == f"inherited {folder}"
        assert await seen("TRUNKLINE_TEST", env={**env, "TRUNKLINE_TEST": "value"}) == f"value {folder}"

    run(check())


def test_the_error_of_a_child_that_dies_has_its_last_output(tmp_path: Path) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, ECHO), env=environment()) as client:
            with pytest.raises(TransportError, match="last words") as caught:
                await client.call_tool("die")
            assert (caught.value.reason, caught.value.exit_code, caught.value.signal) == ("exited", 3, None)
            assert caught.value.stderr == ["last words"]
            # The next call restarts it; without `reconnect` the client ends with its server.
            assert (await client.call_tool("echo", {"message": "x"})).text == "x"
        async with Client(script(tmp_path, ECHO), env=environment(), reconnect=False) as client:
            assert client.is_connected
            with pytest.raises(TransportError, match="last words"):
                await client.call_tool("die")
            # The first cause, however late the call.
            with pytest.raises((ClosedError, TransportError), match="last words"):
                await client.call_tool("echo", {"message": "x"})
            while client.is_connected:
                await asyncio.sleep(0)
            with pytest.raises(ClosedError, match="last words"):
                await client.call_tool("echo", {"message": "x"})
            await client.connect()
            assert (await client.call_tool("echo", {"message": "x"})).text == "x"
            with pytest.raises(InvalidArgumentError, match="already connected"):
                await client.connect()
        assert not client.is_connected

    run(check())
    with SyncClient(script(tmp_path, ECHO), env=environment(), reconnect=False) as blocking:
        with pytest.raises(TransportError, match="last words"):
            blocking.call_tool("die")
        while blocking.is_connected:
            time.sleep(0.001)
        with pytest.raises(ClosedError, match="last words"):
            blocking.call_tool("echo", {"message": "x"})
        blocking.connect()
        assert blocking.call_tool("echo", {"message": "x"}).text == "x"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals that kill")
def test_the_error_of_a_killed_child_names_the_signal(tmp_path: Path) -> None:
    source = """
import os
from trunkline import Server
server = Server("test", version="1")
@server.tool
def die() -> None:
    os.kill(os.getpid(), 9)
server.run()
"""
    with SyncClient(script(tmp_path, source), env=environment(), reconnect=False) as client:
        with pytest.raises(TransportError, match="was terminated by signal 9") as caught:
            client.call_tool("die")
        assert (caught.value.reason, caught.value.exit_code, caught.value.signal) == ("exited", None, 9)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_a_server_at_a_terminal_says_that_it_is_waiting(tmp_path: Path) -> None:
    command = script(tmp_path, "from trunkline import Server\nServer('test', version='1').run()")
    terminal, child = os.openpty()
    with subprocess.Popen(
        command, env=environment(), stdin=child, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        watch = threading.Timer(TIMEOUT, process.kill)
        watch.start()
        try:
            assert process.stderr is not None and b"standard input, which is a terminal" in process.stderr.readline()
        finally:
            watch.cancel()
            process.kill()
            os.close(child)
            os.close(terminal)


def test_the_error_of_a_silent_server_contains_its_stray_output(tmp_path: Path) -> None:
    async def check() -> None:
        silent = script(tmp_path, "print('welcome to my server', flush=True); input()\nwhile input(): pass")
        with pytest.raises(TimeoutError, match=r"not a message.*welcome to my server"):
            async with Client(silent, connect_timeout=0.5):
                pass

    run(check())


def test_a_command_that_does_not_exist() -> None:
    async def check() -> None:
        with pytest.raises(TransportError, match="no-such-program"):
            async with Client(["no-such-program"]):
                pass

    run(check())
    with pytest.raises(ConnectionError), SyncClient(["no-such-program"]):
        pass


def test_a_child_that_is_not_a_server(tmp_path: Path) -> None:
    async def check(source: str, connect_timeout: float = 10) -> None:
        with pytest.raises(TrunklineError) as caught:
            async with Client(script(tmp_path, source), connect_timeout=connect_timeout):
                pass
        assert isinstance(caught.value, (TransportError, ClosedError, TimeoutError))

    run(check("import sys; sys.exit('not today')"))
    run(check("print('hello')"))
    run(check("import time; time.sleep(60)", 0.5))


def test_a_child_that_does_not_exit_by_itself_is_terminated_after_the_close_timeout(tmp_path: Path) -> None:
    command = script(tmp_path, ECHO + "    import time\n    time.sleep(60)\n")

    async def check() -> float:
        client = Client(command, env=environment(), close_timeout=0.1)
        await client.connect()
        begun = time.monotonic()
        await client.close()
        return time.monotonic() - begun

    def blocking() -> float:
        client = SyncClient(command, env=environment(), close_timeout=0.1)
        client.connect()
        begun = time.monotonic()
        client.close()
        return time.monotonic() - begun

    # By default, it would have 2 s. A busy machine may be late, but not each time.
    assert any(run(check()) < 1.5 for _ in range(5))
    assert any(blocking() < 1.5 for _ in range(5))


def test_closing_ends_the_child(tmp_path: Path) -> None:
    async def check() -> None:
        with Lifeline() as lifeline:
            async with Client(script(tmp_path, lifeline.source + ECHO), env=environment()) as client:
                await asyncio.to_thread(lifeline.wait_for_the_start)
                call = asyncio.ensure_future(client.call_tool("hang"))
                await asyncio.sleep(0.1)
                start = time.monotonic()
            with pytest.raises(TrunklineError):
                await call
            assert time.monotonic() - start < 8
            await asyncio.to_thread(lifeline.wait_for_the_end)

    run(check())


def test_the_server_ends_with_its_input(tmp_path: Path) -> None:
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    done = finish(script(tmp_path, ECHO), text="".join(json.dumps(line) + "\n" for line in lines))
    assert done.returncode == 0, done.stderr
    (answer,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert answer["id"] == 1 and answer["result"]["protocolVersion"] == "2025-06-18"
    assert done.stderr == ""


FAILING = """
import logging, sys
from trunkline import Server

server = Server("failing", version="1")

@server.tool
async def fail() -> str:
    raise ValueError("on purpose")

@server.tool
async def fail_at_length() -> str:
    raise ValueError("x" * 2000)

{configuration}
server.run()
"""


def test_a_host_that_does_not_read_standard_error_blocks_nothing(tmp_path: Path) -> None:
    """T5 of the fault review: many hosts never read it."""
    with Peer(script(tmp_path, FAILING.format(configuration="")), MODERN) as peer:
        for _ in range(300):
            assert peer.once("tools/call", name="fail_at_length", arguments={})["isError"]
    assert peer.status == 0 and "ValueError" in peer.errors


@pytest.mark.parametrize(
    ("configuration", "begin"),
    [
        ("", ""),
        ("logging.basicConfig(format='root: %(message)s')", "root: "),
        ("logging.getLogger('trunkline.server').addHandler(logging.StreamHandler())", ""),
        ("logging.lastResort.setFormatter(logging.Formatter('own: %(message)s'))", "own: "),
        ("logging.lastResort = logging.StreamHandler()", ""),
        ("logging.lastResort = None", None),
        ("logging.getLogger('trunkline').setLevel(logging.CRITICAL)", None),
        ("sys.stderr = open(2, 'w', closefd=False, buffering=1)", ""),
    ],
)
def test_a_failure_is_logged_once_to_the_handler_of_the_program(
    tmp_path: Path, configuration: str, begin: str | None
) -> None:
    with Peer(script(tmp_path, FAILING.format(configuration=configuration)), MODERN) as peer:
        assert peer.once("tools/call", name="fail", arguments={})["isError"]
    if begin is None:
        assert peer.errors == ""
    else:
        assert peer.errors.startswith(f"{begin}tools/call fail failed\nTraceback ")
        assert peer.errors.count("ValueError: on purpose") == 1


HOLDING = """
from trunkline import Server

server = Server("holding", version="1")

@server.tool
def hold() -> str:
    return str(sum(range(10**12)))

server.run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("end", ["input", "signal"])
def test_a_tool_that_blocks_the_interpreter_does_not_outlive_the_input_or_a_signal(tmp_path: Path, end: str) -> None:
    """T1 of the fault review: no other Python thread runs during such a tool."""
    pipe = subprocess.PIPE
    command = script(tmp_path, HOLDING)
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment())
    assert server.stdin and server.stdout
    try:
        params: dict[str, Any] = {"name": "hold", "arguments": {}}
        calling: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n" + json.dumps(calling).encode() + b"\n")
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline()
        time.sleep(0.3)  # it begins meanwhile; if it has not, the end is the same
        if end == "input":
            server.stdin.close()
        else:
            server.terminate()
        server.wait(TIMEOUT)
    finally:
        server.kill()
        server.wait()
        server.stdin.close()
        server.stdout.close()


DYING = r"""
import sys
sys.stderr.write("\x1b]0;a title\x07\x1b[2J\x9b31mout of\r\x08 beans\u202e\tat last\n")
sys.exit(3)
"""


def test_the_last_output_of_a_server_contains_no_terminal_escapes() -> None:
    """Errors are displayed in a terminal."""
    command = [sys.executable, "-X", "utf8", "-c", DYING]

    async def check() -> None:
        with pytest.raises(TransportError) as caught:
            async with Client(command, env=environment(), stderr="keep"):
                pass
        assert caught.value.stderr == ["out of beans\tat last"]
        assert "out of beans\tat last" in str(caught.value)
        assert not set(str(caught.value)) & {"\x1b", "\x07", "\x08", "\x9b", "\r", "\u202e"}

    run(check())
    blocking = SyncClient(command, env=environment(), stderr="keep")
    with pytest.raises(TransportError, match="out of beans\tat last"):
        blocking.connect()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_shut_the_server_down_gracefully(tmp_path: Path, number: signal.Signals) -> None:
    child = subprocess.Popen(
        script(tmp_path, ECHO), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    with child:
        try:
            child.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            child.stdin.flush()
            assert b'"id":1' in child.stdout.readline()
            child.send_signal(number)
            assert child.wait(TIMEOUT) == 0
            assert child.stderr.read() == b""
        finally:
            child.kill()


def test_concurrent_calls(tmp_path: Path) -> None:
    async def check() -> None:
        async with Client(script(tmp_path, ECHO), env=environment()) as client:
            results = await asyncio.gather(*[client.call_tool("echo", {"message": str(n)}) for n in range(1000)])
            assert [result.text for result in results] == [str(n) for n in range(1000)]
            large = "x" * 3_000_000
            assert (await client.call_tool("echo", {"message": large})).text == large

    run(check())


def test_clients_are_independent(tmp_path: Path) -> None:
    async def check() -> None:
        command = script(tmp_path, ECHO)
        async with Client(command, env=environment()) as first, Client(command, env=environment()) as second:
            with pytest.raises(TrunklineError):
                await first.call_tool("die")
            assert (await second.call_tool("echo", {"message": "alive"})).text == "alive"

    run(check())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such descriptors")
def test_descriptors_of_the_program_are_served() -> None:
    server = Server("paired", version="1")

    @server.tool
    async def echo(text: str) -> str:
        return text

    async def check() -> None:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs)

        async def ask(message: dict[str, Any]) -> dict[str, Any]:
            writer.write(json.dumps(message).encode() + b"\n")
            return json.loads(await reader.readline())

        with ours:
            async with server.serve_fd(ours) as listener:
                ours.close()  # the library has a duplicate
                assert (await ask(INITIALIZE))["result"]["serverInfo"]["name"] == "paired"
                call = {"name": "echo", "arguments": {"text": "hi"}}
                answer = await ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
                assert answer["result"]["content"][0]["text"] == "hi"
                with pytest.raises(InvalidArgumentError, match="no url"):
                    _ = listener.url
                writer.write_eof()
                await listener.wait()
            assert await reader.read() == b""  # it let go of its duplicates
        writer.close()
        with pytest.raises(InvalidArgumentError, match="not open"):
            await server.serve_fd(10_000)

    run(check())


BLOCKING = """
import asyncio, sys, time
from trunkline import Server

server = Server("blocking", version="1", drain_deadline=1)

@server.tool
async def block() -> None:
    print("blocked", file=sys.stderr, flush=True)
    time.sleep(3600)

async def main() -> None:
    await server.serve_fd(0, 1).run()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such descriptors and signals")
def test_a_signal_ends_a_server_on_descriptors_whose_handler_blocks_the_loop(tmp_path: Path) -> None:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(script(tmp_path, BLOCKING), text=True, env=environment(), **pipes) as child:
        try:
            assert child.stdin is not None and child.stderr is not None
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "block"}}
            for message in (INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call):
                child.stdin.write(json.dumps(message) + "\n")
            child.stdin.flush()
            assert child.stderr.readline() == "blocked\n"
            child.terminate()
            assert child.wait(TIMEOUT) == 1
            assert "a handler is still blocking" in child.stderr.read()
        finally:
            child.kill()
