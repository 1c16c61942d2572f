"""FastMCP client. usage: py_fastmcp_client.py N INFLIGHT -- server command... | N INFLIGHT URL"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

READS = sys.argv[2] == "resource"
N, INFLIGHT, CMD = int(sys.argv[1]), 1 if READS else int(sys.argv[2]), sys.argv[4:]
TARGET = StdioTransport(command=CMD[0], args=CMD[1:]) if CMD else sys.argv[3]


async def main():
    async with Client(TARGET) as c:

        async def call(i):
            r = await c.call_tool("echo", {"message": f"m{i}"})
            if r.content[0].text != f"m{i}":
                raise ValueError(r)

        async def worker(w):
            for i in range(N // INFLIGHT):
                await call(w * 1_000_000 + i)

        async def read():
            for _ in range(N):
                r = await c.read_resource("bench:blob")
                if len(r[0].blob) != 16 * 1024 * 1024:
                    raise ValueError("wrong contents")

        for i in range(0 if READS else 200):
            await call(i)
        print("READY", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await (read() if READS else asyncio.gather(*(worker(w) for w in range(INFLIGHT))))
        print("DONE", flush=True)
        await asyncio.to_thread(sys.stdin.readline)


asyncio.run(main())
