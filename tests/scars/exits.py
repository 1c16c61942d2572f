"""Processes that must exit, and their calls in flight."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from signal import SIGINT, SIGTERM

from crowd import open_streams
from peer import SOON, Language, Pipe, call, endpoint, pipe
from row import row

LONG_CALL = 600_000  # deadline in milliseconds after which no call may keep a process alive
DRAIN = 5  # seconds, the default of the drain deadline
BLOCKERS = 4 * (os.cpu_count() or 1)  # more than a runtime has threads
INTERRUPTED = b'"reason":"interrupted"'  # in the error of such a call
FAILING = 1000  # calls whose log records exceed the capacity of a pipe


@row("SIGTERM, stdio: calls in flight are answered", DRAIN, "s", waits=True)
async def signal_over_stdio(language: Language) -> float:
    async with pipe(language) as server:
        server.send(*[call(number, "slow", {"ms": 500}) for number in (1, 2, 3)], call(4, "echo", {"message": "first"}))
        await server.answer(4)
        start = time.perf_counter()
        server.signal(SIGTERM)
        for number in (1, 2, 3):
            answer = next((m for m in map(json.loads, server.lines) if m.get("id") == number), None)
            answer = answer or await server.answer(number)
            assert answer["result"]["content"][0]["text"] == "done", answer
        await server.ended()
        return time.perf_counter() - start


@row("Ctrl-C, HTTP: calls in flight are answered, streams end", DRAIN, "s", waits=True)
async def signal_over_http(language: Language) -> float:
    async with endpoint(language) as server:
        streams = await open_streams(server)
        calls = [asyncio.ensure_future(server.modern(number, "slow", {"ms": 800})) for number in (1, 2, 3)]
        await asyncio.sleep(0.4)
        start = time.perf_counter()
        server.signal(SIGINT)
        for status, body in await asyncio.gather(*calls):
            assert status == 200 and b"done" in body, (status, body)
        await asyncio.gather(*[stream.read() for stream, _ in streams])
        await server.ended()
        return time.perf_counter() - start


@row("SIGTERM, HTTP: a call that never ends", DRAIN, "s", waits=True)
async def endless_call(language: Language) -> float:
    async with endpoint(language) as server:
        call = asyncio.ensure_future(server.modern(1, "slow", {"ms": LONG_CALL}))
        await asyncio.sleep(0.4)
        start = time.perf_counter()
        server.signal(SIGTERM)
        await server.ended()
        seconds = time.perf_counter() - start
        status, body = await asyncio.wait_for(call, 1)
        assert status == 200 and INTERRUPTED in body, (status, body)
        return seconds


async def end_of_endless_call(language: Language, end: Callable[[Pipe], None]) -> float:
    async with pipe(language) as server:
        server.send(call(1, "slow", {"ms": LONG_CALL}), call(2, "echo", {"message": "started"}))
        await server.answer(2)
        start = time.perf_counter()
        end(server)
        answer = await server.answer(1)
        assert answer["error"]["data"] == {"reason": "interrupted"}, answer
        status = await server.ended()
        assert status == 0, f"the server ended with {status}"
        return time.perf_counter() - start


@row("stdin ends while a call never ends", DRAIN, "s", waits=True)
async def endless_call_over_stdio(language: Language) -> float:
    return await end_of_endless_call(language, Pipe.end_input)


@row("SIGTERM, stdio: a call that never ends", DRAIN, "s", waits=True)
async def signal_and_endless_call(language: Language) -> float:
    return await end_of_endless_call(language, lambda server: server.signal(SIGTERM))


@row("a second signal", 1, "s", waits=True)
async def second_signal(language: Language) -> float:
    async with pipe(language) as server:
        server.send(call(1, "slow", {"ms": LONG_CALL}), call(2, "echo", {"message": "started"}))
        await server.answer(2)
        server.signal(SIGTERM)
        await asyncio.sleep(0.3)
        start = time.perf_counter()
        server.signal(SIGTERM)
        await server.ended()
        return time.perf_counter() - start


@row("stdin ends while a handler blocks", DRAIN, "s", waits=True)
async def end_of_input(language: Language) -> float:
    async with pipe(language) as server:
        server.send(call(1, "echo", {"message": "first"}), call(2, "block", {"ms": LONG_CALL}))
        await server.answer(1)
        await asyncio.sleep(0.1)
        start = time.perf_counter()
        server.end_input()
        await server.ended()
        return time.perf_counter() - start


@row("stdin ends while a synchronous tool goes on", DRAIN, "s", languages=("python",), waits=True)
async def end_of_input_beside_a_synchronous_tool(language: Language) -> float:
    async with pipe(language) as server:
        server.send(call(1, "work", {"ms": LONG_CALL}), call(2, "echo", {"message": "started"}))
        await server.answer(2)
        start = time.perf_counter()
        server.end_input()
        await server.ended()
        return time.perf_counter() - start


@row("SIGTERM while handlers block everything", DRAIN, "s", waits=True)
async def signal_while_blocked(language: Language) -> float:
    async with endpoint(language) as server:
        calls = [asyncio.ensure_future(server.modern(one, "block", {"ms": LONG_CALL})) for one in range(BLOCKERS)]
        await asyncio.sleep(0.5)
        start = time.perf_counter()
        server.signal(SIGTERM)
        await server.ended()
        await asyncio.gather(*calls, return_exceptions=True)
        return time.perf_counter() - start


@row("a second signal while a handler blocks", 1, "s", waits=True)
async def second_signal_while_blocked(language: Language) -> float:
    async with pipe(language) as server:
        server.send(call(1, "echo", {"message": "first"}), call(2, "block", {"ms": LONG_CALL}))
        await server.answer(1)
        await asyncio.sleep(0.1)
        server.signal(SIGTERM)
        await asyncio.sleep(0.4)
        start = time.perf_counter()
        server.signal(SIGTERM)
        await server.ended()
        return time.perf_counter() - start


@row("stray prints on a stdio server", 0, "lines that are not messages", untimed=True)
async def stray_prints(language: Language) -> float:
    async with pipe(language) as server:
        server.send(*[call(number, "stray", {}) for number in range(1, 11)])
        for number in range(1, 11):
            assert any(json.loads(line).get("id") == number for line in server.lines) or await server.answer(number)
        return sum(not line.startswith(b'{"jsonrpc"') for line in server.lines)


@row("nobody reads stderr: failing calls are answered, and the server ends with its input", DRAIN, "s")
async def unread_stderr(language: Language) -> float:
    unread, stderr = os.pipe()
    try:
        async with pipe(language, stderr) as server:
            for number in range(1, FAILING + 1):
                server.send(call(number, "fail", {}))
                await asyncio.wait_for(server.answer(number), SOON)
            start = time.perf_counter()
            server.end_input()
            await server.ended()
            return time.perf_counter() - start
    finally:
        os.close(unread)
        os.close(stderr)


@row("100 one-second synchronous tools at once", 1.3, "s", languages=("python",))
async def synchronous_tools(language: Language) -> float:
    async with pipe(language) as server:
        start = time.perf_counter()
        server.send(*[call(number, "work", {"ms": 1000}) for number in range(1, 101)])
        seen: set[int] = set()
        while len(seen) < 100:
            assert server.process.stdout
            seen.add(json.loads(await server.process.stdout.readline())["id"])
        return time.perf_counter() - start
