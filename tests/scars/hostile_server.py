"""A server on standard input and output with costly output schemas and unsolicited notifications:
hostile_server.py
"""

import json
import sys
from typing import Any

PATTERNS = {"around": r"(?=.*\d)[a-z]+\d", "back": r"(?=(a+))\1b"}
# Schemas that are slow to check for each item, and slow to compile.
MANY = {"type": "array", "items": {"allOf": [{"minimum": -number} for number in range(2000)]}}
LARGE = {"properties": {f"p{number}": {"pattern": f"^\\p{{L}}{{{number}}}$"} for number in range(1, 800)}}
NOISE_MESSAGES = 50


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "hostile", "version": "1"}
        capabilities = {"tools": {"listChanged": True}, "logging": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        outputs: dict[str, Any] = {name: {"properties": {"x": {"pattern": text}}} for name, text in PATTERNS.items()}
        outputs |= {"many": {"properties": {"x": MANY}}, "large": LARGE}
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("slow", "noise")]
        for name, output in outputs.items():
            schema = {"type": "object", **output}
            tools.append({"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema})
        return {"tools": tools}
    if method == "tools/call":
        size, name = params["arguments"]["ms"], params["name"]
        if name in ("slow", "noise"):
            return {"content": []}
        return {"content": [], "structuredContent": {"x": [0] * (size // 2) if name == "many" else "a" * size}}
    return {}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def make_noise(token: object) -> None:
    for number in range(NOISE_MESSAGES):
        progress = {"progressToken": token, "progress": number, "message": "half \ud83d"}
        send({"method": "notifications/progress", "params": progress})
        send({"method": "notifications/message", "params": {"level": "error", "data": "half \ud83d"}})
        send({"method": "notifications/tools/list_changed"})


for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params") or {}
    if params.get("name") == "noise":
        make_noise(params["_meta"]["progressToken"])
    if "id" in message and "method" in message:
        send({"id": message["id"], "result": result_of(message["method"], params)})
    sys.stdout.flush()
