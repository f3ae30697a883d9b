"""Ollama CLI python hook: keeps long files out of the conversation by reading only their head."""


def shorten(payload: dict) -> dict:
    """Rewrite `cat FILE` to the first lines of it."""
    command = payload.get("command", "")
    if payload.get("tool") == "bash" and command.startswith("cat "):
        return {"permissionDecision": "allow", "updatedInput": {"command": "head -n 3 " + command[4:]}}
    return {}
