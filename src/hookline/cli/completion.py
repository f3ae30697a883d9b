"""`hookline completion`: scripts for bash, zsh and fish, generated from the argument parser."""

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from importlib import resources
from typing import Final

from msgspec import Struct

from hookline.cli._command import COMMON, CliCommand, argument
from hookline.cli._output import print_bytes, print_json, render
from hookline.cli._project import load_from_args
from hookline.cli.new import LANGUAGES, TEMPLATES
from hookline.config.schemas import ALL
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.names import known_events, known_tools


class Takes(StrEnum):
    """What an option or an argument takes; `hookline completion --words` lists the values of those in LIVE."""

    NOTHING = "nothing"
    TEXT = "text"
    CHOICE = "choice"
    FILE = "file"
    FOLDER = "folder"
    HOOKS = "hooks"
    SWITCHABLE = "switchable"
    EVENTS = "events"
    DIALECTS = "dialects"
    TOOLS = "tools"
    FORMATS = "formats"
    LANGUAGES = "languages"
    TEMPLATES = "templates"


# values that are listed when they are needed; those of hooks are read from the project
_KNOWN: Final[Mapping[Takes, Iterable[str]]] = {
    Takes.HOOKS: (),
    Takes.SWITCHABLE: (),
    Takes.EVENTS: known_events(),
    Takes.DIALECTS: DIALECTS,
    Takes.TOOLS: known_tools().values(),
    Takes.FORMATS: ALL,
    Takes.LANGUAGES: LANGUAGES,
    Takes.TEMPLATES: TEMPLATES,
}
LIVE: Final = tuple(_KNOWN)

_BY_NAME: Final[Mapping[str, Takes]] = {
    "hook": Takes.HOOKS,
    "hooks": Takes.HOOKS,
    "event": Takes.EVENTS,
    "on": Takes.EVENTS,
    "dialect": Takes.DIALECTS,
    "tool": Takes.TOOLS,
    "tools": Takes.TOOLS,
    "lang": Takes.LANGUAGES,
    "template": Takes.TEMPLATES,
}
# arguments whose name alone does not tell
_BY_COMMAND: Final[Mapping[tuple[str, str], Takes]] = {
    ("enable", "hooks"): Takes.SWITCHABLE,
    ("disable", "hooks"): Takes.SWITCHABLE,
    ("schema", "name"): Takes.FORMATS,
    ("tools", "name"): Takes.TOOLS,
    ("events", "name"): Takes.EVENTS,
    ("migrate", "source"): Takes.FORMATS,
    ("migrate", "goal"): Takes.FORMATS,
    ("test", "host"): Takes.DIALECTS,
    ("add", "agents"): Takes.DIALECTS,
}


class CompletionValue(Struct, frozen=True):
    """What is taken, and the choices if they are fixed."""

    takes: Takes
    choices: tuple[str, ...] = ()


class CompletionOption(Struct, frozen=True, kw_only=True):
    """An option: its flags, and what it takes."""

    flags: tuple[str, ...]
    help: str
    value: CompletionValue


class CompletionArgument(Struct, frozen=True, kw_only=True):
    """A positional argument; `repeats` when there may be several."""

    name: str
    value: CompletionValue
    repeats: bool = False


class CompletionCommand(Struct, frozen=True, kw_only=True):
    """A command: the words that call it, and everything that may follow."""

    path: tuple[str, ...]
    help: str
    options: tuple[CompletionOption, ...]
    arguments: tuple[CompletionArgument, ...]
    commands: tuple["CompletionCommand", ...]

    def walk(self) -> Iterator["CompletionCommand"]:
        """Yield this command and all its subcommands."""
        yield self
        for command in self.commands:
            yield from command.walk()


def read_parser(parser: argparse.ArgumentParser, path: tuple[str, ...] = (), about: str = "") -> CompletionCommand:
    """Return the commands of a parser and its subparsers."""
    options: list[CompletionOption] = []
    arguments: list[CompletionArgument] = []
    commands: list[CompletionCommand] = []
    # argparse has no public API for this; every completion library reads these names
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {choice.dest: choice.help or "" for choice in action._get_subactions()}  # noqa: SLF001
            commands += [read_parser(one, (*path, name), helps.get(name, "")) for name, one in action.choices.items()]
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            options.append(
                CompletionOption(
                    flags=tuple(action.option_strings), help=_plain_help(action.help), value=_read_value(action, path)
                )
            )
        else:
            repeats = action.nargs in {"*", "+"}
            name = str(action.metavar or action.dest)
            arguments.append(CompletionArgument(name=name, value=_read_value(action, path), repeats=repeats))
    return CompletionCommand(
        path=path, help=_plain_help(about), options=tuple(options), arguments=tuple(arguments), commands=tuple(commands)
    )


def _plain_help(text: str | None) -> str:
    """Return help without characters that are special to argparse or a shell."""
    return " ".join((text or "").replace("%%", "%").replace("`", "").split())


def _read_value(action: argparse.Action, path: Iterable[str]) -> CompletionValue:
    if action.nargs == 0:
        return CompletionValue(Takes.NOTHING)
    if action.choices is not None:
        return CompletionValue(Takes.CHOICE, tuple(str(choice) for choice in action.choices))
    takes = _BY_COMMAND.get((" ".join(path), action.dest)) or _BY_NAME.get(action.dest)
    if takes is not None:
        return CompletionValue(takes)
    metavar = str(action.metavar or "")
    if metavar == "DIR":
        return CompletionValue(Takes.FOLDER)
    return CompletionValue(Takes.FILE if "FILE" in metavar else Takes.TEXT)


def _make_bash_tables(top: CompletionCommand) -> str:
    """Return what the script for bash looks up: tables of the commands, options and values."""
    commands: dict[str, str] = {}
    options: dict[str, str] = {}
    values: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for one in top.walk():
        path = " ".join(one.path)
        commands[path] = " ".join(sub.path[-1] for sub in one.commands)
        options[path] = " ".join(flag for option in one.options for flag in option.flags)
        for option in one.options:
            offer = _bash_offer(option.value) if option.value.takes is not Takes.NOTHING else ""
            values |= {f"{path} {flag}": offer for flag in option.flags}
        # the first argument that can be completed
        offers = [_bash_offer(argument.value) for argument in one.arguments]
        arguments[path] = next((offer for offer in offers if offer != Takes.TEXT), "")
    tables = {"commands": commands, "options": options, "value": values, "argument": arguments}
    return "\n".join(_bash_table(name, rows) for name, rows in tables.items())


def _bash_offer(value: CompletionValue) -> str:
    if value.takes is Takes.CHOICE:
        return f"choice {' '.join(value.choices)}"
    return f"live {value.takes}" if value.takes in LIVE else value.takes.value


def _bash_table(name: str, rows: Mapping[str, str]) -> str:
    cases = [f"    {shlex.quote(key)}) echo {shlex.quote(value)} ;;\n" for key, value in rows.items() if value]
    return f"_hookline_{name}() {{\n  case $1 in\n{''.join(cases)}  esac\n}}\n"


def _make_zsh_functions(top: CompletionCommand) -> str:
    """Return what the script for zsh consists of: a function for each command, with `_arguments`."""
    return "\n".join(_zsh_function(command) for command in top.walk())


def _zsh_name(command: CompletionCommand) -> str:
    return "_".join(["_hookline", *command.path])


def _zsh_function(command: CompletionCommand) -> str:
    specs = [spec for option in command.options for spec in _zsh_options(option)]
    if command.commands:
        specs += ["'1: :->command'", "'*:: :->rest'"]
    for one in command.arguments if not command.commands else ():
        star = "*" if one.repeats else ""
        specs.append(_zsh_quote(f"{star}:{_zsh_escape(one.name)}:{_zsh_action(one.value)}"))
    lines = "".join(f"\\\n    {spec} " for spec in specs).rstrip()
    if not command.commands:
        return f"{_zsh_name(command)}() {{\n  _arguments -s {lines}\n}}\n"
    names = "".join(f"    {_zsh_quote(f'{sub.path[-1]}:{sub.help}')}\n" for sub in command.commands)
    cases = "".join(f"        {sub.path[-1]}) {_zsh_name(sub)} ;;\n" for sub in command.commands)
    return (
        f"{_zsh_name(command)}() {{\n"
        "  local curcontext=$curcontext state line\n"
        "  local -a commands=(\n"
        f"{names}"
        "  )\n"
        f"  _arguments -C {lines}\n"
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


def _zsh_options(option: CompletionOption) -> Iterator[str]:
    for flag in option.flags:
        sign = "" if option.value.takes is Takes.NOTHING else "="
        takes = f":{option.value.takes}:{_zsh_action(option.value)}" if sign else ""
        yield _zsh_quote(f"{flag}{sign if flag.startswith('--') else ''}[{_zsh_escape(option.help)}]{takes}")


def _zsh_action(value: CompletionValue) -> str:
    if value.takes is Takes.CHOICE:
        return f"({' '.join(value.choices)})"
    return f"{{_hookline_live {value.takes}}}" if value.takes in LIVE else _ZSH_PLAIN[value.takes]


_ZSH_PLAIN: Final = {Takes.TEXT: " ", Takes.FILE: "_files", Takes.FOLDER: "_files -/"}


def _zsh_escape(text: str) -> str:
    """Escape brackets and colons, which `_arguments` would interpret."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _zsh_quote(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _make_fish_lines(top: CompletionCommand) -> str:
    """Return what the script for fish consists of: one line for each completion."""
    return "\n".join(line for command in top.walk() for line in _fish_lines(command))


def _fish_lines(command: CompletionCommand) -> Iterator[str]:
    here = " ".join(command.path)
    for sub in command.commands:
        yield f"complete -c hookline -n '__hookline_first {here}' -a {sub.path[-1]} -d {_fish_quote(sub.help)}"
    condition = f"-n '__hookline_at {here}'" if command.path else "-n __hookline_first"
    for option in command.options:
        names = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
        parts = [*names, *filter(None, [_fish_value(option.value)]), f"-d {_fish_quote(option.help)}"]
        yield f"complete -c hookline {condition} {' '.join(parts)}"
    for one in command.arguments[:1] if not command.commands else ():
        if one.value.takes is Takes.FILE:
            yield f"complete -c hookline {condition} -F"
        elif one.value.takes is not Takes.TEXT:
            yield f"complete -c hookline {condition} {_fish_value(one.value).removeprefix('-x ')}"


def _fish_value(value: CompletionValue) -> str:
    if value.takes is Takes.CHOICE:
        return f"-x -a {_fish_quote(' '.join(value.choices))}"
    if value.takes in LIVE:
        return f"-x -a '(hookline completion --words {value.takes} 2>/dev/null)'"
    return _FISH_PLAIN[value.takes]


_FISH_PLAIN: Final = {
    Takes.NOTHING: "",
    Takes.TEXT: "-x",
    Takes.FILE: "-r -F",
    Takes.FOLDER: "-x -a '(__fish_complete_directories)'",
}


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# What stands in the script's template for `@commands@`. The one for bash works with version 3.2 of macOS. The one for zsh may be
# sourced, and then only registers its function, or be a file in $fpath, which runs as the function that it is named after.
SHELLS: Final[Mapping[str, Callable[[CompletionCommand], str]]] = {
    "bash": _make_bash_tables,
    "zsh": _make_zsh_functions,
    "fish": _make_fish_lines,
}

# Some shells evaluate completed words, and a hook may have any name: other names are not offered.
_HARMLESS: Final = re.compile(r"\w[\w.:@+-]*", re.ASCII)


def run(args: argparse.Namespace) -> int:
    """Print the script, or the words a script asks for."""
    if args.words is not None:
        known = _KNOWN[Takes(args.words)]
        if args.words in {Takes.HOOKS, Takes.SWITCHABLE}:
            project = load_from_args(args)
            known = {hook.id for hook in project.hooks}
            if args.words == Takes.SWITCHABLE:
                known |= {hook.id for hook in project.builtins}
        words = sorted(word for word in known if _HARMLESS.fullmatch(word))
        return render(args, words, *words)
    if args.shell is None:
        raise ConfigError(f"name the shell: hookline completion {'|'.join(SHELLS)}")
    from hookline.cli.main import make_parser  # noqa: PLC0415 - an import cycle

    template = resources.files("hookline").joinpath("templates", "completion", f"{args.shell}.tmpl").read_text("utf-8")
    text = template.replace("@commands@", SHELLS[args.shell](read_parser(make_parser())))
    if args.json:
        print_json({"shell": args.shell, "script": text})
    else:
        print_bytes(text.encode())
    return 0


COMMAND: Final = CliCommand(
    "print the completion script of a shell",
    argument("shell", "the shell", choices=list(SHELLS), nargs="?"),
    argument("--words", argparse.SUPPRESS, choices=list(LIVE)),
    *COMMON,
    example="bash > ~/.local/share/bash-completion/completions/hookline",
    run=run,
)
