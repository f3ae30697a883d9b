"""Gemini CLI: groups in `settings.json`, which counts in milliseconds."""

from typing import Final

from hookline.hosts.acceptance import ReadingStrictness
from hookline.hosts.host import Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists, spell_groups

HOST: Final = Host(
    name="gemini-cli",
    programs=("gemini",),
    home=SettingsFolder(default=".gemini", moved=(("GEMINI_CLI_HOME", ".gemini"),)),
    shape=EventLists(at=("hooks", "{event}"), spell=spell_groups(unit=1000, more={"name": "hookline"})),
    files={Scope.USER: "settings.json", Scope.PROJECT: ".gemini/settings.json"},
    reads={Scope.USER: ("settings.json",), Scope.PROJECT: (".gemini/settings.json",)},
    system=("/etc/gemini-cli/settings.json",),
    left_out={
        "AfterModel": "for every piece of an answer that arrives",
        "BeforeToolSelection": "before every request to the model",
        "PreCompress": "before every request to the model, compressing or not",
    },
    # tried with version 0.61.0
    strictness=ReadingStrictness(comments=True, consequence="does not start with such a file"),
    disabled_names=("hooksConfig", "disabled"),
    switches=((("hooksConfig", "enabled"), False),),
    notes={
        Scope.PROJECT: ("Gemini CLI runs hooks of a project only in a folder that you trust, and warns of new ones",)
    },
)
