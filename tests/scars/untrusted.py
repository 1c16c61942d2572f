"""Patterns, strings and callbacks that may only harm their own call, never a bystander."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from clients import Driver, driver
from crowd import MIB
from peer import LEGACY, META, MODERN, Endpoint, Language, call, endpoint
from row import row

# The calls of a bystander beside each attack. Times are in seconds.
CALLS = 15
CALL_INTERVAL = 0.02
MAX_CALL_TIME = 0.05
# The client of an attacking server has a timeout.
CALL_TIMEOUT_MS = 2000
HOSTILE = (sys.executable, str(Path(__file__).with_name("hostile_server.py")))
GOOD = "Authorization: Bearer good"


async def slowest(one: Callable[[], Awaitable[None]]) -> float:
    """Seconds of the slowest call of a bystander. Delays by other programs do not repeat."""
    windows: list[float] = []
    while len(windows) < 3 and min(windows, default=MAX_CALL_TIME) >= MAX_CALL_TIME:
        window = 0.0
        for _ in range(CALLS):
            start = time.perf_counter()
            await one()
            window = max(window, time.perf_counter() - start)
            await asyncio.sleep(CALL_INTERVAL)
        windows.append(window)
    return min(windows)


def echo(server: Endpoint, *headers: str) -> Callable[[], Awaitable[None]]:
    body = json.dumps(call(1, "echo", {"message": "bystander"}, **META)).encode()
    mirrored = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: echo", *headers)

    async def one() -> None:
        status, answer = await server.post_bytes(body, *mirrored)
        assert status == 200 and b"bystander" in answer, (status, answer[:200])

    return one


@asynccontextmanager
async def beside(attack: Awaitable[object]) -> AsyncGenerator[None]:
    """The time of an attack, which is eventually cancelled."""
    running = asyncio.ensure_future(attack)
    await asyncio.sleep(0.2)
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@row(
    "costly patterns with texts of 60,000 and of 4 MiB letters: a bystander's slowest call",
    MAX_CALL_TIME,
    "s",
    alone=True,
    of_core=True,
)
async def costly_arguments(language: Language) -> float:
    async with endpoint(language) as server:
        one, worst = echo(server), 0.0
        await slowest(one)
        for letters in (60_000, 4 * MIB - 1024):
            for member in ("around", "back"):
                body = json.dumps(call(2, "match", {member: "a" * letters}, **META)).encode()
                headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: match")
                async with beside(server.post_bytes(body, *headers)):
                    worst = max(worst, await slowest(one))
        return worst


@asynccontextmanager
async def client_of_hostile(language: Language, **variables: str) -> AsyncGenerator[Driver]:
    async with driver(language, *HOSTILE, REVISION=LEGACY, TIMEOUT_MS=str(CALL_TIMEOUT_MS), **variables) as client:
        client.send("list")
        assert "tools" in await client.line()
        yield client


def quick(client: Driver, others: dict[str, str]) -> Callable[[], Awaitable[None]]:
    """A fast call; the outcomes of others are recorded."""

    async def one() -> None:
        client.send("call 0 1")
        while (outcome := (await client.line()).split())[0] != "0":
            others[outcome[0]] = outcome[1]
        assert outcome[1] == "ok", outcome

    return one


@row(
    "costly output schemas of a server: the slowest other call of its client",
    MAX_CALL_TIME,
    "s",
    alone=True,
    of_core=True,
)
async def costly_results(language: Language) -> float:
    worst = 0.0
    for tool, size in (("around", 60_000), ("around", 4 * MIB), ("back", 60_000), ("many", 2 * MIB), ("large", 9)):
        async with client_of_hostile(language) as client:
            others: dict[str, str] = {}
            one = quick(client, others)
            await slowest(one)
            start = time.perf_counter()
            client.send(f"call 1 {size} {tool}")
            await asyncio.sleep(0.5)
            worst = max(worst, await slowest(one))
            while "1" not in others:
                await one()
                await asyncio.sleep(CALL_INTERVAL)
            took = time.perf_counter() - start
            assert took < CALL_TIMEOUT_MS / 1000 + 1.5, f"{tool}: the call took {took:.1f} s"
            assert others["1"] in ("timeout", "transport", "ok"), others
    return worst


PLACES = ("error", "toolError", "progress", "log", "question", "result")


@row(
    "unpaired surrogates in what handlers throw, report, ask and return: a bystander's slowest call",
    MAX_CALL_TIME,
    "s",
    alone=True,
)
async def halves(language: Language) -> float:
    async with endpoint(language) as server:
        one = echo(server)
        await slowest(one)
        capable = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
        wanted = {**capable, "progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}

        async def attack() -> None:
            while True:
                for place in PLACES:
                    status, answer = await server.modern(2, "halves", {"place": place}, **wanted)
                    assert status in (200, 400, 500) and b'"id":2' in answer.replace(b" ", b""), (place, status, answer)
                    assert "half" not in answer.decode() or "\ufffd" in answer.decode(), (place, answer)

        async with beside(attack()) as _:
            return await slowest(one)


@row("callbacks of a server that throw: a bystander's slowest call", MAX_CALL_TIME, "s", alone=True)
async def careless_server(language: Language) -> float:
    async with endpoint(language, env={**os.environ, "THROWS": "1"}) as server:
        one = echo(server, GOOD)
        await slowest(one)

        async def attack() -> None:
            while True:
                for tool, token, expected in (
                    ("touch", GOOD, 0),
                    ("fail", GOOD, 200),
                    ("echo", "Authorization: Bearer x", 0),
                ):
                    headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", f"Mcp-Name: {tool}", token)
                    arguments = {"number": "1", "message": "x"}
                    status, answer = await server.post(call(3, tool, arguments, **META), *headers)
                    assert expected in (0, status) and b"thrown" not in answer, (tool, status, answer)

        async with beside(attack()):
            return await slowest(one)


# Callbacks of C and Swift throw nothing.
@row(
    "callbacks of a client that throw: its slowest other call",
    MAX_CALL_TIME,
    "s",
    ("rust", "python", "node", "kotlin", "java", "ruby"),
    alone=True,
)
async def careless_client(language: Language) -> float:
    async with client_of_hostile(language, THROWS="1") as client:
        others: dict[str, str] = {}
        one = quick(client, others)
        await slowest(one)
        client.send(*[f"call {number} 1 noise" for number in range(1, 21)])
        worst = await slowest(one)
        assert set(others.values()) == {"ok"} and len(others) == 20, others
        return worst
