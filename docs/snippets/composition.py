"""A gateway that exposes an older server under the newest revision, next to its own tool."""

import asyncio
import sys
from pathlib import Path

from trunkline import Client, Server

OLD = [sys.executable, str(Path(__file__).with_name("tutorial_server.py"))]

gateway = Server("gateway", version="1.0.0")
extra = Server("extra", version="1.0.0")


@extra.tool
def hello() -> str:
    """Greet."""
    return "Hello"


async def main() -> None:
    async with Client(OLD, revision="legacy") as old:
        gateway.proxy(old)
        gateway.mount("extra", extra)
        async with Client(gateway, revision="2026-07-28") as client:  # over HTTP: gateway.serve_http()
            print(" ".join([tool.name for tool in await client.list_tools()]))
            result = await client.call_tool("add_note", {"name": "groceries", "text": "milk"})
            print(f"{old.revision} as {client.revision}: {result.text}")


asyncio.run(main())
