"""Calls a tool as a task: shows its states as they come, then its result."""

import asyncio

from trunkline import Client, Context, Server

server = Server("reports", version="1.0.0", task_poll_interval=0.05)


@server.tool(task="optional")
async def report(ctx: Context, year: int) -> str:
    """Writes the report of a year."""
    await ctx.set_task_message("half of it is written")
    await asyncio.sleep(0.2)
    return f"The report of {year}"


async def main() -> None:
    async with Client(server) as client:
        task = await client.start_task("report", {"year": 2026})
        async for state in task:
            print(state.status, state.status_message or "")
        print((await task.result()).text)


asyncio.run(main())
