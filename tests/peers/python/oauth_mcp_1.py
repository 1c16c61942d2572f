"""A server of the official Python SDK, 1.x line, that is its own authorization server.

usage: oauth_mcp_1.py PORT
"""

import sys

import oauth_memory
from mcp.server.fastmcp import FastMCP
from serve import serve

port = int(sys.argv[1])
server = FastMCP("oauth-mcp-1", log_level="WARNING", **oauth_memory.settings(port))


@server.tool()
def call() -> str:
    return "called"


serve(server.streamable_http_app(), port)
