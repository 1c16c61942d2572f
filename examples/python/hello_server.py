"""A server with one tool, over stdio."""

from trunkline import Server

server = Server("hello", version="1.0.0")


@server.tool
def hello(name: str) -> str:
    """Greets someone."""
    return f"Hello, {name}!"


if __name__ == "__main__":
    server.run()
