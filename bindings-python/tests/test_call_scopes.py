"""The context of calls that begin after the response, or on the port of another server, and that of
verifiers.
"""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Any

import pytest
from fastapi import FastAPI

from support import REVISIONS, run
from test_asgi import serving
from test_context import USERS, SetsUser, ask, user, who_asks
from trunkline import Auth, Client, Context, Identity, Server, SyncContext
from trunkline._internal.port.scope import CallScope


def tells() -> Server:
    """A server whose tools return the user from the HTTP request, the context and the values."""
    server = Server("inner", version="1")

    @server.tool
    async def on_the_loop(ctx: Context) -> str:
        await asyncio.sleep(0.005)
        return f"{ctx.headers.get('x-user')} {user.get()} {ctx.vars.get('user')}"

    @server.tool
    def in_a_thread(ctx: SyncContext) -> str:
        return f"{ctx.headers.get('x-user')} {user.get()} {ctx.vars.get('user')}"

    return remembering(server)


def remembering(server: Server) -> Server:
    @server.middleware("tools/call")
    async def remember(_request: Any, next: Any, ctx: Context) -> Any:
        ctx.vars["user"] = ctx.headers.get("x-user")
        return await next()

    assert remember
    return server


@pytest.mark.parametrize("revision", REVISIONS)
def test_concurrent_users_of_a_proxied_server(revision: str) -> None:
    """The inner server is also served on its own: no call runs in the context of another user."""

    async def one(url: str, name: str, prefix: str) -> None:
        async with Client(url, headers={"X-User": name}, revision=revision) as client:
            for _ in range(5):
                for tool in ("on_the_loop", "in_a_thread"):
                    assert (await client.call_tool(prefix + tool)).text == f"{name} {name} {name}"

    async def check() -> None:
        inner, outer = tells(), remembering(Server("outer", version="1"))
        outer.mount("in", inner)
        app = FastAPI()
        app.add_middleware(SetsUser)
        app.mount("/outer", outer.asgi())
        app.mount("/inner", inner.asgi())
        async with serving(app) as url:
            users = [("outer", "ada", "in__"), ("inner", "bob", ""), ("outer", "eve", "in__"), ("inner", "mal", "")]
            await asyncio.gather(*[one(f"{url}/{path}", name, prefix) for path, name, prefix in users])

    run(check())


@pytest.mark.parametrize("way", ["mount", "proxy"])
def test_context_reaches_handlers_of_a_proxied_in_memory_server(way: str) -> None:
    async def one(client: Client, name: str) -> None:
        user.set(name)
        assert (await client.call_tool("in__who")).text == name

    async def check() -> None:
        inner, outer = Server("inner", version="1"), Server("outer", version="1")

        @inner.tool
        async def who() -> str:
            await asyncio.sleep(0.005)
            return user.get()

        assert who
        async with Client(inner) as upstream:
            if way == "mount":
                outer.mount("in", inner)
            else:
                outer.proxy(upstream, prefix="in")
            async with Client(outer) as client:
                await asyncio.gather(*[one(client, name) for name in USERS * 2])

    run(check())


@pytest.mark.parametrize("tool", ["on_the_loop", "in_a_thread"])
@pytest.mark.parametrize("way", ["sse", "2025-11-25", "2026-07-28", "memory"])
def test_calls_that_start_after_their_response_keep_the_context_of_their_request(way: str, tool: str) -> None:
    """Over HTTP+SSE the response to a POST is over at once, and that of a task is the task. The
    calls wait for one another.
    """
    server = Server("test", version="1", max_running=1, max_threads=1)

    @server.tool(task="optional")
    async def on_the_loop() -> str:
        await asyncio.sleep(0.01)
        return user.get()

    @server.tool(task="optional")
    def in_a_thread() -> str:
        time.sleep(0.01)
        return user.get()

    assert on_the_loop and in_a_thread

    async def call(client: Client, name: str) -> None:
        user.set(name)
        if way == "sse":
            told = (await client.call_tool(tool)).text
        else:
            told = (await (await client.start_task(tool)).result()).text
        assert told == name

    async def calls(target: Any, revision: str, name: str, headers: Any) -> None:
        options: Any = {"headers": headers} if headers else {}
        async with Client(target, revision=revision, **options) as client:
            await asyncio.gather(*[call(client, name) for _ in range(5)])

    async def check() -> None:
        if way == "memory":
            await asyncio.gather(*[calls(server, "2025-11-25", name, None) for name in USERS])
            return
        app = FastAPI()
        app.add_middleware(SetsUser)
        app.mount("/mounted", server.asgi(sse="/sse"))
        async with serving(app) as url:
            if way == "sse":
                sse: Any = [{"type": "sse", "url": f"{url}/mounted/sse", "headers": {"X-User": name}} for name in USERS]
                each = [calls(target, "2024-11-05", name, None) for target, name in zip(sse, USERS, strict=True)]
            else:
                each = [calls(f"{url}/mounted/mcp", way, name, {"X-User": name}) for name in USERS]
            await asyncio.gather(*each)

    run(check())


def test_two_concurrent_users_over_http_sse() -> None:
    async def one(url: str, name: str) -> None:
        target: Any = {"type": "sse", "url": f"{url}/mounted/sse", "headers": {"X-User": name}}
        async with Client(target, revision="2024-11-05") as client:
            for _ in range(3):
                await ask(client, name)

    async def check() -> None:
        app = FastAPI()
        app.add_middleware(SetsUser)
        app.mount("/mounted", who_asks().asgi(sse="/sse"))
        async with serving(app) as url:
            await asyncio.gather(*[one(url, name) for name in USERS * 2])

    run(check())


@pytest.mark.parametrize("is_async", [True, False])
def test_verifiers_run_in_the_context_of_the_request_that_presents_the_token(is_async: bool) -> None:
    def judge(_token: object) -> Identity:
        return Identity(user.get())

    async def judge_later(token: object) -> Identity:
        await asyncio.sleep(0.01)
        return judge(token)

    server = Server("test", version="1")

    @server.tool
    async def who(ctx: Context) -> str:
        assert ctx.auth is not None
        return f"{user.get()} {ctx.auth.subject}"

    assert who

    async def one(url: str, name: str) -> None:
        headers = {"X-User": name, "Authorization": "Bearer x"}
        async with Client(f"{url}/mcp", headers=headers) as client:
            for _ in range(3):
                assert (await client.call_tool("who")).text == f"{name} {name}"

    async def check() -> None:
        verifier = judge_later if is_async else judge
        auth = Auth("https://notes.example/mcp", authorization_servers=["https://login.example"], verifier=verifier)
        app = FastAPI()
        app.add_middleware(SetsUser)
        app.mount("/mcp", server.asgi(auth=auth))
        async with serving(app) as url:
            await asyncio.gather(*[one(url, name) for name in USERS * 2])

    run(check())


def scopes() -> set[int]:
    return {id(found) for found in gc.get_objects() if isinstance(found, CallScope)}


def test_contexts_are_released_when_their_request_ends() -> None:
    server = tells()

    async def check() -> None:
        before = scopes()
        app = FastAPI()
        app.mount("/mcp", server.asgi())
        async with serving(app) as url, Client(f"{url}/mcp") as mounted, Client(server) as in_memory:
            for client in (mounted, in_memory):
                for _ in range(20):
                    assert (await client.call_tool("on_the_loop")).text
            end = time.monotonic() + 30
            while left := scopes() - before:
                assert time.monotonic() < end, f"{len(left)} are kept"
                await asyncio.sleep(0.05)

    run(check())
