"""The official Python SDK, 2.x line. Usage: see ../README.md. `client --legacy …` opens with initialize at once."""

import asyncio
import sys
from typing import Literal

from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from serve import serve


def make_server() -> MCPServer:
    server = MCPServer("peer-mcp-2", log_level="WARNING")

    @server.tool()
    def echo(message: str) -> str:
        """Give the message back."""
        return message

    @server.tool()
    def add_numbers(a: float, b: float) -> str:
        """Add two numbers."""
        return f"{a + b:g}"

    return server


async def client(args: list[str], mode: Literal["auto", "legacy"]) -> None:
    target = args[1] if args[0] == "http" else StdioServerParameters(command=args[1], args=args[2:])
    async with Client(target, mode=mode) as peer:
        names = [tool.name for tool in (await peer.list_tools()).tools]
        assert {"echo", "add_numbers"} <= set(names), names
        result = await peer.call_tool("add_numbers", {"a": 2, "b": 3})
        assert not result.is_error and result.content[0].text == "5", result
        print("ok", peer.protocol_version, flush=True)


match sys.argv[1:]:
    case ["server", "stdio"]:
        make_server().run("stdio")
    case ["server", "http", port]:
        serve(make_server().streamable_http_app(), int(port))
    case ["client", "--legacy", *args] if len(args) > 1:
        asyncio.run(client(args, "legacy"))
    case ["client", *args] if len(args) > 1:
        asyncio.run(client(args, "auto"))
    case _:
        sys.exit("usage: server stdio | server http PORT | client http URL | client stdio COMMAND...")
