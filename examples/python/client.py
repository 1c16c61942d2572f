"""Calls the server next to it, or one at a URL: python client.py [http://127.0.0.1:8000/mcp]"""

import asyncio
import sys
from pathlib import Path

from trunkline import Client

SERVER = [sys.executable, str(Path(__file__).with_name("server.py"))]


def show_progress(progress: float, total: float | None, message: str | None) -> None:
    print(f"progress {progress:g} of {total:g}" if total else f"progress {progress:g}", message or "")


async def main() -> None:
    async with Client(sys.argv[1] if len(sys.argv) > 1 else SERVER) as client:
        name = client.server_info and client.server_info.name
        print(f"connected to {name}, revision {client.revision}")
        for tool in await client.list_tools():
            print(f"tool {tool.name}: {tool.description}")
        arguments = {"city": "Oslo", "days": 2}
        result = await client.call_tool("forecast", arguments, timeout=10, on_progress=show_progress)
        print(result.text)


asyncio.run(main())
