"""The files that a contained process may use: all but the secrets of the user, as a ruleset of landlock.

Secrets are keys, tokens, histories, browser profiles. A ruleset also says which TCP ports a process may use.
"""
# paths are texts here: they are compared and encoded, hundreds at a time
# ruff: noqa: PTH112, PTH116, PTH120, SIM905

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from hookline.model.workspace_paths import is_inside
from hookline.process import native

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


# below the home folder; a name with a star stands for every file that matches
_HOME: Final = (
    # keys and tokens
    *".local/share/hookline .ssh .gnupg .aws .azure .oci .config/gcloud .config/doctl .config/hcloud .kube .docker .netrc".split(),
    *".authinfo .authinfo.gpg .git-credentials .config/git/credentials .config/gh .config/glab-cli .config/hub .pypirc".split(),
    *".npmrc .yarnrc.yml .gem/credentials .cargo/credentials .cargo/credentials.toml .m2/settings.xml .config/op".split(),
    *".config/rclone .config/sops .age .vault-token .terraform.d .terraformrc .pgpass .my.cnf .mylogin.cnf .boto .s3cfg".split(),
    *".databrickscfg .snowflake .fly .huggingface .cache/huggingface/token .password-store .config/anthropic".split(),
    *".config/openai .local/share/keyrings .local/share/kwalletd .pki Library/Keychains .ollama/id_ed25519".split(),
    *".config/containers/auth.json .config/pip .pip .config/helm/registry .config/stripe .config/ngrok .ngrok2".split(),
    *".config/netlify .config/.wrangler .local/share/com.vercel.cli .config/heroku .config/configstore .putty".split(),
    *".config/filezilla .config/solana .bitcoin .ethereum .electrum .config/linode-cli".split(),
    # what agents log in with
    *".claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .gemini/google_accounts.json".split(),
    *".gemini/mcp-oauth-tokens.json .qwen/oauth_creds.json .copilot/config.json .config/github-copilot".split(),
    *".local/share/opencode/auth.json .cursor/mcp.json .config/cursor/auth.json .factory/auth.json .codeium/config.json".split(),
    # browsers and messengers
    *".mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge".split(),
    *".config/vivaldi .config/opera snap/firefox snap/chromium .var/app/org.mozilla.firefox .config/Signal".split(),
    *".aider.conf.yml .kiro/auth.json .config/Slack .config/discord .config/Bitwarden .config/1Password".split(),
    *".librewolf .zen".split(),
    # what editors keep for their extensions, tokens among it
    *".config/Code/User/globalStorage .config/Cursor/User/globalStorage .config/VSCodium/User/globalStorage".split(),
    *".config/Windsurf/User/globalStorage .vscode-server/data/User/globalStorage".split(),
    *("Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Cookies"),
    # commands that were typed, often with a password in them
    *".*_history .zsh_sessions .local/share/fish/fish_history .local/share/atuin .lesshst .viminfo".split(),
)
_SYSTEM: Final = (
    *"/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private".split(),
    *"/etc/krb5.keytab /etc/kubernetes /run/secrets /run/user /var/run/secrets /var/lib/kubelet".split(),
)
_HOST_KEYS: Final = "/etc/ssh"
_HOST_KEY_NAME: Final = "ssh_host_*_key"


class Secrets:
    """The secrets of a user that exist, as real paths, and the folders in which others may appear."""

    def __init__(self, home: str, others: tuple[str, ...] = ()) -> None:
        """Take the home folder, and further secrets, such as Hookline's own folders."""
        home = os.path.realpath(home)
        # root reads the files of everybody
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        others_homes = ("/root", *map(str, Path("/home").glob("*"))) if is_root else ()
        homes = {home, *map(os.path.realpath, others_homes)}
        own = (*others, *(f"{one}/{name}" for one in sorted(homes) for name in _HOME))
        system = (*_SYSTEM, *map(str, Path(_HOST_KEYS).glob(_HOST_KEY_NAME)))
        found = {os.path.realpath(path) for path in (*_expand(own), *system) if os.path.lexists(path)}
        found = found.union(*map(_alias_finder(), found))
        self.paths = tuple(sorted(found - {"/", *homes}))
        self.folders = frozenset(map(_find_folder, own))

    def hides(self, path: str) -> bool:
        """Return whether a path is one of them or lies in one."""
        real = os.path.realpath(path)
        return any(real == secret or real.startswith(f"{secret}/") for secret in self.paths)


def _expand(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        folder, _, name = path.rpartition("/")
        if "*" in name:
            yield from map(str, Path(folder).glob(name))
        else:
            yield path


def _find_folder(path: str) -> str:
    """Return the innermost existing folder around a path, as a real path."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return os.path.realpath(folder)


def _alias_finder() -> Callable[[str], set[str]]:
    """Return a function that finds the other paths of a file, where its file system is mounted more than once.

    A landlock rule is one for a folder, whatever path leads there: allowing `/run/host` of a toolbox, which is the same disk,
    would allow the home folder too.
    """
    mounts: list[tuple[str, str, str]] = []
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            for line in file:
                device, root, place = line.split(" ", 5)[2:5]
                mounts.append((device, _decode(root), _decode(place)))
    except OSError:
        return lambda _path: set()
    # of mounts at the same place, the last one is seen
    mounts.reverse()
    nested = sorted(mounts, key=lambda mount: len(mount[2]), reverse=True)

    def find(path: str) -> set[str]:
        device, root, place = next((one for one in nested if _cut(path, one[2]) is not None), ("", "", ""))
        inner = _join(root, _cut(path, place) or "")
        found = set()
        for other, other_root, other_place in mounts:
            if other == device:
                if (rest := _cut(inner, other_root)) is not None:
                    found.add(_join(other_place, rest))
                elif _cut(other_root, inner) is not None:
                    found.add(other_place)
        return found

    return find


def _decode(field: str) -> str:
    """Return a path of the list of mounts, in which a few characters are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field) if "\\" in field else field


def _cut(path: str, folder: str) -> str | None:
    """Return what follows the folder in a path; None if it lies elsewhere."""
    folder = folder.rstrip("/")
    if path == folder:
        return ""
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def _join(folder: str, rest: str) -> str:
    return f"{folder.rstrip('/')}/{rest}".rstrip("/") or "/"


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
