"""Take here-documents out of a script before it is parsed.

tree-sitter-bash reads a command with several here-documents, or with `;` behind one, as an error. Each `<<WORD` is
replaced by `<HHHH` of the same length and its text by blanks, so that all offsets stay as they are.
"""

import re
from typing import Final

from msgspec import Struct

_OPERATOR: Final = re.compile(rb"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;&|<>()'\"\\`$#])+)")
_QUOTES: Final = re.compile(rb"['\"\\]")


class HereDocument(Struct, frozen=True):
    """The text of a here-document; `start` is the offset of its operator."""

    start: int
    operator: str
    body_start: int
    body: bytes
    is_quoted: bool


class _Pending(Struct, frozen=True):
    start: int
    delimiter: bytes
    is_quoted: bool
    is_indented: bool


class _Taken(Struct):
    source: bytearray
    documents: list[HereDocument]
    doubts: list[str]


def take_heredocs(source: bytes) -> tuple[bytes, dict[int, HereDocument], list[str]]:
    """Return the source without here-documents, these by the offset of their operator, and what was doubtful."""
    if b"<<" not in source:
        return source, {}, []
    taken = _Taken(bytearray(source), [], [])
    _scan(source, taken)
    return bytes(taken.source), {one.start: one for one in taken.documents}, taken.doubts


def _scan(source: bytes, taken: _Taken) -> None:
    """Walk over the source with a stack of contexts.

    The contexts are `(` for commands, `"` for double quotes, `{` for `${…}`, a backtick, and `+` for arithmetic.
    """
    stack = [b"("]
    pending: list[_Pending] = []
    at, size = 0, len(source)
    while at < size:
        char, context = source[at : at + 1], stack[-1]
        if char == b"\\":
            at += 2
        elif char == b"'" and context in {b"(", b"`", b"{"}:
            is_ansi = source[at - 1 : at] == b"$" if at else False
            at = _skip_single_quotes(source, at + 1, is_ansi=is_ansi)
        elif char == b'"':
            stack.pop() if context == b'"' else stack.append(b'"')
            at += 1
        elif source.startswith(b"$((", at) or (source.startswith(b"((", at) and context == b"("):
            # three characters of `$((`, two of `((`: both end with `))`
            stack += [b"+", b"+"]
            at += 3 if char == b"$" else 2
        elif source.startswith(b"$(", at):
            stack.append(b"(")
            at += 2
        elif source.startswith(b"${", at):
            stack.append(b"{")
            at += 2
        elif char == b"`":
            stack.pop() if context == b"`" else stack.append(b"`")
            at += 1
        elif char == b"(" and context in {b"(", b"+", b"`"}:
            stack.append(b"+" if context == b"+" else b"(")
            at += 1
        elif char == b")" and context in {b"(", b"+"}:
            if len(stack) > 1:
                stack.pop()
            at += 1
        elif char == b"}" and context == b"{":
            stack.pop()
            at += 1
        elif char == b"#" and context in {b"(", b"`"} and (not at or source[at - 1 : at] in b" \t\n;&|("):
            end = source.find(b"\n", at)
            at = size if end < 0 else end
        elif source.startswith(b"<<<", at):
            at += 3
        elif source.startswith(b"<<", at) and context in {b"(", b"`"}:
            at = _take_operator(source, at, pending, taken)
        elif char == b"\n" and pending and context != b'"':
            at = _take_bodies(source, at + 1, pending, taken)
        else:
            at += 1
    if pending:
        taken.doubts.append("a here-document has no end")


def _skip_single_quotes(source: bytes, at: int, *, is_ansi: bool) -> int:
    while at < len(source):
        char = source[at : at + 1]
        if char == b"'":
            return at + 1
        at += 2 if is_ansi and char == b"\\" else 1
    return at


def _take_operator(source: bytes, at: int, pending: list[_Pending], taken: _Taken) -> int:
    found = _OPERATOR.match(source, at)
    if found is None:
        taken.doubts.append("the delimiter of a here-document cannot be read")
        return at + 2
    word = found[2]
    quoted = _QUOTES.search(word) is not None
    delimiter = re.sub(rb"['\"]|\\(?=.)", b"", word)
    pending.append(_Pending(at, delimiter, quoted, bool(found[1])))
    taken.source[at : found.end()] = b"<" + b"H" * (found.end() - at - 1)
    return found.end()


def _take_bodies(source: bytes, at: int, pending: list[_Pending], taken: _Taken) -> int:
    for one in pending:
        start, rows = at, []
        is_ended = is_continued = False
        while at < len(source) and not is_ended:
            end = source.find(b"\n", at)
            row = source[at:] if end < 0 else source[at:end]
            at = len(source) if end < 0 else end + 1
            bare = row.lstrip(b"\t") if one.is_indented else row
            # a row that ends with a backslash goes on, unless the delimiter is quoted
            is_ended = bare == one.delimiter and not is_continued
            is_continued = not one.is_quoted and (len(row) - len(row.rstrip(b"\\"))) % 2 == 1
            if not is_ended:
                rows.append(bare)
            elif end >= 0:
                # the row behind the document begins a new command
                at = end
        if not is_ended:
            taken.doubts.append("a here-document has no end")
        body = b"".join(row + b"\n" for row in rows)
        taken.documents.append(HereDocument(one.start, "<<-" if one.is_indented else "<<", start, body, one.is_quoted))
        taken.source[start:at] = re.sub(rb"[^\n]", b" ", source[start:at])
        if pending[-1] is not one and at < len(source):
            at += 1
    pending.clear()
    return at
