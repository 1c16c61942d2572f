"""A tool that returns an object with a schema."""

import asyncio
from dataclasses import dataclass

from trunkline import Client, Server

server = Server("weather", version="1.0.0")


@dataclass
class Weather:
    """The weather of one day."""

    sky: str
    degrees: float


@server.tool
def weather(city: str) -> Weather:
    """The weather of a city."""
    return Weather(f"snow over {city}", -3.5)


async def main() -> None:
    async with Client(server) as client:
        result = await client.call_tool("weather", {"city": "Oslo"})
        print(result.text)
        today = await client.call_tool("weather", {"city": "Oslo"}, result=Weather)
        print(f"{today.sky}, {today.degrees} degrees")


asyncio.run(main())
