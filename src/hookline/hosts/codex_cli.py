"""Codex CLI: groups in `hooks.json`, each approved by its hash in `config.toml`."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.codex_trust import approval
from hookline.hosts.host import Home, Host, Scope
from hookline.hosts.shapes import Document, groups

HOST: Final = Host(
    name="codex-cli",
    programs=("codex",),
    home=Home(default=".codex", moved=(("CODEX_HOME", ""),)),
    # without a matcher: it is part of what is approved, and says nothing
    shape=Document(at=("hooks", "{event}"), spell=groups()),
    files=MappingProxyType({Scope.USER: "hooks.json", Scope.PROJECT: ".codex/hooks.json"}),
    reads=MappingProxyType(
        {Scope.USER: ("hooks.json", "config.toml"), Scope.PROJECT: (".codex/hooks.json", ".codex/config.toml")}
    ),
    system=("/etc/codex/hooks.json", "/etc/codex/config.toml"),
    left_out=MappingProxyType({"PreModelRequest": "before every request to the model, which no answer changes"}),
    # it waits no longer for these
    seconds=MappingProxyType({"SessionEnd": 3}),
    switches=((("features", "hooks"), False), (("features", "codex_hooks"), False)),
    notes=MappingProxyType(
        {
            Scope.USER: ("Codex runs a hook only once it is approved; ours are, and `/hooks` in Codex shows them",),
            Scope.PROJECT: (
                (
                    "Codex runs hooks of a project only where you trust the project, and once each hook is approved; ours "
                    "are approved for you, everybody else has to do it with `/hooks` in Codex"
                ),
            ),
        }
    ),
    approval=approval,
)
