"""Claude Code: groups of hooks under events in `settings.json`."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Final

from hookline.config.formats.agents.spec import (
    BACKGROUND,
    COMMAND,
    GROUP,
    IGNORED,
    PLAIN,
    READS,
    RUNS,
    SECONDS,
    UNMATCHED,
    WRITES,
    AgentEvent,
    AgentFileSpec,
    ConfigEntry,
    MatchTarget,
    as_is,
    why_all_disabled,
)
from hookline.config.keys import SHARED, Key, describe, nonempty_text, on_error, text, texts
from hookline.config.reader import FileReader
from hookline.config.script_paths import quote_program

_RULE: Final = re.compile(r"(?P<tool>[\w*-]+)(?:\((?P<what>.*)\))?", re.DOTALL)
_SEVERAL: Final = re.compile(r"\)\s+\w+\(")
_MCP: Final = "mcp__"
# a command begins at the start, behind whatever ends another one, and behind variables that are set for it
_BEGINS: Final = r"(?:^|[;&|\n(){}`])\s*(?:\w+=\S*\s+)*"
# what the shell puts in only when it runs
_UNKNOWN: Final = r"[$`]"


def parse_rule(text: str) -> dict[str, object]:
    """Read a rule: the fields of a hook that runs for such calls only.

    Raises:
        ValueError: It says something that cannot be said here.
    """
    found = _RULE.fullmatch(text.strip())
    if found is None or _SEVERAL.search(text):
        raise ValueError("wanted one rule such as Bash(git *)")
    tool, what = found["tool"], found["what"]
    if tool.startswith(_MCP) and not what:
        return _mcp(tool)
    read = _TOOLS.get(tool)
    if read is None:
        raise ValueError(f"rules for {tool} are not known here; there are {', '.join(_TOOLS)} and mcp__SERVER")
    tools, of = read
    condition = f"tool in {json.dumps(list(tools))}"
    return {"condition": condition} if what in {None, "", "*"} else of(condition, str(what))


def _mcp(tool: str) -> dict[str, object]:
    bare = tool.removesuffix("*").removesuffix("__")
    if "*" in bare:
        raise ValueError("a star may stand only at the end of an MCP rule")
    if tool == bare and "__" in bare.removeprefix(_MCP):
        return {"condition": f"tool == {json.dumps(tool)}"}
    return {"condition": f"tool.startsWith({json.dumps(f'{bare}__')})"}


def _command(condition: str, what: str) -> dict[str, object]:
    # the older spelling of "begins with these words"
    line = f"{what.removesuffix(':*')} *" if what.endswith(":*") else what
    words, star = (line[:-2], True) if line.endswith(" *") else (line, False)
    glob = ".*".join(re.escape(part).replace("\\ ", r"\s+") for part in words.split("*"))
    ends = r"(?:\s|$|[;&|)}`])" if star else r"\s*(?:$|[;&|\n)}`])"
    pattern = f"(?s){_BEGINS}{glob}{ends}"
    is_one = f"args.command.matches({json.dumps(pattern)})"
    in_doubt = f" || args.command.matches({json.dumps(_UNKNOWN)})" if re.search(r"\s", words) or not star else ""
    return {"condition": f"{condition} && ({is_one}{in_doubt})"}


def _path(condition: str, what: str) -> dict[str, object]:
    if ".." in what.split("/"):
        raise ValueError(f"the path {what} leads out of the folder that it is counted from")
    # two slashes begin a path from the top of the disk, one a path from the project
    pattern = what[1:] if what.startswith("//") else what.removeprefix("./")
    return {"condition": condition, "files": (pattern,)}


_Read = tuple[tuple[str, ...], Callable[[str, str], dict[str, object]]]
_TOOLS: Final[Mapping[str, _Read]] = {
    "Bash": (RUNS, _command),
    "PowerShell": (RUNS, _command),
    "Edit": (WRITES, _path),
    "Write": (WRITES, _path),
    "MultiEdit": (WRITES, _path),
    "NotebookEdit": (("notebook_edit",), _path),
    "Read": (READS, _path),
}


_PLACE: Final = re.compile(r"\$\{(\w+)\}")
# at these, a rule can be asked; at any other event a hook with one never runs
_RULED: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})
_SHELLS: Final = ("bash", "powershell")


def _shell(value: object) -> str:
    if value in _SHELLS:
        return text(value)
    raise ValueError(f"wanted bash or powershell, got {describe(value)}")


WEB: Final[Mapping[str, Key]] = {
    "url": Key(nonempty_text, "url", vital=True, about="The URL to send the event to."),
    "headers": SHARED["headers"],
    "allowedEnvVars": Key(texts, vital=True, about="Variables that headers may name."),
}
KEYS: Final[Mapping[str, Key]] = {
    **PLAIN,
    **WEB,
    "args": Key(texts, "args", vital=True, about="Words of its own: then no shell reads the command."),
    "shell": Key(_shell, vital=True, about="The shell that reads the line."),
    "if": Key(nonempty_text, vital=True, about="A permission rule: it runs only for such calls."),
    "async": BACKGROUND,
    "asyncRewake": BACKGROUND,
    "onFailure": Key(on_error, "on_error", about="What its failure means."),
    "once": IGNORED,
    "statusMessage": IGNORED,
    "description": IGNORED,
}
AGENT_ONLY: Final[Mapping[str, str]] = {
    "prompt": "the agent asks a model of its own",
    "agent": "the agent starts another agent",
    "mcp_tool": "the agent calls a tool of a server it is connected to",
}


def finish(reader: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    """See to rules, shells, words of their own, and variables in headers."""
    values = entry.values
    if values.get("shell") == "powershell" and "args" not in values:
        reader.warn((*entry.where, "shell"), f"{entry.owner} is a line for PowerShell; the hook is not loaded")
        return None
    if values.get("asyncRewake"):
        reader.note((*entry.where, "asyncRewake"), f"{entry.owner} cannot wake other agents; they go on without it")
    if "args" in values:
        fields |= _split_command(str(fields.get("command", "")), tuple(map(str, texts(list(values["args"])))))  # type: ignore[call-overload]
    if "if" in values:
        ruled = _rule_fields(reader, entry, str(values["if"]))
        if ruled is None:
            return None
        fields |= ruled
    return add_header_variables(entry, fields)


def _rule_fields(reader: FileReader, entry: ConfigEntry, said: str) -> dict[str, object] | None:
    place = (*entry.where, "if")
    if entry.event not in _RULED:
        reader.warn(place, f"{entry.owner} never runs: at this event there is no call that its rule could be about")
        return None
    try:
        return parse_rule(said)
    except ValueError as problem:
        reader.warn(place, f"the rule of {entry.owner}: {problem}; the hook is not loaded, so it runs only there")
        return None


def add_header_variables(entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object]:
    """Let headers name the variables they may; where they name none, they are as they stand."""
    headers = fields.get("headers")
    if isinstance(headers, Mapping) and any("$" in str(value) for value in headers.values()):
        allowed = entry.values.get("allowedEnvVars", ())
        fields["header_env"] = allowed
    return fields


def _split_command(program: str, args: tuple[str, ...]) -> dict[str, object]:
    """Return a command in words of its own; with placeholders in them, a shell fills these in and splits nothing."""
    if not any(_PLACE.search(word) for word in (program, *args)):
        return {"command": quote_program(program, args), "args": args, "shell": False}
    return {"command": " ".join(map(_quote_word, (program, *args))), "args": ()}


def _quote_word(word: str) -> str:
    if not _PLACE.search(word):
        return shlex.quote(word)
    plain = re.sub(r'([\\"`$])', r"\\\1", word)
    return '"' + re.sub(r"\\\$\{(\w+)\}", r"${\1}", plain) + '"'


# what writes have in common among those who write like Claude Code
WRITERS: Final = {"command": COMMAND, "timeout": SECONDS}

SPEC: Final = AgentFileSpec(
    local=(".claude/settings.local.json",),
    project=(".claude/settings.json",),
    home=(".claude/settings.json",),
    keys=KEYS,
    group_keys=GROUP,
    types={"command": "command", "http": "url"},
    agent_only=AGENT_ONLY,
    events={"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED, "FileChanged": AgentEvent(matches=MatchTarget.FILES)},
    defaults={"parallel": True},
    finish=finish,
    why_disabled=why_all_disabled,
    writers={
        **WRITERS,
        "url": ("url", as_is),
        "headers": ("headers", as_is),
        "header_env": ("allowedEnvVars", as_is),
        "background": ("async", as_is),
        "on_error": ("onFailure", str),
    },
)
