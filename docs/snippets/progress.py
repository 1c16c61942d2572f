"""A tool that reports progress, and a client that cancels another one."""

import asyncio

from trunkline import Client, Context, Server

server = Server("files", version="1.0.0")


@server.tool
async def copy(files: int, ctx: Context) -> str:
    """Copy files."""
    for number in range(1, files + 1):
        await ctx.progress(number, total=files, message=f"file {number}")
    return f"{files} files are copied."


watching, stopped = asyncio.Event(), asyncio.Event()


@server.tool
async def watch() -> None:
    """Watch a folder until the caller cancels."""
    watching.set()
    try:
        await asyncio.Event().wait()
    finally:
        print("stopped watching")
        stopped.set()


def show(progress: float, total: float | None, message: str | None) -> None:
    if progress == total:  # reports may be skipped if they arrive too fast, except the last
        print(f"{progress:g} of {total:g}: {message}")


async def main() -> None:
    async with Client(server) as client:
        result = await client.call_tool("copy", {"files": 2}, on_progress=show)
        print(result.text)
        call = asyncio.create_task(client.call_tool("watch"))
        await watching.wait()
        call.cancel()
        await stopped.wait()


asyncio.run(main())
