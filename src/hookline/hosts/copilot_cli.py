"""Copilot CLI: a file of our own beside the others, with a plain list for each event."""

from types import MappingProxyType
from typing import Final

from hookline.hosts.host import Call, Home, Host, Scope
from hookline.hosts.shapes import Document


def _spell(call: Call) -> object:
    return {"type": "command", "bash": call.command, "timeoutSec": call.seconds}


HOST: Final = Host(
    name="copilot-cli",
    programs=("copilot",),
    home=Home(default=".copilot", moved=(("COPILOT_HOME", ""),)),
    shape=Document(at=("hooks", "{event}"), spell=_spell, head={"version": 1}),
    files=MappingProxyType({Scope.USER: "hooks/hookline.json", Scope.PROJECT: ".github/hooks/hookline.json"}),
    reads=MappingProxyType(
        {
            Scope.USER: ("hooks/*.json", "settings.json"),
            Scope.PROJECT: (".github/hooks/*.json", ".github/copilot/settings.json"),
            Scope.LOCAL: (".github/copilot/settings.local.json",),
        }
    ),
    system=("/etc/github-copilot/policy.d/*.json",),
    left_out=MappingProxyType(
        {
            "userPromptTransformed": "the prompt has had its userPromptSubmitted",
            "preMcpToolCall": "the call has had its preToolUse",
        }
    ),
    switches=((("disableAllHooks",), True),),
    notes=MappingProxyType(
        {
            Scope.PROJECT: (
                (
                    "Copilot CLI runs hooks of a project only in a folder that you trust, and says nothing otherwise; the "
                    "agent in the cloud runs them too, where there is no Hookline"
                ),
            ),
        }
    ),
)
