"""Qwen Code: groups in `settings.json`, in seconds as long as they are fewer than a thousand."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Home, Host, Scope
from hookline.hosts.shapes import Document, groups

HOST: Final = Host(
    name="qwen-code",
    programs=("qwen",),
    home=Home(default=".qwen", moved=(("QWEN_HOME", ""),)),
    shape=Document(at=("hooks", "{event}"), spell=groups(more={"name": "hookline"})),
    files=MappingProxyType({Scope.USER: "settings.json", Scope.PROJECT: ".qwen/settings.json"}),
    reads=MappingProxyType({Scope.USER: ("settings.json",), Scope.PROJECT: (".qwen/settings.json",)}),
    system=("/etc/qwen-code/settings.json",),
    left_out=MappingProxyType(
        {
            "PostToolBatch": "each call in it has had its PostToolUse",
            "MessageDisplay": "for every piece of text that is shown",
            "InstructionsLoaded": "for every file of instructions",
        }
    ),
    switches=((("disableAllHooks",), True),),
    # it could call one there, but somebody has to wake the daemon
    commands_only=frozenset({"SessionStart", "UserPromptSubmit"}),
    url_lists=(("security", "allowedHttpHookUrls"),),
    notes=MappingProxyType(
        {
            Scope.USER: ("a session of Qwen Code that is open takes new hooks up when you open `/hooks`",),
            Scope.PROJECT: ("Qwen Code runs hooks of a project only in a folder that you trust",),
        }
    ),
)
