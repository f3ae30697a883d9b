"""Find what documents name that is not there: files, headings, make targets."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_CODE_BLOCK: Final = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n(?P<body>.*?)(?:^ *\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE_SPAN: Final = re.compile(r"(`+)(?P<body>.+?)\1", re.DOTALL)
_INLINE_LINK: Final = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_REFERENCE: Final = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ANCHOR: Final = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
_SCHEME: Final = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_TARGET: Final = re.compile(r"^([a-z][a-z0-9_-]*):(?!=)", re.MULTILINE)
# one space between words: in a list of commands, more of it stands before what a command does
_MAKE: Final = re.compile(r"(?:^|[$;&|]\s+|^\s+)make((?: [A-Za-z][\w.-]*(?:=\S+)?)+)", re.MULTILINE)
_REPO_PATH: Final = re.compile(r"(?:src|tests|tools|docs|spec|\.ci)/[^\s`,;:)]*")
_PLACEHOLDER: Final = re.compile(r"[<>*{}…]|\.\.\.")


def broken_links(document: Path) -> list[str]:
    """List the relative links of a document that lead nowhere, headings included."""
    text = _CODE_SPAN.sub("", _CODE_BLOCK.sub("", document.read_text("utf-8")))
    links = [*_INLINE_LINK.findall(text), *_REFERENCE.findall(text)]
    return [link for link in links if not _SCHEME.match(link) and not _leads_somewhere(document, link)]


def _leads_somewhere(document: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in set(anchors(target.read_text("utf-8")))


def anchors(text: str) -> Iterator[str]:
    """Give the names under which a document's headings can be linked, as code hosts make them."""
    bare = _CODE_BLOCK.sub("", text)
    yield from _ANCHOR.findall(bare)
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(bare):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        yield f"{slug}-{count}" if count else slug


def code(text: str) -> Iterator[str]:
    """Give what a document sets as code: its blocks, and its spans."""
    yield from (match["body"] for match in _CODE_BLOCK.finditer(text))
    yield from (match["body"] for match in _CODE_SPAN.finditer(_CODE_BLOCK.sub("", text)))


def unknown_targets(text: str, makefile: str) -> list[str]:
    """List the make targets a document tells people to run that the Makefile does not have."""
    known = set(_TARGET.findall(makefile))
    named = [word for part in code(text) for words in _MAKE.findall(part) for word in words.split() if "=" not in word]
    return [name for name in dict.fromkeys(named) if name not in known]


def missing_paths(text: str, root: Path) -> list[str]:
    """List the files and folders of this repository that a document names and that are not there."""
    named = [path for part in code(text) for path in _REPO_PATH.findall(part) if not _PLACEHOLDER.search(path)]
    return [path for path in dict.fromkeys(named) if not (root / path.rstrip(".")).exists()]
