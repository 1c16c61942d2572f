"""Starts the server next to it and uses it. Given a URL, it connects there instead."""

import asyncio
import sys
from pathlib import Path

from trunkline import Client, TrunklineError

SERVER = [sys.executable, str(Path(__file__).with_name("tutorial_server.py"))]


async def main() -> None:
    async with Client(sys.argv[1] if len(sys.argv) > 1 else SERVER) as client:
        tools = await client.list_tools()
        print("tools:", ", ".join(tool.name for tool in tools))
        for text in ("milk and bread", "bread"):
            result = await client.call_tool("add_note", {"name": "groceries", "text": text})
            print("error:" if result.is_error else "result:", result.text)
        contents = (await client.read_resource("notes://all")).contents
        print(contents[0].text)


try:
    asyncio.run(main())
except TrunklineError as error:
    sys.exit(f"{error.kind}: {error}")
