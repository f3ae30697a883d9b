"""Completion for fish: one line for each thing that may stand somewhere."""

from collections.abc import Iterator
from typing import Final

from hookline.cli._grammar import LIVE, Argument, Command, Option, Takes, Value

_HEAD: Final = """\
# hookline completion for fish. Load it: hookline completion fish | source
# or keep it: hookline completion fish > ~/.config/fish/completions/hookline.fish

function __hookline_at -d 'Tell whether these are the commands that were typed so far'
    set -l typed (commandline -opc)[2..]
    set -l words
    for word in $typed
        string match -q -- '-*' $word; or set -a words $word
    end
    test (count $words) -ge (count $argv); or return 1
    test (count $argv) -eq 0; and return 0
    test "$words[1..$(count $argv)]" = "$argv"
end

function __hookline_first -d 'Tell whether no command was typed after these'
    set -l typed (commandline -opc)[2..]
    set -l words
    for word in $typed
        string match -q -- '-*' $word; or set -a words $word
    end
    test "$words" = "$argv"
end

complete -c hookline -f
"""


def script(top: Command) -> str:
    """Write the script."""
    return _HEAD + "".join(f"{line}\n" for command in top.all() for line in _lines(command))


def _lines(command: Command) -> Iterator[str]:
    here = " ".join(command.path)
    for sub in command.commands:
        yield f"complete -c hookline -n '__hookline_first {here}' -a {sub.path[-1]} -d {_quoted(sub.help)}"
    condition = f"-n '__hookline_at {here}'" if command.path else "-n __hookline_first"
    for option in command.options:
        yield f"complete -c hookline {condition} {_option(option)}"
    for argument in command.arguments[:1] if not command.commands else ():
        if offer := _argument(argument):
            yield f"complete -c hookline {condition} {offer}"


def _option(option: Option) -> str:
    names = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    return " ".join([*names, *filter(None, [_value(option.value)]), f"-d {_quoted(option.help)}"])


def _argument(argument: Argument) -> str:
    if argument.value.takes is Takes.FILE:
        return "-F"
    return _value(argument.value).removeprefix("-x ") if argument.value.takes is not Takes.TEXT else ""


def _value(value: Value) -> str:
    if value.takes is Takes.CHOICE:
        return f"-x -a {_quoted(' '.join(value.choices))}"
    if value.takes in LIVE:
        return f"-x -a '(hookline completion --words {value.takes} 2>/dev/null)'"
    return _PLAIN[value.takes]


_PLAIN: Final = {
    Takes.NOTHING: "",
    Takes.TEXT: "-x",
    Takes.FILE: "-r -F",
    Takes.FOLDER: "-x -a '(__fish_complete_directories)'",
}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
