"""Completion for bash: tables of what may stand where, and one function that looks things up in them."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Final

from hookline.cli._grammar import LIVE, Command, Takes, Value

_HEAD: Final = """\
# hookline completion for bash. Load it in ~/.bashrc: eval "$(hookline completion bash)"

"""

# Nothing here needs more than the bash 3.2 of macOS.
_TAIL: Final = """\
_hookline_take() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done
}

_hookline_offer() {
  local kind=${1%% *} rest=${1#* } current=$2
  COMPREPLY=()
  case $kind in
    choice) _hookline_take < <(compgen -W "$rest" -- "$current") ;;
    live) _hookline_take < <(compgen -W "$(hookline completion --words "$rest" 2>/dev/null)" -- "$current") ;;
    file) _hookline_take < <(compgen -f -- "$current") && compopt -o filenames 2>/dev/null ;;
    folder) _hookline_take < <(compgen -d -- "$current") && compopt -o filenames 2>/dev/null ;;
  esac
}

_hookline() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path="" place word value
  # --option=value comes as three words
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((place = 1; place < COMP_CWORD; place++)); do
    word=${COMP_WORDS[place]}
    if [[ $word == -* ]]; then
      # what an option takes is no command
      [[ $(_hookline_value "$path $word") ]] && ((place++))
    elif [[ " $(_hookline_commands "$path") " == *" $word "* ]]; then
      path="${path:+$path }$word"
    fi
  done
  value=$(_hookline_value "$path $before")
  if [[ $value ]]; then
    _hookline_offer "$value" "$current"
  elif [[ $current == -* ]]; then
    _hookline_offer "choice $(_hookline_options "$path")" "$current"
  elif [[ $(_hookline_commands "$path") ]]; then
    _hookline_offer "choice $(_hookline_commands "$path")" "$current"
  else
    _hookline_offer "$(_hookline_argument "$path")" "$current"
  fi
}

complete -F _hookline hookline
"""


def script(top: Command) -> str:
    """Write the script."""
    commands = list(top.all())
    tables = (
        _table("commands", ((_key(one), " ".join(sub.path[-1] for sub in one.commands)) for one in commands)),
        _table("options", ((_key(one), " ".join(_flags(one))) for one in commands)),
        _table("value", (row for one in commands for row in _values(one))),
        _table("argument", ((_key(one), _wanted(one)) for one in commands)),
    )
    return _HEAD + "\n".join(tables) + "\n" + _TAIL


def _key(command: Command) -> str:
    return " ".join(command.path)


def _flags(command: Command) -> Iterator[str]:
    for option in command.options:
        yield from option.flags


def _values(command: Command) -> Iterator[tuple[str, str]]:
    for option in command.options:
        if option.value.takes is not Takes.NOTHING:
            for flag in option.flags:
                yield f"{_key(command)} {flag}", _offer(option.value)


def _wanted(command: Command) -> str:
    """Say what the arguments of a command are; of several, the first that can be completed."""
    offers = [_offer(argument.value) for argument in command.arguments]
    return next((offer for offer in offers if offer != Takes.TEXT), "")


def _offer(value: Value) -> str:
    if value.takes is Takes.CHOICE:
        return f"choice {' '.join(value.choices)}"
    return f"live {value.takes}" if value.takes in LIVE else value.takes.value


def _table(name: str, rows: Iterable[tuple[str, str]]) -> str:
    cases = [f"    {shlex.quote(key)}) echo {shlex.quote(said)} ;;\n" for key, said in rows if said]
    return f"_hookline_{name}() {{\n  case $1 in\n{''.join(cases)}  esac\n}}\n"
