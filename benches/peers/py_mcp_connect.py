"""Connects to many servers at once with the official Python SDK.

usage: py_mcp_connect.py N -- server command...
"""

import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

N, CMD = int(sys.argv[1]), sys.argv[3:]


async def main():
    listed, ended = anyio.Semaphore(0), anyio.Event()

    async def one():
        async with Client(StdioServerParameters(command=CMD[0], args=CMD[1:]), mode="legacy") as c:
            tools = (await c.list_tools()).tools
            if len(tools) != 2:
                raise ValueError(tools)
            listed.release()
            await ended.wait()

    print("READY", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    async with anyio.create_task_group() as tg:
        for _ in range(N):
            tg.start_soon(one)
        for _ in range(N):
            await listed.acquire()
        print("DONE", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        ended.set()


anyio.run(main)
