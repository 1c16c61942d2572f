"""Changes what a server offers while it runs: for everyone, and for each caller."""

import asyncio

from trunkline import Client, Server, SyncContext

server = Server("shop", version="1.0.0")


def is_staff(ctx: SyncContext) -> bool:
    return (ctx.client_info or {}).get("name") == "staff"  # with access tokens: ctx.auth


@server.tool(timeout=2.0)
async def price(article: str) -> str:
    """The price of an article"""
    return f"{article}: 5"


@server.tool(visible=is_staff)
async def discount(article: str) -> str:
    """Lowers a price"""
    return f"{article} is cheaper now"


@server.resource("manuals://{name}")  # never "../secret": such a URI is not found
async def manual(name: str) -> str:
    return f"The manual of {name}"


async def tools(name: str) -> list[str]:
    async with Client(server, name=name, version="1.0.0") as client:
        return [tool.name for tool in await client.list_tools()]


async def main() -> None:
    print(await tools("staff"), await tools("guest"))
    price_tool = server.get_tool("price")
    price_tool.update(description="The price of an article, in euros")
    price_tool.disable()
    print(await tools("staff"))
    price_tool.enable()


asyncio.run(main())
