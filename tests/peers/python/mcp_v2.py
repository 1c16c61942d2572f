"""The official Python SDK, 2.x line. Usage: see ../README.md."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import features
import host
import mcp.client.session
import mcp_types
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from play import play
from serve import USAGE, serve


def make_server() -> MCPServer:
    server = MCPServer("peer-mcp-2", log_level="WARNING")
    features.add(server, mcp_types, Context, ToolError)
    add_asking(server)
    return server


def review() -> Elicit[features.Defaults]:
    return Elicit("Please review the defaults", features.Defaults)


def sample(prompt: str) -> Sample:
    content = mcp_types.TextContent(type="text", text=prompt)
    return Sample([mcp_types.SamplingMessage(role="user", content=content)], max_tokens=100)


def list_roots() -> ListRoots:
    return ListRoots()


def add_asking(server: MCPServer) -> None:
    @server.tool()
    def test_elicitation_sep1034_defaults(
        answer: Annotated[ElicitationResult[features.Defaults], Resolve(review)],
    ) -> str:
        return f"action: {answer.action}"

    @server.tool()
    def test_sampling(prompt: str, answer: Annotated[mcp_types.CreateMessageResult, Resolve(sample)]) -> str:
        return f"LLM response: {answer.content.text}"

    @server.tool()
    def test_roots(listed: Annotated[mcp_types.ListRootsResult, Resolve(list_roots)]) -> str:
        return features.roots(listed)


class Peer:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, name: str, arguments: dict[str, Any], timeout: float | None, on_progress: Any) -> Any:
        return await self.client.call_tool(name, arguments, timeout, on_progress)

    async def page(self, method: str, cursor: str | None) -> Any:
        return await getattr(self.client, method)(cursor=cursor)

    async def read(self, uri: str) -> Any:
        return await self.client.read_resource(uri)

    async def complete(self, ref: dict[str, Any], argument: dict[str, str], known: dict[str, str] | None) -> Any:
        kind = mcp_types.PromptReference if ref["type"] == "ref/prompt" else mcp_types.ResourceTemplateReference
        return await self.client.complete(kind(**ref), argument, known)


@asynccontextmanager
async def connect(target: list[str], revision: str) -> AsyncIterator[tuple[Client, str]]:
    mode = revision if revision in ("auto", *MODERN_PROTOCOL_VERSIONS) else "legacy"
    # This SDK only ever offers its newest revision of the handshake.
    if mode == "legacy":
        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    server = StdioServerParameters(command=target[1], args=target[2:]) if target[0] == "--stdio" else target[0]
    async with Client(server, mode=mode, **host.callbacks(mcp_types)) as client:
        yield client, client.protocol_version


match sys.argv[1:]:
    case ["server", "stdio"]:
        make_server().run("stdio")
    case ["server", "http", port]:
        serve(make_server().streamable_http_app(), int(port))
    case ["client", "--play", file, *target] if target:
        play(file, lambda revision: connect(target, revision), Peer)
    case _:
        sys.exit(USAGE)
