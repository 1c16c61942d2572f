"""A tool that only works in folders its client allows."""

import asyncio

from trunkline import Client, Context, Root, Server

server = Server("search", version="1.0.0")


@server.tool
async def folders(ctx: Context) -> str:
    """Name the folders that may be searched."""
    roots = await ctx.list_roots()
    return ", ".join(root.name or root.uri for root in roots)


async def main() -> None:
    roots = [Root("file:///home/ada/notes", name="notes"), Root("file:///srv/wiki")]
    async with Client(server, roots=roots) as client:
        print((await client.call_tool("folders")).text)


asyncio.run(main())
