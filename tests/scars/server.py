"""The server of the scars in Python: server.py stdio | http"""

import asyncio
import os
import sys
import time

from trunkline import Context, Server

server = Server("scars", version="1.0.0")


@server.tool
async def echo(message: str) -> str:
    return message


@server.tool
async def slow(ms: int) -> str:
    await asyncio.sleep(ms / 1000)
    return "done"


@server.tool
async def block(ms: int) -> str:
    time.sleep(ms / 1000)
    return "done"


@server.tool
def work(ms: int) -> str:
    time.sleep(ms / 1000)
    return "done"


@server.tool
async def stray() -> str:
    print("a stray print")
    os.write(1, b"bytes to descriptor 1\n")
    return "printed"


@server.tool
async def flood(count: int, ctx: Context) -> str:
    for number in range(count):
        await ctx.progress(number)
    return "done"


if sys.argv[1:] == ["stdio"]:
    server.run()
else:
    server.run("http", port=0, on_ready=lambda listener: print(listener.url, flush=True))
