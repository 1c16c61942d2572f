"""A test of a tool that asks the user, with scripted answers."""

import asyncio
from dataclasses import dataclass

from trunkline import Client, Context, ElicitRequest, ElicitResult, Server

# Reruns handlers that ask, on every revision: this reveals effects before a question.
server = Server("restaurant", version="1.0.0", rerun_handlers=True)


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


async def test_both_answers() -> None:
    answers = iter([ElicitResult("accept", {"people": 4}), ElicitResult[dict[str, int]]("decline")])
    asked: list[str] = []

    async def ask(request: ElicitRequest) -> ElicitResult[dict[str, int]]:
        asked.append(request.message)
        return next(answers)

    client = Client(server, raise_exceptions=True)
    client.on_elicit(ask)
    async with client:
        for expected in ("A table for 4 is booked.", "Nothing was booked."):
            assert (await client.call_tool("book")).text == expected
    assert asked == ["A table for how many?"] * 2
    assert next(answers, None) is None


asyncio.run(test_both_answers())
print("all passed")
