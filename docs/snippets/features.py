"""A server that changes its features at run time, for everyone or per caller."""

import asyncio

from trunkline import Client, Server, SyncContext

server = Server("shop", version="1.0.0")


def is_staff(ctx: SyncContext) -> bool:
    # With access tokens: ctx.auth.
    return ctx.client_info is not None and ctx.client_info.name == "staff"


@server.tool(timeout=2.0)
async def price(article: str) -> str:
    """The price of an article."""
    return f"{article}: 5"


@server.tool(visible=is_staff)
async def discount(article: str) -> str:
    """Lower a price."""
    return f"{article} is cheaper now"


async def show_tools(name: str) -> None:
    async with Client(server, name=name, version="1.0.0") as client:
        tools = await client.list_tools()
        print(f"{name}:", " ".join(tool.name for tool in tools))


async def main() -> None:
    await show_tools("staff")
    await show_tools("guest")
    price_tool = server.get_tool("price")
    price_tool.update(description="The price of an article, in euros.")
    price_tool.disable()
    await show_tools("staff")
    price_tool.enable()


asyncio.run(main())
