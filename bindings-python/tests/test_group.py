"""Many servers behind one client, async and blocking."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any, cast

import pytest

from support import Lifeline, environment, run, script
from trunkline import (
    Client,
    ClientGroup,
    ClosedError,
    Context,
    ElicitRequest,
    ElicitResult,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    SyncClientGroup,
    TransportError,
)

PROGRAM = """
import os
from trunkline import Context, Server

server = Server(os.environ["NAME"], version="1")
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

@server.tool
def whoami() -> str:
    return os.environ["NAME"]

@server.tool
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Your name?", NAME)
    return str(answer.content["name"])

@server.tool
def grow() -> str:
    server.add_tool(lambda: "late", name="late", description="A tool that comes late.")
    server.resource_updated("notes://today")
    return "grown"

@server.resource("notes://today")
def today() -> str:
    return os.environ["NAME"]

server.run()
"""


def entry(folder: Path, name: str) -> dict[str, Any]:
    """The entry of a server that answers with its name."""
    program = script(folder, PROGRAM, "server.py")
    env = {"NAME": name, "PYTHONPATH": environment()["PYTHONPATH"]}
    return {"command": program[0], "args": program[1:], "env": env}


def test_a_server_that_fails_does_not_affect_the_others(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    servers = {"a": entry(tmp_path, "first"), "b": entry(tmp_path, "second"), "gone": {"command": "/no/such/program"}}
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    async def check() -> None:
        async with ClientGroup(path) as group:
            assert repr(group) == f"ClientGroup({str(path)!r})"
            a, b, gone = await group.servers()
            assert (a.name, a.prefix, a.state, a.revision, a.error) == ("a", "a", "connected", "2026-07-28", None)
            assert b.server_info is not None and b.server_info.name == "second"
            assert gone.state == "disconnected" and isinstance(gone.error, TransportError)
            assert "/no/such/program" in str(gone.error)
            names = [tool.name for tool in await group.list_tools()]
            assert names == ["a__whoami", "a__greet", "a__grow", "b__whoami", "b__greet", "b__grow"]
            assert (await group.call_tool("b__whoami")).text == "second"
            assert [resource.uri for resource in await group.list_resources()] == [
                "a+notes://today",
                "b+notes://today",
            ]
            with pytest.raises(TransportError, match="/no/such/program"):
                await group.call_tool("gone__x")
            with pytest.raises(ProtocolError, match="Its servers: a, b, gone"):
                await group.call_tool("c__x")

    run(check())


def test_a_failing_server_does_not_affect_the_others_of_a_blocking_group(tmp_path: Path) -> None:
    changed = list[bool]()
    given = {"a": entry(tmp_path, "first"), "gone": ["/no/such/program"]}
    group = SyncClientGroup(given, on_tools_changed=lambda: changed.append(True))

    @group.on_elicit
    def ask(request: ElicitRequest) -> ElicitResult[Any]:
        return ElicitResult("accept", {"name": request.server_name})

    with group:
        assert repr(group) == "SyncClientGroup(['a', 'gone'])", "no secrets of entries"
        assert group.call_tool("a__greet").text == "a"
        assert [(server.name, server.state) for server in group.servers()] == [
            ("a", "connected"),
            ("gone", "disconnected"),
        ]
        assert group.call_tool("a__whoami").text == "first"
        group.add_server("b", entry(tmp_path, "second"))
        assert group.call_tool("b__whoami").text == "second"
        group.remove_server("gone")
        assert [server.name for server in group.servers()] == ["a", "b"]
        with pytest.raises(InvalidArgumentError, match="no server named"):
            group.reconnect_server("gone")
        assert changed


def test_servers_can_be_added_and_removed_while_calls_run(tmp_path: Path) -> None:
    async def check() -> None:
        changes = list[str]()
        async with ClientGroup({"a": entry(tmp_path, "first")}) as group:

            async def call(number: int) -> str:
                await asyncio.sleep(number / 100)
                return (await group.call_tool("a__whoami")).text

            calls = [asyncio.ensure_future(call(number)) for number in range(50)]
            await group.add_server("b", entry(tmp_path, "second"))
            assert (await group.call_tool("b__whoami")).text == "second"
            async with group.subscribe("b+notes://today", tools=True) as changed:
                assert (await group.call_tool("b__grow")).text == "grown"
                async for change in changed:
                    changes.append(change.uri or change.kind)
                    if {"tools", "b+notes://today"} <= set(changes):
                        break
            assert (await group.call_tool("b__late")).text == "late"
            await group.remove_server("b")
            assert await asyncio.gather(*calls) == ["first"] * 50
            with pytest.raises(ProtocolError):
                await group.call_tool("b__whoami")
            with pytest.raises(InvalidArgumentError, match='already has a server named "a"'):
                await group.add_server("a", "http://127.0.0.1:9/mcp")
            with pytest.raises(InvalidArgumentError, match="target"):
                await group.add_server("c", "python weather.py")
            with pytest.raises(InvalidArgumentError, match="Server"):
                await group.add_server("c", Server("memory", version="1"))  # pyright: ignore[reportArgumentType]

    run(check())


def test_eli_22_a_handler_knows_which_server_asks(tmp_path: Path) -> None:
    async def check() -> None:
        group = ClientGroup({"home": entry(tmp_path, "a"), "work": entry(tmp_path, "b")})

        @group.on_elicit
        async def ask(request: ElicitRequest) -> ElicitResult[Any]:
            return ElicitResult("accept", {"name": request.server_name})

        async with group:
            answers = await asyncio.gather(group.call_tool("home__greet"), group.call_tool("work__greet"))
            assert [answer.text for answer in answers] == ["home", "work"]

    run(check())


def test_a_group_with_a_server_that_hangs_closes_in_time(tmp_path: Path) -> None:
    async def check() -> None:
        with Lifeline() as lifeline:
            silent = script(tmp_path, lifeline.source + "import time\ntime.sleep(60)\n", "silent.py")
            group = ClientGroup({"a": entry(tmp_path, "first"), "silent": silent})
            opening = asyncio.ensure_future(group.connect())
            await asyncio.to_thread(lifeline.wait_for_the_start)
            await group.close(0)
            await asyncio.wait({opening})
            await asyncio.to_thread(lifeline.wait_for_the_end)
        with Lifeline() as lifeline:
            silent = script(tmp_path, lifeline.source + "import time\ntime.sleep(60)\n", "silent.py")
            async with ClientGroup({"a": entry(tmp_path, "first")}) as group:
                adding = asyncio.ensure_future(group.add_server("silent", silent))
                await asyncio.to_thread(lifeline.wait_for_the_start)
                assert [server.state for server in await group.servers()] == ["connected", "connecting"]
                assert len(await group.list_tools()) == 3
            await asyncio.wait({adding})
            await asyncio.to_thread(lifeline.wait_for_the_end)

    start = time.monotonic()
    run(check())
    assert time.monotonic() - start < 20


def test_options_for_a_single_server_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="access_token"):
        SyncClientGroup({"a": entry(tmp_path, "first")}, auth="secret").connect()
    with pytest.raises(InvalidArgumentError, match="Authorization is for one server"):
        SyncClientGroup({"a": "http://localhost:1/mcp"}, headers={"authorization": "b"}).connect()
    with pytest.raises(InvalidArgumentError, match='stderr: "file" is not one of inherit, keep, discard'):
        SyncClientGroup({"a": "http://localhost:1/mcp"}, stderr=cast("Any", "file")).connect()
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        SyncClientGroup(tmp_path / "missing.json").connect()


def own_server() -> Server:
    server = Server("own", version="1")

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", {"type": "object", "properties": {"name": {"type": "string"}}})
        return str((answer.content or {})["name"])

    return server


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_group_shares_clients_and_does_not_close_them(revision: str) -> None:
    async def check() -> None:
        server = own_server()
        client = Client(server, revision=revision)

        @client.on_elicit
        async def answer(request: ElicitRequest) -> ElicitResult[Any]:
            return ElicitResult("accept", {"name": f"the client's, {request.server_name}"})

        group = ClientGroup({"own": client})
        with pytest.raises(ClosedError, match="not connected"):
            await group.connect()
        changed = asyncio.Event()
        async with client:
            group = ClientGroup({"own": client}, on_tools_changed=changed.set)
            async with group:
                assert (await group.call_tool("own__greet")).text == "the client's, None"
                server.add_tool(lambda: "late", name="late", description="A tool that comes late.")
                await asyncio.wait_for(changed.wait(), 30)
                await group.remove_server("own")
                await group.add_server("again", client)
                assert (await group.call_tool("again__late")).text == "late"
            assert (await client.call_tool("late")).text == "late"

    run(check())


def test_a_blocking_group_shares_clients_of_other_threads(tmp_path: Path) -> None:
    with SyncClient(entry(tmp_path, "own")) as client, SyncClientGroup({"own": client}) as group:
        assert group.call_tool("own__whoami").text == "own"
        client.close()
        with pytest.raises(ClosedError):
            group.call_tool("own__whoami")


def test_options_of_transports_are_the_defaults_of_the_servers_they_fit(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
import os, sys
from trunkline import Server

server = Server("loud", version="1")
print("a line of the server", file=sys.stderr, flush=True)

@server.tool
def env(name: str) -> str:
    return os.environ.get(name, "")

server.run()
"""
    program = script(tmp_path, source, "loud.py")
    own = {"command": program[0], "args": program[1:], "env": {"A": "own"}}
    web = Server("web", version="1")

    @web.tool
    async def header(ctx: Context, name: str) -> str:
        return ctx.headers.get(name, "")

    env = {**environment(), "A": "default"}

    async def check() -> None:
        async with web.serve_http(port=0) as listener:
            servers = {"list": program, "entry": own, "web": listener.url}
            proxy = "http://127.0.0.1:9"
            async with ClientGroup(servers, env=env, stderr="keep", headers={"X-A": "b"}, proxy=proxy) as group:
                assert [server.state for server in await group.servers()] == ["connected"] * 3
                assert (await group.call_tool("list__env", {"name": "A"})).text == "default"
                assert (await group.call_tool("entry__env", {"name": "A"})).text == "own"
                assert (await group.call_tool("web__header", {"name": "x-a"})).text == "b"

    run(check())
    with SyncClient({"mcpServers": {"entry": own}}, env=env, stderr="keep") as client:
        assert client.call_tool("env", {"name": "A"}).text == "own"
    assert "a line of the server" not in capfd.readouterr().err
