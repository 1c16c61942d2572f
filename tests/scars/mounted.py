"""Servers inside of web frameworks must end as the others do."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator
from signal import SIGINT, SIGTERM

from crowd import open_session
from exits import DRAIN, END, LONG_CALL
from peer import LEGACY, META, MODERN, Endpoint, Language, endpoint
from row import row

TURN = 1.5  # seconds; gunicorn looks once a second


@contextlib.asynccontextmanager
async def framework(language: Language) -> AsyncGenerator[Endpoint]:
    """A server that has begun to serve: sockets are open before that."""
    async with endpoint(language) as server:
        status, _ = await server.modern(0, "echo", {"message": "ready"})
        assert status == 200, status
        yield server


async def open_streams(server: Endpoint) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A stream of changes of each era."""
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
    body = json.dumps({**listen, "params": {"notifications": {"toolsListChanged": True}, "_meta": META}}).encode()
    modern = await server.connect()
    modern[1].write(
        server.head(len(body), f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: subscriptions/listen") + body
    )
    legacy = await server.connect()
    get = [f"Mcp-Session-Id: {await open_session(server)}", f"MCP-Protocol-Version: {LEGACY}"]
    legacy[1].write(server.head(0, *get).replace(b"POST", b"GET", 1).replace(b"Content-Length: 0\r\n", b""))
    for stream, _ in (modern, legacy):
        head = await stream.readuntil(b"\r\n\r\n")
        assert b" 200" in head and b"text/event-stream" in head, head
    return [modern, legacy]


@row("SIGTERM, mounted: calls are answered, streams end", DRAIN, "s", mounted=True)
async def signal_to_frameworks(language: Language) -> float:
    async with framework(language) as server:
        streams = await open_streams(server)
        calls = [asyncio.ensure_future(server.modern(number, "slow", {"ms": 800})) for number in (1, 2, 3)]
        await asyncio.sleep(0.4)
        start = time.perf_counter()
        server.signal(SIGTERM)
        for status, body in await asyncio.gather(*calls):
            assert status == 200 and b"done" in body, (status, body)
        await asyncio.gather(*[stream.read() for stream, _ in streams])
        await server.ended()
        return time.perf_counter() - start


@row("SIGTERM, mounted: a call that never ends", END + TURN, "s", mounted=True)
async def endless_call(language: Language) -> float:
    async with framework(language) as server:
        call = asyncio.ensure_future(server.modern(1, "slow", {"ms": LONG_CALL}))
        await asyncio.sleep(0.4)
        start = time.perf_counter()
        server.signal(SIGTERM)
        await server.ended()
        seconds = time.perf_counter() - start
        # An answer or the end of the connection, but not silence.
        await asyncio.wait_for(asyncio.gather(call, return_exceptions=True), 1)
        return seconds


@row("a second signal, mounted", TURN, "s", mounted=True)
async def second_signal(language: Language) -> float:
    async with framework(language) as server:
        call = asyncio.ensure_future(server.modern(1, "slow", {"ms": LONG_CALL}))
        await asyncio.sleep(0.4)
        server.signal(SIGINT)
        await asyncio.sleep(0.4)
        start = time.perf_counter()
        server.signal(SIGINT)
        await server.ended()
        seconds = time.perf_counter() - start
        await asyncio.wait_for(asyncio.gather(call, return_exceptions=True), 1)
        return seconds
