"""Claude Code: groups in `settings.json`, of the person, of a project, or of the person in a project."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Home, Host, Scope
from hookline.hosts.shapes import Document, groups

HOST: Final = Host(
    name="claude-code",
    programs=("claude",),
    home=Home(default=".claude", moved=(("CLAUDE_CONFIG_DIR", ""),)),
    shape=Document(at=("hooks", "{event}"), spell=groups()),
    files=MappingProxyType(
        {
            Scope.USER: "settings.json",
            Scope.PROJECT: ".claude/settings.json",
            Scope.LOCAL: ".claude/settings.local.json",
        }
    ),
    reads=MappingProxyType(
        {
            Scope.USER: ("settings.json",),
            Scope.PROJECT: (".claude/settings.json",),
            Scope.LOCAL: (".claude/settings.local.json",),
        }
    ),
    system=("/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-settings.d/*.json"),
    left_out=MappingProxyType(
        {
            "PostToolBatch": "each call in it has had its PostToolUse",
            "MessageDisplay": "for every piece of text that is shown",
            "InstructionsLoaded": "for every file of instructions",
            "FileChanged": "only files that the settings name are watched",
            "PreModelSwitch": "a slow answer would hold the switch up",
        }
    ),
    # whoever has a hook there has to make the worktree as well
    never=frozenset({"WorktreeCreate"}),
    # all hooks of this event share what the longest of them is given, up to a minute
    seconds=MappingProxyType({"SessionEnd": 60}),
    switches=((("disableAllHooks",), True),),
    # It calls no URL at the first two, and somebody has to wake the daemon: a session may begin, and nothing be said for
    # hours. At the others it takes a no from nothing but an exit code.
    commands_only=frozenset(
        {
            "SessionStart",
            "Setup",
            "UserPromptSubmit",
            "TaskCreated",
            "TaskCompleted",
            "TeammateIdle",
            "WorktreeCreate",
            "Elicitation",
            "ElicitationResult",
        }
    ),
    # since its version 2.1.295
    strict_urls=True,
    url_lists=(("allowedHttpHookUrls",),),
)
