"""What a process did, as strace saw it, and the smallest sandbox that lets it do the same."""

import os
import re
import shutil
import socket
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.sandbox import LEVELS, PROJECT, READ_ONLY, SHARED, UNIX, Sandbox
from hookline.model.workspace_paths import is_inside
from hookline.process.containment import Cell, CellKey, Containment, list_obeyed, outermost

_OUTPUT: Final = "calls"

# the calls that write to what they name, and which of their words name it
_CHANGING: Final[Mapping[str, tuple[int, ...]]] = {
    **dict.fromkeys(("mkdir", "rmdir", "unlink", "truncate", "creat", "chmod", "chown", "lchown", "mknod"), (0,)),
    **dict.fromkeys(("utime", "utimes", "setxattr", "lsetxattr"), (0,)),
    **dict.fromkeys(("mkdirat", "unlinkat", "fchmodat", "fchownat", "mknodat", "utimensat"), (0,)),
    **dict.fromkeys(("rename", "renameat", "renameat2"), (0, 1)),
    **dict.fromkeys(("link", "linkat", "symlink", "symlinkat"), (1,)),
}
_OPENING: Final = ("open", "openat", "openat2")
_OTHER: Final = ("chdir", "fchdir", "clone", "clone3", "fork", "vfork", "connect", "sendto", "sendmsg", "sendmmsg")
_WRITING: Final = re.compile(r"\bO_(?:WRONLY|RDWR|CREAT|TRUNC)\b")

_CALL: Final = re.compile(r"(?P<name>\w+)\((?P<words>.*)\)\s+= (?P<result>-?\d+|0x[0-9a-f]+|\?)(?:<(?P<path>[^>]*)>)?")
# a text, and the folder that it is counted from where the call names one
_TEXT: Final = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<text>(?:\\x[0-9a-f]{2})*)"')
_FOLDER: Final = re.compile(r"\d+<(?P<folder>[^>]*)>")
_INTERNET: Final = re.compile(
    r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"((?:\\x[0-9a-f]{2})*)"'
)
_UNIX: Final = re.compile(r'sun_path=(@?)"((?:\\x[0-9a-f]{2})*)"')
_BYTE: Final = re.compile(r"\\x([0-9a-f]{2})")

_DNS_PORT: Final = 53
_DNS_HEADER: Final = 12
_DNS_QUERY: Final = b"\0\1"
_LABEL: Final = re.compile(rb"[A-Za-z0-9_-]{1,63}")

# nothing there stays, or belongs to a folder
_NOT_FILES: Final = ("/dev", "/proc", "/sys")


class Footprint(Struct, frozen=True, kw_only=True):
    """What a process and everything that it started did: paths that it changed and read, and whom it talked to.

    `endpoints` are addresses and ports, `names` the hosts that it looked up.
    """

    written: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    endpoints: frozenset[tuple[str, int]] = frozenset()
    names: frozenset[str] = frozenset()
    sockets: frozenset[str] = frozenset()


class Tracer(Containment):
    """Has processes watched by strace; it contains nothing."""

    def __init__(self, strace: str) -> None:
        """Take the path of strace."""
        super().__init__()
        self._strace = strace
        self._folder = os.path.realpath(tempfile.mkdtemp(prefix="hookline-trace-"))
        self.tmp = os.path.realpath(tempfile.mkdtemp(prefix="hookline-hook-"))

    def acquire(self, key: CellKey) -> Cell:
        """Return a cell whose processes are watched."""
        names = ",".join(f"?{name}" for name in (*_OPENING, *_CHANGING, *_OTHER))
        words = (self._strace, "-ff", "-y", "-xx", "-qq", "-s", "600", "-e", "signal=none", "-e", f"trace={names}")
        return Cell(
            key=key,
            layers=("uncontained",),
            wrapper=(*words, "-o", f"{self._folder}/{_OUTPUT}", "--"),
            variables=dict.fromkeys(("TMPDIR", "TMP", "TEMP"), self.tmp),
        )

    def read_footprint(self, cwd: str) -> Footprint | None:
        """Return what the processes did that started in a folder; None where nothing could be watched."""
        logs = {
            int(path.suffix[1:]): path.read_text("ascii", "replace").splitlines()
            for path in Path(self._folder).glob(f"{_OUTPUT}.*")
        }
        return read_calls(logs, cwd) if logs else None

    def remove(self) -> None:
        """Remove what was written down, and the temporary folder."""
        for folder in (self._folder, self.tmp):
            shutil.rmtree(folder, ignore_errors=True)


def read_calls(logs: Mapping[int, Iterable[str]], cwd: str) -> Footprint:
    """Read the lines that strace wrote for each process."""
    reader = _SyscallLog(cwd)
    children: dict[int, str] = {}
    # a process has a higher number than its parent, but where the numbers start again
    for pid, lines in sorted(logs.items()):
        reader.read(lines, children.get(pid, cwd), children)
    return reader.footprint()


class _SyscallLog:
    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._written: set[str] = set()
        self._read: set[str] = set()
        self._endpoints: set[tuple[str, int]] = set()
        self._names: set[str] = set()
        self._sockets: set[str] = set()

    def read(self, lines: Iterable[str], cwd: str, children: dict[int, str]) -> None:
        """Read the calls of a process; `children` gets the folders in which those that it makes start."""
        self._cwd = cwd
        for line in lines:
            call = _CALL.match(line)
            if call is None:
                continue
            name, words, result = call["name"], call["words"], call["result"]
            is_done = not result.startswith(("-", "?"))
            if name == "connect" and (is_done or "EINPROGRESS" in line):
                self._add_peer(words)
            elif name.startswith("send"):
                self._names |= set(_list_queries(words))
            elif not is_done:
                continue
            elif name in {"clone", "clone3", "fork", "vfork"}:
                children[int(result)] = self._cwd
            elif name in {"chdir", "fchdir"}:
                self._change_folder(words)
            elif name in _OPENING:
                path = _decode(call["path"] or "")
                (self._written if _WRITING.search(words) else self._read).add(path)
            elif name in _CHANGING:
                paths = list(self._list_paths(words))
                self._written |= {paths[place] for place in _CHANGING[name] if place < len(paths)}

    def footprint(self) -> Footprint:
        """Return what was read."""
        return Footprint(
            written=frozenset(_list_files(self._written)),
            read=frozenset(_list_files(self._read)),
            endpoints=frozenset(self._endpoints),
            names=frozenset(self._names),
            sockets=frozenset(self._sockets),
        )

    def _list_paths(self, words: str) -> Iterator[str]:
        for found in _TEXT.finditer(words):
            folder = _decode(found["folder"]) if found["folder"] else self._cwd
            yield os.path.normpath(os.path.join(folder, _decode(found["text"])))  # noqa: PTH118 - texts

    def _change_folder(self, words: str) -> None:
        if found := _FOLDER.match(words):
            self._cwd = _decode(found["folder"])
        else:
            self._cwd = next(self._list_paths(words), self._cwd)

    def _add_peer(self, words: str) -> None:
        if (found := _INTERNET.search(words)) is not None:
            if int(found[1]) not in {0, _DNS_PORT}:  # port 0 only asks for the way
                self._endpoints.add((_decode(found[2]), int(found[1])))
        elif (found := _UNIX.search(words)) is not None:
            self._sockets.add(f"{found[1]}{_decode(found[2])}")


class RunFolders(Struct, frozen=True, kw_only=True):
    """Where a process ran: real paths, and the `entries` that the project had before."""

    project: str
    home: str
    tmp: str
    entries: frozenset[str] = frozenset()


def suggest_sandbox(footprint: Footprint, around: RunFolders, *, env: Collection[str] = ()) -> Sandbox:
    """Return the smallest sandbox in which a process can do again what it did, with these variables of the user."""
    project, home = around.project, around.home
    written = {path for path in footprint.written if not is_inside(path, (around.tmp,))}
    shared_tmp = os.path.realpath(tempfile.gettempdir())
    inside = {path for path in written if is_inside(path, (project,))}
    temporary = {path for path in written - inside if is_inside(path, (shared_tmp,)) and not is_inside(path, (home,))}
    folders = {_collapse(path, around) for path in inside}
    write = {"."} if "." in folders else folders
    # what others obey is protected inside of a folder, unless it is named
    obeyed = (one for one in list_obeyed([project], [project]) if any(is_inside(path, (one,)) for path in inside))
    write |= {os.path.relpath(path, project) for path in obeyed}
    write |= set(outermost(_shorten(path, home) for path in written - inside - temporary))
    base = LEVELS[PROJECT] if "." in write else LEVELS[READ_ONLY]
    sandbox = replace(
        base,
        write=tuple(sorted(write)),
        net=_suggest_network(footprint),
        env=tuple(sorted(env)),
        tmp=SHARED if temporary else base.tmp,
    )
    return replace(sandbox, level=PROJECT) if write else sandbox


def _collapse(path: str, around: RunFolders) -> str:
    """Return the top-most folder inside a project for a path in it."""
    parts = Path(os.path.relpath(path, around.project)).parts
    first, rest = parts[0] if parts else ".", parts[1:]
    if first != "." and (rest or os.path.isdir(os.path.join(around.project, first))):  # noqa: PTH112, PTH118 - texts
        return f"{first}/**"
    # a file that did not exist can only be made where the folder can be written
    return first if first in around.entries else "."


def _shorten(path: str, home: str) -> str:
    folder = path if os.path.isdir(path) else os.path.dirname(path)  # noqa: PTH112, PTH120 - texts
    if folder in {home, "/"}:
        folder = path
    return f"~/{os.path.relpath(folder, home)}" if is_inside(folder, (home,)) and folder != home else folder


def _suggest_network(footprint: Footprint) -> bool | tuple[str, ...]:
    unix = (UNIX,) if footprint.sockets else ()
    if not footprint.endpoints:
        return unix or False
    addresses = {name: set(_look_up(name)) for name in footprint.names | {"localhost"}}
    hosts: set[str] = set()
    for address, port in footprint.endpoints:
        name = next((name for name, known in sorted(addresses.items()) if address in known), "")
        if not name:
            return True
        hosts.add(f"{name}:{port}")
    return (*sorted(hosts), *unix)


def _look_up(name: str) -> Iterator[str]:
    with suppress(OSError, UnicodeError):
        for *_, address in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM):
            yield str(address[0])


def _list_queries(words: str) -> Iterator[str]:
    """Yield the names that a call asks a name server for."""
    for found in _TEXT.finditer(words):
        raw = _decode_bytes(found["text"])
        if len(raw) <= _DNS_HEADER or raw[4:6] != _DNS_QUERY or raw[6:10] != bytes(4):
            continue
        labels: list[bytes] = []
        place = _DNS_HEADER
        while place < len(raw) and 0 < raw[place] < 64:  # noqa: PLR2004 - the longest label
            labels.append(raw[place + 1 : place + 1 + raw[place]])
            place += raw[place] + 1
        if len(labels) > 1 and all(map(_LABEL.fullmatch, labels)):
            yield b".".join(labels).decode("ascii").lower()


def _list_files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        is_file = path.startswith("/") and not path.startswith("/memfd:")
        if is_file and not is_inside(path, _NOT_FILES):
            yield path.removesuffix(" (deleted)")


def _decode(text: str) -> str:
    return os.fsdecode(_decode_bytes(text))


def _decode_bytes(text: str) -> bytes:
    return bytes(int(found, 16) for found in _BYTE.findall(text))
