"""The official Python SDK, 2.x line. Usage: see ../README.md."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import events
import features
import host
import mcp.client.session
import mcp_types
import protection
from inbox import TIMEOUT, Inbox
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from play import play, wire
from pydantic import Field, TypeAdapter
from serve import USAGE, serve

HEADER = Field(json_schema_extra={"x-mcp-header": "Region"})


def make_server(**protection: Any) -> MCPServer:
    hints = {"resources/read": CacheHint(ttl_ms=60_000)}
    server = MCPServer("peer-mcp-2", log_level="WARNING", cache_hints=hints, **protection)
    features.add(server, mcp_types, Context, ToolError)
    add_asking(server)
    add_changing(server)
    return server


def add_changing(server: MCPServer) -> None:
    @server.tool()
    async def test_trigger_tool_change(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        return "changed"

    @server.tool()
    async def test_trigger_prompt_change(ctx: Context) -> str:
        await ctx.notify_prompts_changed()
        return "changed"

    @server.tool()
    async def test_trigger_resource_change(ctx: Context) -> str:
        await ctx.notify_resources_changed()
        return "changed"

    @server.tool()
    async def test_update_resource(ctx: Context) -> str:
        await ctx.notify_resource_updated("test://watched-resource")
        return "changed"

    @server.tool()
    def test_x_mcp_header(region: Annotated[str, HEADER]) -> str:
        return "called with its header"


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
    def test_input_required_result_elicitation(ctx: Context) -> str | mcp_types.InputRequiredResult:
        answer = (ctx.input_responses or {}).get("user_name")
        if answer is not None:
            return f"Hello, {answer.content['name']}!"
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params = mcp_types.ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
        return mcp_types.InputRequiredResult(input_requests={"user_name": mcp_types.ElicitRequest(params=params)})

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

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        request = mcp_types.Request[Any, Any](method=method, params=params)
        return await self.client.session.send_request(request, TypeAdapter(dict[str, Any]))

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self.client.session.send_notification(mcp_types.Notification[Any, Any](method=method, params=params))

    async def subscribe(self, wanted: dict[str, Any], change: Any, inbox: Inbox) -> dict[str, Any]:
        if self.client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self.listen(wanted, change)
        uris = wanted.get("resources", [])
        for uri in uris:
            await self.client.subscribe_resource(uri)
        await change()
        changed = await inbox.change(wanted)
        for uri in uris:
            await self.client.unsubscribe_resource(uri)
        return changed

    async def listen(self, wanted: dict[str, Any], change: Any) -> dict[str, Any]:
        async with self.client.listen(
            tools_list_changed=wanted.get("tools", False),
            prompts_list_changed=wanted.get("prompts", False),
            resources_list_changed=wanted.get("resourceList", False),
            resource_subscriptions=wanted.get("resources", []),
        ) as changes:
            await change()
            event = await asyncio.wait_for(anext(aiter(changes)), TIMEOUT)
            if isinstance(event, ResourceUpdated):
                return {"change": "resource", "uri": event.uri}
            return {"change": next(iter(wanted))}

    async def call_in_rounds(self, name: str, arguments: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
        asked: list[str] = []
        given: dict[str, Any] = {}
        while True:
            result = await self.client.session.call_tool(name, arguments, allow_input_required=True, **given)
            if not isinstance(result, mcp_types.InputRequiredResult):
                return {"asked": asked, "text": wire(result)["content"][0]["text"]}
            keys = list(result.input_requests or {})
            given = {
                "input_responses": {key: mcp_types.ElicitResult(**answers[key]) for key in keys},
                "request_state": result.request_state,
            }
            asked += keys


@asynccontextmanager
async def connect(target: list[str], part: dict[str, Any], inbox: Inbox) -> AsyncIterator[tuple[Client, str]]:
    revision, level = part["revision"], part["logLevel"]
    mode = revision if revision in ("auto", *MODERN_PROTOCOL_VERSIONS) else "legacy"
    # This SDK only ever offers its newest revision of the handshake.
    if mode == "legacy":
        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    callbacks = {"message_handler": inbox.put, "log_level": level, **host.callbacks(mcp_types)}
    async with Client(server_of(target, part), mode=mode, **callbacks) as client:
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS and client.server_capabilities.logging is not None:
            await client.set_logging_level(level)
        yield client, client.protocol_version


def server_of(target: list[str], part: dict[str, Any]) -> Any:
    if target[0] == "--stdio":
        return StdioServerParameters(command=target[1], args=target[2:])
    if target[0].endswith("/sse"):
        return sse_client(target[0])
    if part.get("token"):
        return streamable_http_client(target[0], http_client=create_mcp_http_client(protection.bearer(part)))
    return target[0]


match sys.argv[1:]:
    case ["server", "stdio"]:
        make_server().run("stdio")
    case ["server", "http", port]:
        app = make_server().streamable_http_app(event_store=events.store(EventStore, EventMessage), retry_interval=50)
        serve(app, int(port))
    case ["server", "http", port, "--auth", file]:
        serve(make_server(**protection.read(file, AuthSettings, AccessToken)).streamable_http_app(), int(port))
    case ["server", "sse", port]:
        serve(make_server().sse_app(), int(port), "/sse")
    case ["client", "--play", file, *target] if target:
        play(file, lambda part, inbox: connect(part.get("target", target), part, inbox), Peer)
    case _:
        sys.exit(USAGE)
