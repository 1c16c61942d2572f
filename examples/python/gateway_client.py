"""Lifts an old server to the newest revision, and calls it there. By default that beside it."""

import asyncio
import sys
from pathlib import Path

from trunkline import Client, Server

OLD = [sys.executable, str(Path(__file__).with_name("hello_server.py"))]


async def main() -> None:
    async with Client(sys.argv[1] if len(sys.argv) > 1 else OLD, revision="legacy") as old:
        gateway = Server("gateway", version="1.0.0")
        gateway.proxy(old)
        async with gateway.serve("http", port=0) as listener:
            await call(str(listener.url))


async def call(url: str) -> None:
    """Any client of the gateway."""
    async with Client(url, revision="2026-07-28") as client:
        for tool in await client.list_tools():
            print(f"{client.revision}: {tool.name}")
        print((await client.call_tool("hello", {"name": "Ada"})).text)


asyncio.run(main())
