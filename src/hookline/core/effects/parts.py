"""What a patch does to each file, with the text that goes and the text that comes."""

from msgspec import Struct

from hookline.core.effects.patches import BEGIN, Change, changes_of


class Part(Struct, frozen=True):
    """One file of a patch: what happens to it, its other name where it is moved, and the text before and after.

    Of a long file only the places that change are there. Text is known only of the format that agents write.
    """

    op: str
    path: str
    to: str = ""
    old: str = ""
    new: str = ""


def parts_of(patch: str) -> tuple[Part, ...] | None:
    """Give every part of a patch; None when it cannot be read."""
    changes = changes_of(patch)
    if changes is None:
        return None
    texts = _texts(patch) if BEGIN in patch else []
    if len(texts) != len(changes):
        texts = [("", "")] * len(changes)
    return tuple(_part(change, old, new) for change, (old, new) in zip(changes, texts, strict=True))


def _part(change: Change, old: str, new: str) -> Part:
    return Part(change.op, change.path, change.to, old, new)


def _texts(patch: str) -> list[tuple[str, str]]:
    """Give the text that goes and the text that comes, file by file."""
    found: list[tuple[list[str], list[str]]] = []
    for row in patch.split("\n"):
        sign, rest = row[:1], row[1:]
        if sign not in {"+", "-"} and row.strip().startswith("*** "):
            if row.strip().split(" ", 2)[1] in {"Add", "Update", "Delete"}:
                found.append(([], []))
        elif found and not row.startswith("@@"):
            old, new = found[-1]
            if sign in {"-", " "}:
                old.append(rest)
            if sign in {"+", " "}:
                new.append(rest)
    return [("\n".join(old), "\n".join(new)) for old, new in found]
