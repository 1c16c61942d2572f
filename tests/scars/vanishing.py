"""Clients that vanish: vanishing.py vanish | fall-silent WARM_UP SERVER...

Prints the seconds until the server has dropped them. `vanish` needs its own network namespace, in
which nothing that the server sends reaches them any more, as if a cable were cut. Clients that only
fall silent have no streams: their system keeps acknowledging keep-alives. The server must not need
more memory after WARM_UP rounds.
"""

import asyncio
import json
import os
import subprocess
import sys
import time

from crowd import MIB, bystander, open_session
from peer import LEGACY, META, MODERN, WAIT_TIMEOUT, Endpoint, Language, call

IDLE_TIMEOUT_MS = 1000  # of the server
CLIENTS_PER_WAY = 40
ROUNDS = 2  # after those of the warm-up
MAX_GROWTH = 4 * MIB  # of the memory from the warm-up to the last round

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


async def idle(server: Endpoint, address: str) -> Connection:
    """A connection kept open after a call."""
    reader, writer = await server.connect(as_address=address)
    body = json.dumps(call(1, "echo", {"message": "x"}, **META)).encode()
    headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: echo")
    writer.write(server.head(len(body), *headers) + body)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head, head
    return reader, writer


async def within_head(server: Endpoint, address: str) -> Connection:
    reader, writer = await server.connect(as_address=address)
    writer.write(server.head(100)[:60])
    return reader, writer


async def within_call(server: Endpoint, address: str) -> Connection:
    """A running call that has reported progress."""
    reader, writer = await server.connect(as_address=address)
    body = json.dumps(call(1, "slow", {"ms": 600_000}, **META, progressToken=1)).encode()
    headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: slow")
    writer.write(server.head(len(body), *headers) + body)
    return await opened(reader, writer)


async def with_stream(server: Endpoint, address: str) -> Connection:
    """A subscription of 2026-07-28."""
    reader, writer = await server.connect(as_address=address)
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
    body = json.dumps({**listen, "params": {"notifications": {"toolsListChanged": True}, "_meta": META}}).encode()
    headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: subscriptions/listen")
    writer.write(server.head(len(body), *headers) + body)
    return await opened(reader, writer)


async def with_stream_of_session(server: Endpoint, address: str) -> Connection:
    session = await open_session(server)
    reader, writer = await server.connect(as_address=address)
    head = server.head(0, f"Mcp-Session-Id: {session}", f"MCP-Protocol-Version: {LEGACY}")
    writer.write(head.replace(b"POST", b"GET", 1).replace(b"Content-Length: 0\r\n", b""))
    return await opened(reader, writer)


async def opened(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection:
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head and b"text/event-stream" in head, head
    return reader, writer


async def settled(server: Endpoint) -> int:
    """The descriptors of the idle server."""
    end, before = time.monotonic() + WAIT_TIMEOUT, -1
    while time.monotonic() < end:
        now = server.descriptors()
        if now == before:
            return now
        before = now
        await asyncio.sleep(0.5)
    raise AssertionError("the descriptors of the server change without an end")


QUIET = (idle, within_head)
WITH_STREAMS = (within_call, with_stream, with_stream_of_session)


async def gone(server: Endpoint, address: str, vanish: bool) -> float:
    """Seconds until the descriptors of vanished clients are freed."""
    before = await settled(server)
    ways = (*QUIET, *WITH_STREAMS) if vanish else QUIET
    kept = [await asyncio.gather(*[way(server, address) for _ in range(CLIENTS_PER_WAY)]) for way in ways]
    if vanish:
        ip("route", "add", "blackhole", f"{address}/32", "table", "local")
    start = time.perf_counter()
    waits = [0.0, 0.0]
    while server.descriptors() > before:
        waits = sorted([*waits, await bystander(server)])[-2:]
        # Other programs may delay one; clients that are gone delay each.
        assert waits[0] < 1, f"the bystander waited {waits} s"
        held = server.descriptors() - before
        assert time.perf_counter() < start + WAIT_TIMEOUT, (
            f"{held} of {len(ways) * CLIENTS_PER_WAY} are held after {WAIT_TIMEOUT} s"
        )
    seconds = time.perf_counter() - start
    for _, writer in (one for way in kept for one in way):
        writer.transport.abort()
    return seconds


async def main(vanish: bool, warm_up: int, command: list[str]) -> None:
    if vanish:
        ip("link", "set", "lo", "up")
    server = await Endpoint.start(Language("", command, []), env={**os.environ, "SILENCE_MS": str(IDLE_TIMEOUT_MS)})
    try:
        await bystander(server)
        slowest, memory = 0.0, 0
        for number in range(warm_up + ROUNDS):
            slowest = max(slowest, await gone(server, f"127.0.0.{2 + number}", vanish))
            if number == warm_up - 1:
                memory = server.memory()
        more = server.memory() - memory
        assert more < MAX_GROWTH, f"{more} bytes of memory more after {ROUNDS} rounds"
        print(slowest, flush=True)
    finally:
        server.kill()
        await server.ended()


asyncio.run(main(sys.argv[1] == "vanish", int(sys.argv[2]), sys.argv[3:]))
