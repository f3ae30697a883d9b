"""Commands that loosen guards are for the user, and refused to an agent that the guards watch."""

import hashlib
import hmac
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from hookline.errors import ConfigError
from hookline.model.installed_entry import PERSON_TOKEN
from hookline.user_dirs import find_user_dirs

TOKEN: Final = PERSON_TOKEN
_STORED: Final = "person-token.sha256"

# commands and their actions that loosen guards; an empty action stands for the whole command
_LOOSENING: Final = frozenset(
    {
        *(("trust", "approve"), ("trust", "import"), ("trust", "revoke"), ("trust", "token")),
        *(("disable", ""), ("remove", ""), ("uninstall", ""), ("undo", ""), ("edit", ""), ("git", "uninstall")),
        # the user decides what is taken back
        ("rollback", ""),
        # a guard may depend on what it keeps
        *(("daemon", "stop"), ("state", "clear"), ("mcp", "add"), ("mcp", "remove"), ("mcp", "logout")),
        # the records show what the agent was refused
        ("trace", "prune"),
    }
)
# options that make another command loosen guards, each as `--option=value`
_LOOSENING_OPTIONS: Final[Mapping[str, re.Pattern[str]]] = {
    "add": re.compile(r"--(?:set=)?allow="),
    # fewer events, or a call that fails open
    "doctor": re.compile(r"--accept\b"),
    "install": re.compile(r"--if-broken=allow|--http-all\b|--events=(?!\s*(?:\+|all\b))"),
}
# Agents, the variables that they set for the commands they run, and their programs. Variables of their settings or of
# editors are not listed, and an editor that contains an agent is the user's.
_AGENTS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "Claude Code": (("CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION"), ("claude",)),
    "Gemini CLI": (("GEMINI_CLI",), ("gemini",)),
    "Qwen Code": (("QWEN_CODE", "QWEN_CODE_AGENT_ID"), ("qwen",)),
    "Codex CLI": (("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"), ("codex",)),
    "Cursor": (("CURSOR_AGENT",), ("cursor-agent",)),
    "Copilot CLI": (("COPILOT_AGENT_SESSION_ID", "COPILOT_CLI"), ("copilot",)),
    "opencode": (("OPENCODE",), ("opencode",)),
    "Cline": (("CLINE_ACTIVE",), ()),
    "Crush": (("CRUSH",), ("crush",)),
    "Goose": (("GOOSE_TERMINAL",), ("goose",)),
    "Augment": (("AUGMENT_AGENT",), ("auggie",)),
    "Factory Droid": ((), ("droid",)),
    "Kiro": ((), ("kiro-cli",)),
    "Amp": ((), ("amp",)),
    "Antigravity": ((), ("agy",)),
    "an agent": (("AI_AGENT",), ()),
}
_PROGRAMS: Final = {program: agent for agent, (_, programs) in _AGENTS.items() for program in programs}
_INTERPRETERS: Final = frozenset({"node", "nodejs", "bun", "deno", "python", "python3"})
_MOST_ANCESTORS: Final = 64


def refuse_agents(words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Refuse a loosening command that an agent runs, unless the user gave it the token.

    Raises:
        ConfigError: An agent runs it.
    """
    if not _is_loosening(words):
        return
    agent = find_refused_agent(environ)
    if agent:
        is_whole = (words[0], "") in _LOOSENING or words[0] in _LOOSENING_OPTIONS
        command = " ".join(words[:1] if is_whole else words[:2])
        raise ConfigError(
            f"`hookline {command}` is refused: {agent} runs it, and it would loosen what guards that agent. "
            f"Run it in a terminal of your own, or give the agent a token: `hookline trust token`"
        )


def _is_loosening(words: Sequence[str]) -> bool:
    if not words:
        return False
    options = _LOOSENING_OPTIONS.get(words[0])
    pairs = zip(words, (*words[1:], ""), strict=True)
    if options is not None and any(options.match(word if "=" in word else f"{word}={value}") for word, value in pairs):
        return True
    actions = [word for word in words[1:] if not word.startswith("-")]
    return (words[0], "") in _LOOSENING or any((words[0], action) in _LOOSENING for action in actions[:1])


def find_refused_agent(environ: Mapping[str, str]) -> str:
    """Return the agent that runs this process and may not loosen guards; empty for a user, and with the user's token."""
    agent = find_agent(environ)
    return "" if _has_token(environ) else agent


def find_agent(environ: Mapping[str, str]) -> str:
    """Return the agent that runs this process, by its variables or its parent processes; empty if there is none."""
    named = (agent for agent, (variables, _) in _AGENTS.items() if any(map(environ.get, variables)))
    return next(named, "") or next(filter(None, map(_name_agent, _list_ancestors())), "")


def _name_agent(command: Sequence[str]) -> str:
    """Return the agent whose program a command line starts, directly or with an interpreter."""
    names = [Path(word).name.removesuffix(".exe") for word in command[:3]]
    if names and names[0] in _INTERPRETERS:
        scripts = [Path(word).stem for word in command[1:3] if not word.startswith("-")]
        return next((_PROGRAMS[name] for name in scripts[:1] if name in _PROGRAMS), "")
    return _PROGRAMS.get(names[0], "") if names else ""


def _list_ancestors() -> Iterator[list[str]]:
    """Yield the command lines of the parent processes, as far as /proc shows them."""
    number = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        folder = Path("/proc", str(number))
        try:
            words = folder.joinpath("cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            status = folder.joinpath("stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return
        yield [os.fsdecode(word) for word in words]
        number = int(status[1])
        if number <= 1:
            return


def _has_token(environ: Mapping[str, str]) -> bool:
    given = environ.get(TOKEN, "")
    try:
        stored = (find_user_dirs().data / _STORED).read_text().strip()
    except (OSError, ValueError):
        return False
    return bool(given) and hmac.compare_digest(hash_token(given), stored)


def hash_token(token: str) -> str:
    """Return the hash of a token, which is all that is stored of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def store_token(token: str) -> Path:
    """Store the hash of a token; it replaces the previous one."""
    path = find_user_dirs().data / _STORED
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(hash_token(token) + "\n")
    return path
