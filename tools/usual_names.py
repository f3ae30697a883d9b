"""Write down which names of our modules a usual call without a daemon uses, for `hookline.bridge.cold.bundling`.

    .venv/bin/python tools/usual_names.py

Run it when `tests/bridge/cold/test_bundling.py` says that the list has become old.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hookline.bridge.cold import bundle, bundling
from hookline.hosts.launcher import COLD

Used = dict[str, set[str]]

# run in place of `start.py`: the same, with somebody who listens which names are made
_LISTENING: Final = """\
import json, os, sys
start, target, *words = sys.argv[1:]
sys.path.insert(0, os.path.dirname(start))
import bundle, calling
del sys.path[0]
made, usual, leave = [], bundle._Names.__missing__, os._exit

def missing(names, name):
    if not names.lazy[name][0]:
        made.append((names["__name__"], name))
    return usual(names, name)

def left(code):
    with open(target, "w") as file:
        json.dump(made, file)
    leave(code)

bundle._Names.__missing__, os._exit = missing, left
calling.main(words)
"""

# for each tool, what its hook prints, and what then stands in the answer; nobody asks about the last
_TOOLS: Final = {
    "Bash": ('{"decision": "allow", "reason": "checked"}', b'"permissionDecision":"allow"'),
    "Write": ('{"decision": "deny", "reason": "never"}', b'"permissionDecision":"deny"'),
    "Read": ("", b""),
}
_HOOK: Final = """\
[[hook]]
id = "{tool}"
on = "PreToolUse"
dialect = "claude-code"
tools = ["{tool}"]
run = ["/bin/cat", "{answer}"]
"""


def record() -> Used:
    """Make calls, and give the names that were made for them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home, project = folder / "home", folder / "project"
        settings = home / ".config" / "hookline" / "hookline.toml"
        settings.parent.mkdir(parents=True)
        project.mkdir()
        (home / ".local" / "share" / "hookline").mkdir(parents=True)
        hooks = []
        for tool, (said, _) in _TOOLS.items():
            if said:
                answer = folder / tool
                answer.write_text(said, "utf-8")
                hooks.append(_HOOK.format(tool=tool, answer=answer))
        settings.write_text("".join(hooks), "utf-8")
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "HOOKLINE_DAEMON": "off", "HOOKLINE_COLD": "only"}
        # what has just changed is not remembered
        time.sleep(2.1)
        python = [sys.executable, "-E", "-P", "-S"]
        subprocess.run([*python, COLD, "--prepare", str(project)], env=env, cwd=project, check=True)
        used: Used = {}
        for module, one in _calls(python, env, project, folder / "made.json"):
            used.setdefault(module, set()).add(one)
        return used


def _calls(python: list[str], env: dict[str, str], project: Path, made: Path) -> Iterator[tuple[str, str]]:
    for tool, (_, wanted) in _TOOLS.items():
        event = {
            "session_id": "usual",
            "transcript_path": str(project / "session.jsonl"),
            "cwd": str(project),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": {"command": "ls", "file_path": str(project / "a.py"), "content": ""},
            "tool_use_id": "toolu_1",
        }
        words = [*python, "-c", _LISTENING, COLD, str(made), "hook", "claude-code", "PreToolUse"]
        done = subprocess.run(
            words, input=json.dumps(event).encode(), env=env, cwd=project, check=True, stdout=subprocess.PIPE
        )
        if wanted not in done.stdout or bool(wanted) != bool(done.stdout):
            raise SystemExit(f"a call about {tool} was answered with {done.stdout!r}, not with {wanted!r}")
        yield from json.loads(made.read_text("utf-8"))


def main() -> None:
    """Write the list."""
    used = record()
    lines = [f"{module}: {' '.join(sorted(names))}\n" for module, names in sorted(used.items())]
    bundling.USUAL.write_text("".join(lines), "utf-8")
    # it was made without them
    Path(bundle.FILE).unlink(missing_ok=True)
    sys.stdout.write(f"{sum(map(len, used.values()))} names of {len(used)} modules\n")


if __name__ == "__main__":
    main()
