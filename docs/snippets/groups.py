"""Many servers behind one client. One of them fails to start; the others work."""

import asyncio
import sys
from pathlib import Path

from trunkline import ClientGroup

SERVERS = {
    "notes": [sys.executable, str(Path(__file__).with_name("tutorial_server.py"))],
    "broken": ["no-such-program"],
}


async def main() -> None:
    async with ClientGroup(SERVERS) as group:  # or the path of an mcp.json
        for server in await group.servers():
            print(f"{server.name}:", "failed" if server.error else "connected")
        for tool in await group.list_tools():
            print(tool.name)
        result = await group.call_tool("notes__add_note", {"name": "groceries", "text": "milk"})
        print(result.text)


asyncio.run(main())
