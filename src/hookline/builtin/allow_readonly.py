"""The built-in hook `read-only`: allow tool calls that only read files of the project.

A shell line is parsed by `hookline.shell`, and allowed only when it was read with certainty and consists of plain commands in lists
and pipelines, each of a program in `shell.read_only`, with options that are in its row there, about files of the project. Everything
else is no opinion: the agent asks the user.
"""
# ruff: noqa: PTH112, PTH117, PTH118, PTH119, PTH120 - plain strings, as in command lines

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Final

from msgspec import Struct, structs

from hookline import caller_context
from hookline.builtin._boundaries import FOLDER_KEYS, Boundaries, find_boundaries, is_secret, may_name_secrets
from hookline.builtin._safe_git import is_harmless
from hookline.builtin.catalogue import BuiltinScope, Judge, Options
from hookline.effects.effects import EffectsBuilder
from hookline.effects.shell import read_line
from hookline.model.event import Event
from hookline.model.verdict import Verdict
from hookline.model.workspace_paths import is_inside
from hookline.shell.program import Program, split_names
from hookline.shell.programs import Arguments, GivenOption, read_arguments
from hookline.shell.read_only import READERS, VERSION_OPTIONS
from hookline.shell.reader import parse_script
from hookline.shell.script import Compound, Node, Pipeline, Redirect, Script, SimpleCommand, Word

# arguments that are not files
_TEXTS: Final = frozenset(
    ("description", "regex", "query", "output_mode", "type", "explanation", "mode", "encoding", "format")
)
_PATTERNS: Final = frozenset(("pattern", "glob", "include", "exclude", "file_pattern"))
# an agent may expand these to another path
_ELSEWHERE: Final = re.compile(r"^[~@\s'\"]|\s$|[\0$%\\]|://")
_WILDCARDS: Final = re.compile(r"[*?\[{]")
_OF_SHELLS: Final = frozenset(("command", "description", "explanation", "timeout", "timeout_ms", *FOLDER_KEYS))

_LONGEST: Final = 16_384
_MOST_FOLDERS: Final = 8
_MOST_FILES: Final = 5000
_SYSTEM_FOLDERS: Final = frozenset(("/bin", "/usr/bin"))
# builtins of every shell, so that no file of that name is ever run
_BUILTINS: Final = frozenset(("cd", "echo", "printf", "pwd", "test", "[", "true", "false", ":", "type", "command"))
_MASK: Final = b"\0"
# lists, pipes and redirections; no lone & and no parenthesis, comment, continued row, or word of the shell's grammar
_PLAIN: Final = re.compile(rb"(?:[ \t\n;\0]|&&|\|\||\||[0-9]?(?:>>?|<<<|<|>&|<&)|&>>?)*")
# a word that names files by a glob and has nothing else in it that a shell would expand
_GLOB: Final = re.compile(r"(?!.*\*\*)[\w./@%+=:,*?-]+", re.ASCII)
# a shell may expand these to a home directory or the path of a program; HEAD~1 is neither
_TILDE: Final = re.compile(r"(?:^|[=:])~|^=\w")
_UNSURE: Final = re.compile(r"\{|!.")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"$`\\!]*\"")
_QUOTATIONS: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
# only bash knows $'…'; in fish, \x2f is a slash; ^ redirects in old versions of fish, and negates a glob in zsh
_READ_DIFFERENTLY: Final = re.compile(r"^\^|\$|\\[abcefnrtvxXuU0-7\n]")
_NUMBER: Final = re.compile(r"-[0-9]+")
_DESCRIPTOR: Final = re.compile(r"[0-9]+|-")
_ROWS: Final = re.compile(r"[0-9]+(?:,(?:[0-9]+|\$))?p(?:;[0-9]+(?:,(?:[0-9]+|\$))?p)*")
_TIME: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?[smh]?")
# functions with which a filter of jq reads the environment or other files
_JQ_REACHES_OUT: Final = re.compile(r"\b(?:env|ENV|import|include|input_filename|get_search_list|modulemeta)\b")
_TEST_UNARY: Final = split_names("-b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -G -L -N -O -S")
_TEST_NUMBERS: Final = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_TEST_OTHERS: Final = frozenset(["=", "==", "!=", "-nt", "-ot", "-ef", "!", "-a", "-o", "(", ")"])
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_FRACTION: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_EVALUATED: Final = re.compile(r"[$`]")
# formats of printf for texts and for numbers; others set variables or are evaluated
_AS_TEXT: Final = re.compile(r"(?:[^%]|%%|%-?[0-9]*(?:\.[0-9]+)?[sbqc])*", re.DOTALL)
_AS_NUMBER: Final = re.compile(r"(?:[^%]|%%|%[-+ 0#]*[0-9]*(?:\.[0-9]+)?[sbqcdiouxXeEfgG])*", re.DOTALL)
_SIGNATURE: Final = re.compile(r"%[-+ ]?G|signature")
# subcommands that enter nested repositories
_GIT_LOOKING_INSIDE: Final = frozenset(("status", "diff", "describe", "ls-files", "grep"))
_WRITES: Final = frozenset((">", ">>", "&>", "&>>"))

_Judge = Callable[[Sequence[Word], Boundaries], bool]


def make_judge(scope: BuiltinScope, _options: Options) -> Judge:
    """Return the hook."""
    return partial(judge, root=scope.root, home=scope.home)


def judge(event: Event, *, root: str = "", home: str = "") -> Verdict | None:
    """Answer a permission request: allow, or no opinion."""
    tool = _TOOLS.get(event.tool)
    folders = [named for key in FOLDER_KEYS if isinstance(named := event.args.get(key), str)]
    bounds = find_boundaries(event, root=root, home=home)
    # Windows shells parse lines differently
    if tool is None or bounds is None or os.name == "nt" or any(map(_leads_elsewhere, folders)):
        return None
    reason = tool(event.args, bounds)
    return Verdict.allow(reason) if reason else None


def _leads_elsewhere(name: str) -> bool:
    return _ELSEWHERE.search(name) is not None or not name.isprintable()


def _judge_shell(args: Mapping[str, object], bounds: Boundaries) -> str:
    line = args.get("command")
    # an unknown argument may choose another shell or environment
    if not isinstance(line, str) or not set(args) <= _OF_SHELLS:
        return ""
    programs = list_readers(line, bounds)
    return f"only reads: {', '.join(programs)}" if programs else ""


def _judge_files(args: Mapping[str, object], bounds: Boundaries, *, shows: bool) -> str:
    """Allow a tool whose every argument is a number, a text, or a file of the project."""
    values = list(_list_texts(args, _TEXTS | {"pattern"} if shows else _TEXTS))
    allowed = bounds.may_show if shows else bounds.contains
    is_inside = bounds.contains(".") and all(
        not _leads_elsewhere(name) and allowed(name) for key, value in values for name in _list_paths(key, value)
    )
    # a glob matches hidden and ignored files as well
    may_find_secrets = shows and any(may_name_secrets(value) for _, value in values if _WILDCARDS.search(value))
    return "only reads files of the project" if is_inside and not may_find_secrets else ""


def _list_texts(value: object, texts: frozenset[str], key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text among the arguments that may name files, with its key; those of `texts` do not."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_texts(item, texts, key)
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            # a search pattern is one text
            if inner not in texts or (inner == "pattern" and not isinstance(item, str)):
                yield from _list_texts(item, texts, str(inner))


def _list_paths(key: str, value: str) -> Iterator[str]:
    yield value
    if key in _PATTERNS:
        # the path before the first wildcard, and the alternatives in braces
        yield from filter(None, (value.split("*", maxsplit=1)[0], *re.split("[{},]", value)))


class _PlainCommand(Struct, frozen=True):
    """A plain command: its words, its redirections, and the span of each word in the source."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    spans: tuple[tuple[int, int], ...]


def list_readers(text: str, bounds: Boundaries) -> tuple[str, ...]:
    """Return the programs of a line that only reads, none when it may do more."""
    if (
        len(text) > _LONGEST
        or not all(sign.isprintable() or sign in "\n\t" for sign in text)
        or not bounds.contains(".")
    ):
        return ()
    script = parse_script(text)
    commands = _list_commands(script)
    if not commands or script.doubts or not _is_plain(text, commands):
        return ()
    # by the table of programs, the line changes a file or reaches a URL
    builder = EffectsBuilder()
    read_line(text, bounds.bases[0], builder)
    effects = builder.build()
    if effects.writes or effects.deletes or effects.urls:
        return ()
    names: list[str] = []
    for command in commands:
        if not _is_certain(command, bounds) or not _only_reads(command.words, bounds):
            return ()
        name = command.words[0].text
        if name == "cd":
            bounds = bounds.with_folder(command.words[1].text)
        names.append(name)
    return tuple(dict.fromkeys(names))


def _list_commands(script: Script) -> list[_PlainCommand]:
    """Return the commands of a script, none when it has other constructs than lists and pipelines of plain commands."""
    read: list[_PlainCommand | None] = []
    for step in script.steps:
        stages: Sequence[Node] = (step.node,)
        if isinstance(step.node, Pipeline):
            stages = step.node.stages if not step.node.is_negated else ()
        if step.then == "&" or not stages:
            return []
        read += map(_read_stage, stages)
    plain = [command for command in read if command is not None]
    return plain if len(plain) == len(read) else []


def _read_stage(node: Node) -> _PlainCommand | None:
    if isinstance(node, SimpleCommand) and node.words and not node.assignments:
        words = node.words
        spans = [(word.start, word.end) for word in words]
    elif isinstance(node, Compound) and node.kind == "test":
        # `[ … ]` is the command `test …`
        source = node.text
        inner = parse_script(f"test{source[1:-1]}")
        if not re.fullmatch(r"\[\s.*\s\]", source, re.DOTALL) or inner.doubts or len(inner.steps) != 1:
            return None
        first = inner.steps[0].node
        if not isinstance(first, SimpleCommand) or first.assignments or first.redirects or not first.words:
            return None
        words = (structs.replace(first.words[0], text="[", raw="["), *first.words[1:])
        spans = [(node.start, node.start + len(source.encode()))]
    else:
        return None
    if any(one.target is None for one in node.redirects):
        return None
    spans += [(one.target.start, one.target.end) for one in node.redirects if one.target is not None]
    return _PlainCommand(words, node.redirects, tuple(spans))


def _is_plain(text: str, commands: Sequence[_PlainCommand]) -> bool:
    """Return whether there are only operators between words: comments and keywords belong to no command."""
    source, pieces, position = text.encode(), [], 0
    for start, end in sorted(span for command in commands for span in command.spans):
        if start >= position:
            pieces += [source[position:start], _MASK]
            position = end
    return _PLAIN.fullmatch(b"".join([*pieces, source[position:]])) is not None


def _is_certain(command: _PlainCommand, bounds: Boundaries) -> bool:
    """Return whether every shell reads the words alike, and redirections are harmless."""
    targets = [one.target for one in command.redirects if one.target is not None]
    return (
        all(map(_is_certain_word, (*command.words, *targets)))
        and all(_is_harmless_redirect(one, bounds) for one in command.redirects)
        # a glob shows the names in a directory, whatever the program does with them
        and all(
            (paths := bounds.expand_glob(word.text)) is not None
            and all(map(bounds.contains, (re.split("[*?]", word.text)[0] or ".", *paths)))
            for word in command.words
            if word.is_glob
        )
    )


def _is_certain_word(word: Word) -> bool:
    """Return whether every shell takes a word for the same text."""
    raw = word.raw
    if not word.is_literal or word.is_ambiguous or (word.is_glob and not _GLOB.fullmatch(raw)):
        return False
    # a brace may expand to several words, and shells differ in when; ! recalls an earlier line
    if _TILDE.search(raw) or (_UNSURE.search(raw) and not _QUOTED.fullmatch(raw)):
        return False
    # in fish, a backslash before a quote escapes it, also where other shells end the quotation
    return "\\'" not in raw and not _READ_DIFFERENTLY.search(_QUOTATIONS.sub("", raw))


def _is_harmless_redirect(redirect: Redirect, bounds: Boundaries) -> bool:
    target = redirect.target
    if target is None or target.is_glob or target.text.startswith("~"):
        return False
    if redirect.operator in _WRITES:
        return target.text == os.devnull
    if redirect.operator in {">&", "<&"}:
        return _DESCRIPTOR.fullmatch(target.text) is not None
    return redirect.operator == "<<<" or (redirect.operator == "<" and bounds.may_show(target.text))


def _only_reads(words: Sequence[Word], bounds: Boundaries, *, by_shell: bool = True) -> bool:
    """Judge one command; without `by_shell`, another program starts it, which does not have the builtins of a shell."""
    program = words[0]
    name = program.text
    if "/" in name and os.path.dirname(name) in _SYSTEM_FOLDERS:
        name = os.path.basename(name)
    judge = _JUDGES.get(name) or (partial(_judge_row, READERS[name]) if name in READERS else None)
    if judge is None or program.is_glob:
        return False
    is_known = (by_shell and name in _BUILTINS) or program.text != name or not _is_shadowed(name, bounds)
    return is_known and judge(words[1:], bounds)


def _is_shadowed(name: str, bounds: Boundaries) -> bool:
    """Return whether the project has a program of this name in a directory of PATH."""
    for folder in caller_context.environ().get("PATH", os.defpath).split(os.pathsep):
        for base in bounds.bases:
            full = os.path.realpath(os.path.join(base, folder))
            relative = not os.path.isabs(folder)
            if (relative or (bounds.root and is_inside(full, (bounds.root,)))) and os.path.lexists(f"{full}/{name}"):
                return True
    return False


def _is_option(word: Word) -> bool:
    return word.text.startswith("-") and word.text != "-"


def _judge_row(row: Program, words: Sequence[Word], bounds: Boundaries) -> bool:
    """Judge a command by the row of its program."""
    arguments = _read_options(row, words)
    return arguments is not None and _judge_operands(arguments, bounds)


def _read_options(row: Program, words: Sequence[Word]) -> Arguments | None:
    """Read options and operands; None when an option is not known to be harmless."""
    arguments = read_arguments(row, words, is_exact=True)
    last = arguments.row or row
    before_dashes = words[: next((at for at, word in enumerate(words) if word.text == "--"), len(words))]
    # a glob may match a file with the name of an option
    if any(word.is_glob and (_is_option(word) or (word.text[0] in "*?" and not last.inert)) for word in before_dashes):
        return None
    if arguments.strays or not all(_is_harmless_option(last, one, words) for one in arguments.options):
        return None
    return arguments


def _is_harmless_option(row: Program, given: GivenOption, words: Sequence[Word]) -> bool:
    option, value = given.option, given.value
    if option.name == "-number":
        return row.style == "numbers" or ("-n" in row.options and row.options["-n"].takes_value)
    if option.may_take_value and not option.name.startswith("--"):
        return value is not None
    if not option.takes_value:
        return True
    if value is None or value.is_glob:
        return False
    is_apart = any(value is word for word in words)
    # a word that looks like an option may be one all the same
    return not (_is_option(value) and is_apart and not _NUMBER.fullmatch(value.text)) and (
        is_apart or row.style != "apart" or option.name.startswith("--")
    )


def _judge_operands(arguments: Arguments, bounds: Boundaries) -> bool:
    row = arguments.row
    if row is None or row.unknown:
        return False
    roles = list(row.operands)
    # systems differ in which long options take the next word, so the text may be a file
    has_long = any(one.option.name.startswith("--") for one in arguments.options)
    if row.scripted and (has_long or arguments.has(*row.scripted)):
        roles = roles[1:]
    is_open = bool(roles) and roles[-1].endswith("*")
    operands = arguments.operands
    fixed = roles[:-1] if is_open else roles
    # a glob may expand to several words: one too many, or a file after the search text
    if any(word.is_glob for word in operands[: len(fixed)]) or (not is_open and len(operands) > len(roles)):
        return False
    paired = [(roles[min(at, len(roles) - 1)].rstrip("*"), word) for at, word in enumerate(operands)]
    names = [word.text for role, word in paired if role != "plain"]
    if arguments.has(*row.recursive) and not all(
        _has_no_secrets(name, bounds) for name in (names if names and len(operands) > 1 else [*names, "."])
    ):
        return False
    return all(_is_readable(word, bounds, shows=role == "reads") for role, word in paired if role != "plain")


def _has_no_secrets(name: str, bounds: Boundaries) -> bool:
    """Return whether a whole directory may be shown; one that is too large to check may not."""
    count = 0
    for base in bounds.bases:
        for _, folders, files in os.walk(bounds.resolve(base, name)):
            count += len(folders) + len(files)
            if count > _MOST_FILES or any(map(is_secret, (*folders, *files))):
                return False
    return True


def _is_readable(word: Word, bounds: Boundaries, *, shows: bool) -> bool:
    """Return whether a file may be read; a colon or an equals sign may precede it, as in HEAD:name."""
    if word.text == "-":
        return True
    allowed = bounds.may_show if shows else bounds.contains
    names = {word.text, *re.split("[:=]", word.text)} - {""}
    if word.is_glob:
        paths = bounds.expand_glob(word.text)
        if paths is None:
            return False
        names |= set(paths)
    return all(map(allowed, names))


# programs that rows cannot describe


def _judge_cd(words: Sequence[Word], bounds: Boundaries) -> bool:
    """Allow changing to a directory of the project, unless CDPATH may lead to another one."""
    return (
        not caller_context.environ().get("CDPATH")
        and len(bounds.bases) < _MOST_FOLDERS
        and len(words) == 1
        and not words[0].is_glob
        and not _is_option(words[0])
        and words[0].text not in {"", "-"}
        and bounds.contains(words[0].text)
        # behind a symbolic link, shells and programs resolve ".." differently
        and ".." not in words[0].text.split("/")
        # a shell may resolve the name of a missing directory otherwise
        and any(os.path.isdir(bounds.resolve(base, words[0].text)) for base in bounds.bases)
    )


def _judge_find(words: Sequence[Word], bounds: Boundaries) -> bool:
    arguments = read_arguments(READERS["find"], words, is_exact=True)
    if arguments.strays or arguments.dashes is not None or any(word.is_glob for word in words):
        return False
    values = [(one.option.role, one.value) for one in arguments.options if one.option.takes_value]
    if any(value is None or (role == "reads" and not bounds.contains(value.text)) for role, value in values):
        return False
    return all(
        word.text in {"(", ")", "!", ","} or (word.text not in {"", "-"} and bounds.contains(word.text))
        for word in arguments.operands
    )


def _judge_git(words: Sequence[Word], bounds: Boundaries) -> bool:
    arguments = _read_options(READERS["git"], words)
    if arguments is None:
        return False
    if not arguments.path:
        return bool(words) and words[-1].text == "--version" and not arguments.operands
    row = arguments.row
    looks_inside = arguments.path[0] in _GIT_LOOKING_INSIDE
    if row is None or arguments.has("--version") or any(_SIGNATURE.search(word.text) for word in words):
        # git would start another program to verify signatures
        return False
    if not all(is_harmless(base, looks_inside=looks_inside) for base in bounds.bases):
        return False
    if row.style == "list" and arguments.has("--list"):
        # operands are patterns then, not names of new branches
        return arguments.dashes is None and not any(word.is_glob for word in words)
    return _judge_operands(arguments, bounds)


def _judge_sed(words: Sequence[Word], bounds: Boundaries) -> bool:
    """Allow printing lines by number: other commands of sed can write files or run programs."""
    texts = [word.text for word in words]
    quiet = texts[:1] in (["-n"], ["--quiet"], ["--silent"])
    return (
        quiet
        and _ROWS.fullmatch("".join(texts[1:2])) is not None
        and not any(map(_is_option, words[2:]))
        and _judge_row(READERS["sed"], words, bounds)
    )


def _judge_date(words: Sequence[Word], _bounds: Boundaries) -> bool:
    """Allow showing the time; a date without a plus sign would set the clock."""
    return all(
        not word.is_glob
        and (word.text in {"-u", "--utc", "-R", "-I"} or word.text.startswith(("+", "--iso-8601", "-I")))
        for word in words
    )


def _judge_jq(words: Sequence[Word], bounds: Boundaries) -> bool:
    return not any(_JQ_REACHES_OUT.search(word.text) for word in words) and _judge_row(READERS["jq"], words, bounds)


def _judge_test(words: Sequence[Word], bounds: Boundaries) -> bool:
    """Allow tests of texts, numbers and files; -v, and in some shells numbers, are evaluated."""
    for one, other in pairwise(words):
        if (one.text in _TEST_NUMBERS and not _WHOLE.fullmatch(other.text)) or (
            other.text in _TEST_NUMBERS and not _WHOLE.fullmatch(one.text)
        ):
            return False
    return all(
        not word.is_glob
        and not _EVALUATED.search(word.text)
        and (
            word.text in _TEST_UNARY | _TEST_NUMBERS | _TEST_OTHERS
            or _WHOLE.fullmatch(word.text) is not None
            or (not _is_option(word) and ("/" not in word.text or bounds.contains(word.text)))
        )
        for word in words
    )


def _judge_rg(words: Sequence[Word], bounds: Boundaries) -> bool:
    """Allow searching; a glob would also match hidden and ignored files."""
    arguments = _read_options(READERS["rg"], words)
    if arguments is None:
        return False
    globs = arguments.values("-g", "--glob", "--iglob")
    return not any(may_name_secrets(word.text) for word in globs) and _judge_operands(arguments, bounds)


def _judge_printf(words: Sequence[Word], _bounds: Boundaries) -> bool:
    """Allow texts and literal numbers: bash sets a variable with %n, zsh evaluates numbers."""
    texts = [word.text for word in words if not word.is_glob]
    if len(texts) < len(words) or not texts or texts[0].startswith("-"):
        return False
    if _AS_TEXT.fullmatch(texts[0]):
        return True
    return _AS_NUMBER.fullmatch(texts[0]) is not None and all(map(_FRACTION.fullmatch, texts[1:]))


def _judge_diff(words: Sequence[Word], bounds: Boundaries) -> bool:
    """Allow comparing files; in directories, diff would follow symbolic links out of the project."""
    folders = any(os.path.isdir(bounds.resolve(base, word.text)) for base in bounds.bases for word in words)
    return not folders and _judge_row(READERS["diff"], words, bounds)


def _judge_version(name: str, words: Sequence[Word], _bounds: Boundaries) -> bool:
    """Allow asking the program itself for its version: a version manager would run or download what a project names."""
    path = os.path.realpath(shutil.which(name) or os.devnull)
    asks = [word.text for word in words] in (["--version"], [VERSION_OPTIONS[name]])
    if not asks or name not in os.path.basename(path):
        return False
    with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - as everywhere here
        return file.read(2) != b"#!"
    return False


def _judge_command(words: Sequence[Word], bounds: Boundaries) -> bool:
    if words and words[0].text in {"-v", "-V"}:
        return all(not _is_option(word) and not word.is_glob for word in words[1:])
    return _judge_wrapped(words, bounds)


def _judge_wrapped(words: Sequence[Word], bounds: Boundaries, *, by_shell: bool = True) -> bool:
    """Judge the program that another one starts; there, cd would not change the directory of the line."""
    return bool(words) and words[0].text != "cd" and _only_reads(words, bounds, by_shell=by_shell)


_JUDGES: Final[Mapping[str, _Judge]] = {
    **{name: partial(_judge_version, name) for name in VERSION_OPTIONS},
    "cd": _judge_cd,
    "diff": _judge_diff,
    "echo": lambda _words, _bounds: True,
    "printf": _judge_printf,
    "find": _judge_find,
    "rg": _judge_rg,
    "git": _judge_git,
    "sed": _judge_sed,
    "date": _judge_date,
    "jq": _judge_jq,
    "test": _judge_test,
    "[": _judge_test,
    "timeout": lambda words, bounds: (
        bool(words and _TIME.fullmatch(words[0].text)) and _judge_wrapped(words[1:], bounds, by_shell=False)
    ),
    "command": _judge_command,
}
_TOOLS: Final[Mapping[str, Callable[[Mapping[str, object], Boundaries], str]]] = {
    "shell": _judge_shell,
    "read_file": partial(_judge_files, shows=True),
    "read_files": partial(_judge_files, shows=True),
    "grep": partial(_judge_files, shows=True),
    "list_dir": partial(_judge_files, shows=False),
    "glob": partial(_judge_files, shows=False),
}
