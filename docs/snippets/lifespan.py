"""A server that opens a database before the first call and closes it after the last."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from trunkline import Client, Context, Server


@asynccontextmanager
async def database(server: Server) -> AsyncGenerator[sqlite3.Connection]:
    print(f"{server.name} opens")
    connection = sqlite3.connect(":memory:")
    try:
        yield connection
    finally:
        connection.close()
        print(f"{server.name} closes")


server = Server("orders", version="1.0.0", lifespan=database)


@server.tool
async def count(ctx: Context) -> int:
    """Count the orders."""
    return ctx.lifespan.execute("SELECT 6 + 1").fetchone()[0]


async def main() -> None:
    async with Client(server) as client:
        print((await client.call_tool("count")).text)


asyncio.run(main())
