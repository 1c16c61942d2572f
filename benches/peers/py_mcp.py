"""Official Python SDK peer.

usage: py_mcp.py stdio | http PORT [json] [stateless] [deflog] [features] [--tools N]
"""

import sys
from inspect import Parameter, Signature
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

a = sys.argv[1:]
# WARNING favours the peer (no per-request log lines); `deflog` keeps the SDK's default INFO.
mcp = MCPServer("bench", **({} if "deflog" in a else {"log_level": "WARNING"}))


@mcp.tool()
def echo(message: str) -> str:
    return message


@mcp.tool()
def add(a: int, b: int) -> int:
    return a + b


for i in range(int(a[a.index("--tools") + 1]) if "--tools" in a else 0):

    def _t(a: int, b: int) -> int:
        return a + b

    mcp.add_tool(_t, name=f"tool_{i:03}", description=f"Generated tool number {i}")


class Answer(BaseModel):
    value: str


def question(message: str) -> Elicit[Answer]:
    return Elicit(message, Answer)


async def report(message: str, ctx: Context) -> str:
    for number in range(1, 21):
        await ctx.report_progress(number, 20)
    return message


async def ask(message: str, answer: Annotated[Answer, Resolve(question)]) -> str:  # noqa: ARG001
    return answer.value


def wide(**numbers: int) -> str:
    return str(sum(numbers.values()))


if "features" in a:
    members = [Parameter(f"f{i:02}", Parameter.KEYWORD_ONLY, annotation=int) for i in range(100)]
    wide.__signature__ = Signature(members, return_annotation=str)  # type: ignore[attr-defined]
    for tool in (report, ask, wide):
        mcp.add_tool(tool)

if a[0] == "stdio":
    mcp.run("stdio")
else:
    mcp.run("streamable-http", port=int(a[1]), json_response="json" in a, stateless_http="stateless" in a)
