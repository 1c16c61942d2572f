"""A tool with typed arguments, and a client in the same process."""

import asyncio
from typing import Annotated

from trunkline import Client, Field, Server

server = Server("weather", version="1.0.0")


@server.tool
def forecast(city: str, days: Annotated[int, Field(ge=1, le=7)] = 2) -> str:
    """Forecast the weather of a city.

    Args:
        city: The name of the city.
        days: The number of days.
    """
    return f"{city}: {', '.join(['snow'] * days)}"


async def main() -> None:
    async with Client(server) as client:
        for tool in await client.list_tools():
            print(f"{tool.name}: {tool.description}")
        result = await client.call_tool("forecast", {"city": "Oslo"})
        print(result.text)
        result = await client.call_tool("forecast", {"city": "Oslo", "days": 20})
        print("refused" if result.is_error else result.text)


asyncio.run(main())
