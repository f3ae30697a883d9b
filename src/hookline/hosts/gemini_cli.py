"""Gemini CLI: groups in `settings.json`, which counts in milliseconds."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Home, Host, Scope
from hookline.hosts.shapes import Document, groups

HOST: Final = Host(
    name="gemini-cli",
    programs=("gemini",),
    home=Home(default=".gemini", moved=(("GEMINI_CLI_HOME", ".gemini"),)),
    shape=Document(at=("hooks", "{event}"), spell=groups(unit=1000, more={"name": "hookline"})),
    files=MappingProxyType({Scope.USER: "settings.json", Scope.PROJECT: ".gemini/settings.json"}),
    reads=MappingProxyType({Scope.USER: ("settings.json",), Scope.PROJECT: (".gemini/settings.json",)}),
    system=("/etc/gemini-cli/settings.json",),
    left_out=MappingProxyType(
        {
            "AfterModel": "for every piece of an answer that arrives",
            "BeforeToolSelection": "before every request to the model",
            "PreCompress": "before every request to the model, compressing or not",
        }
    ),
    switches=((("hooksConfig", "enabled"), False),),
    notes=MappingProxyType(
        {
            Scope.PROJECT: (
                "Gemini CLI runs hooks of a project only in a folder that you trust, and warns of new ones",
            ),
        }
    ),
)
