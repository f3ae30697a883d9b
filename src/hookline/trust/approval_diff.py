"""Compare a hook with its approval: the definition, its files, its programs."""

import difflib
import hashlib
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from hookline.trust.approval_store import Approval
from hookline.trust.executables import ExecutableFinder
from hookline.trust.fingerprint import HookFingerprint

_SHORT: Final = 12
_MOST_WORK: Final = 16_000_000
_SHOWN: Final = 20
_UNENDED: Final = "\\ no line break at the end of the file"


class ApprovalChange(Struct, frozen=True):
    """One difference: `kind` is definition, file or program; `text` a unified diff, or a sentence where none can be."""

    kind: str
    name: str
    text: str


def list_changes(
    approval: Approval,
    now: HookFingerprint,
    *,
    read_text: Callable[[str], bytes | None],
    executables: ExecutableFinder,
) -> tuple[ApprovalChange, ...]:
    """Compare what was approved with what is there now; `read_text` returns an approved text by its hash."""
    return (
        *_compare_definition(approval, now),
        *_compare_files(approval, now, read_text),
        *_compare_programs(approval, now, executables),
    )


def _compare_definition(approval: Approval, now: HookFingerprint) -> Iterator[ApprovalChange]:
    if not approval.definition:
        return
    before, after = (_format_lines(definition) for definition in (approval.definition, now.definition))
    if before != after:
        yield ApprovalChange("definition", approval.hook, _make_diff(before, after, "definition"))


def _format_lines(definition: object) -> list[str]:
    return msgspec.json.format(msgspec.json.encode(definition, order="sorted"), indent=2).decode().splitlines()


def _compare_files(
    approval: Approval, now: HookFingerprint, read_text: Callable[[str], bytes | None]
) -> Iterator[ApprovalChange]:
    contents = {hashlib.sha256(data).hexdigest(): data for data in now.files.values()}
    for name in sorted({*approval.files, *now.hashes}):
        was, has = approval.files.get(name, ""), now.hashes.get(name, "")
        if was != has:
            yield ApprovalChange("file", name, _compare_file(name, was, has, read_text=read_text, contents=contents))


def _compare_file(
    name: str, was: str, has: str, *, read_text: Callable[[str], bytes | None], contents: dict[str, bytes]
) -> str:
    before, after = _split_text(read_text(was) if was else b""), _split_text(contents.get(has) if has else b"")
    if before is None or after is None:
        return f"{name} is not what was approved: {was[:_SHORT] or 'nothing'} is now {has[:_SHORT] or 'nothing'}"
    headline = "" if was and has else f"{name} was not there when this was approved\n" if has else f"{name} is gone\n"
    return headline + _make_diff(before, after, name)


def _split_text(content: bytes | None) -> list[str] | None:
    if content is None or b"\0" in content:
        return None
    try:
        *lines, last = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    return [*lines, last, _UNENDED] if last else lines


def _make_diff(before: list[str], after: list[str], name: str) -> str:
    if len(before) * len(after) > _MOST_WORK:
        # a text made for that purpose would keep difflib busy for hours
        line = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        removed, added = before[line : line + _SHOWN], after[line : line + _SHOWN]
        lines = [
            f"too long to compare; the first {_SHOWN} lines from line {line + 1} on",
            *(f"-{one}" for one in removed),
        ]
        return "\n".join((*lines, *(f"+{one}" for one in added)))
    return "\n".join(difflib.unified_diff(before, after, f"approved/{name}", f"now/{name}", lineterm=""))


def _compare_programs(
    approval: Approval, now: HookFingerprint, executables: ExecutableFinder
) -> Iterator[ApprovalChange]:
    if approval.programs is None:
        return
    known = {program.name: program for program in approval.programs}
    for program in now.programs:
        before = known.get(program.name)
        if before is None:
            yield ApprovalChange("program", program.name, f"{program.path} was not there when this was approved")
        elif not executables.is_same(program, before):
            moved = before.path != program.path
            text = f"was {before.path}, is {program.path}" if moved else f"{program.path} has another content"
            yield ApprovalChange("program", program.name, text)
