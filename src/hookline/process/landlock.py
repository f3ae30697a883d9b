"""Rulesets of landlock: which files and TCP ports a process may use."""

# paths are texts here: they are compared and encoded, hundreds at a time
# ruff: noqa: PTH116

import os
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from hookline.model.workspace_paths import is_inside
from hookline.process import native
from hookline.process.secrets import Secrets

# landlock's rights to files, by their bits
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL_DEVICE = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_ALL_RIGHTS: Final = (1 << 16) - 1
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_CONNECT_TCP: Final = 2
_ANY_TCP: Final = 3
_ANY_SCOPE: Final = 3
# how many rights to files a version of landlock knows
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_RIGHTS: Final = 16
# the versions that know truncation, TCP ports, and signals and abstract sockets
TRUNCATES_SINCE: Final = 3
PORTS_SINCE: Final = 4
SCOPES_SINCE: Final = 6
# what is meant for a folder and refused for a file
_FILE_RIGHTS: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE


class Listing:
    """The entries of a folder that has a secret somewhere in it, each of which was allowed by itself.

    Programs replace files in the home folder all the time, mostly those that are secrets: only other entries matter.
    """

    def __init__(self, path: str, secrets: frozenset[str]) -> None:
        self._path = path
        self._secrets = secrets
        self._time = read_mtime(self._path)
        self.entries = self._list()

    def is_current(self) -> bool:
        """Return whether the folder still has the same entries."""
        if (now := read_mtime(self._path)) == self._time:
            return True
        if self._list() != self.entries:
            return False
        self._time = now
        return True

    def _list(self) -> frozenset[tuple[str, int]]:
        # a rule for a link would be one for what it leads to
        try:
            with os.scandir(self._path) as entries:
                return frozenset(
                    (entry.path, entry.inode())
                    for entry in entries
                    if not entry.is_symlink() and entry.path not in self._secrets
                )
        except OSError:
            return frozenset()


class Ruleset:
    """A landlock ruleset under construction."""

    def __init__(self, version: int, secrets: Secrets, *, has_network: bool) -> None:
        # devices are allowed by name: a disk has every secret of the machine on it
        self._secrets = frozenset((*secrets.paths, "/dev"))
        # a secret that appears later in one of the folders is none of the entries that were allowed
        above = {PurePosixPath(secret).parent for secret in self._secrets} | set(map(PurePosixPath, secrets.folders))
        self._above_secrets = {str(folder) for path in above for folder in (path, *path.parents)}
        rights = (1 << _RIGHTS.get(version, _NEWEST_RIGHTS)) - 1
        self._write = rights & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEVICE)
        # there is no rule for all ports
        self._has_ports = version >= PORTS_SINCE and not has_network
        self.listings: dict[str, Listing] = {}
        self.descriptor = native.create_ruleset(
            files=rights, ports=_ANY_TCP if self._has_ports else 0, scopes=_ANY_SCOPE if version >= SCOPES_SINCE else 0
        )

    def allow(self, readable: Iterable[str], writable: Iterable[str], *, devices: Iterable[str], port: int) -> None:
        """Add rules for files and folders; of what lies in a secret, nothing is allowed."""
        for paths, access in ((readable, _READ), (writable, self._write)):
            for path in paths:
                if not is_inside(path, self._secrets):
                    self._allow_without_secrets(path, access)
        for path in devices:
            self._add(path, _READ_FILE | _WRITE_FILE)
        if port and self._has_ports:
            native.allow_port(self.descriptor, port, access=_CONNECT_TCP)

    def _allow_without_secrets(self, path: str, access: int) -> None:
        """Allow a folder; one with a secret somewhere in it is listed, and each of its entries allowed by itself."""
        if path in self._secrets:
            return
        if path not in self._above_secrets:
            self._add(path, access)
            return
        listing = self.listings.setdefault(path, Listing(path, self._secrets))
        for entry, _inode in listing.entries:
            self._allow_without_secrets(entry, access)

    def _add(self, path: str, access: int) -> None:
        native.allow_path(self.descriptor, path, access=access, directory_only=~_FILE_RIGHTS & _ALL_RIGHTS)


def read_mtime(folder: str) -> int:
    """Return when a folder was changed last, 0 where it cannot be read."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
