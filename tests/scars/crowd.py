"""An attacker, and a bystander whose call must be answered within a second."""

import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable

from peer import LEGACY, META, MODERN, WAIT_TIMEOUT, Endpoint, Language, Message, call, endpoint
from row import LONG_FORM, row

MIB = 1 << 20
# The default of the servers.
MAX_SESSIONS = 10_000
# An idle process may use this many seconds of CPU time per second.
MAX_IDLE_CPU = 0.2


async def bystander_call(server: Endpoint) -> None:
    """A call of another client."""
    status, body = await asyncio.wait_for(server.modern(1, "echo", {"message": "bystander"}), WAIT_TIMEOUT)
    assert status == 200 and b"bystander" in body, (status, body)


async def bystander(server: Endpoint) -> float:
    """Seconds of the slowest of some calls of another client."""
    slowest = 0.0
    for _ in range(5):
        start = time.perf_counter()
        await bystander_call(server)
        slowest = max(slowest, time.perf_counter() - start)
        await asyncio.sleep(0.02)
    return slowest


@row("1,000 clients with equal ids", 0, "answers of another client", of_core=True)
async def equal_ids(language: Language) -> float:
    async with endpoint(language) as server:
        at_once = asyncio.Semaphore(100)

        async def one(number: int) -> bool:
            async with at_once:
                status, body = await server.modern(1, "echo", {"message": f"client {number};"})
            return status != 200 or f"client {number};".encode() not in body

        return sum(await asyncio.gather(*[one(number) for number in range(1000)]))


@row("1,000 sessions with equal ids", 0, "answers of another client", of_core=True)
async def equal_ids_in_sessions(language: Language) -> float:
    async with endpoint(language) as server:
        at_once = asyncio.Semaphore(100)

        async def one(number: int) -> bool:
            async with at_once:
                session = await open_session(server)
                headers = (f"Mcp-Session-Id: {session}", f"MCP-Protocol-Version: {LEGACY}")
                status, body = await server.post(call(1, "echo", {"message": f"client {number};"}), *headers)
            return status != 200 or f"client {number};".encode() not in body

        return sum(await asyncio.gather(*[one(number) for number in range(1000)]))


@row("a body of 4 MiB of small values: memory", 16, "MiB more")
async def many_values(language: Language) -> float:
    async with endpoint(language) as server:
        await bystander(server)
        before = server.memory()
        item = b'{"":0},'
        values = b"[" + item * ((4 * MIB - 1024) // len(item)) + b"0]"
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x","y":'
        attack = asyncio.ensure_future(server.post_bytes(body + values + b"}}}"))
        slowest = await bystander(server)
        status, answer = await attack
        assert status >= 400 or b"error" in answer, (status, answer[:200])
        assert slowest < 1, f"the bystander waited {slowest:.1f} s"
        return (server.peak() - before) / MIB


def costly_call(tool: str, arguments: Message) -> bytes:
    """A call with almost the maximum number of values in a message."""
    # Out of 500,000, some of which belong to the call itself.
    values = "[" + "1," * 499_975 + "1]"
    return json.dumps(call(1, tool, arguments, **META, x="@")).replace('"@"', values).encode()


@row("calls that hold all values: a concurrent call of 8 KiB", 1, "s")
async def held_values(language: Language) -> float:
    async with endpoint(language) as server:
        slow = costly_call("slow", {"ms": 600_000})
        headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: slow")
        held = [asyncio.ensure_future(server.post_bytes(slow, *headers)) for _ in range(2)]
        await asyncio.sleep(3)
        start = time.perf_counter()
        message = {"message": "bystander" * 900, "more": [0] * 100}
        status, answer = await asyncio.wait_for(server.modern(1, "echo", message), WAIT_TIMEOUT)
        seconds = time.perf_counter() - start
        for one in held:
            one.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        assert status == 200, (status, answer)
        return seconds


@row("messages with the maximum number of values: a concurrent call", 1, "s", alone=True)
async def allowed_values(language: Language) -> float:
    async with endpoint(language) as server:
        costly = costly_call("echo", {"message": "x"})
        headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: echo")

        async def send() -> None:
            while True:
                await server.post_bytes(costly, *headers)

        async def attack() -> None:
            await asyncio.gather(*[send() for _ in range(6)])

        return await _beside(server, attack)


async def _beside(server: Endpoint, attack: Callable[[], Awaitable[object]]) -> float:
    attacker = asyncio.ensure_future(attack())
    await asyncio.sleep(0.3)
    try:
        return await bystander(server)
    finally:
        attacker.cancel()
        await asyncio.gather(attacker, return_exceptions=True)


@row("64 stalled uploads: a concurrent call", 1, "s", of_core=True)
async def slow_uploads(language: Language) -> float:
    async with endpoint(language) as server:

        async def upload() -> None:
            _, writer = await server.connect()
            writer.write(server.head(4 * MIB - 1) + b"[" * (256 << 10))
            await asyncio.sleep(60)

        async def attack() -> None:
            await asyncio.gather(*[upload() for _ in range(64)], return_exceptions=True)

        return await _beside(server, attack)


@row("4,200 bodies that stop after their first byte: a concurrent call", 1, "s", alone=True, of_core=True)
async def stopped_bodies(language: Language) -> float:
    async with endpoint(language) as server:

        async def begin() -> asyncio.StreamWriter:
            _, writer = await server.connect()
            writer.write(server.head(1000, f"MCP-Protocol-Version: {MODERN}") + b"{")
            return writer

        kept: list[asyncio.StreamWriter] = []
        for _ in range(42):
            kept += await asyncio.gather(*[begin() for _ in range(100)])
        await asyncio.sleep(0.3)
        slowest = await bystander(server)
        for writer in kept:
            writer.transport.abort()
        return slowest


@row("500 connections that send nothing: a concurrent call", 1, "s", of_core=True)
async def silent_connections(language: Language) -> float:
    async with endpoint(language) as server:

        async def attack() -> None:
            kept = [await server.connect() for _ in range(500)]
            await asyncio.sleep(60)
            assert kept

        return await _beside(server, attack)


@row("unused sessions: memory of each", 4, "KiB", alone=True)
async def abandoned_sessions(language: Language) -> float:
    # More than the maximum: in one language in the short form, in all in the long form.
    count = 100_000 if LONG_FORM else 12_000 if language.name == "rust" else 3000
    async with endpoint(language) as server:
        # The first ones allocate memory that later ones reuse.
        for _ in range(500):
            await open_session(server)
        before = server.memory()
        for _ in range(count // 50):
            # Each must have opened, otherwise it would cost nothing.
            await asyncio.gather(*[open_session(server) for _ in range(50)])
        slowest = await bystander(server)
        assert slowest < 1, f"the bystander waited {slowest:.1f} s"
        # Beyond the limit the longest-idle sessions are evicted, and memory stays flat.
        return (server.memory() - before) / 1024 / min(count, MAX_SESSIONS)


@row("20 unread responses of 64 KiB: memory", 32, "MiB more")
async def slow_readers(language: Language) -> float:
    async with endpoint(language) as server:
        message = "x" * (64 << 10)
        body = json.dumps(call(1, "echo", {"message": message}, **META)).encode()
        head = server.head(len(body), f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: echo")
        await server.post_bytes(body, f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: echo")
        before = server.memory()

        async def ask() -> asyncio.StreamWriter:
            _, writer = await asyncio.open_connection(server.host, server.port, limit=1)
            writer.transport.pause_reading()
            writer.write(head + body)
            return writer

        kept = await asyncio.gather(*[ask() for _ in range(20)])
        await asyncio.sleep(2)
        slowest = await bystander(server)
        assert slowest < 1, f"the bystander waited {slowest:.1f} s"
        used = (server.memory() - before) / MIB
        for writer in kept:
            writer.transport.abort()
        return used


def limit_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


@row("64 calls at once at 64 descriptors: those without an answer", 0, "calls")
async def more_calls_than_descriptors(language: Language) -> float:
    async with endpoint(language, preexec_fn=limit_descriptors) as server:
        calls: list[asyncio.Task[tuple[int, bytes]]] = []
        for number in range(64):
            calls.append(asyncio.create_task(server.modern(number, "slow", {"ms": 1000})))
            # A connection that sends nothing for 100 ms may have to make room for another.
            await asyncio.sleep(0.005)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        return sum(isinstance(one, BaseException) or one[0] != 200 or b"done" not in one[1] for one in answers)


@row("300 connections at 64 descriptors: back in service", 5, "s", of_core=True)
async def few_descriptors(language: Language) -> float:
    async with endpoint(language, preexec_fn=limit_descriptors) as server:
        kept = [await server.connect() for _ in range(300)]
        await asyncio.sleep(0.3)
        used = server.processor_time()
        await asyncio.sleep(1)
        used = server.processor_time() - used
        assert used < MAX_IDLE_CPU, f"the server used {used:.2f} s of a second while it had no descriptors"
        start = time.perf_counter()
        for _, writer in kept:
            writer.close()
        while True:
            try:
                status, _ = await asyncio.wait_for(server.modern(1, "echo", {"message": "back"}), 2)
                if status == 200:
                    return time.perf_counter() - start
            except (OSError, EOFError, asyncio.TimeoutError):
                await asyncio.sleep(0.05)


@row("requests of other hosts and origins", 0, "that are let in", of_core=True)
async def foreign_names(language: Language) -> float:
    async with endpoint(language) as server:
        body = b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}'
        let_in = 0
        for header in ("Host: evil.example", "Host: 127.0.0.1.evil.example", "Origin: https://evil.example"):
            reader, writer = await server.connect()
            head = server.head(len(body), "Connection: close")
            if header.startswith("Host"):
                head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"Host"))
            head = head.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\n" + header.encode() + b"\r\n", 1)
            writer.write(head + body)
            let_in += not (await reader.readline()).startswith(b"HTTP/1.1 403")
            writer.close()
        return let_in


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


async def open_session(server: Endpoint) -> str:
    """The id of a session that is opened and then left idle."""
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "scars", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    reader, writer = await server.connect()
    try:
        writer.write(server.head(len(body), "Connection: close") + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        await reader.read()
        found = [
            line.split(":", 1)[1].strip() for line in head.split("\r\n") if line.lower().startswith("mcp-session-id")
        ]
        assert found, head
        return found[0]
    finally:
        writer.close()


@row("idle streams of sessions: memory of each", 24, "KiB", alone=True)
async def idle_streams(language: Language) -> float:
    # 16 KiB for the two buffers of its connection: hyper's minimum.
    count = 800
    async with endpoint(language) as server:
        sessions: list[str] = []
        for _ in range(count // 50):
            sessions += await asyncio.gather(*[open_session(server) for _ in range(50)])
        before = server.memory()
        kept: list[asyncio.StreamWriter] = []
        for session in sessions:
            reader, writer = await server.connect()
            head = server.head(0, f"Mcp-Session-Id: {session}", f"MCP-Protocol-Version: {LEGACY}")
            writer.write(head.replace(b"POST", b"GET", 1).replace(b"Content-Length: 0\r\n", b""))
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            kept.append(writer)
        await asyncio.sleep(1)
        used = (server.memory() - before) / 1024 / count
        for writer in kept:
            writer.transport.abort()
        return used
