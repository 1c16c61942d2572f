"""A bridge that clients see as the server behind it, which starts with their first request."""

import asyncio
import sys
from pathlib import Path

from trunkline import Client, Server

NOTES = [sys.executable, str(Path(__file__).with_name("tutorial_server.py"))]

bridge = Server("bridge", version="1.0.0")


async def main() -> None:
    async with Client(NOTES, lazy=True) as notes:
        bridge.proxy(notes, transparent=True)
        async with Client(bridge) as client:  # over HTTP: bridge.serve_http()
            server = client.server_info
            tools = " ".join([tool.name for tool in await client.list_tools()])
            print(f"{server.name if server else ''}: {tools}")


asyncio.run(main())
