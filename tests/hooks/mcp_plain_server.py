"""A small MCP server on stdin and stdout, in the words of the protocol: it starts at once, and misbehaves on request."""

import json
import os
import sys
import time

mode = sys.argv[1] if len(sys.argv) > 1 else ""
if mode == "dies":
    print("no license", file=sys.stderr)
    sys.exit(3)
if mode == "silent":
    time.sleep(600)
if mode == "rubbish":
    print("Welcome to my server!\n{not json", flush=True)
    time.sleep(600)
if mode == "slow":
    time.sleep(1.5)
if mode == "chatty":
    print("starting up...", flush=True)

TOOLS = ["scan", "say", "json", "fail", "hang", "die", "pid", "env", "big", "flood", "empty", "write"]


def call(name, arguments):
    if name == "scan":
        bad = "secret" in arguments.get("path", "")
        return json.dumps({"decision": "deny", "reason": f"{arguments['path']} is secret"} if bad else {})
    if name in ("say", "json"):
        return arguments["text"] if name == "say" else json.dumps(arguments)
    if name == "fail":
        raise ValueError("the database is down")
    if name == "hang":
        time.sleep(600)
    if name == "die":
        os._exit(7)
    if name == "pid":
        return str(os.getpid())
    if name == "env":
        return json.dumps({"metadata": {"env": sorted(os.environ)}})
    if name == "flood":
        return "x" * 40_000_000
    if name == "big":
        return "x" * 1_100_000
    if name == "write":
        with open(arguments["path"], "w") as file:
            file.write("written")
        return "written"
    return ""


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        answer["result"] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    elif method == "tools/list":
        answer["result"] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    elif method == "tools/call":
        try:
            text, is_error = call(params["name"], params.get("arguments") or {}), False
        except ValueError as problem:
            text, is_error = str(problem), True
        answer["result"] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    else:
        answer["error"] = {"code": -32601, "message": f"no method {method}"}
    print(json.dumps(answer), flush=True)
