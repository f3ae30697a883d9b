"""OLLM event automation: answers a JSON-RPC request by asking the agent for one more thing."""

import json
import sys

request = json.load(sys.stdin)
result = {"action": "askAgent", "prompt": "Write down what was left undone", "metadata": {"success": True}}
json.dump({"jsonrpc": "2.0", "result": result, "id": request["id"]}, sys.stdout)
