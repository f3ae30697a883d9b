"""Claude Code: groups of hooks under events in `settings.json`."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Final

from hookline.config.formats.agents import reader as files
from hookline.config.formats.agents.reader import IGNORED, UNMATCHED, AgentEvent, AgentFileSpec, ConfigEntry
from hookline.config.keys import SHARED, Key, describe, nonempty_text, on_error, read_texts, text, texts
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
        bare = tool.removesuffix("*").removesuffix("__")
        if "*" in bare:
            raise ValueError("a star may be only at the end of an MCP rule")
        if tool == bare and "__" in bare.removeprefix(_MCP):
            return {"condition": f"tool == {json.dumps(tool)}"}
        return {"condition": f"tool.startsWith({json.dumps(f'{bare}__')})"}
    read = _TOOLS.get(tool)
    if read is None:
        raise ValueError(f"rules for {tool} are not known here; there are {', '.join(_TOOLS)} and mcp__SERVER")
    tools, of = read
    condition = f"tool in {json.dumps(list(tools))}"
    return {"condition": condition} if what in {None, "", "*"} else of(condition, str(what))


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


_TOOLS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[str, str], dict[str, object]]]]] = {
    "Bash": (files.RUNS, _command),
    "PowerShell": (files.RUNS, _command),
    "Edit": (files.WRITES, _path),
    "Write": (files.WRITES, _path),
    "MultiEdit": (files.WRITES, _path),
    "NotebookEdit": (("notebook_edit",), _path),
    "Read": (files.READS, _path),
}


_PLACE: Final = re.compile(r"\$\{(\w+)\}")
# at these, a rule can be asked; at any other event a hook with one never runs
_RULED: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})


def _shell(value: object) -> str:
    if value in {"bash", "powershell"}:
        return text(value)
    raise ValueError(f"wanted bash or powershell, got {describe(value)}")


WEB: Final[Mapping[str, Key]] = {
    "url": Key(nonempty_text, "url", vital=True, about="The URL to send the event to."),
    "headers": SHARED["headers"],
    "allowedEnvVars": Key(texts, vital=True, about="Variables that headers may name."),
}
KEYS: Final[Mapping[str, Key]] = {
    **files.PLAIN,
    **WEB,
    "args": Key(texts, "args", vital=True, about="Words of its own: then no shell reads the command."),
    "shell": Key(_shell, vital=True, about="The shell that reads the line."),
    "if": Key(nonempty_text, vital=True, about="A permission rule: it runs only for such calls."),
    "async": files.BACKGROUND,
    "asyncRewake": files.BACKGROUND,
    "onFailure": Key(on_error, "on_error", about="What its failure means."),
    "once": IGNORED,
    "statusMessage": IGNORED,
    "description": IGNORED,
}


def _finish(reader: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    """See to rules, shells, words of their own, and variables in headers."""
    values = entry.values
    if values.get("shell") == "powershell" and "args" not in values:
        reader.warn((*entry.where, "shell"), f"{entry.owner} is a line for PowerShell; the hook is not loaded")
        return None
    if values.get("asyncRewake"):
        reader.note((*entry.where, "asyncRewake"), f"{entry.owner} cannot wake other agents; they go on without it")
    if "args" in values:
        program, args = str(fields.get("command", "")), read_texts(values, "args")
        if any(_PLACE.search(word) for word in (program, *args)):
            # a shell fills the placeholders in, and splits nothing
            fields |= {"command": " ".join(map(_quote_word, (program, *args))), "args": ()}
        else:
            fields |= {"command": quote_program(program, args), "args": args, "shell": False}
    if "if" in values:
        place = (*entry.where, "if")
        if entry.event not in _RULED:
            reader.warn(place, f"{entry.owner} never runs: at this event there is no call that its rule could be about")
            return None
        try:
            fields |= parse_rule(str(values["if"]))
        except ValueError as problem:
            reader.warn(place, f"the rule of {entry.owner}: {problem}; the hook is not loaded, so it runs only there")
            return None
    return add_header_variables(entry, fields)


def add_header_variables(entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object]:
    """Let headers name the variables they may; where they name none, they are as they stand."""
    headers = fields.get("headers")
    if isinstance(headers, Mapping) and any("$" in str(value) for value in headers.values()):
        fields["header_env"] = entry.values.get("allowedEnvVars", ())
    return fields


def _quote_word(word: str) -> str:
    if not _PLACE.search(word):
        return shlex.quote(word)
    plain = re.sub(r'([\\"`$])', r"\\\1", word)
    return '"' + re.sub(r"\\\$\{(\w+)\}", r"${\1}", plain) + '"'


SPEC: Final = AgentFileSpec(
    local=(".claude/settings.local.json",),
    project=(".claude/settings.json",),
    home=(".claude/settings.json",),
    keys=KEYS,
    group_keys=files.GROUP,
    types={"command": "command", "http": "url"},
    agent_only={
        "prompt": "the agent asks a model of its own",
        "agent": "the agent starts another agent",
        "mcp_tool": "the agent calls a tool of a server it is connected to",
    },
    events={
        "UserPromptSubmit": UNMATCHED,
        "Stop": UNMATCHED,
        "FileChanged": AgentEvent(matches=files.MatchTarget.FILES),
    },
    defaults={"parallel": True},
    finish=_finish,
    why_disabled=files.why_all_disabled,
    writers={
        **files.WRITERS,
        "url": "url",
        "headers": "headers",
        "header_env": "allowedEnvVars",
        "background": "async",
        "on_error": "onFailure",
    },
)
