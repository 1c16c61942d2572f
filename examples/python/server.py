"""A server with one tool. Over stdio: python server.py; over HTTP: python server.py 8000"""

import sys
from typing import Annotated

from trunkline import Context, Field, Server, ToolError

CITIES = {"Oslo": "snow", "Rome": "sunny"}

server = Server("weather", version="1.0.0")


@server.tool
async def forecast(city: str, days: Annotated[int, Field(ge=1, le=7)] = 3, *, ctx: Context) -> str:
    """Forecast the weather of a city."""
    weather = CITIES.get(city)
    if weather is None:
        raise ToolError(f"no forecast for {city}; try {' or '.join(CITIES)}")
    lines: list[str] = []
    for day in range(1, days + 1):
        lines.append(f"day {day}: {weather}")
        await ctx.progress(day, total=days)
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run_http(port=int(sys.argv[1]), on_ready=lambda listener: print(f"listening at {listener.url}"))
    else:
        server.run()
