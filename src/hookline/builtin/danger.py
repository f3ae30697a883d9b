"""Say whether a shell line does what hardly anybody ever wants.

Every command of a line is looked at, also inside substitutions, after `sudo`, `env` or `xargs`, and in the program
text of `sh -c` and `eval`. What cannot be read is no opinion; a line that cannot be read as a whole is looked at
piece by piece. This stops accidents, and no one who means harm: a program can do anything in a language of its own.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.builtin._dangers import (
    DOWNLOADERS,
    RULES,
    SHELLS,
    SOURCES,
    Words,
    decodes,
    operands,
    takes_program_from_input,
)
from hookline.builtin._ground import Ground
from hookline.builtin._guarded import write_objection
from hookline.builtin._lines import parsed, raw, words_of
from hookline.kinds.shell.line import Command, Line, Shape, Word
from hookline.kinds.shell.programs import WRAPPERS, Wrapper

_DEEPEST: Final = 6
_MOST_PIECES: Final = 2000
# files are often written from inside a line, and their text is none of its commands
_LONGEST: Final = 262_144
_PIECE: Final = re.compile(r"\n|;|&&|\|\||\||&|\$\(|[(){}`]")
_PIPE: Final = re.compile(r"\s*\|&?\s*[({]?\s*")
_BACKTICKS: Final = re.compile(r"`([^`\\]*)`")
# names that long are nobody's function
_FUNCTION: Final = re.compile(r"(?<![^;&|\n(){}])(?:function)?([^\s(){};|&]{1,64})\(\)\{")
_VARIABLE: Final = re.compile(r"\$(?:\{(HOME|PWD)\}|(HOME|PWD)(?!\w))")
_WRITING: Final = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
_PIECES: Final = "runs what it {}, before anybody could look at it"
_LONGEST_PATH: Final = 1024
_EXECUTING: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_ECHOES: Final = frozenset(("echo", "printf"))


class _Spot(Struct, frozen=True):
    """One command in its line: what it runs once wrappers are off, and from where to where it stands."""

    command: Command
    words: Words
    start: int
    end: int

    @property
    def name(self) -> str:
        return _base(self.words[0]) if self.words else ""


def danger(text: str, ground: Ground, *, depth: int = 0) -> str:
    """Say what is dangerous about a line; nothing when nothing is known to be."""
    if depth > _DEEPEST:
        return ""
    if _is_bomb(text):
        return "a program that starts itself without end stops the whole machine"
    line = parsed(text, longest=_LONGEST)
    if line is None:
        pieces = _PIECE.split(text)[:_MOST_PIECES]
        return _first(danger(piece, ground, depth=depth + 1) for piece in pieces if piece != text and piece.strip())
    return _of_line(line, ground, depth)


def _is_bomb(text: str) -> bool:
    """Find a function that does nothing but start itself twice, behind everybody's back."""
    squeezed = "".join(text.split())
    for found in _FUNCTION.finditer(squeezed) if "(){" in squeezed else ():
        body = squeezed[found.end() : found.end() + 256].partition("}")[0]
        if "&" in body and [part for part in re.split("[|&;]", body) if part] == [found[1]] * 2:
            return True
    return False


def _of_line(line: Line, ground: Ground, depth: int) -> str:
    spots: list[_Spot] = []
    for command in line.commands:
        spot = _spot(line, command, ground)
        spots.append(spot)
        found = _of_command(line, spot, ground, depth)
        if found:
            return found
        if spot.name in {"cd", "pushd"}:
            ground = _moved(spot.words, ground)
    ordered = sorted(spots, key=lambda spot: spot.start)
    return _first((*_piped(line, ordered, ground, depth), *_substituted(line, ordered)))


def _first(reasons: Sequence[str] | Iterator[str]) -> str:
    return next(filter(None, reasons), "")


def _spot(line: Line, command: Command, ground: Ground) -> _Spot:
    words = [_known(line, word, ground) for word in command.words]
    places = [(word.start, word.end) for word in words_of(command)]
    head = command.shape is Shape.SIMPLE
    return _Spot(
        command,
        _unwrapped(words) if head else [],
        min((start for start, _ in places), default=0),
        max((end for _, end in places), default=0),
    )


def _known(line: Line, word: Word, ground: Ground) -> str | None:
    """Give a word's text, also where a home folder stands in it or it is a pattern; None where nobody can know."""
    written = raw(line, word)
    text = word.literal
    if text is None:
        text = _VARIABLE.sub(lambda found: ground.home if "HOME" in found[0] else ".", written).replace('"', "")
        if re.search(r"[$`<>(']", text):
            return None
    if not text.startswith("~") or written.startswith(("'", '"', "\\")):
        return text
    user, _, rest = text[1:].partition("/")
    # another person's home is as dear to them
    return f"{ground.home}/{rest}" if user in {"", "+"} or not rest else text


def _base(name: str | None) -> str:
    return (name or "").rpartition("/")[2]


def _unwrapped(words: Words) -> Words:
    """Take off what only starts another program: sudo, env, nohup, timeout, xargs."""
    for _ in range(_DEEPEST):
        wrapper = WRAPPERS.get(_base(words[0])) if words else None
        if wrapper is None or wrapper.through:
            break
        inner = _behind(wrapper, words[1:])
        if not inner:
            break
        words = inner
    return words


def _behind(wrapper: Wrapper, words: Words) -> Words:
    lead, place = wrapper.lead, 0
    while place < len(words):
        text = words[place]
        if text == "--":
            return words[place + 1 + lead :]
        if text is not None and text.startswith("-") and text != "-":
            name = text[2:] if text.startswith("--") else text[1:2]
            apart = name in wrapper.values and (text.startswith("--") or len(text) == 2)  # noqa: PLR2004 - a dash, a letter
            if name in wrapper.code and not apart:
                # program text: a shell reads it
                return ["sh", "-c", " ".join(word or "?" for word in words[place + 1 :])] if words[place + 1 :] else []
            place += 2 if apart else 1
        elif wrapper.assigns and text is not None and re.match(r"\w+=", text):
            place += 1
        elif lead:
            lead, place = lead - 1, place + 1
        else:
            return words[place:]
    return []


def _moved(words: Words, ground: Ground) -> Ground:
    named = operands(words[1:])
    target = named[0] if named else ground.home
    bases = () if target in {None, "-"} else tuple(ground.full(base, str(target)) for base in ground.bases)
    # hardly any folder is that deep, and each further step would take longer
    return replace(ground, bases=tuple(base for base in bases if len(base) < _LONGEST_PATH))


def _of_command(line: Line, spot: _Spot, ground: Ground, depth: int) -> str:
    for redirect in spot.command.redirects:
        target = _known(line, redirect.target, ground)
        if redirect.operator in _WRITING and target and (found := write_objection(target, ground)):
            return found
    for word in spot.command.words:
        for inner in _BACKTICKS.findall(raw(line, word)) if word.literal is None else ():
            if found := danger(inner, ground, depth=depth + 1):
                return found
    rule = RULES.get(spot.name) or RULES.get(spot.name.partition(".")[0])
    found = rule(spot.words[1:], ground) if rule else ""
    if found:
        return f"{spot.name}: {found}"
    return _first(danger(text, ground, depth=depth + 1) for text in _texts(line, spot))


def _texts(line: Line, spot: _Spot) -> Iterator[str]:
    """Give the program text among a command's words, and in its here-document."""
    words = spot.words
    if spot.name in SHELLS:
        asked = next((place for place, word in enumerate(words) if _asks_for_text(word)), None)
        named = operands(words[asked + 1 :]) if asked is not None else []
        yield from (text for text in named[:1] if text)
        if any(redirect.operator in {"<<", "<<-"} for redirect in spot.command.redirects):
            yield line.text[spot.end :]
        yield from (redirect.target.literal or "" for redirect in spot.command.redirects if redirect.operator == "<<<")
    elif spot.name == "eval":
        yield " ".join(word or "?" for word in words[1:])
    elif spot.name in {"ssh", "su", "runuser", "watch", "script", "parallel"}:
        yield from (word for word in words[1:] if word and " " in word)
        yield " ".join(word or "?" for word in operands(words[1:])[1:])
    elif spot.name == "find":
        yield from _executed(words)


def _asks_for_text(word: str | None) -> bool:
    return word is not None and word.startswith("-") and not word.startswith("--") and "c" in word


def _executed(words: Words) -> Iterator[str]:
    """Give what find would run for each file, as a line; each word belongs to one of them at most."""
    inner: list[str] | None = None
    for word in (*words, ";"):
        if inner is not None and (word in _EXECUTING or word in {";", "+"}):
            yield " ".join(f"'{text}'" if " " in text and "'" not in text else text for text in inner)
            inner = None
        if word in _EXECUTING:
            inner = []
        elif inner is not None:
            inner.append(word or "?")


def _piped(line: Line, spots: Sequence[_Spot], ground: Ground, depth: int) -> Iterator[str]:
    """Look at what a pipe hands to a program that runs what it is given."""
    fed = ""
    said: list[str] = []
    for spot, following in zip_longest(spots, spots[1:]):
        if fed and takes_program_from_input(spot.name, spot.words):
            yield _PIECES.format(fed)
        if takes_program_from_input(spot.name, spot.words):
            yield from (danger(text, ground, depth=depth + 1) for text in said)
        if following is None or not _PIPE.fullmatch(line.text[spot.end : following.start]):
            fed, said = "", []
            continue
        if spot.name in DOWNLOADERS:
            fed = "downloads"
        elif decodes(spot.name, spot.words):
            fed = "decodes"
        if spot.name in _ECHOES:
            said = [" ".join(word or "?" for word in operands(spot.words[1:]))]


def _substituted(line: Line, spots: Sequence[_Spot]) -> Iterator[str]:
    """Look for program text that is downloaded: sh -c "$(curl …)", source <(curl …)."""
    for spot in spots:
        if spot.name not in SHELLS and spot.name not in SOURCES:
            continue
        for word in spot.command.words:
            inner = [other for other in spots if word.start < other.start and other.end < word.end]
            named = {other.name for other in inner}
            named |= {_base(text.split()[0]) for text in _BACKTICKS.findall(raw(line, word)) if text.split()}
            if named & DOWNLOADERS:
                yield _PIECES.format("downloads")
