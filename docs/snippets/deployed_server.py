"""A server as a container runs it: the environment configures it, and SIGTERM ends it."""

import os

from trunkline import Server

# A worker that ends gives its calls 20 s. Others go on with its sessions, by the store.
server = Server("greeter", version="1.0.0", store=os.environ.get("STORE"), drain_deadline=20)


@server.tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}, from {os.uname().nodename}!"


if __name__ == "__main__":
    # All addresses of the container, and probes at /healthz and /readyz.
    server.run("http", host="0.0.0.0", port=int(os.environ.get("PORT", "8000")), health=True)
