"""Lists the tools of many servers: python group_client.py [mcp.json]. By default those
beside it.
"""

import asyncio
import sys
from pathlib import Path

from trunkline import ClientGroup

HERE = Path(__file__).parent
BESIDE = {
    "weather": [sys.executable, str(HERE / "server.py")],
    "hello": [sys.executable, str(HERE / "hello_server.py")],
    "broken": ["no-such-program"],
}


async def main() -> None:
    async with ClientGroup(sys.argv[1] if len(sys.argv) > 1 else BESIDE) as group:
        for server in await group.servers():
            print(f"{server.name}: {server.error or server.state}")
        for tool in await group.list_tools():
            print(f"tool {tool.name}: {tool.description}")


asyncio.run(main())
