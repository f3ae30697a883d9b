"""Copilot CLI: a file of our own beside the others, with a plain list for each event."""

from typing import Final

from hookline.hosts.acceptance import ReadingStrictness
from hookline.hosts.host import Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists

HOST: Final = Host(
    name="copilot-cli",
    programs=("copilot",),
    home=SettingsFolder(default=".copilot", moved=(("COPILOT_HOME", ""),)),
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
                "Copilot CLI runs hooks of a project only in a folder that you trust, and says nothing otherwise; the "
                "agent in the cloud runs them too, where there is no Hookline"
            ),
        )
    },
)
