"""Middleware around each tool call: it counts calls and refuses some."""

import asyncio
from typing import Any

from trunkline import Client, Context, Next, ProtocolError, Request, Server

server = Server("greeter", version="1.0.0")


@server.middleware("tools/call")
async def audit(request: Request, next: Next, ctx: Context) -> Any:
    arguments = request.params.get("arguments", {})
    if arguments.get("name") == "Mallory":
        raise ProtocolError("Mallory may not call.", code=403)
    ctx.vars["title"] = "Countess"
    result = await next()
    print(f"{request.params['name']} was called")
    return result


@server.tool
async def greet(name: str, ctx: Context) -> str:
    """Greet someone."""
    return f"Hello, {ctx.vars['title']} {name}!"


async def main() -> None:
    async with Client(server) as client:
        print((await client.call_tool("greet", {"name": "Ada"})).text)
        try:
            await client.call_tool("greet", {"name": "Mallory"})
        except ProtocolError as error:
            print(error.code)


asyncio.run(main())
