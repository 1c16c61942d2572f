"""A prompt with arguments, one of them optional, and a client that gets it."""

import asyncio
from typing import Annotated

from trunkline import Client, Message, Server, TextContent, assistant, user

server = Server("review", version="1.0.0")


@server.prompt
def review(code: Annotated[str, "The code to review"], focus: str = "errors") -> list[Message]:
    """Review code."""
    return [
        user(f"Review this code, above all for {focus}: {code}"),
        assistant("I will list each finding with its line."),
    ]


async def main() -> None:
    async with Client(server) as client:
        for prompt in await client.list_prompts():
            needed = [argument.name for argument in prompt.arguments or () if argument.required]
            print(f"{prompt.name}: {prompt.description} Needs {', '.join(needed)}.")
        result = await client.get_prompt("review", {"code": "x = 1"})
        for message in result.messages:
            if isinstance(message.content, TextContent):
                print(f"{message.role}: {message.content.text}")


asyncio.run(main())
