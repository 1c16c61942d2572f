"""Suggestions for a prompt argument while the user types."""

import asyncio

from trunkline import Client, PromptReference, Server

CITIES = ["Oslo", "Osaka", "Rome"]

server = Server("trips", version="1.0.0")


def cities(text: str) -> list[str]:
    return [city for city in CITIES if city.startswith(text)]


@server.prompt(complete={"city": cities})
def packing(city: str) -> str:
    """List the things to pack for a city."""
    return f"Write a packing list for {city}."


async def main() -> None:
    async with Client(server) as client:
        prompt: PromptReference = {"type": "ref/prompt", "name": "packing"}
        result = await client.complete(prompt, {"name": "city", "value": "Os"})
        print(", ".join(result.completion.values))


asyncio.run(main())
