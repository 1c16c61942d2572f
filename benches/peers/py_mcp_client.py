"""Official Python SDK client.

usage: py_mcp_client.py N INFLIGHT -- server command... | N INFLIGHT URL
"""

import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

N, INFLIGHT, CMD = int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:]
TARGET = StdioServerParameters(command=CMD[0], args=CMD[1:]) if CMD else sys.argv[3]


async def main():
    async with Client(TARGET, mode="legacy") as c:

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
        await anyio.to_thread.run_sync(sys.stdin.readline)
        async with anyio.create_task_group() as tg:
            for w in range(INFLIGHT):
                tg.start_soon(worker, w)
        print("DONE", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)


anyio.run(main)
