#!/usr/bin/env python3
"""Ends the operation when a shell command is on its list."""

import json
import sys


def main():
    try:
        asked = json.load(sys.stdin)
        command = asked["data"].get("args", {}).get("command", "")
        if asked["event"] == "before_tool" and asked["data"]["tool_name"] == "shell" and "rm -rf /" in command:
            json.dump({"continue": False, "systemMessage": "stopped: rm -rf /"}, sys.stdout)
        else:
            json.dump({"continue": True}, sys.stdout)
    except Exception as problem:
        json.dump({"continue": True, "error": str(problem)}, sys.stdout)


if __name__ == "__main__":
    main()
