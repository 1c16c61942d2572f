"""A server mounted in a Starlette application under uvicorn, and a client that calls it."""

import asyncio
import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from trunkline import Client, Server

server = Server("mounted", version="1.0.0")


@server.tool
def hello() -> str:
    """Greets."""
    return "Hello from Starlette"


def page(_: Request) -> PlainTextResponse:
    return PlainTextResponse("An ordinary page")


# At the root and last, the server answers at /mcp and /mcp/ alike, and everything else is 404.
app = Starlette(routes=[Route("/", page), Mount("/", app=server.asgi(path="/mcp"))])


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        web = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        serving = asyncio.create_task(web.serve(sockets=[listening]))
        async with Client(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp") as client:
            result = await client.call_tool("hello")
            print(result.text)
        web.should_exit = True
        await serving


asyncio.run(main())
