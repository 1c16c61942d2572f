"""A tool that asks the user a question, and a client that answers it."""

import asyncio
from dataclasses import dataclass

from trunkline import Client, Context, ElicitRequest, ElicitResult, Server

server = Server("restaurant", version="1.0.0")


@dataclass
class Booking:
    people: int


@server.tool
async def book(ctx: Context) -> str:
    """Book a table."""
    answer = await ctx.elicit("A table for how many?", Booking)
    if answer.content is None:
        return "Nothing was booked."
    return f"A table for {answer.content.people} is booked."


client = Client(server)


@client.on_elicit
async def ask(request: ElicitRequest) -> ElicitResult[dict[str, int]]:
    print(request.message)  # here the user fills in the form of `request.requested_schema`
    return ElicitResult("accept", {"people": 4})


async def main() -> None:
    async with client:
        print((await client.call_tool("book")).text)


asyncio.run(main())
