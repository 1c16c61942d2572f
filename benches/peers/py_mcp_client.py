"""Official Python SDK client.

usage: py_mcp_client.py N INFLIGHT -- server command... | N INFLIGHT URL
"""

import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

READS = sys.argv[2] == "resource"
N, INFLIGHT, CMD = int(sys.argv[1]), 1 if READS else int(sys.argv[2]), sys.argv[4:]
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

        async def read():
            for _ in range(N):
                r = await c.read_resource("bench:blob")
                if len(r.contents[0].blob) != 16 * 1024 * 1024:
                    raise ValueError("wrong contents")

        for i in range(0 if READS else 200):
            await call(i)
        print("READY", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        async with anyio.create_task_group() as tg:
            if READS:
                tg.start_soon(read)
            for w in range(0 if READS else INFLIGHT):
                tg.start_soon(worker, w)
        print("DONE", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)


anyio.run(main)
