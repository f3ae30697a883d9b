"""What the built-in guards share: which files a call may touch or show, and what decides which hooks run."""
# called for each word of a command line, where pathlib is much slower
# ruff: noqa: PTH118, PTH207

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from glob import iglob
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.model.event import Event
from hookline.model.workspace_paths import is_inside
from hookline.shell.program import split_names

# names of files with keys, passwords and tokens, in lower case because not every file system is case-sensitive
_SECRETS: Final = split_names(
    ".env .env.* *.env .envrc id_rsa* id_dsa* id_ecdsa* id_ed25519* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx"
    " .ssh .gnupg .aws .azure .kube .docker .git .netrc _netrc .npmrc .yarnrc* .pypirc .git-credentials .htpasswd"
    " .pgpass .my.cnf credentials credentials.* *secret* *password* *.tfstate* *.tfvars* *.ovpn *_history .vault-token kubeconfig*"
    " *.keytab *.ppk *.agekey .s3cfg .boto .dockercfg service-account*.json"
)
_WILD: Final = frozenset("*?[")
_MOST_MATCHES: Final = 500
_MOST_WILD_PARTS: Final = 2
# names of files of one kind, as in src/**/*.py or *.{ts,tsx}; nothing hidden is among them
_NAMES: Final = re.compile(r"(?:[\w*-][\w*.-]*/|\./|/(?=\*))*[\w*-][\w*.-]*\.(\w+|\{\w+(?:,\w+)*\})", re.ASCII)
# extensions of files without secrets
_PROGRAM_TEXTS: Final = split_names(
    "c cc cjs cpp cs css cxx dart ex exs go h hpp hs html java jl js jsx kt kts less lua m md mdx mjs php pl proto py"
    " pyi r rb rs rst scala scss sh sql svelte swift ts tsx vue zig"
)
# arguments that name the directory a tool runs in
FOLDER_KEYS: Final = ("cwd", "working_directory", "workdir", "workingDirectory", "directory", "dir_path")


class Boundaries(Struct, frozen=True):
    """The project, the user's home, and every directory that relative paths may refer to.

    All are real paths. `root` is empty outside of a project: in the home directory, or above it. `protected` are directories
    that no agent should write to.
    """

    root: str
    home: str
    bases: tuple[str, ...]
    protected: tuple[str, ...] = ()

    def with_folder(self, folder: str) -> "Boundaries":
        """Add a directory that paths may be relative to: whether a `cd` succeeds is only known later."""
        folders = tuple(self.resolve(base, folder) for base in self.bases)
        return replace(self, bases=tuple(dict.fromkeys((*self.bases, *folders))))

    def resolve(self, base: str, name: str) -> str:
        """Return the real path of a name."""
        return os.path.realpath(os.path.join(base, name))

    def contains(self, name: str) -> bool:
        """Return whether a path is in the project, relative to each of the directories."""
        return bool(self.root) and all(is_inside(self.resolve(base, name), (self.root,)) for base in self.bases)

    def may_show(self, name: str) -> bool:
        """Return whether a file may be shown: it is in the project, and does not have the name of a file with secrets."""
        if not self.contains(name) or is_secret(name):
            return False
        # relative to the project, whose own name says nothing about the file
        return not any(is_secret(os.path.relpath(self.resolve(base, name), self.root)) for base in self.bases)

    def expand_glob(self, pattern: str) -> tuple[str, ...] | None:
        """Return the paths that a shell would put in place of a glob, None where there may be too many."""
        parts = pattern.split("/")
        if "**" in parts or sum(bool(_WILD & set(part)) for part in parts) > _MOST_WILD_PARTS:
            return None
        found = [name for base in self.bases for name in islice(iglob(pattern, root_dir=base), _MOST_MATCHES)]
        return tuple(found) if len(found) < _MOST_MATCHES else None


def is_secret(name: str) -> bool:
    """Return whether one part of a path is a name of files with keys, passwords and tokens."""
    parts = [part for part in name.casefold().split("/") if part not in {"", ".", ".."}]
    return any(fnmatchcase(part, pattern) for part in parts for pattern in _SECRETS)


def may_name_secrets(pattern: str) -> bool:
    """Return whether a glob may match a file with secrets, hidden ones included."""
    if pattern.startswith("!"):
        return False
    names = _NAMES.fullmatch(pattern)
    return names is None or is_secret(pattern) or not set(names[1].strip("{}").split(",")) <= _PROGRAM_TEXTS


def find_boundaries(
    event: Event, *, root: str = "", home: str = "", protected: tuple[str, ...] = ()
) -> Boundaries | None:
    """Return the boundaries of a tool call, None when its directory cannot be determined."""
    real_home = os.path.realpath(home or caller_context.expand_home("~"))
    cwd = event.cwd or root
    project = os.path.realpath(root or cwd) if cwd else ""
    if not project or is_inside(real_home, (project,)):
        project = ""
    base = os.path.realpath(cwd or os.sep)
    for key in FOLDER_KEYS:
        named = event.args.get(key)
        if named is None or named == "":
            continue
        if not isinstance(named, str) or "\0" in named:
            return None
        # agents that expand ~ mean the home directory, and for the others it is hardly ever a name
        own = named == "~" or named.startswith("~/")
        base = os.path.realpath(os.path.join(real_home, named[2:]) if own else os.path.join(base, named))
    return Boundaries(project, real_home, (base,), protected)


# what decides which hooks run

OF_HOOKS: Final = "decides which hooks run"
# commands that take a guard away, as patterns of `compile_commands`, and the options with which they only explain themselves
LOOSENING: Final = (
    "hookline {disable,remove,uninstall,undo,edit}",
    "hookline trust {approve,import,revoke,token,workspace}",
    "hookline {git uninstall,daemon stop,doctor --accept,trace prune}",
    "{pkill,killall} *hookline*",
    "{pip,pipx} uninstall hookline",
    "uv tool uninstall hookline",
    "uv pip uninstall hookline",
    "{brew,conda,mamba} {uninstall,remove} hookline",
)
ASKS_FOR_HELP: Final = ("--help", "-h")
# a glob for everything in a directory means the directory
ALL_IN_IT: Final = re.compile(r"(?:(?:^|(?<=/))(?:\*\*?|\.\*|\.\?\?\*|\.\[!\.\]\*)/?)+$")
_LONGEST_PATH: Final = 4096


def expand_home(path: str, bounds: Boundaries) -> str:
    """Return a path with the home directory in place of `~`."""
    return bounds.home + path[1:] if path == "~" or path.startswith("~/") else path


def show_path(path: str, bounds: Boundaries) -> str:
    """Return a path relative to the project, or with `~` for the home directory."""
    base = bounds.bases[0] if bounds.bases else ""
    if base and path.startswith(f"{base}/"):
        return path[len(base) + 1 :]
    return f"~{path[len(bounds.home) :]}" if path.startswith(f"{bounds.home}/") else path


def list_paths(name: str, bounds: Boundaries) -> Iterator[str]:
    """Yield the paths that a name may mean: as it is written, and with symbolic links resolved; none for an invalid name."""
    if len(name) > _LONGEST_PATH or "\0" in name:
        return
    for base in bounds.bases if not name.startswith("/") else ("/",):
        path = os.path.normpath(os.path.join(base, name))
        # normpath keeps two leading slashes, which mean one on every supported system
        yield "/" + path.lstrip("/")
        yield os.path.realpath(path)
