"""Bench server.

Usage: server.py stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL]
[--auth FILE]
"""

import sys

from trunkline import Server

words = sys.argv[1:]
server = Server(
    "bench",
    version="0.0.0",
    # Messages of `grow-bytes` are longer than the default allows.
    max_message_bytes=128 * 1024 * 1024,
    store=words[words.index("--store") + 1] if "--store" in words else None,
)


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


if "features" in words:
    from features import add_features

    add_features(server)

if words[:1] == ["stdio"]:
    server.run()
elif words[:1] == ["http"]:
    auth = None
    if "--auth" in words:
        from features import protection

        auth = protection(words[words.index("--auth") + 1])
    server.run_http(port=int(words[1]), json="json" in words, stateless="stateless" in words, auth=auth)
else:
    sys.exit("usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]")
