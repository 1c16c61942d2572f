"""The official Python SDK, 1.x line. Usage: see ../README.md."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.fastmcp import FastMCP
from serve import serve


def make_server() -> FastMCP:
    server = FastMCP("peer-mcp-1", log_level="WARNING")

    @server.tool()
    def echo(message: str) -> str:
        """Give the message back."""
        return message

    @server.tool()
    def add_numbers(a: float, b: float) -> str:
        """Add two numbers."""
        return f"{a + b:g}"

    return server


async def check(read, write) -> None:
    async with ClientSession(read, write) as session:
        greeting = await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert {"echo", "add_numbers"} <= set(names), names
        result = await session.call_tool("add_numbers", {"a": 2, "b": 3})
        assert not result.isError and result.content[0].text == "5", result
        print("ok", greeting.protocolVersion, flush=True)


async def client(args: list[str]) -> None:
    if args[0] == "http":
        async with streamable_http_client(args[1]) as (read, write, _session_id):
            await check(read, write)
    else:
        async with stdio_client(StdioServerParameters(command=args[1], args=args[2:])) as (read, write):
            await check(read, write)


match sys.argv[1:]:
    case ["server", "stdio"]:
        make_server().run("stdio")
    case ["server", "http", port]:
        serve(make_server().streamable_http_app(), int(port))
    case ["client", *args] if len(args) > 1:
        asyncio.run(client(args))
    case _:
        sys.exit("usage: server stdio | server http PORT | client http URL | client stdio COMMAND...")
