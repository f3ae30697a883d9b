"""What became of a hook since it was approved: the definition, its files, its programs."""

import difflib
import hashlib
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from hookline.core.approvals import Approval
from hookline.core.identity import Identity
from hookline.core.programs import Programs

_SHORT: Final = 12
_MOST_WORK: Final = 16_000_000
_SHOWN: Final = 20
_UNENDED: Final = "\\ no line break at the end of the file"


class Change(Struct, frozen=True):
    """One difference: `kind` is definition, file or program; `text` a unified diff, or a sentence where none can be."""

    kind: str
    name: str
    text: str


def changes(
    approval: Approval, now: Identity, *, kept: Callable[[str], bytes | None], programs: Programs
) -> tuple[Change, ...]:
    """Compare what was approved with what is there now."""
    return (*_definition(approval, now), *_files(approval, now, kept), *_programs(approval, now, programs))


def _definition(approval: Approval, now: Identity) -> Iterator[Change]:
    if not approval.definition:
        return
    before, after = (_lines(definition) for definition in (approval.definition, now.definition))
    if before != after:
        yield Change("definition", approval.hook, _unified(before, after, "definition"))


def _lines(definition: object) -> list[str]:
    return msgspec.json.format(msgspec.json.encode(definition, order="sorted"), indent=2).decode().splitlines()


def _files(approval: Approval, now: Identity, kept: Callable[[str], bytes | None]) -> Iterator[Change]:
    contents = {hashlib.sha256(data).hexdigest(): data for data in now.files.values()}
    for name in sorted({*approval.files, *now.hashes}):
        was, has = approval.files.get(name, ""), now.hashes.get(name, "")
        if was != has:
            yield Change("file", name, _file(name, was, has, kept=kept, contents=contents))


def _file(name: str, was: str, has: str, *, kept: Callable[[str], bytes | None], contents: dict[str, bytes]) -> str:
    before, after = _text(kept(was) if was else b""), _text(contents.get(has) if has else b"")
    if before is None or after is None:
        return f"{name} is not what was approved: {was[:_SHORT] or 'nothing'} is now {has[:_SHORT] or 'nothing'}"
    headline = "" if was and has else f"{name} was not there when this was approved\n" if has else f"{name} is gone\n"
    return headline + _unified(before, after, name)


def _text(content: bytes | None) -> list[str] | None:
    if content is None or b"\0" in content:
        return None
    try:
        *lines, last = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    return [*lines, last, _UNENDED] if last else lines


def _unified(before: list[str], after: list[str], name: str) -> str:
    if len(before) * len(after) > _MOST_WORK:
        # a text made for it would keep the comparison busy for hours
        line = next((place for place, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        gone, come = before[line : line + _SHOWN], after[line : line + _SHOWN]
        lines = [f"too long to compare; the first {_SHOWN} lines from line {line + 1} on", *(f"-{one}" for one in gone)]
        return "\n".join((*lines, *(f"+{one}" for one in come)))
    return "\n".join(difflib.unified_diff(before, after, f"approved/{name}", f"now/{name}", lineterm=""))


def _programs(approval: Approval, now: Identity, programs: Programs) -> Iterator[Change]:
    if approval.programs is None:
        return
    known = {program.name: program for program in approval.programs}
    for program in now.programs:
        before = known.get(program.name)
        if before is None:
            yield Change("program", program.name, f"{program.path} was not there when this was approved")
        elif not programs.same(program, before):
            moved = before.path != program.path
            text = f"was {before.path}, is {program.path}" if moved else f"{program.path} has another content"
            yield Change("program", program.name, text)
