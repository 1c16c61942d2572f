"""FastMCP client. usage: py_fastmcp_client.py N INFLIGHT -- server command... | N INFLIGHT URL"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

N, INFLIGHT, CMD = int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:]
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

        for i in range(200):
            await call(i)
        print("READY", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.gather(*(worker(w) for w in range(INFLIGHT)))
        print("DONE", flush=True)
        await asyncio.to_thread(sys.stdin.readline)


asyncio.run(main())
