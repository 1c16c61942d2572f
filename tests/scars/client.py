"""The client of the scars in Python: client.py URL | COMMAND... (README.md)"""

import asyncio
import os
import sys
from typing import Any

from trunkline import Client, TrunklineError

calls: set["asyncio.Task[None]"] = set()


# Callbacks throw.
THROWS = "THROWS" in os.environ


def throw(*_: object) -> None:
    raise RuntimeError("thrown by a callback")


async def call(client: Client, number: str, ms: int, tool: str = "slow") -> None:
    try:
        await client.call_tool(tool, {"ms": ms}, on_progress=throw if THROWS else None)
        print(number, "ok", flush=True)
    except TrunklineError as error:
        print(number, error.kind, flush=True)


async def connected(words: list[str]) -> Client:
    timeout, revision = float(os.environ.get("TIMEOUT_MS", "60000")) / 1000, os.environ.get("REVISION", "auto")
    target = words[0] if len(words) == 1 else words
    hooks: dict[str, Any] = {"log_level": "info", "on_notification": throw} if THROWS else {}
    client = Client(target, timeout=timeout, revision=revision, **hooks)
    if THROWS:
        client.on_log(throw)
    await client.connect()
    print("ready", flush=True)
    return client


async def main(words: list[str]) -> None:
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    client = await connected(words)
    while line := (await lines.readline()).decode().split():
        if line[0] == "call":
            calls.add(asyncio.ensure_future(call(client, line[1], int(line[2]), *line[3:])))
        elif line[0] == "list":
            print(len(await client.list_tools()), "tools", flush=True)
        elif line[0] == "reconnect":
            client = await connected(words)
        else:
            if line[0] == "close":
                await client.close()
            return


asyncio.run(main(sys.argv[1:]))
