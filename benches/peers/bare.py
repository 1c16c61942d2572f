"""The least code in Python that answers over stdio: the cost of the interpreter."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {},
            "serverInfo": {"name": "bare-python", "version": "0"},
        }
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
