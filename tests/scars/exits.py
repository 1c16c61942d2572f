"""Processes that must exit or must not be held up, apart from the rows of `tests/exits.json`."""

import asyncio
import json
import os
import time

from endings import LONG_CALL_MS
from peer import WAIT_TIMEOUT, Language, call, pipe
from row import row

DRAIN_DEADLINE = 5  # seconds, the default of the drain deadline
FAILING_CALLS = 1000  # their log records exceed the capacity of a pipe


@row("stdin ends while a synchronous tool is running", DRAIN_DEADLINE, "s", languages=("python",))
async def end_of_input_beside_a_synchronous_tool(language: Language) -> float:
    async with pipe(language) as server:
        server.send(call(1, "work", {"ms": LONG_CALL_MS}), call(2, "echo", {"message": "started"}))
        await server.answer(2)
        start = time.perf_counter()
        server.end_input()
        await server.ended()
        return time.perf_counter() - start


@row("stray prints on a stdio server", 0, "lines that are not messages")
async def stray_prints(language: Language) -> float:
    async with pipe(language) as server:
        server.send(*[call(number, "stray", {}) for number in range(1, 11)])
        for number in range(1, 11):
            assert any(json.loads(line).get("id") == number for line in server.lines) or await server.answer(number)
        return sum(not line.startswith(b'{"jsonrpc"') for line in server.lines)


@row("nobody reads stderr: failing calls are answered, and the server ends with its input", DRAIN_DEADLINE, "s")
async def unread_stderr(language: Language) -> float:
    unread, stderr = os.pipe()
    try:
        async with pipe(language, stderr) as server:
            for number in range(1, FAILING_CALLS + 1):
                server.send(call(number, "fail", {}))
                await asyncio.wait_for(server.answer(number), WAIT_TIMEOUT)
            start = time.perf_counter()
            server.end_input()
            await server.ended()
            return time.perf_counter() - start
    finally:
        os.close(unread)
        os.close(stderr)


@row("100 one-second synchronous tools at once", 2, "s", languages=("python",))
async def synchronous_tools(language: Language) -> float:
    async with pipe(language) as server:
        start = time.perf_counter()
        server.send(*[call(number, "work", {"ms": 1000}) for number in range(1, 101)])
        seen: set[int] = set()
        while len(seen) < 100:
            assert server.process.stdout
            seen.add(json.loads(await server.process.stdout.readline())["id"])
        return time.perf_counter() - start
