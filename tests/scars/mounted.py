"""Servers inside web frameworks must exit like the others."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from signal import SIGINT, SIGTERM

from crowd import open_streams
from exits import DRAIN, INTERRUPTED, LONG_CALL
from peer import Endpoint, Language, endpoint
from row import row

TURN = 1.5  # seconds; gunicorn looks once a second


@contextlib.asynccontextmanager
async def framework(language: Language) -> AsyncGenerator[Endpoint]:
    """A server that answers requests: its socket is open earlier."""
    async with endpoint(language) as server:
        status, _ = await server.modern(0, "echo", {"message": "ready"})
        assert status == 200, status
        yield server


@row("SIGTERM, mounted: calls are answered, streams end", DRAIN, "s", mounted=True, waits=True)
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


@row("SIGTERM, mounted: a call that never ends", DRAIN, "s", mounted=True, waits=True)
async def endless_call(language: Language) -> float:
    async with framework(language) as server:
        call = asyncio.ensure_future(server.modern(1, "slow", {"ms": LONG_CALL}))
        await asyncio.sleep(0.4)
        start = time.perf_counter()
        server.signal(SIGTERM)
        await server.ended()
        seconds = time.perf_counter() - start
        status, body = await asyncio.wait_for(call, 1)
        assert status == 200 and INTERRUPTED in body, (status, body)
        return seconds


@row("a second signal, mounted", TURN, "s", mounted=True, waits=True)
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
