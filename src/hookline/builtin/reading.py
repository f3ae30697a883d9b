"""Say whether a shell line only reads.

A line is read as a shell would read it, and then held against what is known to be harmless: plain commands in lists
and pipes, of programs that only read, with options with which they still do, about files of the project. Everything
else is no opinion: the person is asked as ever.
"""
# ruff: noqa: PTH112, PTH117, PTH118, PTH119, PTH120 - texts, as lines have them

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline import surroundings
from hookline.builtin._ground import Ground, is_secret, may_name_secrets
from hookline.builtin._lines import LONGEST, PLAIN, between, parsed, raw
from hookline.builtin._readers import (
    FD,
    GIT,
    GIT_FLAGS,
    GIT_LISTS,
    GIT_LOOKING_INSIDE,
    JQ,
    OF_THE_SHELL,
    VERSIONED,
)
from hookline.builtin._repository import is_harmless
from hookline.core.effects.readers import FIND_FILES, FIND_FLAGS, FIND_VALUES, READERS, Reader
from hookline.kinds.shell.line import Command, Line, Redirect, Shape
from hookline.kinds.shell.programs import TEST_BINARY, TEST_UNARY
from hookline.model.workspace import inside

_SYSTEM_FOLDERS: Final = frozenset(("/bin", "/usr/bin"))
# a word that names files by a pattern and has nothing else in it that a shell would put something in place of
_PATTERN: Final = re.compile(r"[\w./@%+=:,*?-]+", re.ASCII)
# what a shell may put a home folder, or the path of a program, in place of; HEAD~1 is neither
_TILDE: Final = re.compile(r"(?:^|[=:])~|^=\w")
_UNSURE: Final = re.compile(r"\{|!.")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"$`\\!]*\"")
_QUOTATIONS: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
# to fish, \x2f is a slash; and ^ writes to a file in old versions of it, and finds all other files in zsh
_READ_DIFFERENTLY: Final = re.compile(r"^\^|\\[abcefnrtvxXuU0-7]")
_NUMBER: Final = re.compile(r"-[0-9]+")
_DESCRIPTOR: Final = re.compile(r"[0-9]+|-")
_ROWS: Final = re.compile(r"[0-9]+(?:,(?:[0-9]+|\$))?p(?:;[0-9]+(?:,(?:[0-9]+|\$))?p)*")
_TIME: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?[smh]?")
_JQ_REACHES_OUT: Final = re.compile(r"\b(?:env|ENV|import|include|input_filename|get_search_list|modulemeta)\b")
_TEST_UNARY: Final = TEST_UNARY - {"-t"}
_TEST_BINARY: Final = TEST_BINARY - {"<", ">"}
_TEST_JOINTS: Final = frozenset(("!", "-a", "-o", "(", ")"))
_TEST_NUMBERS: Final = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_FRACTION: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
# what printf shows as a text, and what it shows as a number; all else sets variables or is computed
_EVALUATED: Final = re.compile(r"[$`]")
_AS_TEXT: Final = re.compile(r"(?:[^%]|%%|%-?[0-9]*(?:\.[0-9]+)?[sbqc])*", re.DOTALL)
_AS_NUMBER: Final = re.compile(r"(?:[^%]|%%|%[-+ 0#]*[0-9]*(?:\.[0-9]+)?[sbqcdiouxXeEfgG])*", re.DOTALL)
_SIGNATURE: Final = re.compile(r"%[-+ ]?G|signature")
# -g anywhere in a word of options, or its long name, and what is given with it
_RG_GLOB: Final = re.compile(r"(?:-[^-]*?g|--i?glob(?:=|$))(.*)", re.DOTALL)
_MOST_FOLDERS: Final = 8
_MOST_FILES: Final = 5000
_WRITES: Final = frozenset((">", ">>", "&>", "&>>"))


class Term(Struct, frozen=True):
    """A word whose text is known; with `pattern`, before a shell puts names of files in its place."""

    text: str
    pattern: bool = False

    @property
    def is_option(self) -> bool:
        """Whether a program would take it for an option."""
        return self.text.startswith("-") and self.text != "-"


_Judge = Callable[[Sequence[Term], Ground], bool]


def programs_read(text: str, ground: Ground) -> tuple[str, ...]:
    """Name the programs of a line that only reads; none when it is not known to do only that."""
    if len(text) > LONGEST or not all(sign.isprintable() or sign in "\n\t" for sign in text):
        return ()
    line = parsed(text) if ground.holds(".") else None
    if line is None or line.sums or line.functions or not PLAIN.fullmatch(between(line)):
        return ()
    names: list[str] = []
    for command in line.commands:
        terms = _terms(line, command, ground)
        if not terms or not _only_reads(terms, ground):
            return ()
        if terms[0].text == "cd":
            ground = ground.below(terms[1].text)
        names.append(terms[0].text)
    return tuple(dict.fromkeys(names))


def _terms(line: Line, command: Command, ground: Ground) -> list[Term]:
    """Give a command's words; none when one of them, or where it reads and writes, is not known to be harmless."""
    if command.shape is not Shape.SIMPLE or command.assignments:
        return []
    for redirect in command.redirects:
        if not _certain(raw(line, redirect.target)) or not _harmless(redirect, ground):
            return []
    terms: list[Term] = []
    for word in command.words:
        written = raw(line, word)
        if not _certain(written):
            return []
        if word.literal is not None:
            terms.append(Term(word.literal))
        elif _PATTERN.fullmatch(written):
            terms.append(Term(written, pattern=True))
        else:
            return []
    return terms


def _certain(written: str) -> bool:
    """Say whether every shell takes a word for the same text."""
    # a brace may stand for several words, and shells differ in when; ! calls an earlier line back
    if _TILDE.search(written) or (_UNSURE.search(written) and not _QUOTED.fullmatch(written)):
        return False
    # to fish, a backslash before a quote keeps the quotation open, also where the others see its end
    return "\\'" not in written and not _READ_DIFFERENTLY.search(_QUOTATIONS.sub("", written))


def _harmless(redirect: Redirect, ground: Ground) -> bool:
    target = redirect.target.literal
    if target is None or target.startswith("~"):
        return False
    if redirect.operator in _WRITES:
        return target == os.devnull
    if redirect.operator in {">&", "<&"}:
        return _DESCRIPTOR.fullmatch(target) is not None
    return redirect.operator == "<<<" or (redirect.operator == "<" and ground.shows(target))


def _only_reads(terms: Sequence[Term], ground: Ground, *, by_shell: bool = True) -> bool:
    """Judge one program; without `by_shell`, another program starts it, which knows nothing of what shells do."""
    program = terms[0]
    name = program.text
    if "/" in name and os.path.dirname(name) in _SYSTEM_FOLDERS:
        name = os.path.basename(name)
    judge = _JUDGES.get(name)
    if judge is None or program.pattern:
        return False
    certain = (by_shell and name in OF_THE_SHELL) or program.text != name or not _shadowed(name, ground)
    return certain and judge(terms[1:], ground)


def _shadowed(name: str, ground: Ground) -> bool:
    """Say whether the project has a program of this name where programs are looked for."""
    for folder in surroundings.environ().get("PATH", os.defpath).split(os.pathsep):
        for base in ground.bases:
            full = os.path.realpath(os.path.join(base, folder))
            relative = not os.path.isabs(folder)
            if (relative or (ground.root and inside(full, (ground.root,)))) and os.path.lexists(f"{full}/{name}"):
                return True
    return False


class _Operands(Struct):
    """What is left of a program's words without its options: the first `texts` are no files."""

    terms: list[Term]
    texts: int
    deep: bool = False


def _plain(reader: Reader, terms: Sequence[Term], ground: Ground) -> bool:
    """Judge a program by its row in the table."""
    operands = _operands(reader, terms)
    if operands is None:
        return False
    # a pattern may become several words: one too many, or a file after the text that is looked for
    counted = operands.terms if reader.most is not None else operands.terms[: operands.texts]
    if any(term.pattern for term in counted) or _too_many(reader, operands.terms):
        return False
    if reader.plain:
        return True
    files = operands.terms[operands.texts :]
    if operands.deep and not all(_has_no_secrets(term.text, ground) for term in files or (Term("."),)):
        return False
    return all(_file(term, ground, shows=reader.shows) for term in files)


def _too_many(reader: Reader, operands: Sequence[Term]) -> bool:
    return reader.most is not None and len(operands) > reader.most


def _has_no_secrets(name: str, ground: Ground) -> bool:
    """Say whether a whole folder may be shown; one that is too large to look at may not."""
    count = 0
    for base in ground.bases:
        for _, folders, files in os.walk(ground.full(base, name)):
            count += len(folders) + len(files)
            if count > _MOST_FILES or any(map(is_secret, (*folders, *files))):
                return False
    return True


def _operands(reader: Reader, terms: Sequence[Term]) -> _Operands | None:
    """Take the options off; None when one of them is not known to be harmless."""
    found = _Operands([], reader.texts)
    rest: Iterator[Term] = iter(terms)
    for term in rest:
        if not term.is_option:
            # a file may be called like an option, and a pattern finds it
            if term.pattern and term.text[0] in "*?" and not reader.inert:
                return None
            found.terms.append(term)
            continue
        if term.pattern:
            return None
        if term.text == "--":
            found.terms += rest
            break
        if not _option(reader, term.text, rest):
            return None
        if _gives_pattern(reader, term.text):
            found.texts = 0
        found.deep = found.deep or _goes_deep(reader, term.text)
    return found


def _gives_pattern(reader: Reader, option: str) -> bool:
    """Say whether an option takes the place of the first operand, which is a file then."""
    return bool(reader.texts) and ("e" in option.partition("=")[0] or "files" in option)


def _goes_deep(reader: Reader, option: str) -> bool:
    return (
        option[2:].partition("=")[0] in reader.deep
        if option.startswith("--")
        else not reader.deep.isdisjoint(option[1:])
    )


def _option(reader: Reader, text: str, rest: Iterator[Term]) -> bool:
    if reader.numbers and _NUMBER.fullmatch(text):
        return True
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        if name in reader.long:
            return True
        return name in reader.long_values and (bool(equals) or _value(rest))
    return _letters(reader, text, rest)


def _letters(reader: Reader, text: str, rest: Iterator[Term]) -> bool:
    for place, letter in enumerate(text[1:], start=2):
        if letter in reader.glued:
            return len(text) > place
        if letter in reader.values:
            return (len(text) > place and not reader.apart) or (len(text) == place and _value(rest))
        if letter not in reader.flags:
            return False
    return True


def _value(rest: Iterator[Term]) -> bool:
    """Take the word after an option; a pattern could become several words, and an option may be one all the same."""
    term = next(rest, None)
    return term is not None and not term.pattern and (not term.is_option or _NUMBER.fullmatch(term.text) is not None)


def _file(term: Term, ground: Ground, *, shows: bool) -> bool:
    """Say whether a file may be read. A colon or an equals sign may stand before it, as in HEAD:name."""
    if term.text == "-":
        return True
    allowed = ground.shows if shows else ground.holds
    names = {term.text, *re.split("[:=]", term.text)} - {""}
    if term.pattern:
        found = ground.matches(term.text)
        if found is None:
            return False
        names |= set(found)
        return all(allowed(name) for name in names)
    return all(allowed(name) for name in names)


def _cd(terms: Sequence[Term], ground: Ground) -> bool:
    """Allow going to a folder of the project, where no variable leads to another one of the same name."""
    return (
        not surroundings.environ().get("CDPATH")
        and len(ground.bases) < _MOST_FOLDERS
        and len(terms) == 1
        and not terms[0].pattern
        and not terms[0].is_option
        and _inside(terms[0], ground)
        # behind a link to a folder, shells and programs do not mean the same by ".."
        and ".." not in terms[0].text.split("/")
        # a shell may know another folder by the name of one that is not there
        and any(os.path.isdir(ground.full(base, terms[0].text)) for base in ground.bases)
    )


def _inside(term: Term, ground: Ground) -> bool:
    return term.text != "-" and ground.holds(term.text)


def _find(terms: Sequence[Term], ground: Ground) -> bool:
    rest = iter(terms)
    for term in rest:
        if term.pattern:
            return False
        if term.text in FIND_VALUES or term.text in FIND_FILES:
            value = next(rest, None)
            if value is None or value.pattern or (term.text in FIND_FILES and not ground.holds(value.text)):
                return False
        elif term.text not in FIND_FLAGS and (term.is_option or not _inside(term, ground)):
            return False
    return True


def _git(terms: Sequence[Term], ground: Ground) -> bool:
    start = next((place for place, term in enumerate(terms) if term.text not in GIT_FLAGS), len(terms))
    if [term.text for term in terms[start:]] == ["--version"]:
        return True
    words = [term.text for term in terms[start : start + 2]]
    two = " ".join(words)
    name = two if two in GIT else (words[0] if words else "")
    reader = GIT.get(name)
    looks_inside = name in GIT_LOOKING_INSIDE
    if reader is None or not all(is_harmless(base, looks_inside=looks_inside) for base in ground.bases):
        return False
    arguments = terms[start + len(name.split()) :]
    if any(_SIGNATURE.search(term.text) for term in arguments):
        # git would start another program to look at signatures
        return False
    asking = GIT_LISTS.get(name, frozenset())
    if any(term.text in asking for term in arguments):
        # operands are patterns then, and not the names of new branches
        return _listing(reader, [term for term in arguments if term.text not in asking])
    return _plain(reader, arguments, ground)


def _listing(reader: Reader, terms: Sequence[Term]) -> bool:
    return all(not term.pattern and (not term.is_option or _option(reader, term.text, iter(()))) for term in terms)


def _sed(terms: Sequence[Term], ground: Ground) -> bool:
    """Allow printing rows by their numbers: everything else of sed can write files or run programs."""
    texts = [term.text for term in terms]
    quiet = texts[:1] in (["-n"], ["--quiet"], ["--silent"])
    if not quiet or len(texts) < 2 or not _ROWS.fullmatch(texts[1]):  # noqa: PLR2004 - the option and the script
        return False
    return all(not term.is_option and not term.text.startswith("*") for term in terms[2:]) and _plain(
        Reader(), terms[2:], ground
    )


def _date(terms: Sequence[Term], _ground: Ground) -> bool:
    """Allow showing the time; a date without a plus sign would set the clock."""
    return all(
        not term.pattern
        and (term.text in {"-u", "--utc", "-R", "-I"} or term.text.startswith(("+", "--iso-8601", "-I")))
        for term in terms
    )


def _jq(terms: Sequence[Term], ground: Ground) -> bool:
    return not any(_JQ_REACHES_OUT.search(term.text) for term in terms) and _plain(JQ, terms, ground)


def _test(terms: Sequence[Term], ground: Ground) -> bool:
    """Allow the tests that look at texts, numbers and files; -v, and some shells for numbers, compute what they get."""
    for place, term in enumerate(terms):
        if term.text in _TEST_NUMBERS:
            sides = (*terms[max(place - 1, 0) : place], *terms[place + 1 : place + 2])
            if not all(_WHOLE.fullmatch(side.text) for side in sides):
                return False
    return all(
        not term.pattern
        and not _EVALUATED.search(term.text)
        and (
            term.text in _TEST_UNARY
            or term.text in _TEST_BINARY
            or term.text in _TEST_JOINTS
            or _WHOLE.fullmatch(term.text) is not None
            or (not term.is_option and ("/" not in term.text or ground.holds(term.text)))
        )
        for term in terms
    )


def _echo(_terms: Sequence[Term], _ground: Ground) -> bool:
    """Allow all: it shows its words, whatever they look like."""
    return True


def _rg(terms: Sequence[Term], ground: Ground) -> bool:
    """Allow searching; a pattern for names would also find files that are hidden or ignored."""
    texts = [term.text for term in terms]
    globs = [
        found[1] or after
        for text, after in zip(texts, (*texts[1:], ""), strict=True)
        if (found := _RG_GLOB.fullmatch(text))
    ]
    return not any(map(may_name_secrets, globs)) and _plain(READERS["rg"], terms, ground)


def _printf(terms: Sequence[Term], _ground: Ground) -> bool:
    """Allow texts, and numbers that are ones: bash sets a variable with %n, zsh computes what it shows as a number."""
    texts = [term.text for term in terms if not term.pattern]
    if len(texts) < len(terms) or not texts or texts[0].startswith("-"):
        return False
    if _AS_TEXT.fullmatch(texts[0]):
        return True
    return _AS_NUMBER.fullmatch(texts[0]) is not None and all(map(_FRACTION.fullmatch, texts[1:]))


def _diff(terms: Sequence[Term], ground: Ground) -> bool:
    """Allow comparing files; in folders, diff would follow links out of the project."""
    folders = any(os.path.isdir(ground.full(base, term.text)) for base in ground.bases for term in terms)
    return not folders and _plain(READERS["diff"], terms, ground)


def _version(name: str, terms: Sequence[Term], _ground: Ground) -> bool:
    """Allow asking the program itself: in its place, a version manager runs, or downloads, what a project names."""
    found = os.path.realpath(shutil.which(name) or os.devnull)
    asks = [term.text for term in terms] in (["--version"], [VERSIONED[name]])
    return asks and name in os.path.basename(found) and not _is_script(found)


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as everywhere here
            return file.read(2) == b"#!"
    except OSError:
        return True


def _bracket(terms: Sequence[Term], ground: Ground) -> bool:
    return bool(terms) and terms[-1].text == "]" and _test(terms[:-1], ground)


def _timeout(terms: Sequence[Term], ground: Ground) -> bool:
    texts = [term.text for term in terms]
    return bool(texts) and _TIME.fullmatch(texts[0]) is not None and _wrapped(terms[1:], ground, by_shell=False)


def _command(terms: Sequence[Term], ground: Ground) -> bool:
    if terms and terms[0].text in {"-v", "-V"}:
        return all(not term.is_option and not term.pattern for term in terms[1:])
    return _wrapped(terms, ground)


def _wrapped(terms: Sequence[Term], ground: Ground, *, by_shell: bool = True) -> bool:
    """Judge the program that another one starts; cd would not change the folder of the line there."""
    return bool(terms) and terms[0].text != "cd" and _only_reads(terms, ground, by_shell=by_shell)


_JUDGES: Final[Mapping[str, _Judge]] = MappingProxyType(
    {
        **{name: partial(_plain, reader) for name, reader in READERS.items()},
        **{name: partial(_version, name) for name in VERSIONED},
        "cd": _cd,
        "diff": _diff,
        "echo": _echo,
        "printf": _printf,
        "find": _find,
        "fd": partial(_plain, FD),
        "rg": _rg,
        "git": _git,
        "sed": _sed,
        "date": _date,
        "jq": _jq,
        "test": _test,
        "[": _bracket,
        "timeout": _timeout,
        "command": _command,
    }
)
