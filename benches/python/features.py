"""The tools and the authorization of the feature rows.

They are not in `server.py`, because their imports would count as the start of every server.
"""

import json
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path

from trunkline import Auth, Context, Server


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


def add_features(server: Server) -> None:
    members = [Parameter(f"f{i:02}", Parameter.KEYWORD_ONLY, annotation=int) for i in range(100)]
    wide.__signature__ = Signature(members, return_annotation=str)
    for tool in (report, ask, wide):
        server.add_tool(tool)


def protection(file: str) -> Auth:
    """The access tokens from a file (tests/matrix/authorization.json)."""
    auth = json.loads(Path(file).read_text(encoding="utf-8"))["auth"]
    return Auth(auth["resource"], issuer=auth["issuer"], jwks=auth["jwks"])
