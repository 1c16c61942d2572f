"""Errors: for the model, for the log, protocol errors, and timeouts."""

import asyncio

from trunkline import Client, ProtocolError, Server, TimeoutError, ToolError

server = Server("shop", version="1.0.0")


@server.tool
def price(article: str) -> str:
    """The price of an article."""
    if article == "sun":
        raise ToolError("The sun is not for sale.")
    raise LookupError(f"no row for {article} in prices.db")


@server.tool
async def wait() -> None:
    """Never ends."""
    await asyncio.Event().wait()


async def main() -> None:
    async with Client(server) as client:
        for article in ("sun", "moon"):
            result = await client.call_tool("price", {"article": article})
            print(result.text)
        try:
            await client.call_tool("prize")
        except ProtocolError as error:
            print(error.kind, error.code)
        try:
            await client.call_tool("wait", timeout=0.05)
        except TimeoutError as error:
            print(error.kind)


asyncio.run(main())
