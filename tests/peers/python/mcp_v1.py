"""The official Python SDK, 1.x line. Usage: see ../README.md."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import events
import features
import host
import mcp.types
import protection
from inbox import Inbox
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.shared._httpx_utils import create_mcp_http_client
from play import play, wire
from pydantic import AnyUrl
from serve import USAGE, serve


def make_server(**protection: Any) -> FastMCP:
    store = events.store(EventStore, EventMessage)
    server = FastMCP("peer-mcp-1", log_level="WARNING", event_store=store, retry_interval=50, **protection)
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

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        request = mcp.types.ClientRequest.model_validate({"method": method, "params": params})
        return wire(await self.session.send_request(request, mcp.types.Result))

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        notification = mcp.types.ClientNotification.model_validate({"method": method, "params": params})
        await self.session.send_notification(notification)

    async def subscribe(self, wanted: dict[str, Any], change: Any, inbox: Inbox) -> dict[str, Any]:
        uris = [AnyUrl(uri) for uri in wanted.get("resources", [])]
        for uri in uris:
            await self.session.subscribe_resource(uri)
        await change()
        changed = await inbox.change(wanted)
        for uri in uris:
            await self.session.unsubscribe_resource(uri)
        return changed

    async def call_as_task(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        tasks = self.session.experimental
        task = (await tasks.call_tool_as_task(name, arguments)).task
        async for _ in tasks.poll_task(task.taskId):
            pass
        result = await tasks.get_task_result(task.taskId, mcp.types.CallToolResult)
        return {"isTask": True, "text": wire(result)["content"][0]["text"]}


@asynccontextmanager
async def connect(target: list[str], part: dict[str, Any], inbox: Inbox) -> AsyncIterator[tuple[ClientSession, str]]:
    # This SDK only ever offers its newest revision.
    if part["revision"] != "auto":
        mcp.types.LATEST_PROTOCOL_VERSION = part["revision"]
    callbacks = {"message_handler": inbox.put, **host.callbacks(mcp.types)}
    async with streams(target, part) as (read, write, *_), ClientSession(read, write, **callbacks) as session:
        answer = await session.initialize()
        if answer.capabilities.logging is not None:
            await session.set_logging_level(part["logLevel"])
        yield session, answer.protocolVersion


def streams(target: list[str], part: dict[str, Any]) -> Any:
    if target[0] == "--stdio":
        return stdio_client(StdioServerParameters(command=target[1], args=target[2:]))
    if target[0].endswith("/sse"):
        return sse_client(target[0])
    return streamable_http_client(target[0], http_client=create_mcp_http_client(protection.bearer(part)))


match sys.argv[1:]:
    case ["server", "stdio"]:
        make_server().run("stdio")
    case ["server", "http", port]:
        serve(make_server().streamable_http_app(), int(port))
    case ["server", "http", port, "--auth", file]:
        serve(make_server(**protection.read(file, AuthSettings, AccessToken)).streamable_http_app(), int(port))
    case ["server", "sse", port]:
        serve(make_server().sse_app(), int(port), "/sse")
    case ["client", "--play", file, *target] if target:
        play(file, lambda part, inbox: connect(part.get("target", target), part, inbox), Peer)
    case _:
        sys.exit(USAGE)
