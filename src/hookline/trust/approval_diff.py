"""Compare a hook with its approval: the definition, its files, its programs."""

import difflib
import hashlib
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from msgspec import Struct

from hookline.trust.approval_store import Approval
from hookline.trust.executables import ExecutableHashes
from hookline.trust.file_cache import decode_text
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
    executables: ExecutableHashes,
) -> Iterator[ApprovalChange]:
    """Compare what was approved with what is there now; `read_text` returns an approved text by its hash."""
    before, after = (
        msgspec.json.format(msgspec.json.encode(definition, order="sorted"), indent=2).decode().splitlines()
        for definition in (approval.definition, now.definition)
    )
    if approval.definition and before != after:
        yield ApprovalChange("definition", approval.hook, _make_diff(before, after, "definition"))
    contents = {hashlib.sha256(data).hexdigest(): data for data in now.files.values()}
    for name in sorted({*approval.files, *now.hashes}):
        was, has = approval.files.get(name, ""), now.hashes.get(name, "")
        if was == has:
            continue
        old, new = _split_text(read_text(was) if was else b""), _split_text(contents.get(has) if has else b"")
        if old is None or new is None:
            text = f"{name} is not what was approved: {was[:_SHORT] or 'nothing'} is now {has[:_SHORT] or 'nothing'}"
        else:
            headline = (
                f"{name} was not there when this was approved\n" if not was else "" if has else f"{name} is gone\n"
            )
            text = headline + _make_diff(old, new, name)
        yield ApprovalChange("file", name, text)
    known = {program.name: program for program in approval.programs or ()}
    for program in now.programs if approval.programs is not None else ():
        approved = known.get(program.name)
        if approved is None:
            yield ApprovalChange("program", program.name, f"{program.path} was not there when this was approved")
        elif not executables.is_same(program, approved):
            moved = approved.path != program.path
            text = f"was {approved.path}, is {program.path}" if moved else f"{program.path} has another content"
            yield ApprovalChange("program", program.name, text)


def _split_text(content: bytes | None) -> list[str] | None:
    text = decode_text(content)
    if text is None:
        return None
    *lines, last = text.split("\n")
    return [*lines, last, _UNENDED] if last else lines


def _make_diff(before: list[str], after: list[str], name: str) -> str:
    if len(before) * len(after) > _MOST_WORK:
        # a text made for that purpose would keep difflib busy for hours
        line = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        shown = slice(line, line + _SHOWN)
        lines = [f"too long to compare; the first {_SHOWN} lines from line {line + 1} on"]
        lines += [f"-{one}" for one in before[shown]] + [f"+{one}" for one in after[shown]]
        return "\n".join(lines)
    return "\n".join(difflib.unified_diff(before, after, f"approved/{name}", f"now/{name}", lineterm=""))
