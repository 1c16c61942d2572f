"""Starts the server next to it and calls its tool."""

import sys
from pathlib import Path

from trunkline import SyncClient

server = Path(__file__).with_name("hello_server.py")
with SyncClient([sys.executable, server]) as client:
    result = client.call_tool("hello", {"name": "Ada"})
    print(result.text)
