"""Throw mutated payloads of every agent at a guard that denies everything, and count what the agent would take for a yes.

    python tools/fuzz_payloads.py --count 200000 --seed 7

The payloads are the recorded ones of `tests/dialects/payloads`. Each goes through the function that the daemon answers
calls with, in a home of its own. Whether an answer is a denial is judged by what the agents obey, written down here and
not taken from the dialects. The same seed gives the same payloads.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from msgspec import Struct

from hookline import caller_context
from hookline.bridge import notices
from hookline.bridge.call import Call, IfBroken
from hookline.bridge.serve import serve
from hookline.caller_context import CallerContext
from hookline.dialects import DIALECTS
from hookline.model.exchange import Answer
from hookline.project_cache import ProjectCache

PAYLOADS: Final = Path(__file__).resolve().parents[1] / "tests" / "dialects" / "payloads"
# the folder of the payloads of each agent
FOLDERS: Final[Mapping[str, str]] = {
    "claude-code": "claude",
    "codex-cli": "codex",
    "gemini-cli": "gemini",
    "qwen-code": "qwen",
    "cursor": "cursor",
    "copilot-cli": "copilot",
    "kiro": "kiro",
    "windsurf": "windsurf",
    "cline": "cline",
    "factory-droid": "claude",
    "opencode": "opencode",
    "antigravity": "antigravity",
}
GUARD: Final = """
[[hook]]
id = "guard"
on = ["before_tool", "permission_request", "before_agent"]
deny = "nothing happens here"
"""

Said = dict[str, object]


def _at(said: object, *path: str) -> object:
    for key in path:
        said = said.get(key) if isinstance(said, dict) else None
    return said


def _claude_like(said: Said) -> bool:
    """Claude Code and those that took its answers over: one key for each kind of event, or the end of the turn."""
    return (
        _at(said, "hookSpecificOutput", "permissionDecision") == "deny"
        or _at(said, "hookSpecificOutput", "decision", "behavior") == "deny"
        or said.get("decision") == "block"
        or said.get("continue") is False
    )


# what each agent obeys as a no, in the document on stdout
OBEYED: Final[Mapping[str, Callable[[Said], bool]]] = {
    "claude-code": _claude_like,
    "codex-cli": _claude_like,
    "qwen-code": lambda said: _claude_like(said) or said.get("decision") == "deny",
    "factory-droid": _claude_like,
    "gemini-cli": lambda said: said.get("decision") in {"deny", "block"} or said.get("continue") is False,
    "antigravity": lambda said: said.get("decision") == "deny",
    "copilot-cli": lambda said: (
        said.get("permissionDecision") == "deny" or said.get("behavior") == "deny" or said.get("decision") == "block"
    ),
    "cursor": lambda said: said.get("permission") == "deny" or said.get("continue") is False,
    "cline": lambda said: said.get("cancel") is True,
    "opencode": lambda said: bool(said.get("block")),
}
# these read a no from the exit code
BY_EXIT_CODE: Final = frozenset({"claude-code", "codex-cli", "qwen-code", "kiro", "windsurf", "factory-droid"})


def is_denied(host: str, answer: Answer) -> bool:
    """Return whether an agent that is given this answer does not go on."""
    if answer.exit_code:
        return answer.exit_code == 2 and host in BY_EXIT_CODE and bool(answer.stderr)  # noqa: PLR2004
    lines = [line for line in answer.stdout.splitlines() if line.strip()]
    try:
        documents = [json.loads(line) for line in lines]
    except ValueError:
        return False
    found = [one for one in documents if not isinstance(one, dict) or one.get("type") != "progress"]
    return len(found) == 1 and isinstance(found[0], dict) and host in OBEYED and OBEYED[host](found[0])


class Case(Struct, frozen=True):
    """A payload as it was recorded, and the entry in the settings that it came through."""

    host: str
    event: str
    document: Said


def cases() -> list[Case]:
    """Return every recorded payload of an event at which the guard denies."""
    found = []
    for host, folder in FOLDERS.items():
        spec = DIALECTS[host].SPEC
        for path in sorted((PAYLOADS / folder).glob("*.json")):
            names = [name for name in spec.abilities or () if path.name.startswith(f"{name}.")]
            found += [Case(host, name, json.loads(path.read_text())) for name in names[:1]]
    return found


VALUES: Final[tuple[object, ...]] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**63,
        10**400,
        0.5,
        1e308,
        "",
        "x",
        "PreToolUse2",
        "ls",
        "\ud800",
        "\u0000",
        "a" * 5000,
    ),
    *([], {}, [[]], {"a": {}}, ["x", 1, None]),
)
NAMES: Final = ("hook_event_name", "hookName", "tool_name", "timestamp", "sessionId", "conversation_id", "extra", "")


def _places(value: object, way: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    places = [way] if way else []
    if isinstance(value, dict):
        for key, inner in value.items():
            places += _places(inner, (*way, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            places += _places(inner, (*way, number))
    return places


def _change(rng: random.Random, document: Said) -> Said:
    """Change one place of a document."""
    changed: Said = json.loads(json.dumps(document))
    places = _places(changed)
    if not places:
        return {rng.choice(NAMES): rng.choice(VALUES)}
    *way, last = rng.choice(places)
    owner: object = changed
    for step in way:
        owner = owner[step]  # type: ignore[index] # it was found there
    action = rng.randrange(6)
    if not isinstance(owner, dict) or not isinstance(last, str):
        owner[last] = rng.choice(VALUES)  # type: ignore[index] # a list
        return changed
    if action == 0:
        del owner[last]
    elif action == 1:
        owner[rng.choice((last.upper(), last.title(), last.swapcase(), f"{last}2", f" {last}"))] = owner.pop(last)
    elif action == 2:  # noqa: PLR2004 - one of six
        owner[rng.choice(NAMES)] = rng.choice(VALUES)
    elif action == 3 and isinstance(owner[last], str):  # noqa: PLR2004
        text = owner[last]
        owner[last] = rng.choice((text.upper(), text.lower(), text.swapcase(), f"{text}2", f" {text}", text[:-1]))
    else:
        owner[last] = rng.choice(VALUES)
    return changed


def _damage(rng: random.Random, raw: bytes) -> bytes:
    """Change the bytes of a payload."""
    place = rng.randrange(len(raw) + 1)
    deep = b"[" * 1000 + b"]" * 1000
    kinds: Sequence[Callable[[], bytes]] = (
        lambda: raw[:place],
        lambda: raw[:place] + bytes([rng.randrange(256)]) + raw[place + 1 :],
        lambda: raw[:place] + raw[place + rng.randrange(1, 9) :],
        lambda: b"\xef\xbb\xbf" + raw,
        lambda: raw.decode("utf-8", "replace").encode("utf-16"),
        lambda: raw + raw,
        lambda: b"noise\n" + raw,
        lambda: raw + b"\n{}",
        lambda: b"",
        lambda: b"[" + raw + b"]",
        lambda: raw[:-1] + b', "deep": ' + deep + b"}",
        lambda: b'{"a": ' * 1000 + b"1" + b"}" * 1000,
        lambda: raw[:-1] + b', "hook_event_name": "Other"}',
        lambda: raw[:-1] + b', "tool_name": "Read", "tool_name": "Other"}',
        lambda: raw.replace(b'"', b"'"),
        lambda: rng.choice((b"null", b"1", b'"x"', b"[]", b"{}", b"\x00", b"true", b"1e999")),
    )
    return rng.choice(kinds)()


def mutate(rng: random.Random, document: Said) -> bytes:
    """Return a payload that is not quite what the agent sends."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        document = _change(rng, document)
    raw = json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")  # noqa: PLR2004
    return _damage(rng, raw) if rng.random() < 0.4 else raw  # noqa: PLR2004


class Bench:
    """A home with a guard, and projects that stay open as the daemon has them."""

    def __init__(self, folder: Path, guard: str = GUARD) -> None:
        self.home, self.project = folder / "home", folder / "project"
        config = self.home / ".config" / "hookline"
        config.mkdir(parents=True)
        (config / "hookline.toml").write_text(guard)
        self.project.mkdir()
        self.environ = {"HOME": str(self.home), "PATH": os.environ.get("PATH", os.defpath)}
        self.projects = ProjectCache(serves_callers=True)

    async def ask(self, case: Case, raw: bytes, policy: IfBroken | None = IfBroken.ALLOW) -> Answer:
        """Answer one call as the daemon does."""
        said: list[Answer] = []
        call = Call(dialect=DIALECTS[case.host], native=case.event, raw=raw, if_broken=policy)
        with caller_context.use(CallerContext(self.environ, str(self.project), umask=0o022)):
            code = await serve(call, said.append, environ=self.environ, projects=self.projects)
        return said[0] if said else Answer(exit_code=code)


async def run(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Mutate and ask; returns how many answers there were by agent, and the payloads that were not denied."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    asked: Counter[str] = Counter()
    passed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        notices.install_warning_log()
        bench = Bench(Path(folder))
        # an event at which an agent listens to no answer cannot be denied by anybody
        known = [
            case for case in cases() if is_denied(case.host, await bench.ask(case, json.dumps(case.document).encode()))
        ]
        for _ in range(count):
            case = rng.choice(known)
            raw = mutate(rng, case.document)
            answer = await bench.ask(case, raw)
            asked[case.host] += 1
            if not is_denied(case.host, answer):
                passed.append(f"{case.host} {case.event}: {raw[:600]!r}\n  -> {answer}")
        await bench.projects.close()
    return asked, passed


def main() -> int:
    """Mutate, ask, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=20_000, help="how many payloads")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same payloads")
    args = parser.parse_args()
    begun = perf_counter()
    asked, passed = asyncio.run(run(args.count, args.seed))
    for text in passed[:20]:
        print(text)
    print(
        f"{asked.total()} mutated payloads of {len(asked)} agents in {perf_counter() - begun:.0f} s: {len(passed)} not denied"
    )
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
