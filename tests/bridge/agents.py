"""A person with hooks, and an agent that asks about a tool call: real files, real hooks, the agent's own bytes."""

import asyncio
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hookline import caller_context
from hookline.bridge import notices
from hookline.bridge.call import Call, IfBroken
from hookline.bridge.guarded_paths import list_guarded_paths
from hookline.bridge.serve import serve
from hookline.caller_context import CallerContext
from hookline.dialects import DIALECTS
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Answer
from hookline.model.hook import Hook
from hookline.ports import Dialect
from hookline.project_cache import ProjectCache

AGENTS: Final = {name: dialect for name, dialect in DIALECTS.items() if dialect.SPEC.is_agent}

# What each agent takes for "no opinion" before a tool runs, and for a no: written down from what they document and do,
# not from our own tables.
NEUTRAL: Final = {
    "claude-code": b"",
    "codex-cli": b"",
    "gemini-cli": b"",
    "qwen-code": b"",
    "cursor": b'{"permission":"allow"}',
    "copilot-cli": b"",
    "kiro": b"",
    "windsurf": b"",
    "cline": b"{}",
    "factory-droid": b"",
    "opencode": b"",
    "antigravity": b'{"decision":""}',
}


def _permission(said: dict[str, object]) -> object:
    own = said.get("hookSpecificOutput")
    return own.get("permissionDecision") if isinstance(own, dict) else None


_REFUSED: Final[dict[str, Callable[[dict[str, object]], bool]]] = {
    "claude-code": lambda said: _permission(said) == "deny",
    "codex-cli": lambda said: _permission(said) == "deny",
    "qwen-code": lambda said: _permission(said) == "deny",
    "factory-droid": lambda said: _permission(said) == "deny",
    "gemini-cli": lambda said: said.get("decision") in {"deny", "block"},
    "antigravity": lambda said: said.get("decision") == "deny",
    "copilot-cli": lambda said: said.get("permissionDecision") == "deny",
    "cursor": lambda said: said.get("permission") == "deny",
    "cline": lambda said: said.get("cancel") is True,
    "opencode": lambda said: bool(said.get("block")),
}
# these say no with an exit code and a reason on stderr
_BY_EXIT_CODE: Final = frozenset({"kiro", "windsurf", "factory-droid"})


def is_refused(host: str, answer: Answer) -> bool:
    """Say whether an agent would not run the tool after this answer."""
    if host in _BY_EXIT_CODE:
        return answer.exit_code == 2 and bool(answer.stderr)
    return answer.exit_code == 0 and _REFUSED[host](document(answer))


def document(answer: Answer) -> dict[str, object]:
    """Give the document that an answer is; one agent is told what the person should know in lines before it."""
    said: list[dict[str, object]] = [json.loads(line) for line in answer.stdout.splitlines()]
    found = [one for one in said if one.get("type") != "progress"]
    assert len(found) <= 1, answer.stdout
    return found[0] if found else {}


def is_neutral(host: str, answer: Answer) -> bool:
    """Say whether an agent would go on as if nobody had been asked; what is told to the person beside it is its own."""
    if answer.exit_code or answer.stderr:
        return False
    if answer.stdout.strip() == NEUTRAL[host]:
        return True
    said = document(answer)
    expected: dict[str, object] = json.loads(NEUTRAL[host] or b"{}")
    told = {"systemMessage", "message", "contextModification", "additionalContext", "user_message", "errorMessage"}
    return {key: value for key, value in said.items() if key not in told} == expected


GUARD: Final = """
[[hook]]
id = "guard"
on = "before_tool"
tools = "shell"
run = ["/bin/sh", "guard.sh"]
on_error = "block"
"""

# no hook is asked
UNGUARDED: Final = '[settings]\ndisabled_builtins = ["self-guard"]\n'

GUARD_PROGRAM: Final = """
case $(cat) in
  *"rm -rf"*) echo '{"decision": "deny", "reason": "nothing is removed here"}' ;;
esac
"""


class Staying:
    """What a daemon does, in this process: projects stay open, and each call has its own surroundings."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._projects = ProjectCache(serves_callers=True, guarded=list_guarded_paths)
        root = logging.getLogger()
        others = root.handlers[:]
        # also between two calls, when what was traced is stored
        notices.install_warning_log()
        (self._desk,) = root.handlers
        root.handlers += others

    def ask(self, call: Call, say: Callable[[Answer], None], environ: dict[str, str] | None) -> int:
        """Answer a call in the surroundings that this process has now."""
        here = CallerContext({**os.environ, **(environ or {})}, os.getcwd())  # noqa: PTH109 - a text is wanted

        async def answered() -> int:
            with caller_context.use(here):
                return await serve(call, say, environ=environ, projects=self._projects)

        return self._runner.run(answered())

    def close(self) -> None:
        """End everything that stays."""
        self._runner.run(self._projects.close())
        self._runner.close()
        logging.getLogger().removeHandler(self._desk)


class Person:
    """A home, a project beside it, and what the agent is answered."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.config = self.home / ".config" / "hookline"
        self.data = self.home / ".local" / "share" / "hookline"
        self.config.mkdir(parents=True)
        self.data.mkdir(parents=True, mode=0o700)
        self.project.mkdir()
        # who answers: a program of its own for each call, or one that stays for all of them
        self.staying: Staying | None = None

    def rest(self) -> None:
        """Have everything stored that is to be stored soon."""
        if self.staying is not None:
            self.staying.close()
            self.staying = Staying()

    def configure(self, text: str) -> None:
        """Write the configuration, and the guard's program beside it."""
        (self.config / "hookline.toml").write_text(text)
        (self.config / "guard.sh").write_text(GUARD_PROGRAM)

    def event(self, name: str = "before_tool", **data: object) -> Event:
        """Make an event of a session in the project; a tool call is one of a shell."""
        command = data.pop("command", None)
        return Event(
            name=EventName(name),
            data=data,
            tool="shell" if command is not None or name in {"before_tool", "after_tool"} else "",
            args={"command": command or "ls"} if name in {"before_tool", "after_tool"} else {},
            session=Session(id=str(data.pop("session", "one"))),
            cwd=str(self.project),
        )

    def said(self, dialect: Dialect, event: Event) -> tuple[bytes, str]:
        """Say an event as an agent would; give its bytes, and its own name of it."""
        body = dialect.encode_event(event, Hook(id="host", kind="host")).body
        return body, dialect.SPEC.native(event)

    def ask(
        self,
        host: str,
        event: Event | None = None,
        *,
        raw: bytes | None = None,
        if_broken: str = "",
        environ: dict[str, str] | None = None,
    ) -> Answer:
        """Have an agent ask us, and give the answer."""
        dialect = DIALECTS[host]
        body, native = self.said(dialect, event or self.event())
        call = Call(
            dialect=dialect,
            native=native,
            raw=body if raw is None else raw,
            if_broken=IfBroken(if_broken) if if_broken else None,
        )
        answers: list[Answer] = []
        if self.staying is not None:
            code = self.staying.ask(call, answers.append, environ)
        else:
            code = asyncio.run(serve(call, answers.append, environ=environ))
        assert [answer.exit_code for answer in answers] == [code]
        return answers[0]


def told(answer: Answer) -> str:
    """Give what Claude Code shows the person."""
    return str(document(answer).get("systemMessage", ""))
