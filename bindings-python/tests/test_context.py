"""The context of a call: its request, context variables, values and exceptions, and the server's
lifespan.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import pydantic
import pytest
from fastapi import FastAPI

from support import REVISIONS, TIMEOUT, environment, run, script, until
from test_asgi import serving
from trunkline import (
    Auth,
    AuthorizationRequiredError,
    Client,
    ClosedError,
    Context,
    Depends,
    ElicitResult,
    Identity,
    InvalidArgumentError,
    InvalidToken,
    ProtocolError,
    Server,
    SyncClient,
    SyncContext,
    TextContent,
    Tool,
    ToolError,
)
from trunkline._internal.port import bell
from trunkline._internal.port.log import write_logs

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")

USERS = ["ada", "bob"]


class SetsUser:
    """Typical ASGI middleware, which sets a context variable for each request."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            user.set(dict(scope["headers"]).get(b"x-user", b"?").decode())
        await self.app(scope, receive, send)


def who_asks() -> Server:
    """A server whose tools return the context variable; each waits, so that calls overlap."""
    server = Server("test", version="1")

    @server.tool
    async def on_the_loop() -> str:
        before = user.get()
        await asyncio.sleep(0.01)
        return f"{before} {user.get()}"

    @server.tool
    def in_a_thread() -> str:
        return f"{user.get()} {contextvars.copy_context()[user]}"

    @server.resource("who://am/i")
    async def resource() -> str:
        return user.get()

    return server


async def ask(client: Client, name: str) -> None:
    for tool in ("on_the_loop", "in_a_thread"):
        assert (await client.call_tool(tool)).text == f"{name} {name}"
    assert (await client.read_resource("who://am/i")).contents[0].text == name


@pytest.mark.parametrize("revision", REVISIONS)
def test_two_concurrent_users_of_a_mounted_server(revision: str) -> None:
    async def one(url: str, name: str) -> None:
        async with Client(url, headers={"X-User": name}, revision=revision) as client:
            for _ in range(5):
                await ask(client, name)

    async def check() -> None:
        app = FastAPI()
        app.add_middleware(SetsUser)
        app.mount("/mcp", who_asks().asgi())
        async with serving(app) as url:
            await asyncio.gather(*[one(f"{url}/mcp", name) for name in USERS * 2])

    run(check())


def test_two_concurrent_users_in_memory() -> None:
    server = who_asks()

    async def one(client: Client, name: str) -> None:
        user.set(name)
        for _ in range(5):
            await ask(client, name)

    async def check() -> None:
        user.set("whoever connected")
        async with Client(server) as client:
            await asyncio.gather(*[one(client, name) for name in USERS * 2])
            user.set("blocking")
            blocking = SyncClient(server)
            await asyncio.to_thread(blocking.connect)
            told = await asyncio.to_thread(blocking.call_tool, "in_a_thread")
            assert told.text == "blocking blocking"
            await asyncio.to_thread(blocking.close)

    run(check())


@pytest.mark.parametrize(
    "make_bell", [bell.ThreadBell] if sys.platform == "win32" else [bell.SocketBell, bell.ThreadBell]
)
def test_calls_from_outside_run_in_the_context_of_serving(
    make_bell: Callable[[], bell.Bell], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trunkline._internal.port.lifecycle.make_bell", make_bell)
    server = who_asks()

    async def check() -> None:
        user.set("serving")
        async with server.serve_http(port=0) as listener:
            user.set("later")
            async with Client(listener.url) as client:
                assert (await client.call_tool("on_the_loop")).text == "serving serving"
                assert (await client.call_tool("in_a_thread")).text == "serving serving"

    run(check())


def test_a_call_that_the_one_before_polls_for_runs_in_the_context_of_serving() -> None:
    server, called = Server("test", version="1"), threading.Event()

    @server.tool
    async def before() -> None:
        user.set("the call before")
        called.set()
        port = server._bind()
        port.native.drain("queue", 0, round(TIMEOUT * 1000))  # until the next call has arrived
        # As after each call over stdio, if the poll finds a message.
        asyncio.get_running_loop().call_soon(port.drain)

    @server.tool
    async def after() -> str:
        return user.get()

    def call(url: str) -> str:
        with SyncClient(url) as one, SyncClient(url) as other, ThreadPoolExecutor(1) as pool:
            first = pool.submit(one.call_tool, "before")
            assert called.wait(TIMEOUT)
            text = other.call_tool("after").text
            assert not first.result(TIMEOUT).is_error
            return text

    async def check() -> None:
        user.set("serving")
        async with server.serve_http(port=0) as listener:
            assert await asyncio.to_thread(call, listener.url) == "serving"

    run(check())


def test_two_concurrent_blocking_users_in_memory() -> None:
    server, met = Server("test", version="1"), threading.Barrier(4)

    @server.tool
    def in_a_thread() -> str:
        before = user.get()
        met.wait(TIMEOUT)
        return f"{before} {user.get()}"

    @server.tool
    async def on_the_loop() -> str:
        return f"{user.get()} {user.get()}"

    wrong: list[str] = []

    def one(name: str) -> None:
        user.set(name)
        with SyncClient(server) as client:
            for _ in range(10):
                for tool in ("in_a_thread", "on_the_loop"):
                    told = client.call_tool(tool).text
                    if told != f"{name} {name}":
                        wrong.append(f"{name}: {told}")

    threads = [threading.Thread(target=one, args=[name]) for name in ("ada", "bob", "eve", "mal")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert wrong == [] and not any(thread.is_alive() for thread in threads)


def every_kind(*, sync: bool) -> Server:
    """A server with a function of each kind except tools and resources, each of which records its
    user.
    """
    server = Server("test", version="1")

    class Provided:
        async def list(self, _cursor: str | None, _ctx: Context) -> Any:
            await asyncio.sleep(0.01)
            return [Tool(name="provided", description=user.get(), input_schema={"type": "object"})]

        async def get(self, params: dict[str, Any], _ctx: Context) -> Any:
            await asyncio.sleep(0.01)
            return user.get() if params["name"] == "provided" else None

    class ProvidedInThread:
        def list(self, _cursor: str | None, _ctx: SyncContext) -> Any:
            return [Tool(name="provided", description=user.get(), input_schema={"type": "object"})]

        def get(self, params: dict[str, Any], _ctx: SyncContext) -> Any:
            return user.get() if params["name"] == "provided" else None

    async def suggest(_text: str) -> list[str]:
        await asyncio.sleep(0.01)
        return [user.get()]

    def suggest_in_thread(_text: str) -> list[str]:
        return [user.get()]

    async def visible(ctx: Context) -> bool:
        await asyncio.sleep(0.01)
        return ctx.headers["x-user"] == user.get()

    def visible_in_thread(ctx: SyncContext) -> bool:
        return ctx.headers["x-user"] == user.get()

    server.add_provider("tools", ProvidedInThread() if sync else Provided())

    @server.prompt(complete={"who": suggest_in_thread if sync else suggest})
    async def prompt(who: str) -> str:
        return user.get()

    @server.resource("who://{name}")
    def template(name: str) -> str:
        return user.get()

    @server.tool(visible=visible_in_thread if sync else visible)
    async def asks(ctx: Context) -> str:
        before = user.get()
        await ctx.elicit("Who?", {"type": "object", "properties": {"name": {"type": "string"}}})
        return f"{before} {user.get()}"

    return server


@pytest.mark.parametrize("sync", [False, True], ids=["async", "def"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_two_concurrent_users_of_every_kind_of_function(revision: str, sync: bool) -> None:
    async def one(url: str, name: str) -> None:
        client = Client(f"{url}/mcp", headers={"X-User": name}, revision=revision)

        @client.on_elicit
        def answer(_request: object) -> ElicitResult[Any]:
            return ElicitResult("accept", {"name": name})

        async with client:
            assert callable(answer)
            for _ in range(3):
                tools = {tool.name: tool.description for tool in await client.list_tools(fresh=True)}
                assert tools["provided"] == name and "asks" in tools
                assert (await client.call_tool("provided")).text == name
                assert (await client.get_prompt("prompt", {"who": "x"})).messages[0].content == TextContent(name)
                assert (await client.read_resource("who://x")).contents[0].text == name
                of: Any = {"type": "ref/prompt", "name": "prompt"}
                assert (await client.complete(of, {"name": "who", "value": ""})).completion.values == [name]
                if revision >= "2025-06-18":
                    assert (await client.call_tool("asks")).text == f"{name} {name}"

    async def check() -> None:
        app = FastAPI()
        app.add_middleware(SetsUser)
        app.mount("/mcp", every_kind(sync=sync).asgi())
        async with serving(app) as url:
            await asyncio.gather(*[one(url, name) for name in USERS * 2])

    run(check())


IN_COPIES = """
import contextvars
from trunkline import Server

user = contextvars.ContextVar("user", default="nobody")
server = Server("test", version="1")

@server.tool
async def on_the_loop() -> str:
    before = user.get()
    user.set("the call before")
    return before

@server.tool
def in_a_thread() -> str:
    before = user.get()
    user.set("the call before")
    return before

user.set("serving")
server.run()
"""


def test_calls_over_stdio_run_in_copies_of_the_context_of_serving(tmp_path: Path) -> None:
    with SyncClient(script(tmp_path, IN_COPIES), env=environment()) as client:
        for tool in ("on_the_loop", "in_a_thread") * 2:
            assert client.call_tool(tool).text == "serving"


def test_code_around_a_handler_runs_in_its_context_too() -> None:
    """Log records, error hooks, and the validators of arguments and results."""
    server = Server("test", version="1")
    seen: set[tuple[str, str, str]] = set()

    def note(what: str, name: str = "") -> None:
        seen.add((what, name, user.get()))

    class Input(pydantic.BaseModel):
        tool: str

        @pydantic.field_validator("tool")
        @classmethod
        def _tool(cls, value: str) -> str:
            note("argument", value)
            return value

    class Output(pydantic.BaseModel):
        tool: str

        @pydantic.field_serializer("tool")
        def _tool(self, value: str) -> str:
            note("result", value)
            return value

    async def on_the_loop(value: Input) -> Output:
        await asyncio.sleep(0)
        return Output(tool=value.tool)

    def in_a_thread(value: Input) -> Output:
        return Output(tool=value.tool)

    async def fails_on_the_loop() -> str:
        raise RuntimeError("on the loop")

    def fails_in_a_thread() -> str:
        raise RuntimeError("in a thread")

    for function in (on_the_loop, in_a_thread, fails_on_the_loop, fails_in_a_thread):
        server.add_tool(function)

    @server.on_error
    def hook(_error: BaseException, ctx: Context | SyncContext) -> None:
        note("hook", ctx.name)

    class Recorded(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            note("record", record.__dict__["tool"])
            return False

    async def one(client: Client, name: str) -> None:
        user.set(name)
        for tool in ("on_the_loop", "in_a_thread"):
            assert not (await client.call_tool(tool, {"value": {"tool": tool}})).is_error
            assert (await client.call_tool(f"fails_{tool}")).is_error

    async def check() -> None:
        async with Client(server) as client:
            await asyncio.gather(*[one(client, name) for name in USERS * 2])

    logger, recorded = logging.getLogger("trunkline.server"), Recorded()
    logger.addFilter(recorded)
    try:
        run(check())
    finally:
        logger.removeFilter(recorded)
    assert hook
    tools = ("on_the_loop", "in_a_thread")
    assert seen == {
        (what, f"fails_{tool}" if what in ("hook", "record") else tool, name)
        for what in ("argument", "result", "hook", "record")
        for tool in tools
        for name in USERS
    }


def test_next_passes_context_variables_and_values_to_dependencies_and_handlers() -> None:
    server = Server("test", version="1")

    @server.middleware("tools/call")
    async def outer(request: Any, next: Any, ctx: Context) -> Any:
        name = request.params["arguments"].pop("name")
        user.set(name)
        ctx.vars["outer"] = name
        result = await next(request.params)
        assert user.get() == name
        # Values that the handler set are seen here, for it is one request.
        result["content"].append({"type": "text", "text": f"{ctx.vars['handler']} {ctx.vars['inner']}"})
        return result

    @server.middleware
    async def inner(_request: Any, next: Any, ctx: Context) -> Any:
        ctx.vars["inner"] = ctx.vars.get("outer")
        return await next()

    async def tenant(ctx: Context) -> str:
        return f"{user.get()} {ctx.vars['outer']}"

    def tenant_in_thread(ctx: SyncContext) -> str:
        return f"{user.get()} {ctx.vars['outer']}"

    @server.tool
    async def on_the_loop(who: Annotated[str, Depends(tenant)], ctx: Context) -> str:
        await asyncio.sleep(0.01)
        ctx.vars["handler"] = user.get()
        return f"{who} {user.get()}"

    @server.tool
    def in_a_thread(who: Annotated[str, Depends(tenant_in_thread)], ctx: SyncContext) -> str:
        ctx.vars["handler"] = user.get()
        return f"{who} {user.get()}"

    async def one(client: Client, tool: str, name: str) -> None:
        result = await client.call_tool(tool, {"name": name})
        assert [block.to_json()["text"] for block in result.content] == [f"{name} {name} {name}", f"{name} {name}"]

    async def check() -> None:
        for target in (server, None):
            async with server.serve_http(port=0) as listener, Client(target or listener.url) as client:
                tools = ("on_the_loop", "in_a_thread")
                await asyncio.gather(*[one(client, tool, name) for tool in tools for name in USERS * 3])

    run(check())


def test_meta_passed_to_next_reaches_the_handler() -> None:
    server = Server("test", version="1")

    @server.middleware("tools/call")
    async def mark(request: Any, next: Any, ctx: Context) -> Any:
        assert ctx.meta["com.example/from"] == "client"
        given = request.params
        return await next({**given, "_meta": {**given["_meta"], "com.example/from": "middleware"}})

    @server.middleware("tools/call")
    async def keep(_request: Any, next: Any, ctx: Context) -> Any:
        assert ctx.meta["com.example/from"] == "middleware"
        return await next()

    @server.tool
    async def origin(ctx: Context) -> str:
        return ctx.meta["com.example/from"]

    async def check() -> None:
        for revision in REVISIONS:
            async with Client(server, revision=revision) as client:
                result = await client.call_tool("origin", meta={"com.example/from": "client"})
                assert result.text == "middleware", revision

    run(check())


def facts_server() -> Server:
    server = Server("test", version="1")

    @server.tool
    def facts(ctx: SyncContext) -> dict[str, Any]:
        return {
            "user": ctx.headers.get("x-user"),
            "token": ctx.headers.get("authorization"),
            "cookies": ctx.headers.get("cookie"),
            "url": ctx.url,
            "remote": ctx.remote_address,
            "session": ctx.session_id,
            "request": ctx.request_id,
        }

    return server


@pytest.mark.parametrize("revision", REVISIONS)
def test_facts_of_an_http_request(revision: str) -> None:
    server = facts_server()
    headers = {"X-User": "ada", "Authorization": "Basic abc", "Cookie": "a=1"}

    async def facts(url: str) -> dict[str, Any]:
        async with Client(url, headers=headers, revision=revision) as client:
            found: dict[str, Any] = json.loads((await client.call_tool("facts")).text)
        assert (found["user"], found["token"], found["cookies"]) == ("ada", "Basic abc", "a=1")
        assert found["remote"] == "127.0.0.1"
        assert found["request"]
        assert bool(found["session"]) == (revision < "2026")
        return found

    async def check() -> None:
        async with server.serve_http(port=0) as listener:
            assert (await facts(listener.url))["url"] == "/mcp"
        app = FastAPI()
        app.mount("/mounted", server.asgi())
        async with serving(app) as url:
            assert (await facts(f"{url}/mounted/?tenant=acme"))["url"] == "/?tenant=acme"

    run(check())


def test_in_memory_there_is_no_http_request() -> None:
    with SyncClient(facts_server()) as client:
        found = json.loads(client.call_tool("facts").text)
        assert {name: value for name, value in found.items() if value is not None} == {"request": found["request"]}


class Broken(Exception):
    """An error of a program."""


def failing() -> Server:
    server = Server("test", version="1")

    @server.tool
    async def on_the_loop() -> str:
        raise Broken("on the loop")

    @server.tool
    def in_a_thread() -> str:
        raise Broken("in a thread")

    @server.tool
    async def told() -> str:
        raise ToolError("told")

    @server.prompt
    async def refused() -> str:
        raise ProtocolError("refused", -32001)

    return server


@pytest.mark.parametrize(("tool", "text"), [("on_the_loop", "on the loop"), ("in_a_thread", "in a thread")])
def test_exceptions_are_logged_unchanged_and_reach_hooks(
    tool: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = failing()
    seen: list[tuple[BaseException, str]] = []

    @server.on_error
    def keep(error: BaseException, ctx: Context | SyncContext) -> None:
        seen.append((error, ctx.name))

    @server.on_error
    def breaks(_error: BaseException, _ctx: object) -> None:
        raise ValueError("a hook that fails costs nothing")

    assert keep and breaks

    async def check() -> None:
        async with Client(server) as client:
            assert "internal error" in (await client.call_tool(tool)).text
            assert (await client.call_tool("told")).text == "told"

    run(check())
    [(error, name)] = seen
    assert isinstance(error, Broken)
    assert (str(error), name) == (text, tool)
    assert error.__traceback__ is not None
    first, second = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (first.name, first.getMessage()) == ("trunkline.server", f"tools/call {tool} failed")
    assert first.exc_info is not None
    assert first.exc_info[1] is error
    assert first.__dict__["tool"] == tool
    assert second.exc_info is not None
    assert isinstance(second.exc_info[1], ValueError)


def test_next_raises_the_error_of_the_handler_and_the_response_is_the_same_as_without_middleware() -> None:
    server = failing()
    seen: list[BaseException] = []

    @server.middleware
    async def outer(_request: Any, next: Any, _ctx: Context) -> Any:
        try:
            return await next()
        except Exception as error:
            seen.append(error)
            raise

    @server.middleware("tools/call")
    async def mapping(request: Any, next: Any, _ctx: Context) -> Any:
        try:
            return await next()
        except Broken as error:
            if request.params.get("arguments"):
                raise ToolError(f"mapped: {error}") from error
            raise

    async def check() -> None:
        async with Client(server) as client:
            for tool in ("on_the_loop", "in_a_thread"):
                result = await client.call_tool(tool)
                assert (result.is_error, result.text) == (True, "The tool failed because of an internal error.")
            result = await client.call_tool("told")
            assert (result.is_error, result.text) == (True, "told")
            with pytest.raises(ProtocolError, match="refused") as refused:
                await client.get_prompt("refused")
            assert refused.value.code == -32001

    run(check())
    assert [type(error) for error in seen] == [Broken, Broken, ToolError, ProtocolError]


def test_middleware_turns_an_exception_into_a_result() -> None:
    server = failing()

    @server.middleware("tools/call")
    async def mapping(_request: Any, next: Any, _ctx: Context) -> Any:
        try:
            return await next()
        except Broken as error:
            raise ToolError(f"mapped: {error}") from error

    with SyncClient(server) as client:
        result = client.call_tool("on_the_loop")
        assert (result.is_error, result.text) == (True, "mapped: on the loop")


def test_in_memory_clients_raise_the_exceptions_of_handlers() -> None:
    server = failing()

    @server.resource("broken://it")
    def broken() -> str:
        raise Broken("a resource")

    async def check() -> None:
        async with Client(server, raise_exceptions=True) as client:
            with pytest.raises(Broken, match="on the loop"):
                await client.call_tool("on_the_loop")
            with pytest.raises(Broken, match="a resource"):
                await client.read_resource("broken://it")
            assert (await client.call_tool("told")).is_error
            with pytest.raises(ProtocolError):
                await client.get_prompt("refused")

    run(check())
    with SyncClient(server, raise_exceptions=True) as client, pytest.raises(Broken, match="in a thread"):
        client.call_tool("in_a_thread")
    with pytest.raises(InvalidArgumentError, match="raise_exceptions"):
        Client("http://127.0.0.1:1/mcp", raise_exceptions=True)
    with pytest.raises(InvalidArgumentError, match=r"on_error takes a function of \(error, ctx\), not 3"):
        server.on_error(cast("Any", 3))


@pytest.mark.parametrize("tool", ["on_the_loop", "in_a_thread"])
def test_async_functions_get_exceptions_too(tool: str, caplog: pytest.LogCaptureFixture) -> None:
    server = failing()
    seen: list[tuple[str, str]] = []
    sent = asyncio.Event()

    @server.on_error
    async def send(error: BaseException, ctx: Context | SyncContext) -> None:
        await sent.wait()
        seen.append((str(error), ctx.name))

    @server.on_error
    async def breaks(_error: BaseException, _ctx: object) -> None:
        raise ValueError("a hook that fails costs nothing")

    async def check() -> None:
        async with Client(server) as client:
            assert (await client.call_tool(tool)).is_error, "the caller does not wait for it"
            assert seen == []
            asyncio.get_running_loop().call_later(0.05, sent.set)
        assert seen == [(tool.replace("_", " ").replace("a thread", "a thread"), tool)]

    run(check())
    assert "an on_error callback failed" in caplog.text


def test_exits_and_exception_groups_affect_one_call_only() -> None:
    server = Server("test", version="1")

    @server.tool
    async def exits() -> str:
        sys.exit("wrong arguments")

    @server.tool
    async def interrupts() -> str:
        raise KeyboardInterrupt

    class Own(BaseException):
        """Of a library."""

        def __str__(self) -> str:
            raise Own

    @server.tool
    async def raises_its_own() -> str:
        raise Own

    @server.on_error
    def hook(_error: BaseException, _ctx: object) -> None:
        raise SystemExit

    @server.tool
    async def groups() -> str:
        group = getattr(__import__("builtins"), "ExceptionGroup", None)
        raise ToolError("the only one") if group is None else group("a task group", [ToolError("the only one")])

    @server.tool
    async def name() -> str:
        task = asyncio.current_task()
        return "" if task is None else task.get_name()

    async def check() -> None:
        async with Client(server) as client:
            for name in ("exits", "interrupts", "raises_its_own"):
                assert "internal error" in (await client.call_tool(name)).text
            result = await client.call_tool("groups")
            assert (result.is_error, result.text) == (True, "the only one")
            assert (await client.call_tool("name")).text == "trunkline tool name"

    run(check())


def test_a_callback_that_raises_is_logged_and_affects_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("test", version="1")

    @server.tool
    async def steps(ctx: Context) -> str:
        await ctx.progress(1)
        await asyncio.sleep(0.05)
        return "done"

    def broken(*_: object) -> None:
        raise Broken("a callback")

    async def broken_later(*_: object) -> None:
        raise Broken("a callback")

    async def check() -> None:
        async with Client(server) as client:
            for callback in (broken, broken_later):
                assert (await client.call_tool("steps", on_progress=callback)).text == "done"

    run(check())
    with SyncClient(server) as client:
        assert client.call_tool("steps", on_progress=broken).text == "done"
    records = [record for record in caplog.records if record.name == "trunkline.client"]
    assert len(records) == 3
    assert all(record.exc_info is not None and isinstance(record.exc_info[1], Broken) for record in records)


def test_http_servers_log_their_url_requests_and_the_first_refusal_of_each_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server = facts_server()

    async def check() -> str:
        async with server.serve_http(port=0) as listener:
            async with Client(listener.url) as client:
                await client.call_tool("facts")
            for _ in range(2):
                with pytest.raises(Exception, match="403"):
                    await Client(listener.url, headers={"Host": "evil.example"}).connect()
            await until(lambda: any("status=200" in record.getMessage() for record in caplog.records), "the access log")
            return listener.url

    url = run(check())
    told = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert ("trunkline.server.http", "INFO", f"serving (url={url})") in told
    accesses = [text for name, level, text in told if (name, level) == ("trunkline.access", "DEBUG")]
    assert any("access (peer=127.0.0.1, method=POST, path=/mcp, status=200, milliseconds=" in text for text in accesses)
    [warning] = [text for _, level, text in told if level == "WARNING"]
    assert "evil.example" in warning
    [access, *_] = [vars(record) for record in caplog.records if record.name == "trunkline.access"]
    assert (access["method"], access["path"], access["status"]) == ("POST", "/mcp", 200)


def test_fields_that_logging_reserves_have_another_name(caplog: pytest.LogCaptureFixture) -> None:
    fields = {"name": "a", "message": "b", "args": 1, "tool": "add"}
    write_logs([{"level": "warn", "target": "trunkline::server", "message": "failed (tool=add)", "fields": fields}])
    [record] = caplog.records
    assert (record.name, record.getMessage()) == ("trunkline.server", "failed (tool=add)")
    found = vars(record)
    assert [found[name] for name in ("name_", "message_", "args_", "tool")] == ["a", "b", 1, "add"]


def test_a_refused_token_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def judge(_token: object) -> Identity:
        raise InvalidToken("it is not ours")

    auth = Auth("https://notes.example/mcp", authorization_servers=["https://login.example"], verifier=judge)

    async def check() -> None:
        async with who_asks().serve_http(port=0, auth=auth) as listener:
            for _ in range(2):
                with pytest.raises(AuthorizationRequiredError):
                    await Client(listener.url, headers={"Authorization": "Bearer x"}).connect()
            await until(lambda: len([*warnings()]) > 0, "the warning")

    def warnings() -> Generator[str]:
        yield from (record.getMessage() for record in caplog.records if record.name == "trunkline.access")

    with caplog.at_level(logging.WARNING):
        run(check())
    [warning] = warnings()
    assert "access token" in warning and "it is not ours" in warning


class World:
    """A lifespan that keeps a record."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.server = Server("test", version="1", lifespan=self.lifespan)

        @self.server.tool
        async def use(ctx: Context) -> str:
            self.log.append("call")
            return ctx.lifespan

        @self.server.tool
        def use_in_thread(ctx: SyncContext) -> str:
            self.log.append("call")
            return ctx.lifespan

    @asynccontextmanager
    async def lifespan(self, server: Server) -> AsyncGenerator[str]:
        assert server is self.server
        task = asyncio.current_task()
        await asyncio.sleep(0.01)
        self.log.append("open")
        yield "the pool"
        assert asyncio.current_task() is task
        self.log.append("close")


def test_a_lifespan_is_open_from_the_first_call_to_the_last() -> None:
    async def in_memory(world: World) -> None:
        async with Client(world.server) as first, Client(world.server) as second:
            for client in (first, second):
                assert (await client.call_tool("use")).text == "the pool"

    async def over_http(world: World) -> None:
        async with world.server.serve_http(port=0) as listener, Client(listener.url) as client:
            for tool in ("use", "use_in_thread"):
                assert (await client.call_tool(tool)).text == "the pool"

    async def at_the_root(world: World) -> None:
        async with serving(world.server.asgi()) as url:
            assert world.log == ["open"]
            async with Client(url) as client:
                for _ in range(2):
                    assert (await client.call_tool("use")).text == "the pool"

    async def mounted(world: World) -> None:
        app, mounted = FastAPI(), world.server.asgi()
        app.mount("/mcp", mounted)
        async with serving(app) as url, Client(f"{url}/mcp/") as client:
            for _ in range(2):
                assert (await client.call_tool("use")).text == "the pool"
        await mounted.close()

    for way in (in_memory, over_http, at_the_root, mounted):
        world = World()
        for _ in range(2):  # it is opened again when the server is used again
            run(way(world))
            assert world.log == ["open", "call", "call", "close"], way
            world.log.clear()
    world = World()
    with SyncClient(world.server) as client:
        assert client.call_tool("use").text == "the pool"
    assert world.log == ["open", "call", "close"]


def test_the_lifespan_of_a_mounted_server_opens_with_its_first_call_and_closes_with_the_outer_one() -> None:
    world = World()
    outer = Server("outer", version="1")
    mount = outer.mount("in", world.server)
    with SyncClient(outer) as client:
        assert world.log == []
        assert client.call_tool("in__use").text == "the pool"
    assert world.log == ["open", "call", "close"]
    mount.remove()
    world.log.clear()

    async def while_it_is_used(tool: str) -> None:
        async with Client(outer) as client:
            assert world.log == []
            mount = outer.mount("in", world.server)
            assert (await client.call_tool(tool)).text == "the pool"
            mount.remove()
        assert world.log == ["open", "call", "close"]
        async with Client(outer) as client:
            assert await client.list_tools() == []

    for tool in ("in__use", "in__use_in_thread"):
        run(while_it_is_used(tool))
        assert world.log == ["open", "call", "close"]
        world.log.clear()


def test_a_lifespan_opens_although_one_who_waits_for_it_is_cancelled() -> None:
    world = World()

    async def cancel_the_first() -> None:
        async def connect() -> str:
            async with Client(world.server) as client:
                return (await client.call_tool("use")).text

        first, second = asyncio.create_task(connect()), asyncio.create_task(connect())
        await asyncio.sleep(0)
        first.cancel()
        assert await second == "the pool"
        with pytest.raises(asyncio.CancelledError):
            await first

    run(cancel_the_first())
    assert world.log == ["open", "call", "close"]


def test_a_lifespan_that_cannot_be_entered_keeps_the_server_from_serving(caplog: pytest.LogCaptureFixture) -> None:
    fails = True

    @asynccontextmanager
    async def lifespan(_server: Server) -> AsyncGenerator[None]:
        if fails:
            raise Broken("no database") from KeyError("url")
        yield

    server, outer = Server("test", version="1", lifespan=lifespan), Server("outer", version="1")
    outer.mount("in", server)

    @server.tool
    async def use() -> str:
        return "used"

    async def refused() -> None:
        with pytest.raises(Broken, match="no database") as raised:
            async with Client(server):
                pass
        assert isinstance(raised.value.__cause__, KeyError)
        with pytest.raises(Broken, match="no database"):
            await server.serve_http(port=0)
        async with Client(outer) as client:
            with pytest.raises(ProtocolError, match="Internal error"):
                await client.call_tool("in__use")
        assert "no database" in caplog.text

    async def served() -> None:
        async with server.serve_http(port=0) as listener, Client(listener.url) as client:
            assert (await client.call_tool("use")).text == "used"
        async with Client(outer) as client:
            assert (await client.call_tool("in__use")).text == "used"

    run(refused())
    with pytest.raises(Broken, match="no database"):
        SyncClient(server).connect()
    fails = False
    run(served())


def test_an_exception_of_its_exit_reaches_the_one_who_closes() -> None:
    @asynccontextmanager
    async def lifespan(_server: Server) -> AsyncGenerator[None]:
        yield
        raise Broken("stuck")

    server = Server("test", version="1", lifespan=lifespan)

    async def check() -> None:
        for opened in (Client(server), server.serve_http(port=0)):
            with pytest.raises(Broken, match="stuck"):
                async with opened:
                    pass

    run(check())
    with pytest.raises(Broken, match="stuck"), SyncClient(server):
        pass


def test_mounted_servers_close_although_the_lifespan_of_the_outer_one_fails() -> None:
    @asynccontextmanager
    async def lifespan(_server: Server) -> AsyncGenerator[None]:
        yield
        raise Broken("stuck")

    world, outer = World(), Server("outer", version="1", lifespan=lifespan)
    outer.mount("in", world.server)

    async def check() -> None:
        with pytest.raises(Broken, match="stuck"):
            async with Client(outer) as client:
                assert (await client.call_tool("in__use")).text == "the pool"

    run(check())
    assert world.log == ["open", "call", "close"] and world.server._port is None
    world.log.clear()
    with pytest.raises(Broken, match="stuck"), SyncClient(outer) as blocking:
        assert blocking.call_tool("in__use").text == "the pool"
    assert world.log == ["open", "call", "close"] and world.server._port is None


def test_a_failure_of_a_lifespan_while_its_server_is_used_is_logged_and_reaches_the_one_who_closes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def lifespan(_server: Server) -> AsyncGenerator[None]:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_later(0.01, task.cancel)  # as a task group does, one of whose tasks failed
        try:
            yield
        except asyncio.CancelledError:
            raise Broken("stuck") from None

    server = Server("test", version="1", lifespan=lifespan)

    async def check() -> None:
        async with Client(server) as client:
            await until(lambda: caplog.records, "the log record")
            assert await client.list_tools() == []

    with pytest.raises(Broken, match="stuck"):
        run(check())
    [record] = caplog.records
    assert record.getMessage() == "the lifespan has ended before its server" and record.exc_info


def test_closing_a_listener_ends_an_opening_that_takes_long() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(_server: Server) -> AsyncGenerator[None]:
        log.append("opening")
        try:
            await asyncio.sleep(TIMEOUT)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        yield

    async def check() -> None:
        listener = Server("test", version="1", lifespan=lifespan).serve_http(port=0)
        starting = asyncio.create_task(listener.start())
        while not log:
            await asyncio.sleep(0)
        await listener.close()
        with pytest.raises(ClosedError):
            await starting
        assert log == ["opening", "cancelled"]

    run(check())


def test_the_process_ends_while_a_lifespan_is_open(tmp_path: Path) -> None:
    source = SERVES.replace("{serve}", "await server.serve_http(port=0).start()").replace("{before}", "")
    command = script(tmp_path, source)
    ended = subprocess.run(command, text=True, env=environment(), capture_output=True, timeout=TIMEOUT, check=True)
    assert (ended.stdout.splitlines(), ended.stderr) == (["open", "after"], "")


SERVES = """
import asyncio, contextlib, os, signal
from trunkline import Server

@contextlib.asynccontextmanager
async def lifespan(server):
    {before}
    print("open", flush=True)
    yield 1
    print("close", flush=True)

server = Server("test", version="1", lifespan=lifespan)

async def main():
    try:
        {serve}
    finally:
        print("after", flush=True)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("serve", ["await server.serve_stdio().run()", "await server.serve_http(port=0).run()"])
def test_sigterm_closes_the_lifespan(tmp_path: Path, serve: str) -> None:
    is_stdio = "serve_stdio" in serve
    # Prints of its child processes go to standard error, too.
    before = 'import os; os.system("echo a child")' if is_stdio else ""
    command = script(tmp_path, SERVES.replace("{serve}", serve).replace("{before}", before))
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment(), **pipes) as child:
        try:
            assert child.stdout is not None and child.stderr is not None
            # Over stdio the output of the program goes to standard error.
            stream = child.stderr if is_stdio else child.stdout
            assert not is_stdio or stream.readline() == "a child\n"
            assert stream.readline() == "open\n"
            if is_stdio:
                assert child.stdin is not None
                child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                child.stdin.flush()
                assert '"id":1' in child.stdout.readline()
            child.send_signal(signal.SIGTERM)
            assert child.wait(TIMEOUT) == 0
            lines = (child.stdout.read() + child.stderr.read()).splitlines()
            assert [line for line in lines if "serving http://" not in line] == ["close", "after"]
        finally:
            child.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_sigterm_ends_a_listener_that_runs_after_its_start(tmp_path: Path) -> None:
    serve = """async with server.serve_http(port=0) as listener:
            # Arrives once `run` waits.
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
            await listener.run()
            print("closed", flush=True)
"""
    command = script(tmp_path, SERVES.replace("{serve}", serve).replace("{before}", ""))
    ended = subprocess.run(command, text=True, env=environment(), capture_output=True, timeout=TIMEOUT, check=True)
    assert (ended.stdout.splitlines(), ended.stderr) == (["open", "close", "closed", "after"], "")


def test_dependencies_are_distinguished_by_their_functions_and_may_be_classes() -> None:
    def provide(inner: Any = None) -> Any:
        if inner is None:

            def dep() -> int:  # pyright: ignore[reportRedeclaration]
                return 1

        else:

            def dep(x: int) -> int:
                return x + 1

            dep.__annotations__["x"] = Annotated[int, Depends(inner)]
        return dep

    three = provide(provide(provide()))

    class Service:
        def __init__(self, ctx: SyncContext, number: Annotated[int, Depends(three)]) -> None:
            self.text = f"{ctx.name} {number}"

    server = Server("test", version="1")

    @server.tool
    def use(number: Annotated[int, Depends(three)], service: Annotated[Service, Depends(Service)]) -> str:
        return f"{number} {service.text}"

    with SyncClient(server) as client:
        assert client.call_tool("use").text == "3 use 3"


@pytest.fixture(autouse=True)
def quiet_again() -> Generator[None]:
    """The level of the core's log is that of the process."""
    yield
    with SyncClient(Server("test", version="1")):
        pass
