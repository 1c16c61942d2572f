"""Information about a connection, and why one failed."""

import asyncio

from trunkline import Client, Server

# Sends error details, which may be secret, to clients: not for production.
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
