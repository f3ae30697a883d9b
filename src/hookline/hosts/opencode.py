"""opencode: a plugin that calls Hookline."""

import json
import shlex
from importlib.resources import files
from typing import Final

from hookline.hosts.host import CALL_SECONDS, EventCall, Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import OwnedFile

_MARK: Final = "Written by hookline install opencode"


def _write(calls: tuple[EventCall, ...]) -> str:
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


HOST: Final = Host(
    name="opencode",
    programs=("opencode",),
    home=SettingsFolder(
        default=".config/opencode", moved=(("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode"))
    ),
    shape=OwnedFile(mark=_MARK, write=_write),
    files={Scope.USER: "plugin/hookline.js", Scope.PROJECT: ".opencode/plugin/hookline.js"},
    reads={
        Scope.USER: ("plugin/*.js", "plugin/*.ts"),
        Scope.PROJECT: (".opencode/plugin/*.js", ".opencode/plugin/*.ts"),
    },
)
