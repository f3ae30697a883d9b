"""Where a tool call happens, and which files may be read there without asking anybody."""
# asked for each word of a command line, where pathlib costs many times more
# ruff: noqa: PTH118, PTH207

import os
import re
from fnmatch import fnmatchcase
from glob import iglob
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import surroundings
from hookline.core.effects.readers import each
from hookline.model.event import Event
from hookline.model.workspace import inside

# what people keep keys, passwords and tokens in; compared in lower case, since not every disk tells the cases apart
_SECRETS: Final = each(
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
# nobody keeps secrets in files of these kinds, at least not on purpose
_PROGRAM_TEXTS: Final = each(
    "c cc cjs cpp cs css cxx dart ex exs go h hpp hs html java jl js jsx kt kts less lua m md mdx mjs php pl proto py"
    " pyi r rb rs rst scala scss sh sql svelte swift ts tsx vue zig"
)
# what tools call the folder they run in
FOLDER_KEYS: Final = ("cwd", "working_directory", "workdir", "workingDirectory", "directory", "dir_path")


class Ground(Struct, frozen=True):
    """Where something happens: the project, the person's home, and every folder it may be counted from.

    All are real paths. `root` is empty where somebody works in no project: in their home, or above it. `protected`
    are folders that no agent has any business writing to.
    """

    root: str
    home: str
    bases: tuple[str, ...]
    protected: tuple[str, ...] = ()

    def below(self, folder: str) -> "Ground":
        """Count names from another folder, too: whether the change of folder works is only known later."""
        found = tuple(self.full(base, folder) for base in self.bases)
        return replace(self, bases=tuple(dict.fromkeys((*self.bases, *found))))

    def full(self, base: str, name: str) -> str:
        """Give the real path of a name."""
        return os.path.realpath(os.path.join(base, name))

    def holds(self, name: str) -> bool:
        """Say whether a name stays in the project, whichever folder it is counted from."""
        return bool(self.root) and all(inside(self.full(base, name), (self.root,)) for base in self.bases)

    def shows(self, name: str) -> bool:
        """Say whether a file may be shown: it is in the project, and nobody keeps secrets in such a file."""
        if not self.holds(name) or is_secret(name):
            return False
        # only below the project: what its folder is called says nothing about the file
        return not any(is_secret(os.path.relpath(self.full(base, name), self.root)) for base in self.bases)

    def matches(self, pattern: str) -> tuple[str, ...] | None:
        """Give what a shell would put in place of a pattern; None where that is too much to look at."""
        parts = pattern.split("/")
        if "**" in parts or sum(bool(_WILD & set(part)) for part in parts) > _MOST_WILD_PARTS:
            return None
        found = [name for base in self.bases for name in islice(iglob(pattern, root_dir=base), _MOST_MATCHES)]
        return tuple(found) if len(found) < _MOST_MATCHES else None


def is_secret(name: str) -> bool:
    """Say whether one part of a path is what people call files with keys, passwords and tokens."""
    parts = [part for part in name.casefold().split("/") if part not in {"", ".", ".."}]
    return any(fnmatchcase(part, pattern) for part in parts for pattern in _SECRETS)


def may_name_secrets(pattern: str) -> bool:
    """Say whether a pattern for names may find a file that people keep secrets in, also one that is hidden."""
    if pattern.startswith("!"):
        return False
    found = _NAMES.fullmatch(pattern)
    return found is None or is_secret(pattern) or not set(found[1].strip("{}").split(",")) <= _PROGRAM_TEXTS


def ground_of(event: Event, *, root: str = "", home: str = "", protected: tuple[str, ...] = ()) -> Ground | None:
    """Say where a tool call happens; None when it names its folder in a way nobody can follow."""
    real_home = os.path.realpath(home or surroundings.expanded("~"))
    cwd = event.cwd or root
    project = os.path.realpath(root or cwd) if cwd else ""
    if not project or inside(real_home, (project,)):
        project = ""
    base = os.path.realpath(cwd or os.sep)
    for key in FOLDER_KEYS:
        named = event.args.get(key)
        if named is None or named == "":
            continue
        if not isinstance(named, str) or "\0" in named:
            return None
        # hosts that know ~ mean the home folder by it, and to the others it hardly ever is a name
        own = named == "~" or named.startswith("~/")
        base = os.path.realpath(os.path.join(real_home, named[2:]) if own else os.path.join(base, named))
    return Ground(project, real_home, (base,), protected)
