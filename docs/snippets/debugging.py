"""The facts about a connection, and the reason of a failure."""

import asyncio

from trunkline import Client, Server

# Clients get the reasons of failures, which may be secret: not in production.
server = Server("backup", version="1.0.0", debug=True)


@server.tool
async def backup() -> str:
    """Back up all files."""
    raise OSError("disk full")


async def main() -> None:
    async with Client(server) as client:
        print(client.revision, client.server_info.name if client.server_info else "")
        result = await client.call_tool("backup")
        print("error:" if result.is_error else "result:", "disk full" in result.text and "disk full")


asyncio.run(main())
