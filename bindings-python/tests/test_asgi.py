"""The server inside web frameworks: Starlette, FastAPI, uvicorn and gunicorn as they are."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from support import REVISIONS, TIMEOUT, Heard, environment, free_port, run, until
from trunkline import (
    AccessToken,
    Auth,
    Client,
    Context,
    Identity,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    SyncContext,
    TransportError,
)
from trunkline._internal.http_mount import Exchange

JSON = {"accept": "application/json, text/event-stream"}


class Site:
    """A server with tools that record what happened to their calls."""

    made: ClassVar[list[Site]] = []

    def __init__(self, **options: Any) -> None:
        self.made.append(self)
        self.server = Server("mounted", version="1.0.0", **options)
        self.started = 0
        self.cancelled = 0

        @self.server.tool
        def echo(text: str) -> str:
            return text

        @self.server.tool
        async def steps(*, ctx: Context) -> str:
            for step in (1, 2):
                await ctx.progress(step, total=2)
                await asyncio.sleep(0.02)
            return "done"

        @self.server.tool
        async def endless() -> str:
            self.started += 1
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return "never"

        assert echo and steps and endless


@pytest.fixture(autouse=True)
def end_of_sites() -> Generator[None]:
    """Without a lifespan a site ends with its process; here that would be too late for the tests
    that count threads.
    """
    yield
    while Site.made:
        if (port := Site.made.pop().server._port) is not None:
            port.end_now()


async def page(_request: Request) -> Response:
    return PlainTextResponse("an ordinary page")


@asynccontextmanager
async def serving(app: Any, **options: Any) -> AsyncGenerator[str]:
    """Runs an application under uvicorn; returns the address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, **options))
        task = asyncio.create_task(server.serve(sockets=[listening]))
        await until(lambda: server.started or task.done(), "uvicorn")
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


def starlette_under_a_prefix(server: Server) -> Any:
    return Starlette(routes=[Route("/", page), Mount("/mcp", app=server.asgi())])


def starlette_at_the_root(server: Server) -> Any:
    return Starlette(routes=[Route("/", page), Mount("/", app=server.asgi(path="/mcp"))])


def starlette_routes(server: Server) -> Any:
    app = server.asgi()
    return Starlette(routes=[Route("/", page), Route("/mcp", app), Route("/mcp/", app)])


def fastapi_under_a_prefix(server: Server) -> Any:
    app = FastAPI()
    app.add_api_route("/", lambda: "an ordinary page")
    app.mount("/mcp", server.asgi())
    return app


def fastapi_at_the_root(server: Server) -> Any:
    app = FastAPI()
    app.add_api_route("/", lambda: "an ordinary page")
    app.mount("/", server.asgi(path="/mcp"))
    return app


def nested(server: Server) -> Any:
    return Starlette(routes=[Route("/", page), Mount("/api", routes=[Mount("/v1", app=server.asgi(path="/mcp"))])])


APPS = [
    (starlette_under_a_prefix, "/mcp"),
    (starlette_at_the_root, "/mcp"),
    (starlette_routes, "/mcp"),
    (fastapi_under_a_prefix, "/mcp"),
    (fastapi_at_the_root, "/mcp"),
    (nested, "/api/v1/mcp"),
]


@pytest.mark.parametrize(("make", "path"), APPS)
def test_every_revision_in_a_framework(make: Callable[[Server], Any], path: str) -> None:
    async def check() -> None:
        site = Site()
        async with serving(make(site.server)) as address:
            for revision in [*REVISIONS, "auto"]:
                for slash in ("", "/"):
                    heard = Heard()
                    async with Client(f"{address}{path}{slash}", revision=revision) as client:
                        assert revision in ("auto", client.revision)
                        results = await asyncio.gather(*[client.call_tool("echo", {"text": str(i)}) for i in range(20)])
                        assert [result.text for result in results] == [str(i) for i in range(20)]
                        assert (await client.call_tool("steps", on_progress=heard.hear)).text == "done"
                        assert heard[-1][0] == 2
            async with httpx2.AsyncClient() as web:
                assert "an ordinary page" in (await web.get(address)).text

    run(check())


def initialize(**more: Any) -> dict[str, Any]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params, **more}


@pytest.mark.parametrize("make", [starlette_at_the_root, starlette_routes, fastapi_at_the_root])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_no_redirect_with_or_without_a_slash(make: Callable[[Server], Any], path: str) -> None:
    with TestClient(make(Site().server), base_url="http://localhost", follow_redirects=False) as web:
        answer = web.post(path, json=initialize(), headers=JSON)
        assert (answer.status_code, answer.json()["result"]["serverInfo"]["name"]) == (200, "mounted")
        assert answer.headers["content-length"] == str(len(answer.content))


def test_only_the_given_path_is_served() -> None:
    with TestClient(starlette_at_the_root(Site().server), base_url="http://localhost") as web:
        assert web.get("/").text == "an ordinary page"
        answer = web.post("/other", json=initialize(), headers=JSON)
        assert answer.status_code == 404 and "/mcp" in answer.json()["error"]["message"]


@pytest.mark.parametrize("prefix", ["/a b", "/\u00fc", "/100%"])
def test_a_prefix_with_escaped_characters(prefix: str) -> None:
    app = Starlette(routes=[Mount(prefix, app=Site().server.asgi(path="/mcp"))])
    with TestClient(app, base_url="http://localhost") as web:
        assert web.post(f"{quote(prefix)}/mcp", json=initialize(), headers=JSON).status_code == 200
        assert web.post(f"{quote(prefix)}/mcp%3F", json=initialize(), headers=JSON).status_code == 404


def test_http_03_other_hosts_are_refused_unless_they_are_allowed() -> None:
    server = Site().server
    for app, status in ((server.asgi(), 403), (server.asgi(allowed_hosts=["mcp.example"]), 200)):
        with TestClient(app, base_url="http://mcp.example") as web:
            answer = web.post("/", json=initialize(), headers=JSON)
            assert answer.status_code == status
            if status == 403:
                assert "allowed hosts" in answer.json()["error"]["message"]


def test_sessions_survive_a_change_of_loops() -> None:
    """Outside of a `with` block the test client runs every request on a new loop, without a
    lifespan.
    """
    web = TestClient(starlette_under_a_prefix(Site().server), base_url="http://localhost")
    opened = web.post("/mcp/", json=initialize(), headers=JSON)
    session = {**JSON, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    note = web.post("/mcp/", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
    assert (note.status_code, note.content) == (202, b"")
    for text in ("one", "two", "three"):
        params = {"name": "echo", "arguments": {"text": text}}
        call = {"jsonrpc": "2.0", "id": text, "method": "tools/call", "params": params}
        answer = web.post("/mcp/", json=call, headers=session)
        assert answer.json()["result"]["content"][0]["text"] == text
    assert web.delete("/mcp/", headers=session).status_code == 204
    assert web.post("/mcp/", json=call, headers=session).status_code == 404


@pytest.mark.parametrize("is_async", [True, False])
def test_a_lifespan_ends_with_its_loop(is_async: bool) -> None:
    @asynccontextmanager
    async def lifespan(_: Server) -> AsyncGenerator[str]:
        yield "the pool"

    server = Server("test", version="1", lifespan=lifespan, debug=True)

    async def use(ctx: Context) -> str:
        return ctx.lifespan

    def use_in_thread(ctx: SyncContext) -> str:
        return ctx.lifespan

    server.add_tool(use if is_async else use_in_thread, name="use")
    app = server.asgi(stateless=True)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "use"}}

    def answer(web: TestClient) -> str:
        headers = {**JSON, "mcp-protocol-version": "2025-11-25"}
        return web.post("/", json=call, headers=headers).json()["result"]["content"][0]["text"]

    web = TestClient(app, base_url="http://localhost")
    assert answer(web) == "the pool"
    assert "the lifespan has ended before its server" in answer(web)
    run(app.close())
    with web:  # on one loop
        assert [answer(web), answer(web)] == ["the pool", "the pool"]


def test_uvicorn_after_uvicorn() -> None:
    site = Site()
    app = starlette_under_a_prefix(site.server)

    async def check() -> None:
        async with serving(app, lifespan="off") as address, Client(f"{address}/mcp/") as client:
            assert (await client.call_tool("echo", {"text": "again"})).text == "again"

    run(check())
    run(check())


@pytest.mark.parametrize("mounted", [True, False])
def test_a_lifespan_and_its_tasks_belong_to_no_request(mounted: bool) -> None:
    """Its tasks and pools outlive the request, so they must not have the user of the first one."""
    user: ContextVar[str] = ContextVar("user", default="nobody")
    seen: list[str] = []

    async def poll(wanted: asyncio.Event) -> None:
        await wanted.wait()
        seen.append(user.get())

    @asynccontextmanager
    async def life(_: Server) -> AsyncGenerator[asyncio.Event]:
        wanted = asyncio.Event()
        task = asyncio.create_task(poll(wanted))
        seen.append(user.get())
        yield wanted
        await task
        seen.append(user.get())

    server, inner = Server("outer", version="1", lifespan=life), Server("inner", version="1", lifespan=life)
    server.mount("in", inner)

    @server.tool
    @inner.tool
    async def use(ctx: Context) -> str:
        ctx.lifespan.set()
        return user.get()

    user.set("program")
    app = server.asgi(path="/mcp")
    user.set("later")

    async def as_ada(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            user.set("ada")
        await app(scope, receive, send)

    async def check() -> None:
        async with serving(Starlette(routes=[Mount("/", as_ada)]) if mounted else as_ada) as address:
            async with Client(f"{address}/mcp") as client:
                assert [(await client.call_tool(tool)).text for tool in ("use", "in__use")] == ["ada", "ada"]
            await app.close()

    run(check())
    assert seen == ["program"] * 6


def test_the_root_application_ends_with_its_lifespan() -> None:
    site = Site()
    app = site.server.asgi()

    async def check() -> None:
        async with serving(app, lifespan="on") as address, Client(f"{address}/mcp") as client:
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            assert site.server._port is not None and len(site.server._users) == 1
        await asyncio.sleep(0)
        assert site.server._port is None, "nothing is left running"

    run(check())
    run(check())


def test_an_explicit_close_lets_calls_finish() -> None:
    async def check() -> None:
        site = Site()
        app = site.server.asgi()
        async with serving(Starlette(routes=[Mount("/mcp", app=app)])) as address:
            async with Client(f"{address}/mcp/", revision="modern") as client:
                calling = asyncio.create_task(client.call_tool("endless"))
                steps = asyncio.create_task(client.call_tool("steps"))
                await until(lambda: site.started, "the call")
                await app.close(0.5)
                assert (await steps).text == "done"
                with pytest.raises(ProtocolError) as ended:
                    await calling
                assert ended.value.data == {"reason": "interrupted"}
                assert site.cancelled == 1
                # Later requests start it again.
                assert (await client.call_tool("echo", {"text": "again"})).text == "again"
            await app.close()
            await app.close()

    run(check())


def test_a_request_during_an_explicit_close_reopens_the_application_with_its_verifier() -> None:
    async def judge(token: AccessToken) -> Identity | None:
        return Identity("ada") if token.token == "good" else None

    async def check() -> None:
        site = Site()
        auth = Auth("https://notes.example/mcp", authorization_servers=["https://login.example"], verifier=judge)
        app = site.server.asgi(auth=auth)
        async with serving(Starlette(routes=[Mount("/mcp", app=app)])) as address:
            headers = {"Authorization": "Bearer good"}
            async with Client(f"{address}/mcp/", revision="modern", headers=headers) as client:
                calling = asyncio.create_task(client.call_tool("endless"))
                await until(lambda: site.started, "the call")
                closing = asyncio.create_task(app.close(TIMEOUT))
                await until(lambda: app._port is None, "the close")
                assert (await client.call_tool("echo", {"text": "meanwhile"})).text == "meanwhile"
                assert not closing.done()
                calling.cancel()
                await closing
                assert (await client.call_tool("echo", {"text": "later"})).text == "later"
            await app.close()

    run(check())


def test_behind_middleware_that_touches_every_request() -> None:
    class Stamp(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
            response = await call_next(request)
            response.headers["x-stamp"] = "yes"
            return response

    async def check() -> None:
        site = Site()
        middleware = [Middleware(Stamp), Middleware(GZipMiddleware, minimum_size=10)]
        routes = [Mount("/mcp", app=site.server.asgi())]
        async with serving(Starlette(routes=routes, middleware=middleware)) as address:
            for revision in REVISIONS:
                heard = Heard()
                async with Client(f"{address}/mcp/", revision=revision) as client:
                    assert (await client.call_tool("echo", {"text": "x" * 100_000})).text == "x" * 100_000
                    assert (await client.call_tool("steps", on_progress=heard.hear)).text == "done"
                    assert heard
            async with httpx2.AsyncClient() as web:
                assert (await web.post(f"{address}/mcp/", json=initialize(), headers=JSON)).headers["x-stamp"] == "yes"

    run(check())


def test_a_client_that_disconnects_behind_middleware_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    class Stamp(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
            return await call_next(request)

    async def check() -> None:
        site = Site()
        app = Starlette(routes=[Mount("/", app=site.server.asgi())], middleware=[Middleware(Stamp)])
        async with (
            serving(app, log_config=None) as address,
            Client(f"{address}/mcp", revision="2026-07-28") as client,
        ):
            calling = asyncio.create_task(client.call_tool("endless"))
            await until(lambda: site.started, "the call")
            calling.cancel()
            await until(lambda: site.cancelled, "the cancellation")

    run(check())
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def post(tool: str, **arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scope and message of a call, for calling an application directly."""
    prefix = "io.modelcontextprotocol"
    meta = {
        f"{prefix}/protocolVersion": "2026-07-28",
        f"{prefix}/clientCapabilities": {},
        f"{prefix}/clientInfo": {"name": "t", "version": "1"},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "host": "localhost",
        "content-type": "application/json",
        **JSON,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    return scope, {"type": "http.request", "body": body.encode()}


class Connection:
    """The ASGI server's side, which passes on pieces of a body and may be slow to send."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages = [*messages]
        self.sent: list[Any] = []
        self.may_send = asyncio.Event()
        self.gone = asyncio.Event()

    async def receive(self) -> Any:
        if self.messages:
            return self.messages.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.may_send.wait()
        self.sent.append(message)


def test_a_slow_client_does_not_fill_the_memory() -> None:
    async def check() -> None:
        site = Site()
        app = site.server.asgi()
        scope, message = post("echo", text="x" * 1_000_000)
        connection = Connection(message)

        def exchanges() -> list[Any]:
            return [] if site.server._port is None else list(site.server._port._exchanges.values())

        answering = asyncio.create_task(app(scope, connection.receive, connection.send))
        await until(lambda: any(one.events.qsize() for one in exchanges()), "its response")
        await asyncio.sleep(0.1)
        port = site.server._port
        assert port is not None
        (exchange,) = port._exchanges.values()
        assert isinstance(exchange, Exchange)
        waiting = [exchange.events.get_nowait() for _ in range(exchange.events.qsize())]
        assert sum(len(body) for _, _, body in waiting if isinstance(body, bytes)) <= 65536
        for event in waiting:
            exchange.events.put_nowait(event)
        connection.may_send.set()
        await answering
        assert sum(len(message.get("body", b"")) for message in connection.sent) > 1_000_000
        assert not port._exchanges

    run(check())


def test_bodies_in_chunks_and_truncated_bodies() -> None:
    async def check() -> None:
        app = Site().server.asgi()
        scope, message = post("echo", text="in pieces")
        body = message["body"]
        parts = [bytearray(body[i : i + 7]) for i in range(0, len(body), 7)]  # as some middleware passes them
        pieces = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        whole = Connection(*pieces, {"type": "http.request"})
        whole.may_send.set()
        await app(scope, whole.receive, whole.send)
        assert whole.sent[0]["status"] == 200 and b"in pieces" in whole.sent[1]["body"]
        assert whole.sent[-1]["more_body"] is False
        broken = Connection(*pieces[:3], {"type": "http.disconnect"})
        broken.may_send.set()
        await app(scope, broken.receive, broken.send)
        assert broken.sent[0]["status"] == 499

    run(check())


def test_a_body_that_is_too_long_is_not_read_to_its_end() -> None:
    async def check() -> None:
        app = Site(max_message_bytes=1000).server.asgi()
        scope, _ = post("echo")
        connection = Connection(*[{"type": "http.request", "body": b" " * 600, "more_body": True}] * 4)
        connection.may_send.set()
        await app(scope, connection.receive, connection.send)
        assert connection.sent[0]["status"] == 413

    run(check())


def test_cancelling_the_application_cancels_the_call() -> None:
    async def check() -> None:
        site = Site()
        scope, message = post("endless")
        connection = Connection(message)
        answering = asyncio.create_task(site.server.asgi()(scope, connection.receive, connection.send))
        await until(lambda: site.started, "the call")
        answering.cancel()
        await until(lambda: site.cancelled, "the cancellation")

    run(check())


def test_websockets_are_closed_and_unknown_scopes_refused() -> None:
    async def check() -> None:
        app = Site().server.asgi()
        connection = Connection({"type": "websocket.connect"})
        connection.may_send.set()
        await app({"type": "websocket"}, connection.receive, connection.send)
        assert connection.sent[0]["type"] == "websocket.close"
        with pytest.raises(ValueError, match="telnet"):
            await app({"type": "telnet"}, connection.receive, connection.send)

    run(check())


def test_under_trio_the_error_says_what_to_do() -> None:
    connection = Connection()
    answering = Site().server.asgi()({"type": "http"}, connection.receive, connection.send)
    with pytest.raises(RuntimeError, match="Under trio"):
        answering.send(None)


def test_invalid_options_leave_nothing_behind() -> None:
    site = Site()
    for _ in range(3):
        with pytest.raises(InvalidArgumentError, match=r"^replay_events: must be a non-negative integer"):
            site.server.asgi(replay_events=-1)
    assert site.server._users == []
    assert site.server._bind().loop is None


def test_closed_loops_are_not_kept() -> None:
    site = Site()
    app = site.server.asgi()

    async def ask() -> None:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.post("/", headers=JSON, content="no JSON")).status_code == 415

    for _ in range(5):
        run(ask())
    assert len(site.server._users) == len(app._loops) == 1


def test_two_concurrent_loops() -> None:
    """The first loop handles the events, and notifies the other."""
    site = Site()
    app = site.server.asgi()

    def ask(text: str) -> str:
        async def check() -> str:
            scope, message = post("echo", text=text)
            connection = Connection(message)
            connection.may_send.set()
            await app(scope, connection.receive, connection.send)
            return connection.sent[1]["body"].decode()

        return asyncio.run(check())

    async def check() -> None:
        scope, message = post("echo", text="first")
        connection = Connection(message)
        connection.may_send.set()
        await app(scope, connection.receive, connection.send)
        answers = await asyncio.gather(*[asyncio.to_thread(ask, f"text {i}") for i in range(8)])
        assert all(f"text {i}" in answer for i, answer in enumerate(answers))
        await app.close()

    run(check())


PROGRAM = """
from starlette.applications import Starlette
from starlette.routing import Mount
from trunkline import Server
import os

server = Server("forked", version="1.0.0")

@server.tool
def process() -> str:
    return str(os.getpid())

app = Starlette(routes=[Mount("/", app=server.asgi(path="/mcp", stateless=True))])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn forks")
def test_gunicorn_forks_a_loaded_application(tmp_path: Path) -> None:
    (tmp_path / "site_program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "gunicorn", "--preload", "--worker-class", "asgi", "--workers", "2"]
    check_processes(tmp_path, [*command, "--graceful-timeout", "2"], "--bind")


def test_uvicorn_with_workers(tmp_path: Path) -> None:
    (tmp_path / "site_program.py").write_text(PROGRAM, encoding="utf-8")
    check_processes(tmp_path, [sys.executable, "-m", "uvicorn", "--workers", "2"], "--port")


def start_web_server(folder: Path, command: list[str], bind: str) -> tuple[subprocess.Popen[str], str]:
    """The process, and the URL at which it will respond."""
    port = free_port()
    where = f"127.0.0.1:{port}" if bind == "--bind" else str(port)
    program = subprocess.Popen(
        [*command, bind, where],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return program, f"http://127.0.0.1:{port}/mcp"


def check_processes(folder: Path, command: list[str], bind: str) -> None:
    program, url = start_web_server(folder, [*command, "site_program:app"], bind)
    try:
        seen: set[str] = set()

        async def ask() -> None:
            try:
                with SyncClient(url) as client:
                    seen.add(client.call_tool("process").text)
            except TransportError:
                await asyncio.sleep(0.05)  # not there yet

        async def check() -> None:
            while len(seen) < 2:
                await asyncio.gather(*[ask() for _ in range(4)])

        run(check())
        assert str(program.pid) not in seen
    finally:
        program.terminate()
        try:
            said, _ = program.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            program.kill()
            said, _ = program.communicate()
    assert "Traceback" not in said, said


WITH_A_TASK = """
import asyncio
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from starlette.routing import Mount
from trunkline import Server

@asynccontextmanager
async def resource(server):
    yield
    await asyncio.sleep(0.5)
    print("the lifespan has ended", flush=True)

server = Server("mounted", version="1.0.0", lifespan=resource)

@server.tool(task="required")
async def work() -> None:
    await asyncio.sleep(1)
    print("the task has ended", flush=True)

mcp = server.asgi(path="/mcp")

@asynccontextmanager
async def closing(app):
    yield
    await mcp.close()

without_a_hook = Starlette(routes=[Mount("/", app=mcp)])
with_a_hook = Starlette(routes=[Mount("/", app=mcp)], lifespan=closing)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGTERM")
@pytest.mark.parametrize(
    ("command", "bind"),
    [
        (["uvicorn", "site_program:without_a_hook"], "--port"),
        (["uvicorn", "site_program:with_a_hook"], "--port"),
        (["gunicorn", "--worker-class", "asgi", "site_program:with_a_hook"], "--bind"),
    ],
)
def test_a_signal_lets_tasks_and_the_lifespan_of_a_mounted_server_finish(
    tmp_path: Path, command: list[str], bind: str
) -> None:
    """The client has left, so the web server has no open response to wait for."""
    (tmp_path / "site_program.py").write_text(WITH_A_TASK, encoding="utf-8")
    program, url = start_web_server(tmp_path, [sys.executable, "-m", *command], bind)

    async def begin() -> None:
        while True:
            try:
                async with Client(url) as client:
                    await client.start_task("work")
                    return
            except TransportError:
                await asyncio.sleep(0.05)  # not there yet

    try:
        run(begin())
        program.terminate()
        said, _ = program.communicate(timeout=TIMEOUT)
    finally:
        program.kill()
    ends = [line for line in said.splitlines() if line.endswith("has ended")]
    assert ends == ["the task has ended", "the lifespan has ended"], said
    assert "Traceback" not in said, said


def test_a_request_during_the_shutdown_gets_503_and_does_not_reopen_the_application() -> None:
    ended: list[str] = []

    @asynccontextmanager
    async def resource(_server: Server) -> AsyncGenerator[None]:
        yield
        await refused.wait()
        ended.append("lifespan")

    refused = asyncio.Event()

    async def check() -> None:
        site = Site(lifespan=resource)
        app = site.server.asgi()

        async def send(tool: str) -> list[Any]:
            scope, message = post(tool)
            connection = Connection(message)
            connection.may_send.set()
            await app(scope, connection.receive, connection.send)
            return connection.sent

        steps = asyncio.create_task(send("steps"))
        await until(lambda: site.server._port is not None and site.server._port._exchanges, "the call")
        signal.raise_signal(signal.SIGTERM)
        await until(lambda: app._ending is not None, "the shutdown")
        head, body = await send("echo")
        assert head["status"] == 503
        assert (b"connection", b"close") in head["headers"]
        assert body["body"] == b"The MCP server is shutting down"
        refused.set()
        assert b"done" in b"".join(message.get("body", b"") for message in await steps)
        await app.close()
        assert ended == ["lifespan"]

    def ignore(_number: int, _frame: object) -> None:
        """A handler of the program."""

    before = signal.signal(signal.SIGTERM, ignore)
    try:
        run(check())
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_test_client_of_the_framework_sends_its_own_host() -> None:
    """As docs/frameworks.md has it."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    given: list[tuple[dict[str, Any], dict[str, Any], int]] = [
        ({}, {}, 403),
        ({"allowed_hosts": ["testserver"]}, {}, 200),
        ({}, {"base_url": "http://localhost"}, 200),
    ]
    for options, of_client, status in given:
        application = FastAPI()
        application.mount("/mcp", Server("test", version="1").asgi(**options))
        client = TestClient(application, **of_client)
        answer = client.post("/mcp", json=hello, headers={"Accept": "application/json, text/event-stream"})
        assert answer.status_code == status, answer.text
