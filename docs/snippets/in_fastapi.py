"""A server mounted in a FastAPI application under a prefix, and a client that calls it."""

import asyncio
import socket

import uvicorn
from fastapi import FastAPI
from trunkline import Client, Server

server = Server("mounted", version="1.0.0")


@server.tool
async def hello() -> str:
    """Greets."""
    return "Hello from FastAPI"


app = FastAPI()
# Under a prefix, the framework itself redirects /mcp to /mcp/.
app.mount("/mcp", server.asgi())


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        web = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        serving = asyncio.create_task(web.serve(sockets=[listening]))
        async with Client(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp/") as client:
            result = await client.call_tool("hello")
            print(result.text)
        web.should_exit = True
        await serving


asyncio.run(main())
