"""Connections that fail to open: they take no longer than necessary, and leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support import TIMEOUT, Lifeline, environment, run, script
from trunkline import (
    Client,
    ClosedError,
    InvalidArgumentError,
    Server,
    SyncClient,
    SyncClientGroup,
    Transport,
    TransportError,
    TrunklineError,
)

SILENT = "import time\ntime.sleep(60)\n"


async def connecting(client: Client) -> asyncio.Task[None]:
    """A task that has sent a request and has no response yet."""
    task = asyncio.ensure_future(client.connect())
    await asyncio.sleep(0)
    return task


def assert_only_one_is_left(server: Server) -> None:
    port = server._bind()
    assert len(port._ends) == len(port._listeners) == len(server._users) == 1


def test_an_abandoned_in_memory_connection_leaks_nothing() -> None:
    async def check() -> None:
        server, start = Server("test", version="1"), time.monotonic()
        async with Client(server) as other:
            task = await connecting(Client(server))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert_only_one_is_left(server)
            await other.ping()
        assert time.monotonic() - start < 5

    run(check())


def test_a_client_connects_to_a_configured_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import os\nfrom trunkline import Server\nServer(os.environ['NAME'], version='1').run()\n"
    program, path = script(tmp_path, source), tmp_path / "mcp.json"
    monkeypatch.setenv("WHO", "weather")
    env = {"NAME": "${WHO}-${KIND:-test}", "PYTHONPATH": environment()["PYTHONPATH"]}
    entry = {"command": program[0], "args": program[1:], "env": env}
    path.write_text(json.dumps({"mcpServers": {"weather": entry}}), encoding="utf-8")
    for target in (entry, {"mcpServers": {"weather": entry}}, path, str(path)):
        with SyncClient(target) as client:
            assert client.server_info and client.server_info.name == "weather-test"
    with pytest.raises(InvalidArgumentError, match="/mcpServers/x/args: must be a list"):
        SyncClient({"mcpServers": {"x": {"command": "python", "args": "x.py"}}}).connect()
    with pytest.raises(InvalidArgumentError, match="headers: not supported for this kind of target"):
        Client(["server"], headers={"a": "b"})
    with pytest.raises(InvalidArgumentError, match=r"^inherit_env: not supported for this kind of target"):
        Client("http://127.0.0.1:1/mcp", inherit_env=True)


def test_a_configuration_in_the_format_of_hosts(tmp_path: Path) -> None:
    source = "import os\nfrom trunkline import Server\nServer(os.environ['NAME'], version=os.getcwd()).run()\n"
    program, path = script(tmp_path, source), tmp_path / "mcp.json"
    env = {"NAME": "${input:who} of ${workspaceFolder}", "PYTHONPATH": environment()["PYTHONPATH"]}
    entry = {"command": program[0], "args": program[1:], "env": env, "cwd": "~"}
    text = f'\ufeff{{\n// of VS Code\n"servers": {{"weather": {json.dumps(entry)},}},\n}}'
    path.write_text(text, encoding="utf-8")
    variables = {"input:who": "weather", "workspaceFolder": "/work", "userHome": str(tmp_path)}
    with SyncClient(path, variables=variables) as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("weather of /work", str(tmp_path))
    with SyncClientGroup(path, variables=variables) as group:
        assert group.servers()[0].state == "connected"
    with pytest.raises(InvalidArgumentError, match=r"\$\{input:who\}: give its value in the option `variables`"):
        SyncClient(path).connect()
    with pytest.raises(TransportError, match="put the arguments in `args`"):
        SyncClient({"command": "npx -y something"}).connect()


@pytest.mark.parametrize("scheme", ["http", "HTTP", "Http"])
def test_the_scheme_of_a_url_has_no_case(scheme: str) -> None:
    server = Server("test", version="1")

    @server.tool
    def greet() -> str:
        return "hi"

    async def check() -> None:
        async with (
            server.serve_http(port=0) as listener,
            Client(listener.url.replace("http", scheme, 1)) as client,
        ):
            assert (await client.call_tool("greet")).text == "hi"

    run(check())


def test_network_failures_are_os_errors() -> None:
    with pytest.raises(TransportError) as refused:
        SyncClient("http://127.0.0.1:1/mcp").connect()
    assert refused.value.code == "ECONNREFUSED" and isinstance(refused.value.__cause__, ConnectionRefusedError)


def test_a_listener_that_fails_leaves_nothing_behind() -> None:
    async def check() -> None:
        server = Server("test", version="1")
        async with server.serve_http(port=0) as listener, Client(server):
            with pytest.raises(TransportError):
                await server.serve_http(port=listener.port).start()
            assert len(server._bind()._ends) == len(server._users) == 2

    run(check())


def test_disc_02_a_client_with_a_pinned_revision_learns_about_its_server_later() -> None:
    async def check() -> None:
        server = Server("late", version="1", instructions="Ask.")
        async with Client(server, revision="2026-07-28") as client:
            while (info := client.server_info) is None:
                await asyncio.sleep(0.001)
            assert (info.name, client.instructions) == ("late", "Ask.")

    run(check())


class Pipes:
    """A custom transport: lines to and from a process."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.connections = self.closes = 0
        self.broken = False

    async def connect(self) -> None:
        if self.connections == 3:
            raise OSError("the third time")
        self.connections += 1
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment()
        )

    async def send(self, message: str) -> None:
        assert self.process.stdin is not None
        if self.broken:
            raise OSError("the wire is cut")
        self.process.stdin.write(message.encode() + b"\n")
        await self.process.stdin.drain()

    async def receive(self) -> str | None:
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).decode() or None

    async def close(self) -> None:
        self.closes += 1
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()


ECHO = """
from trunkline import Server
server = Server("echo", version="1")
@server.tool
def echo(message: str) -> str:
    return message
server.run()
"""


@pytest.mark.parametrize("revision", ["auto", "2025-06-18", "2026-07-28"])
def test_std_17_std_18_a_custom_transport(tmp_path: Path, revision: str) -> None:
    async def check() -> None:
        pipes = Pipes(script(tmp_path, ECHO))
        assert isinstance(pipes, Transport)
        async with Client(pipes, revision=revision) as client:
            assert (await client.call_tool("echo", {"message": "h\u00e9\n"})).text == "h\u00e9\n"
            pipes.broken = True
            with pytest.raises(TransportError, match="OSError: the wire is cut"):
                await client.call_tool("echo", {"message": "lost"})
            pipes.broken = False
            assert (await client.call_tool("echo", {"message": "again"})).text == "again"
            assert (pipes.connections, pipes.closes) == (2, 1)
        assert pipes.closes == 2

    run(check())


class BlockingPipes:
    """A server as a child process, over pipes that the program reads and writes, blocking."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.threads: set[str] = set()
        self.broken = False
        self.closes = 0

    def connect(self) -> None:
        if not self.command:
            raise OSError("nobody is there")
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True, encoding="utf-8"
        )

    def send(self, message: str) -> None:
        assert self.process.stdin is not None
        if self.broken:
            raise OSError("the wire is cut")
        self.threads.add(threading.current_thread().name)
        self.process.stdin.write(message + "\n")
        self.process.stdin.flush()

    def receive(self) -> str | None:
        assert self.process.stdout is not None
        return self.process.stdout.readline() or None

    def close(self) -> None:
        self.closes += 1
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


@pytest.mark.parametrize("revision", ["auto", "2025-06-18", "2026-07-28"])
def test_std_17_std_18_a_blocking_transport(tmp_path: Path, revision: str) -> None:
    pipes = BlockingPipes(script(tmp_path, ECHO))
    assert isinstance(pipes, Transport)
    with SyncClient(pipes, revision=revision) as client:
        assert client.call_tool("echo", {"message": "h\u00e9\n"}).text == "h\u00e9\n"
        pipes.broken = True
        with pytest.raises(TransportError, match="OSError: the wire is cut"):
            client.call_tool("echo", {"message": "lost"})
        pipes.broken = False
        assert client.call_tool("echo", {"message": "again"}).text == "again"
    assert pipes.closes == 2
    assert threading.current_thread().name not in pipes.threads
    with SyncClient(pipes, revision=revision) as client:  # the same object, connected again
        assert client.call_tool("echo", {"message": "anew"}).text == "anew"

    async def check() -> None:
        async with Client(BlockingPipes(script(tmp_path, ECHO)), revision=revision) as client:
            assert (await client.call_tool("echo", {"message": "on threads"})).text == "on threads"

    run(check())
    pipes.command = []
    with pytest.raises(TransportError, match="OSError: nobody is there"):
        SyncClient(pipes).connect()


def test_a_transport_that_fails_or_hangs_causes_typed_errors() -> None:
    class Hangs(Pipes):
        async def connect(self) -> None:
            if not self.command:
                raise OSError("nobody is there")

        async def send(self, message: str) -> None:
            await asyncio.sleep(60)

        async def receive(self) -> str | None:
            return await asyncio.sleep(60, None)

        async def close(self) -> None:
            await asyncio.sleep(60)

    async def check() -> None:
        start = time.monotonic()
        with pytest.raises(TransportError, match="OSError: nobody is there"):
            await Client(Hangs([])).connect()
        with pytest.raises(TrunklineError) as error:
            await Client(Hangs(["x"]), connect_timeout=0.2).connect()
        assert error.value.kind == "timeout"
        async with Client(Hangs(["x"]), revision="2026-07-28") as client:
            with pytest.raises(TrunklineError) as error:
                await client.list_tools(timeout=0.2)
            assert error.value.kind == "timeout"
            await client.close(0)
        assert time.monotonic() - start < 5

    run(check())
    with pytest.raises(InvalidArgumentError, match="asynchronous: use Client"):
        SyncClient(Hangs([]))
    with pytest.raises(InvalidArgumentError, match="headers"):
        Client(Hangs([]), headers={"a": "b"})


def test_a_transport_that_receives_bytes_is_told_to_decode_them() -> None:
    class Raw(Pipes):
        async def connect(self) -> None: ...

        async def send(self, message: str) -> None: ...

        async def receive(self) -> Any:
            return b"{}"

        async def close(self) -> None: ...

    with pytest.raises(TransportError, match="a message is a string, not bytes"):
        run(Client(Raw(["x"])).connect())


def test_a_client_that_is_closed_while_it_connects() -> None:
    async def check() -> None:
        server, start = Server("test", version="1"), time.monotonic()
        async with Client(server):
            client = Client(server)
            task = await connecting(client)
            with pytest.raises(InvalidArgumentError, match="connecting"):
                await client.connect()
            await client.close()
            with pytest.raises(ClosedError):
                await task
            assert_only_one_is_left(server)
            with pytest.raises(ClosedError):
                _ = client.revision
            async with client:
                await client.ping()
        assert time.monotonic() - start < 5

    run(check())


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_the_child_process_of_an_aborted_connection_ends(tmp_path: Path, how: str) -> None:
    async def check() -> None:
        with Lifeline() as lifeline:
            client = Client(script(tmp_path, lifeline.source + SILENT))
            task = await connecting(client)
            await asyncio.to_thread(lifeline.wait_for_the_start)
            if how == "close":
                await client.close(0)
            else:
                task.cancel()
            with pytest.raises(ClosedError if how == "close" else asyncio.CancelledError):
                await task
            await asyncio.to_thread(lifeline.wait_for_the_end)

    start = time.monotonic()
    run(check())
    assert time.monotonic() - start < 15


def test_a_blocking_client_that_is_closed_while_it_connects(tmp_path: Path) -> None:
    failed = list[Exception]()

    def connect() -> None:
        try:
            client.connect()
        except TrunklineError as error:
            failed.append(error)

    with Lifeline() as lifeline:
        client = SyncClient(script(tmp_path, lifeline.source + SILENT))
        thread = threading.Thread(target=connect)
        thread.start()
        lifeline.wait_for_the_start()
        with pytest.raises(InvalidArgumentError, match="connecting"):
            client.connect()
        client.close(0)
        thread.join(TIMEOUT)
        lifeline.wait_for_the_end()
    (error,) = failed
    assert isinstance(error, ClosedError)


def test_a_listener_that_is_closed_while_it_starts() -> None:
    async def check() -> None:
        server = Server("test", version="1")
        for _ in range(20):
            listener = server.serve_http(port=0)
            starting = asyncio.ensure_future(listener.start())
            await asyncio.sleep(0)
            with pytest.raises(InvalidArgumentError, match="already"):
                await listener.start()
            await listener.close()
            await asyncio.wait({starting})
            assert isinstance(starting.exception(), ClosedError | None)
            assert server._users == [] and server._port is None

    run(check())


@pytest.mark.parametrize("time", [-1, float("nan"), "soon"])
def test_errors_name_invalid_times(time: Any) -> None:
    server = Server("test", version="1")
    for name in ("timeout", "max_timeout", "connect_timeout", "probe_timeout"):
        with pytest.raises(InvalidArgumentError, match=name):
            Client(server, **{name: time})

    async def check() -> None:
        async with Client(server, timeout=float("inf")) as client:
            with pytest.raises(InvalidArgumentError, match="timeout"):
                await client.ping(timeout=time)
            with pytest.raises(InvalidArgumentError, match="deadline"):
                await client.close(time)
            await client.ping(timeout=float("inf"))

    run(check())
