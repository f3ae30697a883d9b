"""Writes every payload to a log in the person's home. Reads one line, as `input()` does."""

import json
from pathlib import Path


def on_post_tool_use(payload: dict) -> dict:
    log = Path.home() / "tool_logs.jsonl"
    with open(log, "a") as file:
        file.write(json.dumps(payload) + "\n")
    return {"logged": True}


if __name__ == "__main__":
    print(json.dumps(on_post_tool_use(json.loads(input()))))
