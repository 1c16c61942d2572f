"""Servers in web frameworks, and clients and middleware that are difficult: `tests/mounts.json`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount
from starlette.types import ASGIApp

from support import run, until
from trunkline import Context, Server

TABLE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "tests" / "mounts.json").read_text(encoding="utf-8")
)
PATH = "/api/v1/mcp"
# More than the buffers of sockets hold.
LARGE_BYTES = 8_000_000
BOTH = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

App = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]
Make = Callable[[Server, dict[str, Any]], tuple[App, Any]]
Seen = dict[str, Any]


def alone(server: Server, options: dict[str, Any]) -> tuple[App, Any]:
    mounted = server.asgi(path=PATH, **options)
    return mounted, mounted


class Wrapping:
    """Middleware with functions of its own, like that of telemetry."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def wrapped_receive() -> Any:
            return await receive()

        async def wrapped_send(message: Any) -> None:
            await send(message)

        await self.app(scope, wrapped_receive, wrapped_send)


def starlette(server: Server, options: dict[str, Any]) -> tuple[App, Any]:
    mounted = server.asgi(path="/mcp", **options)
    return Starlette(routes=[Mount("/api/v1", app=mounted)], middleware=[Middleware(Wrapping)]), mounted


def fastapi(server: Server, options: dict[str, Any]) -> tuple[App, Any]:
    mounted = server.asgi(path="/mcp", **options)
    app = FastAPI()
    app.mount("/api/v1", mounted)
    return app, mounted


class Web(uvicorn.Server):
    """Leaves signals to the program."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class Site:
    """A mounted server."""

    def __init__(self, make: Make, options: dict[str, Any]) -> None:
        self.server = Server("mounted", version="1")
        self.started = asyncio.Event()
        self.released = asyncio.Event()
        self.cancelled = asyncio.Event()
        given = {name: value for name, value in options.items() if name != "writeTimeoutMs"}
        if "writeTimeoutMs" in options:
            given["write_timeout"] = options["writeTimeoutMs"] / 1000
        self.app, self.mounted = make(self.server, given)

        @self.server.tool
        async def waits(*, ctx: Context) -> str:
            await ctx.progress(1)
            self.started.set()
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "released"

        @self.server.tool
        async def large(*, ctx: Context) -> str:
            await ctx.progress(1)
            return "x" * LARGE_BYTES

        @self.server.tool
        async def fills(*, ctx: Context) -> str:
            await ctx.progress(1, total=2, message="x" * LARGE_BYTES)
            return await waits(ctx=ctx)

        @self.server.tool
        def echo(text: str) -> str:
            return text

        assert large and fills and echo

    @contextlib.asynccontextmanager
    async def serving(self, around: Callable[[App], App] = lambda app: app) -> AsyncGenerator[None]:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            config = uvicorn.Config(around(self.app), log_level="critical", lifespan="off", timeout_graceful_shutdown=2)
            self.web = Web(config)
            self.port: int = listening.getsockname()[1]
            task = asyncio.create_task(self.web.serve(sockets=[listening]))
            await until(lambda: self.web.started or task.done(), "uvicorn")
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}") as self.http:
                try:
                    yield
                finally:
                    self.released.set()
                    await self.mounted.close(0)
            self.web.should_exit = True
            await task

    @property
    def connections(self) -> set[Any]:
        return self.web.server_state.connections

    async def post(self, tool: str, path: str = PATH) -> httpx2.Response:
        headers, body = call(tool)
        return await self.http.post(path, headers=headers, content=body)

    async def others(self) -> str:
        response = await self.post("echo")
        return "served" if response.status_code == 200 and "echoed" in response.text else response.text

    async def raw(
        self, tool: str, *, send: int | None = None, length: int | None = None, host: str = "127.0.0.1"
    ) -> Connection:
        """A connection on which a call was sent, or only the start of its body."""
        connecting = socket.socket()
        # A large buffer takes long until it has room again.
        connecting.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 << 10)
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=connecting)
        headers, body = call(tool)
        size = len(body) if length is None else length
        lines = {"host": host, **headers, "content-length": str(size), "connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"POST {PATH} HTTP/1.1\r\n{head}\r\n".encode() + body[:send])
        return Connection(reader, writer, body[send:] if send is not None else b"")


class Connection:
    """The client's side of a raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes) -> None:
        self.reader, self.writer, self.rest = reader, writer, rest

    def leave(self) -> None:
        self.writer.transport.abort()


def call(tool: str, **session: str) -> tuple[dict[str, str], bytes]:
    """The headers and the message of a call: of 2026-07-28, or in a session."""
    prefix = "io.modelcontextprotocol"
    about = {
        f"{prefix}/protocolVersion": "2026-07-28",
        f"{prefix}/clientCapabilities": {},
        f"{prefix}/clientInfo": {"name": "difficult", "version": "1"},
    }
    arguments = {"text": "echoed"} if tool == "echo" else {}
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": 1} | ({} if session else about)}
    described = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    return {**BOTH, **(session or described)}, body.encode()


async def session_of(site: Site) -> dict[str, str]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "legacy", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    opened = await site.http.post(PATH, headers=BOTH, json=hello)
    return {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}


def outcome(text: str, wanted: str, name: str) -> str:
    return name if wanted in text else text


async def stuck_reader(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        stuck = await site.raw(row["tool"])
        await until(lambda: site.connections, "the connection")
        await until(lambda: not site.connections, "its end")
        others = await site.others()
        cut = await stuck.reader.read(-1)
        assert b" 200 " in cut[:20] and len(cut) < LARGE_BYTES
        stuck.leave()
        seen = {"response": "given up", "others": others}
        if row["tool"] == "fills":
            await site.cancelled.wait()
            seen["call"] = "cancelled"
        return seen


async def slow_reader(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        slow = await site.raw(row["tool"])
        read, last = 0, b""
        while chunk := await slow.reader.read(65536):
            read, last = read + len(chunk), (last + chunk)[-5:]
            await asyncio.sleep(0.04)
        slow.leave()
        return {"response": "complete" if read > LARGE_BYTES and last == b"0\r\n\r\n" else f"cut after {read} bytes"}


async def slow_body(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        slow = await site.raw(row["tool"], send=20)
        await until(lambda: site.connections, "the connection")
        others = await site.others()
        slow.writer.write(slow.rest)
        text = (await slow.reader.read(-1)).decode()
        slow.leave()
        return {"response": outcome(text, "echoed", "complete"), "others": others}


async def body_beyond_the_limit(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        large = await site.raw(row["tool"], send=0, length=2 * LARGE_BYTES)
        large.writer.write(b" " * LARGE_BYTES)
        status = (await large.reader.readline()).split()[1]
        large.leave()
        return {"status": int(status), "started": site.started.is_set()}


async def body_that_never_comes(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        waiting = await site.raw(row["tool"], send=0, length=10, host="evil.example")
        status = (await waiting.reader.readline()).split()[1]
        # A closing server would wait for open requests.
        await site.mounted.close(600)
        waiting.leave()
        return {"status": int(status), "open": 0}


async def gone_within_its_body(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        gone = await site.raw(row["tool"], send=20)
        await until(lambda: site.server._port is not None and site.server._port._exchanges, "the request")
        gone.leave()
        # A closing server would wait for open requests.
        await site.mounted.close(600)
        return {"started": site.started.is_set(), "open": 0}


async def gone(site: Site, row: dict[str, Any]) -> Seen:
    """HTTP-24"""
    async with site.serving():
        leaving = await site.raw(row["tool"])
        await site.started.wait()
        leaving.leave()
        await site.cancelled.wait()
        return {"call": "cancelled"}


async def legacy_client_gone(site: Site, row: dict[str, Any]) -> Seen:
    """HTTP-22"""
    async with site.serving():
        session = await session_of(site)
        headers, body = call(row["tool"], **session)
        async with httpx2.AsyncClient(base_url=site.http.base_url) as leaving:
            calling = asyncio.create_task(leaving.post(PATH, headers=headers, content=body))
            await site.started.wait()
            connected = len(site.connections)
            calling.cancel()
        await until(lambda: len(site.connections) < connected, "the disconnect")
        assert await site.others() == "served" and not site.cancelled.is_set()
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        assert (await site.http.post(PATH, json=told, headers=BOTH | session)).status_code == 202
        await site.cancelled.wait()
        return {"call": "cancelled by its message"}


async def deadline(site: Site, row: dict[str, Any]) -> Seen:
    def around(app: App) -> App:
        async def limited(scope: Any, receive: Any, send: Any) -> None:
            answering = asyncio.create_task(app(scope, receive, send))
            late = asyncio.create_task(site.started.wait())
            await asyncio.wait({answering, late}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                site.started.clear()
                answering.cancel()
                await asyncio.wait({answering})
                await send({"type": "http.response.start", "status": 504, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body"})
            late.cancel()

        return limited

    async with site.serving(around):
        status = (await site.post(row["tool"])).status_code
        await site.cancelled.wait()
        return {"status": status, "call": "cancelled", "others": await site.others()}


async def shutdown(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        session = await session_of(site)
        async with site.http.stream("GET", PATH, headers=BOTH | session) as stream:
            calling = asyncio.create_task(site.post(row["tool"]))
            await site.started.wait()
            signal.raise_signal(signal.SIGTERM)
            # The stream ends while the call still runs.
            await stream.aread()
        meanwhile = await site.post("echo")
        site.released.set()
        called = outcome((await calling).text, "released", "complete")
        connection = meanwhile.headers.get("connection")
        return {"stream": "ended", "call": called, "meanwhile": meanwhile.status_code, "connection": connection}


async def compression(site: Site, row: dict[str, Any]) -> Seen:
    headers, body = call(row["tool"])
    async with (
        site.serving(GZipMiddleware),
        site.http.stream("POST", PATH, headers=headers, content=body) as response,
    ):
        chunks = response.aiter_text()
        first = await anext(chunks)
        site.released.set()
        rest = "".join([chunk async for chunk in chunks])
        return {
            "events": outcome(first, "notifications/progress", "at once"),
            "call": outcome(rest, "released", "complete"),
            "cacheControl": response.headers["cache-control"],
        }


async def prefix(site: Site, row: dict[str, Any]) -> Seen:
    async with site.serving():
        return {path: (await site.post(row["tool"], path)).status_code for path in row["seen"]}


class Http2:
    """A request as web servers pass it on that support HTTP/2; uvicorn does not."""

    def __init__(self, tool: str) -> None:
        headers, body = call(tool)
        self.scope = {
            "type": "http",
            "http_version": "2",
            "method": "POST",
            "path": PATH,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in {**headers, "host": "localhost"}.items()],
        }
        self.messages = [{"type": "http.request", "body": body}]
        self.sent: list[Any] = []
        self.reads = asyncio.Event()
        self.gone = asyncio.Event()

    async def receive(self) -> Any:
        if self.messages:
            return self.messages.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.reads.wait()
        self.sent.append(message)

    async def answered(self, app: App) -> dict[str, Any]:
        self.reads.set()
        await app(self.scope, self.receive, self.send)
        head: dict[str, Any] = self.sent[0]
        return head


async def http2(site: Site, row: dict[str, Any]) -> Seen:
    status = (await Http2("echo").answered(site.app))["status"]
    leaving, running = Http2(row["tool"]), Http2(row["tool"])
    calls = [asyncio.create_task(leaving.answered(site.app))]
    await site.started.wait()
    leaving.gone.set()
    await site.cancelled.wait()
    site.started.clear()
    calls.append(asyncio.create_task(running.answered(site.app)))
    await site.started.wait()
    signal.raise_signal(signal.SIGTERM)
    await until(lambda: site.mounted._ending is not None, "the shutdown")
    head = await Http2("echo").answered(site.app)
    site.released.set()
    await asyncio.gather(*calls)
    await site.mounted.close(0)
    connection = dict(head["headers"]).get(b"connection")
    return {"status": status, "call": "cancelled", "meanwhile": head["status"], "connection": connection}


async def stuck_reader_over_http2(site: Site, row: dict[str, Any]) -> Seen:
    stuck = Http2(row["tool"])
    answering = asyncio.create_task(site.app(stuck.scope, stuck.receive, stuck.send))
    await until(lambda: site.server._port is not None and site.server._port._exchanges, "the request")
    port = site.server._port
    assert port is not None
    await until(lambda: not port._exchanges, "its end")
    others = Http2("echo")
    await others.answered(site.app)
    answering.cancel()
    await site.mounted.close(0)
    text = b"".join(message.get("body", b"") for message in others.sent).decode()
    return {"response": "given up", "others": outcome(text, "echoed", "served")}


FRAMEWORKS = [alone, starlette, fastapi]
PLAYS: dict[str, Callable[[Site, dict[str, Any]], Awaitable[Seen]]] = {
    "stuck reader": stuck_reader,
    "stuck reader over HTTP/2": stuck_reader_over_http2,
    "slow reader": slow_reader,
    "slow body": slow_body,
    "body beyond the limit": body_beyond_the_limit,
    "body that never comes": body_that_never_comes,
    "gone within its body": gone_within_its_body,
    "gone": gone,
    "legacy client gone": legacy_client_gone,
    "deadline": deadline,
    "shutdown": shutdown,
    "compression": compression,
    "prefix": prefix,
    "HTTP/2": http2,
}


def ignore(_number: int, _frame: object) -> None:
    """A handler of the program."""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGTERM")
@pytest.mark.parametrize("make", FRAMEWORKS)
@pytest.mark.parametrize("row", TABLE, ids=[row["name"] for row in TABLE])
def test_a_server_in_a_framework(make: Make, row: dict[str, Any]) -> None:
    async def check() -> None:
        assert await PLAYS[row["play"]](Site(make, row["options"]), row) == row["seen"]

    before = signal.signal(signal.SIGTERM, ignore)
    try:
        run(check())
    finally:
        signal.signal(signal.SIGTERM, before)
