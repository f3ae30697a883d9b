"""Take here-documents out of a script before it is parsed.

tree-sitter-bash reads a command with several here-documents, or with `;` behind one, as an error. Each `<<WORD` is
replaced by `<HHHH` of the same length and its text by blanks, so that all offsets stay as they are.
"""

import re
from typing import Final

from msgspec import Struct

_OPERATOR: Final = re.compile(rb"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;&|<>()'\"\\`$#])+)")
_QUOTES: Final = re.compile(rb"['\"\\]")
_QUOTATION: Final = re.compile(rb"'[^']*(?:'|\Z)")
_ANSI_QUOTATION: Final = re.compile(rb"'(?:[^'\\]|\\.|\\\Z)*(?:'|\Z)", re.DOTALL)


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


def take_heredocs(source: bytes) -> tuple[bytes, dict[int, HereDocument], list[str]]:
    """Return the source without here-documents, these by the offset of their operator, and what was doubtful."""
    documents: dict[int, HereDocument] = {}
    doubts: list[str] = []
    if b"<<" not in source:
        return source, documents, doubts
    changed = bytearray(source)
    # contexts: `(` for commands, `"` for double quotes, `{` for `${…}`, a backtick, and `+` for arithmetic
    stack = [b"("]
    pending: list[_Pending] = []
    at, size = 0, len(source)
    while at < size:
        char, context = source[at : at + 1], stack[-1]
        step = 1
        if char == b"\\":
            step = 2
        elif char == b"'" and context in {b"(", b"`", b"{"}:
            is_ansi = at > 0 and source[at - 1 : at] == b"$"
            quotation = (_ANSI_QUOTATION if is_ansi else _QUOTATION).match(source, at)
            step = len(quotation[0]) if quotation else 1
        elif char in {b'"', b"`"}:
            stack.pop() if context == char else stack.append(char)
        elif source.startswith(b"$((", at) or (source.startswith(b"((", at) and context == b"("):
            # three characters of `$((`, two of `((`: both end with `))`
            stack += [b"+", b"+"]
            step = 3 if char == b"$" else 2
        elif source.startswith((b"$(", b"${"), at):
            stack.append(source[at + 1 : at + 2])
            step = 2
        elif char == b"(" and context in {b"(", b"+", b"`"}:
            stack.append(b"+" if context == b"+" else b"(")
        elif (char == b")" and context in {b"(", b"+"} and len(stack) > 1) or (char == b"}" and context == b"{"):
            stack.pop()
        elif char == b"#" and context in {b"(", b"`"} and (not at or source[at - 1 : at] in b" \t\n;&|("):
            end = source.find(b"\n", at)
            step = (end if end >= 0 else size) - at
        elif source.startswith(b"<<<", at):
            step = 3
        elif source.startswith(b"<<", at) and context in {b"(", b"`"}:
            found = _OPERATOR.match(source, at)
            step = len(found[0]) if found else 2
            if found:
                delimiter = re.sub(rb"['\"]|\\(?=.)", b"", found[2])
                pending.append(_Pending(at, delimiter, _QUOTES.search(found[2]) is not None, bool(found[1])))
                changed[at : at + step] = b"<" + b"H" * (step - 1)
            else:
                doubts.append("the delimiter of a here-document cannot be read")
        elif char == b"\n" and pending and context != b'"':
            for one in pending:
                # behind the end of row, of the command or of the document before
                at = min(at + 1, size)
                body, end, is_ended = _read_body(source, at, one)
                if not is_ended:
                    doubts.append("a here-document has no end")
                sign = "<<-" if one.is_indented else "<<"
                documents[one.start] = HereDocument(one.start, sign, at, body, one.is_quoted)
                changed[at:end] = re.sub(rb"[^\n]", b" ", source[at:end])
                at = end
            pending.clear()
            step = 0
        at += step
    if pending:
        doubts.append("a here-document has no end")
    return bytes(changed), documents, doubts


def _read_body(source: bytes, at: int, pending: _Pending) -> tuple[bytes, int, bool]:
    """Return the text of a here-document, where its delimiter ends, and whether it has one."""
    rows: list[bytes] = []
    is_continued = False
    while at < len(source):
        end = source.find(b"\n", at)
        end = end if end >= 0 else len(source)
        row = source[at:end]
        bare = row.lstrip(b"\t") if pending.is_indented else row
        if bare == pending.delimiter and not is_continued:
            # the end of this row begins a new command
            return b"".join(rows), end, True
        rows.append(bare + b"\n")
        # a row that ends with a backslash goes on, unless the delimiter is quoted
        is_continued = not pending.is_quoted and (len(row) - len(row.rstrip(b"\\"))) % 2 == 1
        at = end + 1
    return b"".join(rows), len(source), False
