"""Invalid input: the process keeps running and serves others meanwhile."""

import asyncio
import itertools
import json
import random
import time
from collections.abc import Iterator

from crowd import MIB, bystander
from peer import LEGACY, META, Language, call, endpoint, pipe
from row import LONG_FORM, row

LINES = 10_000
CONNECTIONS = 10_000 if LONG_FORM else 1000
CONCURRENCY = 50
# Strings that mean something to some parser.
WORDS = (
    *(b"\0", b"\r\n", b"\r\n\r\n", b" ", b'"', b"\\u0000", b"\\ud800", b"{", b"[" * 500, b"}", b"]", b",", b":", b"-1"),
    *(b"null", b"1e999", b"18446744073709551616", b"\xff\xfe", b"%00", b"/../", b"chunked", b"Content-Length: 9\r\n"),
)


def changed(seeds: list[bytes], count: int) -> Iterator[bytes]:
    """The seeds with a few mutations, the same in every run."""
    chance = random.Random(1)
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(data) + 1)
            end = at + chance.randrange(20)
            match chance.randrange(5):
                case 0:
                    data[at:at] = chance.choice(WORDS)
                case 1:
                    data[at:at] = chance.randbytes(4)
                case 2:
                    del data[at:end]
                case 3:
                    data[at:end] = data[at:end] * chance.randrange(2, 40)
                case _:
                    del data[at:]
        yield bytes(data)


@row(f"{LINES} lines of hostile input on standard input: a call after them", 1, "s", alone=True)
async def hostile_lines(language: Language) -> float:
    async with pipe(language) as server:
        assert server.process.stdin
        seeds = [
            json.dumps(call(1, "echo", {"message": "x"}, progressToken=1)).encode(),
            json.dumps(call(2, "echo", {"message": ["x", 1.5, None]}, **META)).encode(),
            b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"x"}}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
            b'{"jsonrpc":"2.0","id":3,"result":{}}',
        ]

        async def attack() -> None:
            assert server.process.stdin
            for line in changed(seeds, LINES):
                server.process.stdin.write(line.replace(b"\n", b" ") + b"\n")
                await server.process.stdin.drain()
            server.send(call(-7, "echo", {"message": "after them"}))

        attacker = asyncio.ensure_future(attack())
        answer = await server.answer(-7)  # parses every line as JSON first
        await attacker
        assert "after them" in json.dumps(answer), answer
        start = time.perf_counter()
        server.send(call(-8, "echo", {"message": "and once more"}))
        await server.answer(-8)
        return time.perf_counter() - start


@row(f"{CONNECTIONS} connections with hostile bytes: memory", 16, "MiB more", alone=True, of_core=True)
async def hostile_connections(language: Language) -> float:
    async with endpoint(language) as server:
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        seeds = [
            server.head(len(body)) + body,
            server.head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + chunks,
            server.head(0, "Mcp-Session-Id: none", "Last-Event-ID: 1-1").replace(b"POST", b"GET", 1),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        ]

        async def one(data: bytes) -> None:
            reader, writer = await server.connect()
            try:
                writer.write(data)
                writer.write_eof()
                answer = await asyncio.wait_for(reader.read(), 20)
                assert not answer.startswith(b"HTTP/1.1 5"), (data, answer)
            except OSError:
                pass  # it may close the connection before it has read everything
            finally:
                writer.close()

        async def attack(inputs: Iterator[bytes]) -> None:
            while part := list(itertools.islice(inputs, CONCURRENCY)):
                await asyncio.gather(*[one(data) for data in part])

        await attack(changed(seeds, 2 * CONCURRENCY))
        await bystander(server)
        before = server.memory()
        attacker = asyncio.ensure_future(attack(changed(seeds, CONNECTIONS)))
        slowest = await bystander(server)
        await attacker
        assert slowest < 1, f"the bystander waited {slowest:.1f} s"
        return (server.memory() - before) / MIB
