"""FastMCP peer. usage: py_fastmcp.py stdio | http PORT [json] [stateless] [deflog] [--tools N]"""

import sys

from fastmcp import FastMCP
from fastmcp.tools import Tool

a = sys.argv[1:]
mcp = FastMCP("bench")


@mcp.tool
def echo(message: str) -> str:
    return message


@mcp.tool
def add(a: int, b: int) -> int:
    return a + b


def _t(a: int, b: int) -> int:
    return a + b


for i in range(int(a[a.index("--tools") + 1]) if "--tools" in a else 0):
    mcp.add_tool(Tool.from_function(_t, name=f"tool_{i:03}", description=f"Generated tool number {i}"))

log = {} if "deflog" in a else {"log_level": "WARNING"}  # WARNING favours the peer
if a[0] == "stdio":
    mcp.run("stdio", show_banner=False, **log)
else:
    mcp.run(
        "http",
        show_banner=False,
        port=int(a[1]),
        path="/mcp",
        json_response="json" in a,
        stateless_http="stateless" in a,
        **log,
    )
