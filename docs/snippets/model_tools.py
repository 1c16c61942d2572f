"""A server's tools in the formats of model providers, and a result as the model sees it."""

import asyncio
from typing import Any

from trunkline import CallToolResult, Client, ImageContent, Server, TextContent, Tool

server = Server("weather", version="1.0.0")


@server.tool
def forecast(city: str) -> str:
    """Forecast the weather of a city."""
    return f"{city}: snow"


def for_openai(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.input_schema}
    return {"type": "function", "function": function}


def for_anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description or "", "input_schema": tool.input_schema}


def for_gemini(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description or "", "parametersJsonSchema": tool.input_schema}


def result_for_anthropic(use: str, result: CallToolResult) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for block in result.content:
        if isinstance(block, TextContent):
            content.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageContent):
            source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
            content.append({"type": "image", "source": source})
    return {"type": "tool_result", "tool_use_id": use, "content": content, "is_error": result.is_error}


async def main() -> None:
    async with Client(server) as client:
        (tool,) = await client.list_tools()
        print("openai:", tool.name, "needs", *for_openai(tool)["function"]["parameters"]["required"])
        print("anthropic:", tool.name, "needs", *for_anthropic(tool)["input_schema"]["required"])
        print("gemini:", tool.name, "needs", *for_gemini(tool)["parametersJsonSchema"]["required"])

        result = result_for_anthropic("toolu_1", await client.call_tool("forecast", {"city": "Oslo"}))
        print(f"{result['content'][0]['type']}: {result['content'][0]['text']}")


asyncio.run(main())
