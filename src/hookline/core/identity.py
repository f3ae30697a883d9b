"""What a hook is, byte for byte: its definition and the content of every file it names."""
# paths are put together before every run, which costs many times more with pathlib
# ruff: noqa: PTH111, PTH113, PTH116, PTH118, PTH120, PTH122

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from os.path import dirname, expanduser, isfile, join, splitext
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline import wire
from hookline.model.hook import Hook

# Small scripts are read on every run. Of larger files, and of the program itself, the content is read again
# only when the file's identity changed: a user cannot set a file's ctime back.
ALWAYS_READ: Final = 65_536

# Where a hook stands, what it is called and whether it is switched on is not what it does: a comment above it,
# or another file loaded before it, must not ask again.
_NOT_IDENTITY: Final = (
    *("id", "enabled", "call", "layer", "root"),
    *("source_path", "source_line", "source_format", "source_pointer"),
)
_OPEN: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_SYNTAX: Final = re.compile(r"[\s;&|()<>`$~='\"{}]")
_OPERATORS: Final = re.compile(r"[\s;&|()<>`='\"{},]+")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_TILDE: Final = re.compile(r"(^|[\s=:'\"])~/")
_ENTERED: Final = re.compile(r"\b(?:cd|pushd)\s+[\"']?([^\s;&|\"']+)")
# what interpreters add to a name that has no ending
_IMPLIED: Final = (".js", ".mjs", ".cjs", "/index.js", ".py", ".sh")
_SCRIPTS: Final = frozenset({".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".bash", ".rb", ".pl", ".php", ".lua"})
_EMPTY: Final = b"\0empty"
_UNREADABLE: Final = b"\0unreadable: "


class _Known(Struct, frozen=True):
    """What about a hook stays the same from run to run, and the digest of the contents it had last."""

    hook: Hook
    cwd: str
    definition: bytes
    program: str
    files: tuple[str, ...]
    contents: list[bytes]
    digest: str


class Identities:
    """Compute digests, remembering what cannot have changed."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._contents: dict[str, tuple[tuple[int, ...], bytes]] = {}

    def digest(self, hook: Hook, cwd: str) -> str:
        """Compute the SHA-256 of what would run in this folder."""
        known = self._known.get(hook.id)
        if known is None or known.hook is not hook or known.cwd != cwd:
            program, *files = dict.fromkeys(_files(hook, cwd)) if hook.kind == "command" else ("", *_files(hook, cwd))
            known = _Known(hook, cwd, _definition(hook), program, tuple(files), [], "")
        contents = [self._content(path) for path in known.files]
        if known.program:
            contents.append(self._program(known.program))
        # the bytes themselves are compared with those of last time: quicker than to hash them again
        if not known.digest or contents != known.contents:
            names = (*known.files, known.program) if known.program else known.files
            digest = _digest(known.definition, names, contents)
            known = self._known[hook.id] = replace(known, contents=contents, digest=digest)
        return known.digest

    def borrowed(self, hook: Hook, cwd: str) -> str:
        """Name a script of the folder the agent works in that a person's own hook would run by a relative name.

        The person wrote the name, not what a cloned project puts there.
        """
        texts = [hook.command, *hook.args]
        for word in dict.fromkeys(word for text in texts for word in _words(text, _variables(hook, cwd))):
            path = join(cwd, expanduser(hook.working_directory), word)
            if word.startswith("/") and not word.startswith(join(cwd, "")):
                continue
            own = hook.source_path and path.startswith(join(dirname(hook.source_path), ""))
            if not own and isfile(path) and (splitext(path)[1] in _SCRIPTS or os.access(path, os.X_OK)):
                return word
        return ""

    def _content(self, path: str) -> bytes:
        """Read one file; empty when there is none. What cannot be read is what nobody approved."""
        try:
            handle = os.open(path, _OPEN)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except (OSError, ValueError) as problem:
            return _UNREADABLE + str(problem).encode("utf-8", "replace")
        try:
            text = os.read(handle, ALWAYS_READ + 1)
            return text or _EMPTY if len(text) <= ALWAYS_READ else self._large(path, handle)
        except IsADirectoryError:
            return b""
        except OSError as problem:
            return _UNREADABLE + str(problem).encode("utf-8", "replace")
        finally:
            os.close(handle)

    def _program(self, path: str) -> bytes:
        try:
            content = self._remembered(path, os.stat(path))
            if content:
                return content
            handle = os.open(path, _OPEN)
        except (OSError, ValueError):
            # found on PATH when it runs, or not at all
            return b""
        try:
            return self._large(path, handle)
        finally:
            os.close(handle)

    def _large(self, path: str, handle: int) -> bytes:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            return _UNREADABLE + b"not a file"
        content = self._remembered(path, info)
        if not content:
            os.lseek(handle, 0, os.SEEK_SET)
            with open(handle, "rb", buffering=0, closefd=False) as file:
                content = hashlib.file_digest(file, "sha256").digest()
            self._contents[path] = (_fingerprint(info), content)
        return content

    def _remembered(self, path: str, info: os.stat_result) -> bytes:
        known = self._contents.get(path)
        return known[1] if known is not None and known[0] == _fingerprint(info) else b""


def _digest(definition: bytes, names: tuple[str, ...], contents: list[bytes]) -> str:
    total = hashlib.sha256(definition)
    for name, content in zip(names, contents, strict=True):
        if content:
            total.update(f"\0{name.rpartition('/')[2]}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
            total.update(content)
    return total.hexdigest()


def _fingerprint(info: os.stat_result) -> tuple[int, ...]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _definition(hook: Hook) -> bytes:
    fields = {key: value for key, value in msgspec.structs.asdict(hook).items() if key not in _NOT_IDENTITY}
    return wire.dump(dict(sorted(fields.items())))


def _files(hook: Hook, cwd: str) -> Iterator[str]:
    """Name every file that may be part of what would run: words of the command, and modules.

    A name too many is only looked for; a script too few would run unseen.
    """
    base = join(cwd, expanduser(hook.working_directory))
    texts = [hook.command, *hook.args] if hook.command else []
    words = [word for text in texts for word in _words(text, _variables(hook, cwd))]
    entered = [join(base, word) for text in texts for word in _ENTERED.findall(text)]
    for place, word in enumerate(words):
        for folder in (base, *entered):
            yield join(folder, word)
            if "." not in word.rpartition("/")[2] and not word.startswith("/"):
                yield from (join(folder, f"{word}{ending}") for ending in _IMPLIED)
        if place and words[place - 1] == "-m":
            yield from _module_files(word, (base, *entered))
    # A definition read from a file carries the line it stands on; a hook registered by a program names
    # its script.
    if hook.source_path and not hook.source_line:
        yield join(base, hook.source_path)
    if hook.module:
        beside = dirname(join(cwd, hook.source_path))
        folders = (base, beside, join(beside, "hooks"), join(cwd, ".ollama", "hooks"), cwd)
        yield from _module_files(hook.module, folders)


def _variables(hook: Hook, cwd: str) -> dict[str, str]:
    own = {"PWD": cwd, "OLLAMA_PROJECT_DIR": cwd, "CLAUDE_PROJECT_DIR": cwd, "HOME": expanduser("~")}
    return {**own, **hook.env}


def _words(text: str, variables: Mapping[str, str]) -> list[str]:
    """Give a text as it is and, where a shell could read it otherwise, everything it could be read as."""
    if not _SYNTAX.search(text):
        return [text] if text and "\0" not in text else []
    filled = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), text.replace("\0", ""))
    filled = _TILDE.sub(lambda found: f"{found[1]}{variables['HOME']}/", filled)
    try:
        split = shlex.split(filled)
    except ValueError:
        split = []
    pieces = [piece for piece in _OPERATORS.split(filled) if piece]
    inside = [piece for word in split for piece in _OPERATORS.split(word) if piece]
    return list(dict.fromkeys([text, *split, *pieces, *inside]))


def _module_files(module: str, folders: Iterable[str]) -> Iterator[str]:
    """Name every file a dotted name could lead through; which is loaded, the kind decides when it runs."""
    parts = module.split(".")
    for folder in folders:
        for count in range(1, len(parts) + 1):
            path = join(folder, *parts[:count])
            yield from (f"{path}.py", join(path, "__init__.py"), join(path, "__main__.py"))
