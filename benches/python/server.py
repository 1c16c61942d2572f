"""Bench server: server.py stdio | http PORT [json] [stateless] [--tools N] [--store URL]"""

import sys

from trunkline import Server

words = sys.argv[1:]
server = Server("bench", version="0.0.0", store=words[words.index("--store") + 1] if "--store" in words else None)


@server.tool
async def echo(message: str) -> str:
    """Echo the message back"""
    return message


@server.tool
async def add(a: int, b: int) -> str:
    """Add two integers"""
    return str(a + b)


async def generated(a: int, b: int) -> str:
    return str(a + b)


for i in range(int(words[words.index("--tools") + 1]) if "--tools" in words else 0):
    server.add_tool(generated, name=f"tool_{i:03}", description=f"Generated tool number {i}")

if words[:1] == ["stdio"]:
    server.run()
elif words[:1] == ["http"]:
    server.run("http", port=int(words[1]), json="json" in words, stateless="stateless" in words)
else:
    sys.exit("usage: server stdio | http PORT [json] [stateless] [--tools N] [--store URL]")
