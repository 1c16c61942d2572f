"""A server over HTTP that reads a request header in each call, and its client."""

import asyncio

from trunkline import Client, Context, Server

server = Server("tenants", version="1.0.0")


@server.tool
async def tenant(ctx: Context) -> str:
    """Name the tenant of the caller."""
    return f"{ctx.headers.get('x-tenant', 'nobody')} at {ctx.url}"


async def main() -> None:
    async with (
        server.serve_http(port=0, path="/notes") as listener,
        Client(listener.url, headers={"X-Tenant": "acme"}) as client,
    ):
        print((await client.call_tool("tenant")).text)
        print(client.revision)


asyncio.run(main())
