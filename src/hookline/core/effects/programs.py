"""What known programs do with what they are given.

What is not written down here is not known: another program, another option, a shortened one. A row gives what the
program does, or says that nobody knows; never too little.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from posixpath import basename
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.core.effects.found import Found, spelled
from hookline.core.effects.operands import Operands, operands_of
from hookline.core.effects.readers import FIND_FILES, FIND_FLAGS, FIND_VALUES, READERS, Reader, each
from hookline.core.effects.urls import reach
from hookline.core.effects.words import Word

# folders of which only the system's own programs are known
_SYSTEM: Final = re.compile(r"(?:/usr)?/bin/([^/]+)")
# no files: writing there changes nothing
_NOWHERE: Final = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/[0-9]+)")
_RECURSIVE: Final = frozenset({"r", "R", "recursive"})


class Call(Struct, frozen=True):
    """The words behind a program's name, and the folders that it may be run in."""

    words: Sequence[Word]
    bases: tuple[str, ...]
    found: Found

    def paths(self, word: Word) -> tuple[str, ...]:
        """Give the paths that a word may mean; none where only a shell knows them."""
        if word.pattern or not word.certain:
            return ()
        # a folder may be called like this, too, and quotes say so
        text = f"./{word.text}" if word.text.startswith("~") and not word.home else word.text
        return tuple(dict.fromkeys(path for base in self.bases for path in spelled(base, text)))

    def reads(self, words: Sequence[Word]) -> None:
        """Add files that are read; a minus is what comes in."""
        for word in words:
            if word.text != "-":
                self.found.reads(*self.paths(word))
        self.patterns(words, "reads")

    def writes(self, words: Sequence[Word]) -> None:
        """Add files that are written."""
        for word in words:
            self.found.writes(*(path for path in self.paths(word) if not _NOWHERE.fullmatch(path)))
        self.patterns(words, "writes")

    def deletes(self, words: Sequence[Word]) -> None:
        """Add files that are deleted."""
        for word in words:
            self.found.deletes(*self.paths(word))
        self.patterns(words, "deletes")

    def patterns(self, words: Sequence[Word], kind: str) -> None:
        """Say that there may be more, where a word stands for names of files."""
        if any(word.pattern for word in words):
            self.found.unsure(kind)


# gives False for what is not known
Program = Callable[[Call], bool]


def program_of(word: Word) -> tuple[str, Program | None]:
    """Give the plain name of a program, and what it does where that is known."""
    if word.pattern or not word.certain or word.home:
        return word.text, None
    system = _SYSTEM.fullmatch(word.text)
    name = system[1] if system else word.text
    return name, PROGRAMS.get(name)


def _read(reader: Reader, call: Call, *, deep: bool = False, here: bool = False) -> bool:
    """Read what is named; with `deep` also what lies below it, and with `here` the folder itself if nothing is."""
    given = operands_of(reader, call.words)
    if given is None:
        return False
    if reader.plain:
        return True
    # an option may give what is looked for; then every operand is a file
    has_text = reader.texts and not any("e" in name or "files" in name for name in given.options)
    texts, files = (given.words[: reader.texts], given.words[reader.texts :]) if has_text else ([], given.words)
    call.reads(files)
    call.patterns(texts, "reads")
    if deep or not reader.deep.isdisjoint(given.options):
        call.found.unsure("reads")
    if here and not files:
        call.found.reads(*call.bases)
    return True


def _find(call: Call) -> bool:
    """Look at names; everything that find does beyond that is not in the tables."""
    rest = iter(call.words)
    for word in rest:
        if word.pattern:
            return False
        if word.text in FIND_VALUES or word.text in FIND_FILES:
            value = next(rest, None)
            if value is None or value.pattern:
                return False
            if word.text in FIND_FILES:
                call.reads([value])
        elif word.text.startswith("-") and word.text not in FIND_FLAGS:
            return False
        elif word.text not in FIND_FLAGS:
            call.reads([word])
    return True


def _changes(options: Reader, call: Call) -> bool:
    """Write every file that is named."""
    given = operands_of(options, call.words)
    if given is None or not given.words:
        return False
    if not _RECURSIVE.isdisjoint(given.options):
        call.found.unsure("writes")
    call.writes(given.words)
    return True


def _mode(options: Reader, call: Call) -> bool:
    """Write every file but the first word, which is a mode or an owner."""
    given = operands_of(options, call.words)
    if given is None or len(given.words) < 2 or given.words[0].pattern:  # noqa: PLR2004 - a mode and a file
        return False
    if not _RECURSIVE.isdisjoint(given.options):
        call.found.unsure("writes")
    call.writes(given.words[1:])
    return True


def _remove(options: Reader, call: Call) -> bool:
    given = operands_of(options, call.words)
    if given is None:
        return False
    call.deletes(given.words)
    if not _RECURSIVE.isdisjoint(given.options):
        call.found.unsure("deletes")
    return True


def _targets(given: Operands) -> tuple[list[Word], list[Word]] | None:
    """Give what is copied, and each place it may come to: the last word, or below it where that is a folder."""
    *sources, target = given.words or (None,)
    if target is None or not sources or target.pattern or not target.certain:
        return None
    below: list[Word] = []
    for source in sources:
        name = basename(source.text.rstrip("/"))
        if source.pattern:
            continue
        if name in {"", ".", "..", "~"}:
            return None
        below.append(Word(f"{target.text.rstrip('/')}/{name}", source.certain, home=target.home))
    return sources, [target, *below]


def _copy(options: Reader, call: Call) -> bool:
    given = operands_of(options, call.words)
    placed = _targets(given) if given else None
    if given is None or placed is None:
        return False
    sources, targets = placed
    call.reads(sources)
    call.writes(targets)
    # what a pattern stands for comes under its own name into the folder
    call.patterns(sources, "writes")
    if not _RECURSIVE.isdisjoint(given.options):
        call.found.unsure("reads", "writes")
    return True


def _move(options: Reader, call: Call) -> bool:
    given = operands_of(options, call.words)
    placed = _targets(given) if given else None
    if placed is None:
        return False
    sources, targets = placed
    call.reads(sources)
    call.deletes(sources)
    call.writes(targets)
    # it may be a folder, which takes along what nobody named, to where nobody guards it
    call.found.unsure("reads", "deletes")
    return True


def _link(options: Reader, call: Call) -> bool:
    given = operands_of(options, call.words)
    if given is None or not given.words:
        return False
    alone = len(given.words) == 1
    placed = _targets(Operands([*given.words, Word(".")], given.options) if alone else given)
    if placed is None or any(word.pattern for word in given.words):
        return False
    sources, targets = placed
    call.writes(targets)
    # whoever looks later where it leads is another process
    if any(word.text.startswith(("/proc/", "/dev/")) for word in sources):
        return False
    if "s" not in given.options and "symbolic" not in given.options:
        # a second name of the same file: what is written there is written here
        call.reads(sources)
        call.writes(sources)
    return True


_SED_OPTIONS: Final = Reader(
    flags="nErsuzi", values="e", long=each("quiet silent regexp-extended separate unbuffered null-data in-place")
)
_SUFFIX: Final = re.compile(r"-([nErsuz]*)i(.+)|--in-place=(.+)")
_BACKUP: Final = re.compile(r"[\w.~-]+")
# a slash in brackets ends a pattern to some and not to others, so that there is none
_BRACKETS: Final = r"\[\^?+(?:\[:[a-z]+:\]|[^]\[/\\\n])+\]"
_STEP: Final = (
    r"(?:[0-9]+|\$)?(?:,(?:[0-9]+|\$))?[pdq=]"
    rf"|s/(?:[^/\[\\\n]|\\.|{_BRACKETS})*/(?:[^/\\\n]|\\[^\n])*/[gpI0-9]*"
)
# rows to show or leave out, and one text for another; every other command of sed may write, read or run
_SCRIPT: Final = re.compile(rf"(?:{_STEP})(?:; *(?:{_STEP}))*")


def _sed(call: Call) -> bool:
    suffixes = [found for word in call.words if (found := _SUFFIX.fullmatch(word.text)) and word.certain]
    plain = [word for word in call.words if not _SUFFIX.fullmatch(word.text)]
    given = operands_of(_SED_OPTIONS, plain)
    if given is None or any(word.pattern for word in given.words[:1]):
        return False
    scripts, files = given.options.get("e", []), given.words
    if not scripts:
        scripts, files = [word.text for word in files[:1]], files[1:]
    if not scripts or not all(map(_SCRIPT.fullmatch, scripts)):
        return False
    call.reads(files)
    backups = [found[2] or found[3] for found in suffixes]
    if backups or "i" in given.options or "in-place" in given.options:
        call.writes(files)
    for backup in backups:
        if not _BACKUP.fullmatch(backup):
            return False
        call.writes([Word(f"{file.text}{backup}", file.certain, file.pattern, file.home) for file in files])
    # without a suffix the word behind it is one to some, and the script is another word then
    if "i" in given.options:
        call.found.unsure("writes")
    return True


_DD: Final = re.compile(r"(if|of|bs|ibs|obs|count|skip|seek|conv|status|iflag|oflag)=(.*)", re.DOTALL)


def _dd(call: Call) -> bool:
    for word in call.words:
        found = _DD.fullmatch(word.text)
        if found is None or word.pattern:
            return False
        file = Word(found[2], word.certain)
        if found[1] == "of":
            call.writes([file])
        elif found[1] == "if":
            call.reads([file])
    return True


_CURL: Final = Reader(
    flags="sSfLkviIgG46O",
    values="oXHdAmu",
    long=each("silent show-error fail location insecure verbose include head compressed get ipv4 ipv6 remote-name"),
    long_values=each("output request header data user-agent max-time connect-timeout retry user"),
)
_GLOBBED: Final = re.compile(r"[\[\]{}#]")


def _curl(call: Call) -> bool:
    given = operands_of(_CURL, call.words)
    if given is None or not given.words:
        return False
    call.writes([Word(name) for name in _values(given, "o", "output") if name != "-"])
    call.reads([Word(name[1:]) for name in _values(given, "H", "d", "header", "data") if name.startswith("@")])
    for word in given.words:
        if word.pattern or _GLOBBED.search(word.text):
            return False
        url = _fetched(call, word)
        if _values(given, "O", "remote-name"):
            name = basename(url.partition("?")[0])
            if name in {"", ".", ".."}:
                return False
            call.writes([Word(name)])
    return True


# a scheme with fewer slashes than usual, with which programs still do something
_FEW_SLASHES: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?:/(?!/)|$|[^/0-9])", re.IGNORECASE)


def _fetched(call: Call, word: Word) -> str:
    """Add a URL that a program fetches, which has a scheme or means the usual one."""
    if _FEW_SLASHES.match(word.text):
        call.found.unsure("urls", "reads")
    url = word.text if "://" in word.text else f"http://{word.text}"
    reach(call.found, url)
    return url


def _values(given: Operands, *names: str) -> list[str]:
    return [value for name in names for value in given.options.get(name, ())]


_WGET: Final = Reader(
    flags="qncvS", values="OTt", long=each("quiet"), long_values=each("output-document timeout tries")
)


def _wget(call: Call) -> bool:
    """Fetch into a file that is named; without one, the server has a say in what it is called."""
    given = operands_of(_WGET, call.words)
    targets = _values(given, "O", "output-document") if given else []
    if given is None or not targets or not given.words or any(word.pattern for word in given.words):
        return False
    call.writes([Word(target) for target in targets if target != "-"])
    for word in given.words:
        _fetched(call, word)
    return True


# what shells show as a text; all else may set variables, or is computed
_FORMAT: Final = re.compile(r"(?:[^%]|%%|%-?[0-9]*s)*", re.DOTALL)


def _printf(call: Call) -> bool:
    first = call.words[0] if call.words else None
    return first is not None and not first.pattern and not first.text.startswith("-") and _matches(_FORMAT, first.text)


def _matches(what: re.Pattern[str], text: str) -> bool:
    return what.fullmatch(text) is not None


def _date(call: Call) -> bool:
    return all(word.text in {"-u", "-R", "-I"} or word.text.startswith("+") for word in call.words)


def _sleep(call: Call) -> bool:
    return all(_matches(re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?"), word.text) for word in call.words)


def _nothing(_call: Call) -> bool:
    return True


_RM: Final = Reader(flags="fiIvdrR", long=each("force verbose dir recursive interactive"))
_CP: Final = Reader(flags="finpvuTHLrR", long=each("force interactive no-clobber verbose update recursive dereference"))
_TOUCH: Final = Reader(flags="acm", values="dt", long=each("no-create"), long_values=each("date"))
_MKDIR: Final = Reader(flags="pv", values="m", long=each("parents verbose"), long_values=each("mode"))
_CHANGE: Final = Reader(flags="Rvcf", long=each("recursive verbose changes quiet silent"))

# they show what is in every file of a folder
_DEEP: Final = each("rg diff")
# without an operand they are about the folder they run in
_HERE: Final = each("ls dir vdir tree du")

PROGRAMS: Final[Mapping[str, Program]] = MappingProxyType(
    {
        **{name: partial(_read, reader, deep=name in _DEEP, here=name in _HERE) for name, reader in READERS.items()},
        "echo": _nothing,
        "printf": _printf,
        "date": _date,
        "sleep": _sleep,
        "find": _find,
        "touch": partial(_changes, _TOUCH),
        "mkdir": partial(_changes, _MKDIR),
        "tee": partial(_changes, Reader(flags="ai", long=each("append ignore-interrupts"))),
        "truncate": partial(_changes, Reader(flags="c", values="s", long_values=each("size"))),
        "chmod": partial(_mode, _CHANGE),
        "chown": partial(_mode, _CHANGE),
        "rmdir": partial(_remove, Reader(flags="v", long=each("verbose ignore-fail-on-non-empty"))),
        "unlink": partial(_remove, Reader(most=1)),
        "rm": partial(_remove, _RM),
        "cp": partial(_copy, _CP),
        "mv": partial(_move, Reader(flags="finvuT", long=each("force interactive no-clobber verbose update"))),
        "ln": partial(_link, Reader(flags="sfivnT", long=each("symbolic force verbose no-dereference"))),
        "sed": _sed,
        "dd": _dd,
        "curl": _curl,
        "wget": _wget,
    }
)
