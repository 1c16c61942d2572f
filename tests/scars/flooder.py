"""A flood: flooder.py progress | steady | unread | log | cancel HOST PORT

Prints `flooding` once it has started, and continues until it is killed. It uses idle processor time
only, and sends no faster than a part of one processor allows: only its own work may slow down the
server.
"""

import asyncio
import json
import os
import sys

from peer import META, MODERN, WAIT_TIMEOUT, Place, call

KIB = 1 << 10
# A flood has started once this much of it was read.
STARTED_BYTES = 64 * KIB
# The rate of a storm of cancelled calls.
CALLS_PER_SECOND = 400
ENDLESS_COUNT = 1_000_000_000


async def begin(
    server: Place, tool: str, arguments: dict[str, object]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The connection of a call that requests progress and log messages."""
    reader, writer = await server.connect()
    meta = {**META, "progressToken": 1, "io.modelcontextprotocol/logLevel": "info"}
    body = json.dumps(call(1, tool, arguments, **meta)).encode()
    writer.write(
        server.head(len(body), f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", f"Mcp-Name: {tool}")
    )
    writer.write(body)
    return reader, writer


async def read(server: Place, **kind: bool) -> None:
    """Reads everything."""
    reader, _ = await begin(server, "flood", {"count": ENDLESS_COUNT, **kind})
    received = 0
    while piece := await reader.read(64 * KIB):
        if received < STARTED_BYTES <= received + len(piece):
            print("flooding", flush=True)
        received += len(piece)
        await asyncio.sleep(0.001)
    raise EOFError(f"the flood ended after {received} bytes")


async def leave_unread(server: Place) -> None:
    """Reads the head and nothing else."""
    reader, writer = await begin(server, "flood", {"count": ENDLESS_COUNT})
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.pause_reading()
    print("flooding", flush=True)
    await asyncio.Event().wait()


async def cancel(server: Place) -> None:
    """Starts calls and cancels each of them."""

    async def one() -> None:
        reader, writer = await begin(server, "slow", {"ms": 60_000})
        try:
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_TIMEOUT)
        finally:
            writer.transport.abort()

    for number in range(ENDLESS_COUNT):
        await asyncio.gather(*[one() for _ in range(CALLS_PER_SECOND // 20)])
        if number == 1:
            print("flooding", flush=True)
        await asyncio.sleep(0.05)


async def main(kind: str, host: str, port: str) -> None:
    server = Place(host, int(port))
    if kind == "cancel":
        await cancel(server)
    elif kind == "unread":
        await leave_unread(server)
    else:
        await read(server, log=kind == "log", steady=kind == "steady")


os.nice(19)
asyncio.run(main(*sys.argv[1:]))
