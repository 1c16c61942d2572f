"""A tool called as a task: the client follows its status, then gets the result."""

import asyncio

from trunkline import Client, Context, Server

server = Server("reports", version="1.0.0", task_poll_interval=0.05)


@server.tool(task="optional")
async def report(year: int, ctx: Context) -> str:
    """Write the report of a year."""
    await ctx.set_task_message("half of it is written")
    await asyncio.sleep(0.1)
    return f"The report of {year}"


async def main() -> None:
    async with Client(server) as client:
        task = await client.start_task("report", {"year": 2026})
        status = None
        async for state in task:
            status = state.status  # with state.status_message, for people
        print(status)
        print((await task.result()).text)


asyncio.run(main())
