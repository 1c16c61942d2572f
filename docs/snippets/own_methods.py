"""A vendor-specific method, and a client that calls it."""

import asyncio

from trunkline import Client, Context, Server

server = Server("sums", version="1.0.0")


@server.request_handler("com.acme/sum")
async def total(terms: list[int], ctx: Context) -> dict[str, int]:
    await ctx.progress(1, 1)
    return {"sum": sum(terms)}


async def main() -> None:
    async with Client(server) as client:
        result = await client.request("com.acme/sum", {"terms": [1, 2, 39]})
        print(result["sum"])


asyncio.run(main())
