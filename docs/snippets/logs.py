"""Log messages for the client, and the library's own log."""

import asyncio
import logging

from trunkline import Client, Context, LogMessage, Server

# Trunkline logs through `logging`: "trunkline.server", ".client", ".auth" and ".access".
logging.basicConfig(level=logging.WARNING)

server = Server("backup", version="1.0.0")


@server.tool
async def backup(ctx: Context) -> str:
    """Back up all files."""
    await ctx.debug("looking for changes")
    await ctx.info({"files": 3}, logger="copier")
    return "done"


client = Client(server, log_level="info")


@client.on_log
def log(message: LogMessage) -> None:
    print(f"{message.level} of the {message.logger}: {message.data['files']} files")


async def main() -> None:
    async with client:
        print((await client.call_tool("backup")).text)


asyncio.run(main())
