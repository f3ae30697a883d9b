"""Claude Code: groups in `settings.json`, for the user, a project, or the user in a project."""

from functools import partial
from typing import Final

from hookline.hosts.acceptance import ReadingStrictness, ask_claude, find_group_faults
from hookline.hosts.host import Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists, spell_groups

_TYPES: Final = frozenset({"command", "http", "prompt", "agent", "mcp_tool"})
# one malformed entry at these makes Claude Code drop the whole file; at any other event it is skipped alone
_GUARDING: Final = frozenset({"PreToolUse", "PermissionRequest"})

HOST: Final = Host(
    name="claude-code",
    programs=("claude",),
    home=SettingsFolder(default=".claude", moved=(("CLAUDE_CONFIG_DIR", ""),)),
    shape=EventLists(at=("hooks", "{event}"), spell=spell_groups()),
    files={
        Scope.USER: "settings.json",
        Scope.PROJECT: ".claude/settings.json",
        Scope.LOCAL: ".claude/settings.local.json",
    },
    reads={
        Scope.USER: ("settings.json",),
        Scope.PROJECT: (".claude/settings.json",),
        Scope.LOCAL: (".claude/settings.local.json",),
    },
    system=("/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-settings.d/*.json"),
    left_out={
        "PostToolBatch": "each call in it has had its PostToolUse",
        "MessageDisplay": "for every piece of text that is shown",
        "InstructionsLoaded": "for every file of instructions",
        "FileChanged": "only files that the settings name are watched",
        "PreModelSwitch": "a slow answer would hold the switch up",
    },
    # a hook at this event has to make the worktree itself
    never=frozenset({"WorktreeCreate"}),
    # all hooks of this event share what the longest of them is given, up to a minute
    seconds={"SessionEnd": 60},
    switches=((("disableAllHooks",), True),),
    managed_only=((("allowManagedHooksOnly",), True), (("strictPluginOnlyCustomization",), True)),
    # tried with version 2.1.325
    strictness=ReadingStrictness(
        byte_order_mark=True,
        find_faults=partial(find_group_faults, needs_hooks=True, types=_TYPES, events=_GUARDING),
        ask=ask_claude,
    ),
    # It calls no URL at the first two, and a command has to start the daemon. At the others, only an exit code can deny.
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
