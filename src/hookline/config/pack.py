"""Packs: hooks and their scripts in one file that people can hand to each other.

A pack is TOML: `[pack]` says what it is, `[[hook]]` tables are those of `hookline.toml`, and each `[[file]]` carries
one script. Paths in it are counted from the folder it is unpacked to. A pack comes from another person, so nothing in
it is taken on trust: a path cannot leave its folder, and a content that is not what its hash says is refused.
"""

import base64
import binascii
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

from hookline.config import toml
from hookline.config.document import Document, KeyPath
from hookline.config.keys import describe
from hookline.errors import ConfigError
from hookline.text import printable, quote, suggest
from hookline.version import __version__

FORMAT: Final = 1
# what a user can still read before saying yes
MAX_BYTES: Final = 1_048_576
MAX_FILES: Final = 200
MAX_HOOKS: Final = 200
SETTINGS: Final = "hookline.toml"
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_INTRO: Final = "# Hooks to share. Install them with `hookline add --from FILE`; they run after you approved them.\n"
_TABLES: Final = ("pack", "hook", "file")
_PACK_KEYS: Final = ("format", "name", "version", "made_with")
_FILE_KEYS: Final = ("path", "sha256", "executable", "encoding", "content")
_GIT: Final = ".git"
# names that other systems cannot have as a file's
_AWKWARD: Final = re.compile(
    r'[\x00-\x1f\x7f<>:"|?*\\]|[. ]$|^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)', re.IGNORECASE
)


class PackFile(Struct, frozen=True, kw_only=True):
    """One file of a pack; `path` is relative, with slashes."""

    path: str
    content: bytes
    executable: bool = False


class Pack(Struct, frozen=True, kw_only=True):
    """Hooks as tables of `hookline.toml`, and the files they need."""

    name: str
    hooks: tuple[Mapping[str, object], ...]
    files: tuple[PackFile, ...] = ()
    version: str = ""
    made_with: str = f"hookline {__version__}"


# writing


def write(pack: Pack) -> str:
    """Return a pack as the text of one file.

    Raises:
        ConfigError: It is too large, or one of its names could not be read back.
    """
    head = {"format": FORMAT, "name": pack.name, "version": pack.version, "made_with": pack.made_with}
    text = "\n".join(
        [_INTRO + _table("[pack]", head), *(_table("[[hook]]", hook) for hook in pack.hooks), *map(_file, pack.files)]
    )
    read(text, path=f"{pack.name}.toml")
    return text


def settings_text(pack: Pack) -> str:
    """Return the text of the `hookline.toml` that a pack is unpacked to."""
    version = f" {pack.version}" if pack.version else ""
    head = f"# {printable(pack.name)}{printable(version)}, unpacked from a shared file\n"
    return "\n".join([head, *(_table("[[hook]]", hook) for hook in pack.hooks)])


def _table(header: str, entry: Mapping[str, object]) -> str:
    lines = [f"{toml.key_line((key,), item)}\n" for key, item in entry.items() if item != ""]
    return f"{header}\n{''.join(lines)}"


def _file(file: PackFile) -> str:
    table = {"path": file.path, "sha256": hashlib.sha256(file.content).hexdigest(), "executable": file.executable}
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        encoded = {"encoding": "base64", "content": base64.b64encode(file.content).decode()}
        return _table("[[file]]", {**table, **encoded})
    # as people can read it, where TOML can say it exactly
    plain = "'''" not in text and not text.endswith("'") and all(c in "\n\t" or c.isprintable() for c in text)
    content = f"'''\n{text}'''" if plain else toml.to_item(text, multiline=False).as_string()
    return f"{_table('[[file]]', table)}content = {content}\n"


# reading


def read_file(path: Path) -> Pack:
    """Read a pack from a file.

    Raises:
        ConfigError: There is none, or it is no pack.
    """
    # base64 takes a third more, and hooks have to be said, too
    most = 2 * MAX_BYTES
    try:
        if not path.is_file():
            raise ConfigError("there is no such file", path=str(path))
        with path.open("rb") as stream:
            raw = stream.read(most + 1)
    except OSError as problem:
        raise ConfigError(f"the file cannot be read: {problem.strerror}", path=str(path)) from None
    if len(raw) > most:
        raise ConfigError(f"the file is larger than {most // 1024} KB; a pack is not", path=str(path))
    try:
        return read(raw.decode("utf-8-sig"), path=str(path))
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8", path=str(path), line=1) from None


def read(text: str, *, path: str) -> Pack:
    """Read a pack.

    Raises:
        ConfigError: It is none, or one that does not keep its promises; the message says the line.
    """
    document = toml.parse(text, path=path)
    reader = _PackReader(document, path)
    found = reader.table(document.value, (), known=_TABLES)
    head = reader.table(found.get("pack"), ("pack",), known=_PACK_KEYS)
    if head.get("format") != FORMAT:
        raise reader.wrong(
            ("pack", "format"), f"this is no pack of format {FORMAT}; it says {describe(head.get('format'))}"
        )
    name = reader.text(head, ("pack", "name"))
    if not NAME.fullmatch(name) or _AWKWARD.search(name):
        raise reader.wrong(("pack", "name"), f"{quote(name)} is no name for a pack: letters, digits, dots and dashes")
    return Pack(
        name=name,
        hooks=reader.hooks(found.get("hook")),
        files=reader.files(found.get("file", [])),
        **{key: reader.text(head, ("pack", key), default="") for key in ("version", "made_with")},
    )


class _PackReader:
    """Read the parts of one document, each wrong one with its line."""

    def __init__(self, document: Document, path: str) -> None:
        self._document = document
        self._path = path

    def wrong(self, where: KeyPath, message: str) -> ConfigError:
        return ConfigError(message, path=self._path, line=self._document.line_of(where))

    def table(self, value: object, where: KeyPath, *, known: Iterable[str]) -> Mapping[str, object]:
        if not isinstance(value, Mapping):
            raise self.wrong(where, f"wanted a table [{where[0] if where else 'pack'}], got {describe(value)}")
        for key in value:
            if key not in known:
                raise self.wrong((*where, key), f"unknown key {quote(key)} in a pack{suggest(key, known)}")
        return value

    def text(self, table: Mapping[str, object], where: KeyPath, *, default: str | None = None) -> str:
        key = str(where[-1])
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(where, f"{key}: wanted a text, got {describe(value)}")
        return value

    def tables(self, value: object, name: str) -> list[Mapping[str, object]]:
        if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
            raise self.wrong((name,), f"wanted [[{name}]] tables, got {describe(value)}")
        return value

    def hooks(self, value: object) -> tuple[Mapping[str, object], ...]:
        hooks = self.tables(value, "hook")
        if not hooks:
            raise self.wrong(("hook",), "there is no hook in this pack")
        if len(hooks) > MAX_HOOKS:
            raise self.wrong(("hook",), f"a pack has at most {MAX_HOOKS} hooks, this one has {len(hooks)}")
        for place, entry in enumerate(hooks):
            self.text(entry, ("hook", place, "name"))
        return tuple(hooks)

    def files(self, value: object) -> tuple[PackFile, ...]:
        entries = self.tables(value, "file")
        if len(entries) > MAX_FILES:
            raise self.wrong(("file",), f"a pack has at most {MAX_FILES} files, this one has {len(entries)}")
        found: dict[str, PackFile] = {}
        size = 0
        for place, entry in enumerate(entries):
            file = self._file(self.table(entry, ("file", place), known=_FILE_KEYS), ("file", place))
            # the disk of the next person may not tell A from a
            if file.path.casefold() in found:
                raise self.wrong(("file", place, "path"), f"{quote(file.path)} is in this pack twice")
            size += len(file.content)
            if size > MAX_BYTES:
                raise self.wrong(("file", place), f"the files of a pack may have {MAX_BYTES // 1024} KB together")
            found[file.path.casefold()] = file
        for place, path in enumerate(found):
            for parent in PurePosixPath(path).parents:
                if str(parent) in found:
                    raise self.wrong(("file", place, "path"), f"{quote(str(parent))} is a file and a folder at once")
        return tuple(found.values())

    def _file(self, entry: Mapping[str, object], where: KeyPath) -> PackFile:
        path = self.text(entry, (*where, "path"))
        if objection := _path_problem(path):
            raise self.wrong((*where, "path"), f"{quote(path)} {objection}")
        executable = entry.get("executable", False)
        if not isinstance(executable, bool):
            raise self.wrong((*where, "executable"), f"executable: wanted true or false, got {describe(executable)}")
        said = self.text(entry, (*where, "content"))
        encoding = self.text(entry, (*where, "encoding"), default="")
        if encoding not in {"", "base64"}:
            raise self.wrong((*where, "encoding"), f'encoding: wanted "base64" or nothing, got {quote(encoding)}')
        try:
            content = base64.b64decode(said, validate=True) if encoding else said.encode()
        except (binascii.Error, ValueError):
            raise self.wrong((*where, "content"), "this is no base64") from None
        promised = self.text(entry, (*where, "sha256"))
        if hashlib.sha256(content).hexdigest() != promised:
            raise self.wrong((*where, "sha256"), f"the content of {quote(path)} is not what its sha256 says")
        return PackFile(path=path, content=content, executable=executable)


def _path_problem(path: str) -> str:
    """Return why a file of a pack cannot lie there."""
    steps = path.split("/")
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return "is absolute; files of a pack lie in its own folder"
    if any(step in {"", ".", ".."} for step in steps):
        return "leads out of the pack, or nowhere"
    if any(_AWKWARD.search(step) for step in steps) or not path.isprintable():
        return "is no name for a file on every system"
    if any(step.casefold() == _GIT for step in steps):
        return "is git's own, and says which programs git starts"
    if path.casefold() == SETTINGS:
        return "is where the hooks of the pack are written"
    return ""


# unpacking


def install(pack: Pack, packs: Path) -> Path:
    """Unpack a pack into a folder of its own below `packs`, all of it or nothing, and give that folder.

    Raises:
        ConfigError: There is one of that name already, or the disk objects.
    """
    folder = packs / pack.name
    if os.path.lexists(folder):
        raise ConfigError(f"there is a pack {quote(pack.name)} already; move it away first", path=str(folder))
    try:
        packs.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{pack.name}.", dir=packs))
        try:
            for file in (*pack.files, PackFile(path=SETTINGS, content=settings_text(pack).encode())):
                path = fresh / file.path
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.write_bytes(file.content)
                path.chmod(0o700 if file.executable else 0o600)
            fresh.rename(folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    except OSError as problem:
        raise ConfigError(f"the pack cannot be unpacked: {problem.strerror}", path=str(folder)) from None
    return folder
