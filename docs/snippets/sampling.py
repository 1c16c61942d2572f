"""A tool that samples the client's model, and a client with a model."""

import asyncio

from trunkline import Client, Context, CreateMessageResult, SampleRequest, Server, TextContent

server = Server("notes", version="1.0.0")


@server.tool
async def summarize(text: str, ctx: Context) -> str:
    """Summarize a text."""
    answer = await ctx.sample(f"Summarize in three words: {text}", max_tokens=50)
    return answer.text


client = Client(server)


@client.on_sample
async def sample(request: SampleRequest) -> CreateMessageResult:
    print(f"at most {request.max_tokens} tokens")  # here the host asks its model
    return CreateMessageResult("assistant", [TextContent("Snow in Oslo")], model="a-model")


async def main() -> None:
    async with client:
        result = await client.call_tool("summarize", {"text": "It has been snowing in Oslo since Monday."})
        print(result.text)


asyncio.run(main())
