"""A server with one tool over stdio, of the revision 2025-11-25, in nothing but Python."""

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            about = {"name": "hello", "version": "1.0.0"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [{"name": "hello", "description": "Greets someone.", "inputSchema": SCHEMA}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": f"Hello, {params['arguments']['name']}!"}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        found = result(message["method"], message.get("params", {}))
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        response = unknown if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **response}), flush=True)
