"""Qwen Code: groups in `settings.json`, in seconds as long as they are fewer than a thousand."""

from typing import Final

from hookline.hosts.acceptance import ReadingStrictness
from hookline.hosts.host import Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists, spell_groups

HOST: Final = Host(
    name="qwen-code",
    programs=("qwen",),
    home=SettingsFolder(default=".qwen", moved=(("QWEN_HOME", ""),)),
    shape=EventLists(at=("hooks", "{event}"), spell=spell_groups(more={"name": "hookline"})),
    files={Scope.USER: "settings.json", Scope.PROJECT: ".qwen/settings.json"},
    reads={Scope.USER: ("settings.json",), Scope.PROJECT: (".qwen/settings.json",)},
    system=("/etc/qwen-code/settings.json",),
    left_out={
        "PostToolBatch": "each call in it has had its PostToolUse",
        "MessageDisplay": "for every piece of text that is shown",
        "InstructionsLoaded": "for every file of instructions",
    },
    # tried with version 0.24.4
    strictness=ReadingStrictness(comments=True, byte_order_mark=True, consequence="does not start with such a file"),
    switches=((("disableAllHooks",), True),),
    # it could call a URL there, but a command has to start the daemon
    commands_only=frozenset({"SessionStart", "UserPromptSubmit"}),
    url_lists=(("security", "allowedHttpHookUrls"),),
    notes={
        Scope.USER: ("a session of Qwen Code that is open takes new hooks up when you open `/hooks`",),
        Scope.PROJECT: ("Qwen Code runs hooks of a project only in a folder that you trust",),
    },
)
