"""A client for an entry of a configuration file: it starts the server and negotiates a revision."""

import asyncio
import sys
from pathlib import Path

from trunkline import Client

ENTRY = {"command": sys.executable, "args": [str(Path(__file__).with_name("tutorial_server.py"))]}


async def main() -> None:
    async with Client(ENTRY, timeout=10.0) as client:
        if (server := client.server_info) is not None:
            print(server.name, server.version)
        print(client.revision)
        print(", ".join(sorted(client.capabilities.to_json())))
        print(client.instructions)


asyncio.run(main())
