"""A server for containers: configured by environment variables, stopped by SIGTERM."""

import os

from trunkline import Server

# On shutdown, calls get 20 s; other workers take over the sessions through the store.
server = Server("greeter", version="1.0.0", store=os.environ.get("STORE"), drain_deadline=20)


@server.tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}, from {os.uname().nodename}!"


if __name__ == "__main__":
    # Listens on all addresses of the container, with probes at /healthz and /readyz.
    server.run_http(host="0.0.0.0", port=int(os.environ.get("PORT", "8000")), health=True)
