"""Official Python SDK peer.

usage: py_mcp.py stdio | http PORT [json] [stateless] [deflog] [--tools N]
"""

import sys

from mcp.server import MCPServer

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

if a[0] == "stdio":
    mcp.run("stdio")
else:
    mcp.run("streamable-http", port=int(a[1]), json_response="json" in a, stateless_http="stateless" in a)
