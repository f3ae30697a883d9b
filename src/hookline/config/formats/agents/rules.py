"""Permission rules in a hook's `if`, as Claude Code has them: `Bash(git *)`, `Edit(*.ts)`, `mcp__github`.

A rule becomes a condition that holds at least where the agent's own would: it too runs the hook when it cannot tell.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.style import READS, RUNS, WRITES

_RULE: Final = re.compile(r"(?P<tool>[\w*-]+)(?:\((?P<what>.*)\))?", re.DOTALL)
_SEVERAL: Final = re.compile(r"\)\s+\w+\(")
_MCP: Final = "mcp__"
# a command begins at the start, behind whatever ends another one, and behind variables that are set for it
_BEGINS: Final = r"(?:^|[;&|\n(){}`])\s*(?:\w+=\S*\s+)*"
# what the shell puts in only when it runs
_UNKNOWN: Final = r"[$`]"


def rule(text: str) -> dict[str, object]:
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
_TOOLS: Final[Mapping[str, _Read]] = MappingProxyType(
    {
        "Bash": (RUNS, _command),
        "PowerShell": (RUNS, _command),
        "Edit": (WRITES, _path),
        "Write": (WRITES, _path),
        "MultiEdit": (WRITES, _path),
        "NotebookEdit": (("notebook_edit",), _path),
        "Read": (READS, _path),
    }
)
