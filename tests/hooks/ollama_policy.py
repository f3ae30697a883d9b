"""Denies commands that destroy, looking at the fields at the top of the payload."""

import json


def on_pre_tool_use(payload: dict) -> dict:
    if payload.get("tool") == "bash" and any(bad in payload.get("command", "") for bad in ("rm -rf", "dd if=")):
        return {"permissionDecision": "deny", "reason": "this command destroys"}
    return {"permissionDecision": "allow"}


if __name__ == "__main__":
    print(json.dumps(on_pre_tool_use(json.loads(input()))))
