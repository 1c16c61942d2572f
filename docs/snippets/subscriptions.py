"""A client that is notified when a resource changes, and when the list of tools does."""

import asyncio

from trunkline import Client, Server

server = Server("notes", version="1.0.0")
notes = ["Buy milk."]


@server.resource("notes://today")
def today() -> str:
    """The note of today."""
    return notes[-1]


@server.tool
def clear() -> None:
    """Forget all notes."""
    notes.clear()


async def main() -> None:
    async with Client(server) as client, client.subscribe("notes://today", tools=True) as changes:
        notes.append("Call Ada.")
        server.resource_updated("notes://today")
        change = await anext(changes)
        print(change.kind, change.uri)
        print((await client.read_resource("notes://today")).contents[0].text)

        server.remove_tool("clear")
        print((await anext(changes)).kind)


asyncio.run(main())
