"""Completion for zsh: a function for each command, in the words of `_arguments`."""

import re
from collections.abc import Iterator
from typing import Final

from hookline.cli._grammar import LIVE, Argument, Command, Option, Takes, Value

_HEAD: Final = """\
#compdef hookline
# hookline completion for zsh. Load it in ~/.zshrc, after compinit: eval "$(hookline completion zsh)"

_hookline_live() {
  local -a words
  words=(${(f)"$(hookline completion --words $1 2>/dev/null)"})
  compadd -a words
}

"""
# A file in $fpath is run as the function it is named after; a script that is sourced only says what it has.
_TAIL: Final = """\
if [[ $funcstack[1] == _hookline ]]; then
  _hookline "$@"
else
  compdef _hookline hookline
fi
"""


def script(top: Command) -> str:
    """Write the script."""
    return _HEAD + "\n".join(_function(command) for command in top.all()) + "\n" + _TAIL


def _name(command: Command) -> str:
    return "_".join(["_hookline", *command.path])


def _function(command: Command) -> str:
    options = [spec for option in command.options for spec in _options(option)]
    if not command.commands:
        specs = [*options, *map(_argument, command.arguments)]
        return f"{_name(command)}() {{\n  _arguments -s {_listed(specs)}\n}}\n"
    described = "".join(f"    {_quoted(f'{sub.path[-1]}:{sub.help}')}\n" for sub in command.commands)
    cases = "".join(f"        {sub.path[-1]}) {_name(sub)} ;;\n" for sub in command.commands)
    specs = [*options, "'1: :->command'", "'*:: :->rest'"]
    return (
        f"{_name(command)}() {{\n"
        "  local curcontext=$curcontext state line\n"
        "  local -a commands=(\n"
        f"{described}"
        "  )\n"
        f"  _arguments -C {_listed(specs)}\n"
        "  case $state in\n"
        "    command) _describe command commands ;;\n"
        "    rest)\n"
        "      case $line[1] in\n"
        f"{cases}"
        "      esac\n"
        "      ;;\n"
        "  esac\n"
        "}\n"
    )


def _listed(specs: list[str]) -> str:
    return "".join(f"\\\n    {spec} " for spec in specs).rstrip()


def _options(option: Option) -> Iterator[str]:
    for flag in option.flags:
        sign = "" if option.value.takes is Takes.NOTHING else "="
        takes = f":{option.value.takes}:{_action(option.value)}" if sign else ""
        yield _quoted(f"{flag}{sign if flag.startswith('--') else ''}[{_described(option.help)}]{takes}")


def _argument(argument: Argument) -> str:
    star = "*" if argument.repeats else ""
    return _quoted(f"{star}:{_described(argument.name)}:{_action(argument.value)}")


def _action(value: Value) -> str:
    if value.takes is Takes.CHOICE:
        return f"({' '.join(value.choices)})"
    return f"{{_hookline_live {value.takes}}}" if value.takes in LIVE else _PLAIN[value.takes]


_PLAIN: Final = {Takes.TEXT: " ", Takes.FILE: "_files", Takes.FOLDER: "_files -/"}


def _described(text: str) -> str:
    """Give help as `_arguments` takes it, which reads brackets and colons."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _quoted(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"
