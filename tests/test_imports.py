"""What is not imported: each of these costs everybody who starts us more than what we do there.

The lists are checked in processes of their own. A name that is here is not to come back by accident; one that is
needed after all leaves the list, with its price.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.bridge.cold.quickly import Place, settle

# what an interpreter without `site` takes is 1; these are measured in that, on the project's machine
HEAVY: Final[Mapping[str, str]] = {
    "argparse": "1.0: only programs for people read options",
    "asyncio": "6.0: waiting.py has what one call at a time needs of it",
    "concurrent.futures": "1.9: comes with asyncio",
    "dataclasses": "2.1: our words are msgspec's",
    "decimal": "0.5: msgspec knows it, and no event has one",
    "difflib": "0.8: suggestions are for people",
    "getpass": "0.3: only whoever approves is asked for a name",
    "httpx2": "16: only webhooks speak HTTP",
    "inspect": "1.7: looks at functions, which no command is",
    "ipaddress": "0.3: comes with urllib.parse",
    "json": "1.0: msgspec reads JSON, and this only what msgspec does not",
    "locale": "0.2: comes with subprocess",
    "multiprocessing": "1.6: never",
    "pathspec": "3.0: only hooks about files",
    "platform": "0.3: comes with uuid",
    "platformdirs": "2.4: only on Windows",
    "random": "0.5: never",
    "rich": "1.5: for terminals",
    "selectors": "0.5: comes with asyncio",
    "shutil": "1.0: looks for programs, and we do so ourselves",
    "site": "0.4: calling.py finds the one library itself",
    "socket": "1.0: comes with asyncio",
    "sqlite3": "0.7: traces are spooled, and state is asked for by hooks with limits",
    "ssl": "2.1: comes with asyncio",
    "subprocess": "1.5: posix_spawn is in os",
    "tempfile": "1.4: never",
    "tomllib": "2.0: the snapshot has what was read",
    "traceback": "1.2: comes with logging",
    "typing_extensions": "1.6: msgspec gets by on typing",
    "urllib.parse": "0.4: for one method of pathlib",
    "uuid": "0.4: msgspec knows it, and no event has one",
    "watchfiles": "5.2: only `hookline watch`",
    "yaml": "2.0: the snapshot has what was read",
}
# of what `import hookline` costs whoever embeds us, before they use anything
AT_IMPORT: Final = frozenset(
    {"msgspec", "asyncio", "typing", "re", "enum", "pathlib", "logging", "hookline.core", "hookline.model", *HEAVY}
) - {"site"}
# what only a call with a hook needs
WITH_A_HOOK: Final = frozenset({"hookline.kinds._process", "hookline.kinds._replies", "hookline.core.recording"})

EVENT: Final = {
    "session_id": "s1",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "t1",
}
# runs the quick way, and says what is imported when the answer is out
WATCHED: Final = """
import os, sys
sys.path.insert(0, sys.argv[1])
import calling
del sys.path[0]
calling.bundle.mount()
code = calling._quick(sys.argv[2:], calling._libraries())
stand_ins = [f"{name}={getattr(sys.modules.get(name), '__file__', 'cold')}" for name in ("asyncio", "logging", "hashlib")]
os.write(int(os.environ["MODULES"]), " ".join(sys.modules).encode() + b"\\n" + " ".join(stand_ins).encode())
os._exit(code)
"""


def loaded(*words: str) -> set[str]:
    """Give the modules that a program has imported at its end."""
    script = f"{'; '.join(words)}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split()) - set(bare.stdout.split())


def test_to_import_us_imports_next_to_nothing() -> None:
    found = loaded("import hookline")
    assert not found & AT_IMPORT
    assert {name for name in found if name.startswith("hookline")} == {"hookline"}


def test_a_name_brings_what_it_needs_and_no_other() -> None:
    found = loaded("from hookline import Verdict")
    assert "hookline.model.verdict" in found
    assert not found & {"hookline.core.engine", "hookline.dialects.claude_code", "asyncio"}


def test_one_dialect_is_imported_for_one_agent() -> None:
    found = loaded("from hookline.dialects import DIALECTS", 'DIALECTS["claude-code"]')
    assert "hookline.dialects.claude_code" in found
    assert not found & {"hookline.dialects.kiro", "hookline.dialects.cursor", "hookline.dialects.gemini_cli"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    made = Place(tmp_path_factory.mktemp("imports"))
    made.write(
        {
            "~/.config/hookline/hookline.toml": '[[hook]]\nid = "one"\non = "before_tool"\nmatcher = "shell"\nrun = ["/bin/true"]\n'
        }
    )
    settle([made])
    made.prepare()
    return made


def modules_of(place: Place, tmp_path: Path, **changed: object) -> set[str]:
    """Answer a call by the quick way, and give what was imported for it."""
    script = tmp_path / "watched.py"
    script.write_text(WATCHED)
    listed = tmp_path / "modules"
    with listed.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-E", "-P", "-S", script, place.start.parent, "claude-code", "PreToolUse"],
            input=json.dumps({**EVENT, "cwd": str(place.project), **changed}).encode(),
            capture_output=True,
            cwd=place.project,
            env=place.environment({"MODULES": str(file.fileno())}),
            pass_fds=[file.fileno()],
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()
    names, stand_ins = listed.read_text().splitlines()
    found = set(names.split())
    # what stands in for these is ours, and costs little
    assert all("cold" in path for path in stand_ins.split()), stand_ins
    return found - {"asyncio", "logging", "hashlib"}


@pytest.mark.parametrize("tool", ["Bash", "Read"], ids=["one hook", "no hook"])
def test_a_call_without_a_daemon_imports_none_of_these(place: Place, tmp_path: Path, tool: str) -> None:
    found = modules_of(place, tmp_path, tool_name=tool)
    assert not {f"{name} ({HEAVY[name]})" for name in found & HEAVY.keys()}
    assert "hookline.bridge.serving" in found
    assert not {name for name in found if name.startswith("hookline.dialects.") and name.endswith(("kiro", "cursor"))}


def test_a_call_that_no_hook_wants_imports_nothing_to_run_one(place: Place, tmp_path: Path) -> None:
    assert not modules_of(place, tmp_path, tool_name="Read") & WITH_A_HOOK
    assert modules_of(place, tmp_path) >= WITH_A_HOOK
