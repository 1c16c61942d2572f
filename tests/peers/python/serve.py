"""The command line shared by the peers in Python."""

import asyncio
import socket
from typing import Any

import uvicorn

USAGE = """usage: server stdio | server http PORT [--auth FILE] | server sse PORT
       client --play FILE URL | client --play FILE --stdio COMMAND..."""


def serve(app: Any, port: int, path: str = "/mcp") -> None:
    """Serves an ASGI application on loopback and prints the address once it accepts connections."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        print(f"listening http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        asyncio.run(server.serve(sockets=[listener]))
