"""A server of the official Python SDK, 2.x line, that is its own authorization server.

usage: oauth_mcp_2.py PORT
"""

import sys

import oauth_memory
from mcp.server import MCPServer
from serve import serve

port = int(sys.argv[1])
server = MCPServer("oauth-mcp-2", log_level="WARNING", **oauth_memory.settings(port))


@server.tool()
def call() -> str:
    return "called"


serve(server.streamable_http_app(), port)
