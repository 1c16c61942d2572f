"""Bench server.

Usage: server.py stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL]
[--auth FILE]
"""

import json
import sys
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path

from trunkline import Auth, Context, Server

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


@dataclass
class Answer:
    value: str


async def report(message: str, ctx: Context) -> str:
    """Report progress, then echo the message back"""
    for number in range(1, 21):
        await ctx.progress(number, total=20)
    return message


async def ask(message: str, ctx: Context) -> str:
    """Ask the user"""
    answer = await ctx.elicit(message, Answer)
    return answer.content.value if answer.content else "no answer"


async def wide(**numbers: int) -> str:
    """Add 100 integers"""
    return str(sum(numbers.values()))


if "features" in words:
    members = [Parameter(f"f{i:02}", Parameter.KEYWORD_ONLY, annotation=int) for i in range(100)]
    wide.__signature__ = Signature(members, return_annotation=str)
    for tool in (report, ask, wide):
        server.add_tool(tool)


def protection(file: str) -> Auth:
    """The access tokens from a file (tests/matrix/authorization.json)."""
    auth = json.loads(Path(file).read_text(encoding="utf-8"))["auth"]
    return Auth(auth["resource"], issuer=auth["issuer"], jwks=auth["jwks"])


if words[:1] == ["stdio"]:
    server.run()
elif words[:1] == ["http"]:
    auth = protection(words[words.index("--auth") + 1]) if "--auth" in words else None
    server.run("http", port=int(words[1]), json="json" in words, stateless="stateless" in words, auth=auth)
else:
    sys.exit("usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]")
