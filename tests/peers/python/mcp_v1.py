"""The official Python SDK, 1.x line. Usage: see ../README.md."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import features
import host
import mcp.types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from play import play
from pydantic import AnyUrl
from serve import USAGE, serve


def make_server() -> FastMCP:
    server = FastMCP("peer-mcp-1", log_level="WARNING")
    features.add(server, mcp.types, Context, ToolError)
    add_asking(server)
    return server


def add_asking(server: FastMCP) -> None:
    @server.tool()
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        return f"action: {(await ctx.elicit('Please review the defaults', features.Defaults)).action}"

    @server.tool()
    async def test_sampling(prompt: str, ctx: Context) -> str:
        content = mcp.types.TextContent(type="text", text=prompt)
        messages = [mcp.types.SamplingMessage(role="user", content=content)]
        answer = await ctx.session.create_message(messages, max_tokens=100, related_request_id=ctx.request_id)
        return f"LLM response: {answer.content.text}"

    @server.tool()
    async def test_roots(ctx: Context) -> str:
        return features.roots(await ctx.session.list_roots())


class Peer:
    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def call(self, name: str, arguments: dict[str, Any], timeout: float | None, on_progress: Any) -> Any:
        patience = None if timeout is None else timedelta(seconds=timeout)
        return await self.session.call_tool(name, arguments, patience, on_progress)

    async def page(self, method: str, cursor: str | None) -> Any:
        return await getattr(self.session, method)(params=mcp.types.PaginatedRequestParams(cursor=cursor))

    async def read(self, uri: str) -> Any:
        return await self.session.read_resource(AnyUrl(uri))

    async def complete(self, ref: dict[str, Any], argument: dict[str, str], known: dict[str, str] | None) -> Any:
        kind = mcp.types.PromptReference if ref["type"] == "ref/prompt" else mcp.types.ResourceTemplateReference
        return await self.session.complete(kind(**ref), argument, known)


@asynccontextmanager
async def connect(target: list[str], revision: str) -> AsyncIterator[tuple[ClientSession, str]]:
    # This SDK only ever offers its newest revision.
    if revision != "auto":
        mcp.types.LATEST_PROTOCOL_VERSION = revision
    parameters = StdioServerParameters(command=target[1], args=target[2:]) if target[0] == "--stdio" else None
    streams = stdio_client(parameters) if parameters else streamable_http_client(target[0])
    async with streams as (read, write, *_), ClientSession(read, write, **host.callbacks(mcp.types)) as session:
        yield session, (await session.initialize()).protocolVersion


match sys.argv[1:]:
    case ["server", "stdio"]:
        make_server().run("stdio")
    case ["server", "http", port]:
        serve(make_server().streamable_http_app(), int(port))
    case ["client", "--play", file, *target] if target:
        play(file, lambda revision: connect(target, revision), Peer)
    case _:
        sys.exit(USAGE)
