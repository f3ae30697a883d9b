"""Answers one JSON-RPC request."""

import json
import sys

request = json.load(sys.stdin)
event = request["params"]["event"]
if event["type"] == "userTriggered":
    error = {"code": -32603, "message": "cannot", "data": {"reason": "no linter here", "details": "npx is missing"}}
    json.dump({"jsonrpc": "2.0", "error": error, "id": request["id"]}, sys.stdout)
else:
    result = {
        "action": "askAgent",
        "prompt": f"Look at what {event['type']} left behind",
        "metadata": {"executionTime": 3, "success": True},
    }
    json.dump({"jsonrpc": "2.0", "result": result, "id": request["id"]}, sys.stdout)
