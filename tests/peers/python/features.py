"""The tools, resources and prompts of the peer servers in Python, and a completion, with the SDK's
API.
"""

import asyncio
import base64
import json
from itertools import count
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token
from pydantic import BaseModel, TypeAdapter

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="


class Weather(BaseModel):
    city: str
    temperature: float


class Defaults(BaseModel):
    name: str = "John Doe"


def roots(result: Any) -> str:
    return f"roots: {', '.join(str(root.uri) for root in result.roots)}"


def add(server: Any, types: Any, context: type, tool_error: type[Exception]) -> None:
    """`types` are the models of the SDK, `context` is the class of its contexts, `tool_error` that
    of failed tools.
    """
    add_tools(server, TypeAdapter(types.ContentBlock).validate_python, tool_error)
    add_running_tools(server, context)
    add_content(server)

    @server.completion()
    async def complete(_ref: Any, argument: Any, _context: Any) -> Any:
        words = ["paris", "park", "party"] if argument.name == "arg1" else []
        return types.Completion(values=[word for word in words if word.startswith(argument.value)])


def add_tools(server: Any, block: Any, tool_error: type[Exception]) -> None:
    @server.tool()
    def echo(message: str) -> str:
        """Give the message back."""
        return message

    @server.tool()
    def add_numbers(a: float, b: float) -> str:
        """Add two numbers."""
        return f"{a + b:g}"

    @server.tool()
    def test_image_content():
        return block({"type": "image", "data": PNG, "mimeType": "image/png"})

    @server.tool()
    def test_audio_content():
        return block({"type": "audio", "data": WAV, "mimeType": "audio/wav"})

    @server.tool()
    def test_embedded_resource():
        text = "This is an embedded resource content."
        contents = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": text}
        return block({"type": "resource", "resource": contents})

    @server.tool()
    def test_resource_link():
        return block({"type": "resource_link", "uri": "test://static-text", "name": "static-text"})

    @server.tool()
    def structured(city: str) -> Weather:
        return Weather(city=city, temperature=21.5)

    @server.tool()
    def test_error_handling():
        raise tool_error("This tool intentionally returns an error for testing")


def add_running_tools(server: Any, context: type) -> None:
    @server.tool()
    async def test_tool_with_progress(ctx: context) -> str:
        for progress in (0, 50, 100):
            await ctx.report_progress(progress, 100, f"Completed step {progress} of 100")
            await asyncio.sleep(0.05)
        return "done"

    @server.tool()
    async def test_logging_tool(ctx: context) -> str:
        await ctx.info("an information")
        await ctx.error("an error")
        return "logged twice"

    @server.tool()
    async def test_reconnection(ctx: context) -> str:
        await ctx.close_sse_stream()
        await asyncio.sleep(0.1)
        return "Reconnection test completed successfully"

    @server.tool()
    def test_whoami() -> str:
        token = get_access_token()
        return f"caller: {token.subject if token else 'nobody'}"

    @server.tool()
    async def slow(ms: int) -> str:
        await asyncio.sleep(ms / 1000)
        return "done"


def add_content(server: Any) -> None:
    reads = count(1)

    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched_resource() -> str:
        return "Watched resource content"

    @server.resource("test://counted-reads", mime_type="text/plain")
    def counted_reads() -> str:
        return f"read {next(reads)}"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.prompt()
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"
