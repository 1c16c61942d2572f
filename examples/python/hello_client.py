"""Starts the server beside it and calls its tool."""

from trunkline import SyncClient

with SyncClient(["python", "hello_server.py"]) as client:
    result = client.call_tool("hello", {"name": "Ada"})
    print(result.text)
