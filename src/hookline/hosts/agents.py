"""The table of agents: where the settings of each are, their shape, and the events that are worth asking about."""

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.resources import files
from typing import Final

from hookline.config.document import KeyPath
from hookline.hosts.acceptance import ReadingStrictness, ask_claude, ask_codex, find_approvals, find_group_faults
from hookline.hosts.host import CALL_SECONDS, EventCall, EventLists, Host, NamedBundle, OwnedFile, Scope, spell_groups

_CLINE_MARK: Final = "# Made by `hookline install cline`."
_CLINE_HEAD: Final = f"#!/bin/sh\n{_CLINE_MARK} `hookline uninstall cline` takes it away.\n"
_OPENCODE_MARK: Final = "Written by hookline install opencode"
_PROJECT_TRUST: Final = "{} runs hooks of a project only in a folder that you trust"

# why an event is left out
_BEFORE_MODEL: Final = "before every request to the model"
_SAME_CALL: Final = "the same call has had its {}"
_WHILE_TYPING: Final = "while you type"
_SEEN_ELSEWHERE: Final = {
    "PostToolBatch": "each call in it has had its PostToolUse",
    "MessageDisplay": "for every piece of text that is shown",
    "InstructionsLoaded": "for every file of instructions",
}


def _find_codex_faults(value: object) -> Iterator[tuple[KeyPath, str]]:
    """Find what makes Codex drop the whole file: an unknown key at the top, a group or a handler of another shape."""
    if isinstance(value, Mapping):
        unknown = value.keys() - {"description", "hooks"}
        yield from (((key,), "is no key of this file; it has `description` and `hooks`") for key in unknown)
    types = frozenset({"command", "prompt", "agent", "mcp_tool"})
    yield from find_group_faults(value, needs_hooks=False, types=types)


def _spell_antigravity(call: EventCall) -> object:
    """Events of tools have groups, all others plain lists."""
    if call.event in {"PreToolUse", "PostToolUse"}:
        return spell_groups(matcher="*")(call)
    return {"type": "command", "command": call.command, "timeout": call.seconds}


def _write_opencode(calls: tuple[EventCall, ...]) -> str:
    """Fill in the plugin template; the plugin starts Hookline without a shell and appends the event."""
    text = (files("hookline") / "templates" / "opencode_plugin.js").read_text(encoding="utf-8")
    # none are planned for where ours shall go
    *command, _ = calls[0].words if calls else ("",)
    policy = command[-2] if calls else ""
    for place, value in (
        ("COMMAND", command),
        ("IF_BROKEN", policy),
        ("EVENTS", [call.event for call in calls]),
        ("SECONDS", CALL_SECONDS),
    ):
        text = text.replace(f'"@{place}@"', json.dumps(value, ensure_ascii=False))
    # so that people, and we, see at a glance what it runs
    return text.rstrip("\n") + "\n\n" + "".join(f"// {shlex.join(call.words)}\n" for call in calls)


TABLE: Final = (
    # groups in `settings.json`, for the user, a project, or the user in a project
    Host(
        name="claude-code",
        programs=("claude",),
        home=".claude",
        home_variables=(("CLAUDE_CONFIG_DIR", ""),),
        shape=EventLists(at=("hooks", "{event}"), spell=spell_groups()),
        files={
            Scope.USER: "settings.json",
            Scope.PROJECT: ".claude/settings.json",
            Scope.LOCAL: ".claude/settings.local.json",
        },
        system=("/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-settings.d/*.json"),
        left_out={
            **_SEEN_ELSEWHERE,
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
            find_faults=partial(
                find_group_faults,
                needs_hooks=True,
                types=frozenset({"command", "http", "prompt", "agent", "mcp_tool"}),
                # one malformed entry at these makes Claude Code drop the whole file; at any other event it is skipped alone
                events=frozenset({"PreToolUse", "PermissionRequest"}),
            ),
            ask=ask_claude,
        ),
        # It calls no URL at the first two, and a command has to start the daemon. At the others, only an exit code can deny.
        commands_only=frozenset(
            {
                *("SessionStart", "Setup", "UserPromptSubmit", "TaskCreated", "TaskCompleted", "TeammateIdle"),
                *("WorktreeCreate", "Elicitation", "ElicitationResult"),
            }
        ),
        # since its version 2.1.295
        strict_urls=True,
        url_lists=(("allowedHttpHookUrls",),),
    ),
    # groups in `hooks.json`, each approved by its hash in `config.toml`
    Host(
        name="codex-cli",
        programs=("codex",),
        home=".codex",
        home_variables=(("CODEX_HOME", ""),),
        # without a matcher: it is part of what is approved, and says nothing
        shape=EventLists(at=("hooks", "{event}"), spell=spell_groups()),
        files={Scope.USER: "hooks.json", Scope.PROJECT: ".codex/hooks.json"},
        reads={Scope.USER: ("hooks.json", "config.toml"), Scope.PROJECT: (".codex/hooks.json", ".codex/config.toml")},
        system=("/etc/codex/hooks.json", "/etc/codex/config.toml"),
        left_out={"PreModelRequest": f"{_BEFORE_MODEL}, which no answer changes"},
        # it waits no longer for these
        seconds={"SessionEnd": 3},
        switches=((("features", "hooks"), False), (("features", "codex_hooks"), False)),
        notes={
            Scope.USER: ("Codex runs a hook only once it is approved; ours are, and `/hooks` in Codex shows them",),
            Scope.PROJECT: (
                (
                    "Codex runs hooks of a project only where you trust the project, and once each hook is approved; ours "
                    "are approved for you, everybody else has to do it with `/hooks` in Codex"
                ),
            ),
        },
        approval=find_approvals,
        # tried with version 0.166.0
        strictness=ReadingStrictness(repeated_keys=False, find_faults=_find_codex_faults, ask=ask_codex),
    ),
    # groups in `settings.json`, which counts in milliseconds
    Host(
        name="gemini-cli",
        programs=("gemini",),
        home=".gemini",
        home_variables=(("GEMINI_CLI_HOME", ".gemini"),),
        shape=EventLists(at=("hooks", "{event}"), spell=spell_groups(unit=1000, more={"name": "hookline"})),
        files={Scope.USER: "settings.json", Scope.PROJECT: ".gemini/settings.json"},
        system=("/etc/gemini-cli/settings.json",),
        left_out={
            "AfterModel": "for every piece of an answer that arrives",
            "BeforeToolSelection": _BEFORE_MODEL,
            "PreCompress": f"{_BEFORE_MODEL}, compressing or not",
        },
        # tried with version 0.61.0
        strictness=ReadingStrictness(comments=True, consequence="does not start with such a file"),
        disabled_names=("hooksConfig", "disabled"),
        switches=((("hooksConfig", "enabled"), False),),
        notes={Scope.PROJECT: (f"{_PROJECT_TRUST.format('Gemini CLI')}, and warns of new ones",)},
    ),
    # groups in `settings.json`, in seconds as long as they are fewer than a thousand
    Host(
        name="qwen-code",
        programs=("qwen",),
        home=".qwen",
        home_variables=(("QWEN_HOME", ""),),
        shape=EventLists(at=("hooks", "{event}"), spell=spell_groups(more={"name": "hookline"})),
        files={Scope.USER: "settings.json", Scope.PROJECT: ".qwen/settings.json"},
        system=("/etc/qwen-code/settings.json",),
        left_out=_SEEN_ELSEWHERE,
        # tried with version 0.24.4
        strictness=ReadingStrictness(
            comments=True, byte_order_mark=True, consequence="does not start with such a file"
        ),
        switches=((("disableAllHooks",), True),),
        # it could call a URL there, but a command has to start the daemon
        commands_only=frozenset({"SessionStart", "UserPromptSubmit"}),
        url_lists=(("security", "allowedHttpHookUrls"),),
        notes={
            Scope.USER: ("a session of Qwen Code that is open takes new hooks up when you open `/hooks`",),
            Scope.PROJECT: (_PROJECT_TRUST.format("Qwen Code"),),
        },
    ),
    # a plain list for each event in `hooks.json`
    Host(
        name="cursor",
        programs=("cursor", "cursor-agent"),
        home=".cursor",
        shape=EventLists(
            at=("hooks", "{event}"),
            spell=lambda call: {"command": call.command, "timeout": call.seconds},
            head={"version": 1},
        ),
        files={Scope.USER: "hooks.json", Scope.PROJECT: ".cursor/hooks.json"},
        system=("/etc/cursor/hooks.json",),
        # Asked at both, every hook would run twice for one call. Only beforeMCPExecution names the server, which guards of
        # its tools need.
        left_out={
            **dict.fromkeys(("beforeShellExecution", "beforeReadFile"), _SAME_CALL.format("preToolUse")),
            **dict.fromkeys(
                ("afterShellExecution", "afterMCPExecution", "afterFileEdit"), _SAME_CALL.format("postToolUse")
            ),
            **dict.fromkeys(("beforeTabFileRead", "afterTabFileEdit"), _WHILE_TYPING),
            "afterAgentResponse": "for every message of the agent",
            "afterAgentThought": "for every thought of the agent",
            "workspaceOpen": "at the start of the program, when there is no session",
        },
        notes={Scope.PROJECT: ("Cursor runs hooks of a project only in a workspace that you trust",)},
    ),
    # a file of our own beside the others, with a plain list for each event
    Host(
        name="copilot-cli",
        programs=("copilot",),
        home=".copilot",
        home_variables=(("COPILOT_HOME", ""),),
        shape=EventLists(
            at=("hooks", "{event}"),
            spell=lambda call: {"type": "command", "bash": call.command, "timeoutSec": call.seconds},
            head={"version": 1},
        ),
        files={Scope.USER: "hooks/hookline.json", Scope.PROJECT: ".github/hooks/hookline.json"},
        reads={
            Scope.USER: ("hooks/*.json", "settings.json"),
            Scope.PROJECT: (".github/hooks/*.json", ".github/copilot/settings.json"),
            Scope.LOCAL: (".github/copilot/settings.local.json",),
        },
        system=("/etc/github-copilot/policy.d/*.json",),
        left_out={
            "userPromptTransformed": "the prompt has had its userPromptSubmitted",
            "preMcpToolCall": "the call has had its preToolUse",
        },
        strictness=ReadingStrictness(),
        switches=((("disableAllHooks",), True),),
        notes={
            Scope.PROJECT: (
                (
                    f"{_PROJECT_TRUST.format('Copilot CLI')}, and says nothing otherwise; the agent in the cloud runs "
                    "them too, where there is no Hookline"
                ),
            )
        },
    ),
    # a file of our own beside the others, with one list for all events
    Host(
        name="kiro",
        programs=("kiro", "kiro-cli"),
        home=".kiro",
        shape=EventLists(
            at=("hooks",),
            spell=lambda call: {
                "name": f"hookline-{call.event}",
                "trigger": call.event,
                "action": {"type": "command", "command": call.command},
                "timeout": call.seconds,
            },
            head={"version": "v1"},
            depth=2,
        ),
        files={Scope.USER: "hooks/hookline.json", Scope.PROJECT: ".kiro/hooks/hookline.json"},
        reads={
            Scope.USER: ("hooks/*.json", "agents/*.json"),
            Scope.PROJECT: (".kiro/hooks/*.json", ".kiro/hooks/*.kiro.hook", ".kiro/agents/*.json"),
        },
        # what the same moments are called in files of agents, which this is not
        never=frozenset({"agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop"}),
        notes=dict.fromkeys(
            (Scope.USER, Scope.PROJECT),
            ("Kiro CLI before version 3 reads hooks from files of agents only, and does not read this one",),
        ),
    ),
    # a plain list for each event in `hooks.json`, with the command only
    Host(
        name="windsurf",
        programs=("windsurf",),
        home=".codeium/windsurf",
        shape=EventLists(at=("hooks", "{event}"), spell=lambda call: {"command": call.command, "show_output": False}),
        files={Scope.USER: "hooks.json", Scope.PROJECT: ".windsurf/hooks.json"},
        reads={Scope.USER: ("hooks.json", "../hooks.json"), Scope.PROJECT: (".windsurf/hooks.json",)},
        system=("/etc/windsurf/hooks.json",),
        left_out={"post_cascade_response_with_transcript": "the response has had its post_cascade_response"},
    ),
    # a program for each event, named after it
    Host(
        name="cline",
        programs=("cline",),
        home="Documents/Cline",
        shape=OwnedFile(
            mark=_CLINE_MARK, write=lambda calls: _CLINE_HEAD + "".join(f"{call.command}\n" for call in calls)
        ),
        files={Scope.USER: "Hooks/", Scope.PROJECT: ".clinerules/hooks/"},
        reads={Scope.USER: ("Hooks/*",), Scope.PROJECT: (".clinerules/hooks/*",)},
        notes=dict.fromkeys((Scope.USER, Scope.PROJECT), ("hooks have to be switched on in the settings of Cline",)),
    ),
    # groups in `hooks.json`, which has the events at its top
    Host(
        name="factory-droid",
        programs=("droid",),
        home=".factory",
        shape=EventLists(at=("{event}",), spell=spell_groups()),
        files={Scope.USER: "hooks.json", Scope.PROJECT: ".factory/hooks.json"},
        reads={
            Scope.USER: ("hooks.json", "settings.json", "hooks/hooks.json"),
            Scope.PROJECT: (".factory/hooks.json", ".factory/settings.json", ".factory/hooks/hooks.json"),
        },
        notes=dict.fromkeys(
            (Scope.USER, Scope.PROJECT),
            ("Droid runs no hook at all in a folder that it does not trust yet, and does not say so",),
        ),
    ),
    # a plugin that calls Hookline
    Host(
        name="opencode",
        programs=("opencode",),
        home=".config/opencode",
        home_variables=(("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")),
        shape=OwnedFile(mark=_OPENCODE_MARK, write=_write_opencode),
        files={Scope.USER: "plugin/hookline.js", Scope.PROJECT: ".opencode/plugin/hookline.js"},
        reads={
            Scope.USER: ("plugin/*.js", "plugin/*.ts"),
            Scope.PROJECT: (".opencode/plugin/*.js", ".opencode/plugin/*.ts"),
        },
    ),
    # bundles in `hooks.json`, one of which is ours
    Host(
        name="antigravity",
        programs=("agy", "antigravity"),
        home=".gemini/config",
        shape=NamedBundle(name="hookline", spell=_spell_antigravity),
        files={Scope.USER: "hooks.json", Scope.PROJECT: ".agents/hooks.json"},
        left_out={"PreInvocation": _BEFORE_MODEL, "PostInvocation": "after every request to the model"},
        switches=((("hookline", "enabled"), False),),
        notes={Scope.PROJECT: (_PROJECT_TRUST.format("Antigravity"),)},
    ),
)
