"""Connects to many servers at once in Python: connect.py N -- COMMAND..."""

import asyncio
import sys

from trunkline import ClientGroup


async def main(number: int, command: list[str]) -> None:
    print("READY", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    async with ClientGroup({f"server{i}": command for i in range(number)}, revision="2025-11-25") as group:
        tools = await group.list_tools()
        if len(tools) != 2 * number:
            raise RuntimeError(f"{len(tools)} tools")
        print("DONE", flush=True)
        await asyncio.to_thread(sys.stdin.read)


match sys.argv[1:]:
    case [number, "--", *command] if command:
        asyncio.run(main(int(number), command))
    case _:
        sys.exit("usage: connect N -- COMMAND...")
