"""What makes a program's words dangerous, program by program.

Only what is hardly ever wanted stands here: whoever really wants it can do it by hand.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from hookline.builtin._ground import Ground
from hookline.builtin._guarded import EVERYTHING, HOME, SYSTEM, place, write_objection
from hookline.core.effects.readers import each
from hookline.kinds.shell.programs import INTERPRETERS

# the words of a command; None where nobody can know one before it runs
Words = Sequence[str | None]
Rule = Callable[[Words, Ground], str]

SHELLS: Final = frozenset(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"))
SOURCES: Final = frozenset(("eval", "source", "."))
DOWNLOADERS: Final = frozenset(("curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx"))
_PROGRAM_LETTERS: Final = re.compile(r"-[A-Za-z]*[cemE]")
_SHARED: Final = frozenset(("main", "master", "trunk", "production"))
_DISKS: Final = re.compile(r"/dev/(?!null$|zero$|full$|std|fd/|tty|pts/|shm/|u?random$)")
# what narrows find down to some of the files
_NARROWING: Final = each(
    "-name -iname -path -ipath -regex -iregex -newer -mtime -mmin -atime -amin -ctime -cmin -size -empty -user -group"
    " -perm -maxdepth -newermt -lname -wholename -inum -samefile"
)


def operands(words: Words) -> list[str | None]:
    """Give the words that are no options."""
    if "--" in words:
        end = list(words).index("--")
        return [*(word for word in words[:end] if not _is_option(word)), *words[end + 1 :]]
    return [word for word in words if not _is_option(word)]


def _is_option(word: str | None) -> bool:
    return word is not None and word.startswith("-") and word != "-"


def _has(words: Words, letters: str, *long: str) -> bool:
    """Say whether one of these options is given; long ones may be shortened."""
    for word in words:
        if word == "--":
            return False
        if word is None or not word.startswith("-"):
            continue
        if word.startswith("--"):
            name = word[2:].partition("=")[0]
            if any(len(name) > 2 and full.startswith(name) for full in long):  # noqa: PLR2004 - too short to mean one
                return True
        elif set(letters) & set(word[1:]):
            return True
    return False


def takes_program_from_input(name: str, words: Words) -> bool:
    """Say whether an interpreter would run what it reads from its input."""
    if name in SHELLS:
        named = operands(words[1:])
        return not _has(words[1:], "c") and (_has(words[1:], "s") or not named or named[0] in {"-", "/dev/stdin"})
    interpreter = INTERPRETERS.get(re.sub(r"[0-9.]+$", "", name))
    if interpreter is None or not interpreter.stdin:
        return False
    named = operands(words[1:])
    asked = any(word is not None and _PROGRAM_LETTERS.match(word) for word in words[1:])
    return not asked and (not named or named[0] == "-")


def decodes(name: str, words: Words) -> bool:
    """Say whether a program turns text that nobody can read into one that can be run."""
    return (
        (name in {"base64", "base32", "gbase64"} and _has(words[1:], "dD", "decode"))
        or (name == "xxd" and _has(words[1:], "r", "revert"))
        or (name == "openssl" and any(word in {"-d", "-decrypt"} for word in words[1:]))
    )


def _places(words: Words, ground: Ground) -> list[str]:
    return [found for word in operands(words) if word and (found := place(word, ground))]


def _rm(words: Words, ground: Ground) -> str:
    if _has(words, "", "no-preserve-root"):
        return "deletes everything on this machine"
    if not _has(words, "rR", "recursive"):
        return ""
    found = _places(words, ground)
    return f"deletes {found[0]}" if found else ""


def _find(words: Words, ground: Ground) -> str:
    deletes = "-delete" in words or any(word in {"rm", "/bin/rm", "shred", "unlink"} for word in words)
    if not deletes or _NARROWING & {word for word in words if word}:
        return ""
    end = next(
        (spot for spot, word in enumerate(words) if word and (_is_option(word) or word in {"(", "!"})), len(words)
    )
    found = [place(word, ground) for word in words[:end] if word] or [place(".", ground)]
    hit = next(filter(None, found), "")
    return f"deletes {hit}" if hit else ""


def _mv(words: Words, ground: Ground) -> str:
    named = operands(words)
    found = next(filter(None, (place(word, ground) for word in named[:-1] if word)), "")
    return f"moves {found} away" if found else _copy(words, ground)


def _copy(words: Words, ground: Ground) -> str:
    named = [word for word in operands(words) if word]
    if not named:
        return ""
    given = [word.partition("=")[2] for word in words if word and word.startswith("--target-directory=")]
    after = [words[spot + 1] for spot, word in enumerate(words[:-1]) if word == "-t"]
    sources = [word.rpartition("/")[2] for word in named[:-1]]
    goals = [goal for goal in (named[-1], *given, *after) if goal]
    # a file that is copied into a folder keeps its name there
    return _written([*goals, *(f"{goal}/{name}" for goal in goals for name in sources)], ground)


def _written(names: Sequence[str | None], ground: Ground) -> str:
    return next(filter(None, (write_objection(name, ground) for name in names if name)), "")


def _all_written(words: Words, ground: Ground) -> str:
    return _written(operands(words), ground)


def _sed(words: Words, ground: Ground) -> str:
    return _all_written(words, ground) if _has(words, "i", "in-place") else ""


def _saved(option: str, long: str, words: Words, ground: Ground) -> str:
    """Judge where a download would be written to."""
    after = [words[spot + 1] for spot, word in enumerate(words[:-1]) if word in {option, long}]
    glued = [word.partition("=")[2] for word in words if word and word.startswith(f"{long}=")]
    glued += [word[2:] for word in words if word and word.startswith(option) and len(word) > len(option)]
    return _written([*after, *glued], ground)


def _dd(words: Words, ground: Ground) -> str:
    goals = [word[3:] for word in words if word and word.startswith("of=")]
    if any(_DISKS.match(goal) for goal in goals):
        return "overwrites a whole disk"
    return _written(goals, ground)


def _format(words: Words, _ground: Ground) -> str:
    return "erases a whole disk" if any(word and _DISKS.match(word) for word in words) else ""


def _erase(words: Words, ground: Ground) -> str:
    return _format(words, ground) if _has(words, "af", "all", "force") else ""


def _mode(dear: frozenset[str], words: Words, ground: Ground) -> str:
    """Judge a change of who may do what with all files of a folder."""
    found = [one for one in _places(words, ground) if one in dear] if _has(words, "R", "recursive") else []
    return f"changes the rights of every file in {found[0]}" if found else ""


def _shutdown(words: Words, _ground: Ground) -> str:
    return "" if _has(words, "c", "help", "show") else "stops the machine"


def _init(words: Words, _ground: Ground) -> str:
    return "stops the machine" if {"0", "6"} & set(words) else ""


def _systemctl(words: Words, _ground: Ground) -> str:
    stops = {"poweroff", "reboot", "halt", "kexec", "emergency", "rescue"} & set(operands(words))
    return "stops the machine" if stops else ""


def _kill(words: Words, _ground: Ground) -> str:
    # a single -1 is a signal
    return "ends every program you run" if len(words) > 1 and words[-1] == "-1" else ""


def _crontab(words: Words, _ground: Ground) -> str:
    return "deletes everything that you have planned" if _has(words, "r") else ""


def _netcat(words: Words, _ground: Ground) -> str:
    return "hands a shell of this machine to another one" if _has(words, "ec", "exec", "sh-exec") else ""


def _git(words: Words, _ground: Ground) -> str:
    named = operands(words)
    # -C and -c take a word each; whatever comes before push is not looked at
    if "push" not in named:
        return ""
    refs = [ref for ref in named[named.index("push") + 1 :] if ref]
    forced = _has(words[list(words).index("push") :], "f", "force") and not _leases(words)
    deletes = _has(words[list(words).index("push") :], "d", "delete")
    for ref in refs:
        source, colon, goal = ref.lstrip("+").partition(":")
        branch = (goal if colon else source).removeprefix("refs/heads/")
        if branch not in _SHARED:
            continue
        if deletes or (colon and not source):
            return f"deletes {branch} for everybody"
        if forced or ref.startswith("+"):
            return f"overwrites {branch} for everybody; --force-with-lease does not"
    return ""


def _leases(words: Words) -> bool:
    """Say whether a push is only forced as long as nobody else pushed."""
    exact = [word for word in words if word in {"-f", "--force"}]
    return not exact and any(word and word.startswith("--force-") for word in words)


_DEAR: Final = frozenset((EVERYTHING, SYSTEM))
_TABLE: Final[Mapping[str, Rule]] = {
    "rm": _rm,
    "shred truncate": _all_written,
    "tee touch": _all_written,
    "find": _find,
    "mv": _mv,
    "cp install ln rsync scp": _copy,
    "sed gsed perl": _sed,
    "curl": partial(_saved, "-o", "--output"),
    "wget": partial(_saved, "-O", "--output-document"),
    "dd": _dd,
    "mkfs mke2fs mkswap blkdiscard cryptsetup": _format,
    "wipefs sgdisk": _erase,
    "chmod": partial(_mode, _DEAR | {HOME}),
    "chown chgrp": partial(_mode, _DEAR),
    "shutdown reboot halt poweroff": _shutdown,
    "init telinit": _init,
    "systemctl": _systemctl,
    "kill": _kill,
    "crontab": _crontab,
    "nc ncat netcat": _netcat,
    "git": _git,
}
RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {name: rule for names, rule in _TABLE.items() for name in names.split()}
)
