"""Servers that mount others: in this process and behind a client, async and blocking."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support import run, until
from trunkline import (
    CancelledError,
    Client,
    ClientGroup,
    ClosedError,
    Context,
    ElicitRequest,
    ElicitResult,
    InvalidArgumentError,
    Server,
    SyncClient,
    SyncClientGroup,
    TrunklineError,
)

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def named(name: str) -> Server:
    server = Server(name, version="1")

    @server.tool
    async def whoami() -> str:
        """Tells the name of the server, on its loop."""
        await asyncio.sleep(0)
        return name

    @server.tool
    def in_thread() -> str:
        """Tells the name of the server, on a thread."""
        return name

    @server.tool
    async def greet(ctx: Context) -> str:
        """Asks for a name."""
        return str(((await ctx.elicit("Your name?", NAME)).content or {})["name"])

    @server.resource("notes://today", name="today")
    def today() -> str:
        return name

    return server


async def names(client: Client) -> list[str]:
    return [tool.name for tool in await client.list_tools()]


def test_a_mounted_server_appears_with_later_changes_until_it_is_removed() -> None:
    async def check() -> None:
        outer, inner = named("outer"), named("inner")
        mounted = outer.mount("in", inner)
        changed = asyncio.Event()
        async with Client(outer, on_tools_changed=changed.set) as client:
            assert await names(client) == ["whoami", "in_thread", "greet", "in__whoami", "in__in_thread", "in__greet"]
            assert (await client.call_tool("whoami")).text == "outer"
            assert (await client.call_tool("in__whoami")).text == "inner"
            assert (await client.call_tool("in__in_thread")).text == "inner"
            assert (await client.read_resource("in+notes://today")).contents[0].text == "inner"
            inner.add_tool(lambda: "late", name="late", description="A tool that comes late.")
            await asyncio.wait_for(changed.wait(), 30)
            assert (await client.call_tool("in__late")).text == "late"
            other = named("other")
            while_used = outer.mount("other", other)
            assert (await client.call_tool("other__whoami")).text == "other"
            while_used.remove()
            with pytest.raises(InvalidArgumentError, match="already mounted there"):
                outer.mount("again", inner)
            with pytest.raises(InvalidArgumentError, match="would form a cycle"):
                inner.mount("out", outer)
            mounted.remove()
            assert await names(client) == ["whoami", "in_thread", "greet"]
        with pytest.raises(InvalidArgumentError):
            mounted.remove()

    run(check())


def test_a_mounted_server_is_reused_with_the_outer_one() -> None:
    outer, inner = named("outer"), named("inner")
    outer.mount("in", inner)
    for _ in range(2):
        with SyncClient(inner) as client:
            assert client.call_tool("whoami").text == "inner"
        with SyncClient(outer) as client:
            assert client.call_tool("in__whoami").text == "inner"

    async def check() -> None:
        async with outer.serve_http(port=0) as listener, Client(str(listener.url)) as client:
            assert (await client.call_tool("in__in_thread")).text == "inner"

    run(check())


@pytest.mark.parametrize(("old", "revision"), [("2025-06-18", "2026-07-28"), ("2026-07-28", "2025-11-25")])
def test_a_proxy_forwards_requests_to_the_caller(old: str, revision: str) -> None:
    async def call(gateway: Server, name: str) -> str:
        client = Client(gateway, revision=revision)

        @client.on_elicit
        async def answer(request: ElicitRequest) -> ElicitResult[Any]:
            return ElicitResult("accept", {"name": name})

        async with client:
            return (await client.call_tool("far__greet")).text

    async def check() -> None:
        async with named("remote").serve_http(port=0) as listener, Client(str(listener.url), revision=old) as far:
            gateway = Server("gateway", version="1")
            proxy = gateway.proxy(far, prefix="far", max_connections=8)
            users = ["Ann", "Bob", "Cyd"]
            assert await asyncio.gather(*(call(gateway, name) for name in users)) == users
            async with Client(gateway, revision=revision) as client:
                assert "far__whoami" in await names(client)
                read = await client.read_resource("far+notes://today")
                assert read.contents[0].text == "remote"
                with pytest.raises(InvalidArgumentError):
                    gateway.proxy(far, prefix="far")
                proxy.remove()
                assert await names(client) == []

    run(check())


def test_a_proxy_of_a_blocking_client() -> None:
    with SyncClient(named("remote"), revision="legacy") as far:
        gateway = Server("gateway", version="1")
        gateway.proxy(far)
        with SyncClient(gateway) as client:
            assert client.call_tool("whoami").text == "remote"


def test_a_proxy_of_a_group_exposes_all_of_its_servers() -> None:
    async def check() -> None:
        async with named("far").serve_http(port=0) as far, named("late").serve_http(port=0) as late:
            async with ClientGroup({"far": str(far.url), "gone": "http://127.0.0.1:1/mcp"}) as group:
                gateway = Server("gateway", version="1")
                proxy = gateway.proxy(group)
                changed = asyncio.Event()
                client = Client(gateway, revision="2025-11-25", on_tools_changed=changed.set)

                @client.on_elicit
                async def answer(request: ElicitRequest) -> ElicitResult[Any]:
                    return ElicitResult("accept", {"name": "Ann"})

                async with client:
                    assert await names(client) == ["far__whoami", "far__in_thread", "far__greet"]
                    assert (await client.call_tool("far__greet")).text == "Ann"
                    assert (await client.read_resource("far+notes://today")).contents[0].text == "far"
                    with pytest.raises(TrunklineError, match="Cannot connect"):
                        await client.call_tool("gone__whoami")
                    await group.add_server("late", str(late.url))
                    await asyncio.wait_for(changed.wait(), 60)
                    assert (await client.call_tool("late__whoami")).text == "late"
                    proxy.remove()
                    assert await names(client) == []
                with SyncClientGroup({"far": str(far.url)}) as blocking:
                    gateway.proxy(blocking, prefix="all")
                    async with Client(gateway) as other:
                        assert (await other.call_tool("all__far__whoami")).text == "far"

    run(check())


@pytest.mark.parametrize(("old", "revision"), [("2025-11-25", "2026-07-28"), ("2026-07-28", "2025-11-25")])
def test_tsk_06_a_call_through_a_proxy_is_a_task_of_the_proxy(old: str, revision: str) -> None:
    remote = Server("remote", version="1", task_poll_interval=0.02)
    stopped: list[str] = []

    async def check() -> None:
        go_on, began = asyncio.Event(), asyncio.Event()

        @remote.tool(task="optional")
        async def report() -> str:
            await go_on.wait()
            return "the report"

        @remote.tool(task="optional")
        async def greet(ctx: Context) -> str:
            return str(((await ctx.elicit("Your name?", NAME)).content or {})["name"])

        @remote.tool(task="required")
        async def endless() -> None:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append("endless")

        gateway = Server("gateway", version="1", task_poll_interval=0.02)
        client = Client(gateway, revision=revision)

        @client.on_elicit
        async def answer(request: ElicitRequest) -> ElicitResult[Any]:
            return ElicitResult("accept", {"name": "Ann"})

        async with Client(remote, revision=old) as far:
            gateway.proxy(far, prefix="far")
            async with client:
                task = await client.start_task("far__report")
                assert task.id is not None and task.state is not None and task.state.status == "working"
                go_on.set()
                assert [state.status async for state in task][-1] == "completed"
                assert (await task.result()).text == "the report"
                assert (await client.call_tool("far__report")).text == "the report"
                assert (await (await client.start_task("far__greet")).result()).text == "Ann"
                unwanted = await client.start_task("far__endless")
                await began.wait()
                await unwanted.cancel()
                with pytest.raises(CancelledError):
                    await unwanted.result()
                await until(lambda: stopped, "the end of the handler at the remote server")
        assert callable(answer)

    run(check())


def test_invalid_and_unconnected_servers_are_refused() -> None:
    gateway = Server("gateway", version="1")
    with pytest.raises(ClosedError, match="not connected"):
        gateway.proxy(Client(named("far")))
    with pytest.raises(InvalidArgumentError, match="connected client"):
        gateway.proxy(named("far"))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="takes a Server"):
        gateway.mount("far", Client(named("far")))  # type: ignore[arg-type]
