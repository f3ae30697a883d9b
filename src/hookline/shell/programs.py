"""The one table of programs, and how the options and operands of a command are read with it.

`find_program` gives a program's row by its name or path. `program.py` explains the columns and how rows are written;
the rows stand in the modules `_table_*`. A program that is not in the table is unknown for every question.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from hookline.shell._table_development import BUILD, GIT, OPS
from hookline.shell._table_unix import FILES, WRAPPERS
from hookline.shell.program import OptionSpec, Program
from hookline.shell.script import Word, cut_word

PROGRAMS: Final[Mapping[str, Program]] = {
    name: program for program in (*FILES, *GIT, *BUILD, *OPS, *WRAPPERS) for name in program.names
}
# names of one program; `sh` in a pattern stands for every shell
# fmt: off
ALIASES: Final[Mapping[str, str]] = {
    "pip3": "pip", "python3": "python", "nodejs": "node", "gmake": "make", "docker-compose": "docker compose",
    "py.test": "pytest", "egrep": "grep", "fgrep": "grep", "batcat": "bat", "fdfind": "fd", "ripgrep": "rg",
    ".": "source", "chdir": "cd", "tofu": "terraform", "gsed": "sed", "gawk": "awk", "nvim": "vim", "grm": "rm",
    "gtar": "tar", "gtimeout": "timeout", "apt-get": "apt", "aws-cli": "aws", "awslocal": "aws", "awscli": "aws",
    "hub": "git", "k": "kubectl", "kubecolor": "kubectl", "sudoedit": "sudo", "gxargs": "xargs", "gfind": "find",
}
# fmt: on
SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})
# python3.12, pip3.11, node20
_VERSION: Final = re.compile(r"(python|pip|pypy|node|ruby|perl|php|lua|gcc|g\+\+|clang|clang\+\+)-?[0-9][0-9.]*")
_ENDING: Final = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)


def name_program(word: str) -> str:
    """Return the name of a program as the table and patterns have it: without path, version and `.exe`."""
    base = _ENDING.sub("", word.rstrip("/").rpartition("/")[2])
    versioned = _VERSION.fullmatch(base)
    name = versioned[1] if versioned and base not in PROGRAMS else base
    return ALIASES.get(name, name)


def find_program(word: str) -> Program | None:
    """Return the row of a program, given by name or path; None when the table does not have it."""
    base = _ENDING.sub("", word.rstrip("/").rpartition("/")[2])
    return PROGRAMS.get(base) or PROGRAMS.get(name_program(word).partition(" ")[0])


# options and operands

FIND_ACTIONS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
FD_ACTIONS: Final = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_NUMBER: Final = re.compile(r"[-+][0-9]+")
_NO_ROW: Final = Program(name="")
# more letters than this behind one dash are a long option of an unknown program
_MOST_JOINED: Final = 8


class GivenOption(Struct, frozen=True):
    """An option as it was given; `value` is None without one."""

    option: OptionSpec
    value: Word | None = None


class Arguments(Struct, kw_only=True):
    """The words of a command, sorted.

    `path` are the subcommands that the table knows, `row` the row of the last of them. `operands` are without the
    subcommands. `dashes` is the number of operands before `--`, or None without it. `strays` are options that the row
    does not have; `unclear` are words that may be options because they are not literal.
    """

    row: Program | None
    path: tuple[str, ...] = ()
    options: list[GivenOption] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)
    dashes: int | None = None
    strays: list[str] = field(default_factory=list)
    unclear: list[Word] = field(default_factory=list)
    # the words of a wrapped command
    rest: list[Word] | None = None

    def has(self, *names: str) -> bool:
        """Return whether one of these options was given, by any spelling."""
        return any(one.option.name in names for one in self.options)

    def has_role(self, *roles: str) -> bool:
        """Return whether an option was given whose value has one of these roles."""
        return any(one.option.role in roles for one in self.options)

    def values(self, *names: str) -> list[Word]:
        """Return the values of these options."""
        return [one.value for one in self.options if one.option.name in names and one.value is not None]


def read_arguments(row: Program | None, words: Sequence[Word], *, is_exact: bool = False) -> Arguments:
    """Sort the words behind a program's name; with `is_exact`, a shortened long option is a stray."""
    found = Arguments(row=row)
    chain = [row] if row is not None else []
    last = row or _NO_ROW
    pending = deque(words)
    while pending:
        word = pending.popleft()
        text = word.text
        is_open = found.dashes is None
        if is_open and not word.is_literal and not text.startswith("-"):
            # it may be anything, an option included
            found.unclear.append(word)
        if last.interpreter and (found.operands or found.has_role("code", "module")):
            # what follows belongs to the script
            found.operands += [word, *pending]
            return found
        if text == "--" and is_open and word.is_literal:
            found.dashes = len(found.operands)
            if last.wraps:
                found.rest = list(pending)
                return found
            continue
        is_action = last.style in {"find", "fd"} and text in FIND_ACTIONS
        is_option = text.startswith("-") and text != "-" and is_open and word.is_literal
        if is_option and not (is_action and last.style == "find"):
            _read_option(chain, word, pending, found, is_exact=is_exact)
            continue
        if last.wraps and not last.dashes and not _is_own_operand(last, found, word):
            found.rest = [word, *pending]
            return found
        if last.style == "toolchain" and text.startswith("+") and not found.operands:
            # cargo +nightly build
            continue
        sub = last.subcommands.get(text) if is_open and word.is_literal and not found.operands else None
        if sub is not None:
            last = found.row = sub
            chain.append(sub)
            found.path = (*found.path, text)
            continue
        found.operands.append(word)
        if is_action:
            found.operands += pending
            break
    return found


def _is_own_operand(row: Program, found: Arguments, word: Word) -> bool:
    """Return whether a word belongs to a wrapper: a variable that it sets, or an operand before the wrapped command."""
    sets_variables = row.operands[:1] == ("env*",)
    if sets_variables and re.match(r"[A-Za-z_]\w*=", word.text):
        return True
    given = sum(not sets_variables or not re.match(r"\w+=", one.text) for one in found.operands)
    return given < sum(role != "env*" for role in row.operands)


def _read_option(chain: list[Program], word: Word, pending: deque[Word], found: Arguments, *, is_exact: bool) -> None:
    text = word.text
    row = chain[-1] if chain else None
    name, equals, value = text.partition("=")
    option = _look_up(chain, text) or _look_up(chain, name)
    if option is None and row is not None and row.single_dash:
        option = _look_up(chain, name.replace("--", "-", 1))
    if option is None and text.startswith("--") and not is_exact:
        option = _find_abbreviation(chain, name)
    if option is not None and (text.startswith("--") or len(name) > 2 or not equals):
        _take(option, word, value if equals else None, pending, found)
    elif _NUMBER.fullmatch(text) and (row is None or row.style in {"numbers", "grep"} or "-n" in row.options):
        found.options.append(GivenOption(OptionSpec("-number"), cut_word(word, text[1:])))
    elif text.startswith("--") or (row is not None and row.single_dash):
        found.strays.append(name)
        found.options.append(GivenOption(OptionSpec(name), cut_word(word, value) if equals else None))
    else:
        _read_letters(chain, word, pending, found)


def _read_letters(chain: list[Program], word: Word, pending: deque[Word], found: Arguments) -> None:
    text = word.text
    if not chain and len(text) > _MOST_JOINED:
        found.options.append(GivenOption(OptionSpec(text)))
        return
    for at, letter in enumerate(text[1:], start=2):
        option = _look_up(chain, f"-{letter}")
        if option is None:
            found.strays.append(f"-{letter}")
            found.options.append(GivenOption(OptionSpec(f"-{letter}")))
            continue
        if option.takes_value or option.may_take_value:
            rest = text[at:]
            # -F= is a value, -n=5 is not
            rest = rest[1:] if len(rest) > 1 and rest.startswith("=") else rest
            if option.takes_value or rest:
                _take(option, word, rest or None, pending, found)
                return
        found.options.append(GivenOption(option))


def _take(option: OptionSpec, word: Word, joined: str | None, pending: deque[Word], found: Arguments) -> None:
    if joined is not None:
        found.options.append(GivenOption(option, cut_word(word, joined)))
    elif option.takes_value:
        if option.takes_name and pending:
            pending.popleft()
        found.options.append(GivenOption(option, pending.popleft() if pending else None))
    else:
        found.options.append(GivenOption(option))


def _look_up(chain: list[Program], name: str) -> OptionSpec | None:
    return next((row.options[name] for row in reversed(chain) if name in row.options), None)


def _find_abbreviation(chain: list[Program], name: str) -> OptionSpec | None:
    """Return the long option that a beginning stands for, as GNU programs and git read it."""
    found = {
        option.name: option
        for row in chain
        for spelling, option in row.options.items()
        if spelling.startswith("--") and spelling.startswith(name)
    }
    return next(iter(found.values())) if len(found) == 1 and len(name) > 2 else None


def assign_roles(roles: Sequence[str], operands: Sequence[Word], *, scripted: bool = False) -> list[tuple[str, Word]]:
    """Pair operands with their roles; with `scripted`, an option took the place of the first one."""
    wanted = list(roles)
    if scripted and wanted and wanted[0] in {"plain", "code"}:
        wanted = wanted[1:]
    starred = next((at for at, role in enumerate(wanted) if role.endswith("*")), None)
    if starred is None:
        return [(wanted[at] if at < len(wanted) else "plain", word) for at, word in enumerate(operands)]
    before, role, after = wanted[:starred], wanted[starred][:-1], wanted[starred + 1 :]
    last = len(operands) - len(after)
    found: list[tuple[str, Word]] = []
    for at, word in enumerate(operands):
        if at < len(before):
            found.append((before[at], word))
        elif at >= last and after:
            found.append((after[at - last] if last >= len(before) else role, word))
        else:
            found.append((role, word))
    return found
