"""Identify the repository of a folder from files alone: git itself would obey the configuration of an unknown folder."""

import os
import re
from pathlib import Path
from typing import Final

from hookline.files import read_regular_file
from hookline.model.scope import DETACHED

_LARGEST: Final = 1_048_576
_FOLLOWED: Final = 3  # origins that are folders on this machine

_SECTION: Final = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY: Final = re.compile(r"([A-Za-z][\w-]*)\s*=\s*(.*)")
_URL: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^@/]*@)?(?P<host>[^/:]+)(?::(?P<port>\d+))?(?P<path>/.*)"
)
_SCP: Final = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:]{2,}):(?P<path>(?!//).+)")
_DEFAULT_PORTS: Final = {"ssh": "22", "https": "443", "http": "80", "git": "9418"}
_ADDRESS: Final = re.compile(r"[\w.~+@:-]+(?:/[\w.~+@ -]+)+")


def identify_repository(root: str | Path, *, hops: int = _FOLLOWED) -> str:
    """Return the name of a folder's repository, the same in each of its worktrees and clones.

    That is the address of its origin, such as `github.com/owner/project`, or `file:` and a folder where there is
    none. A folder below the top is named, too. In any doubt a folder is a repository of its own. Origins that are folders
    are followed `hops` times.
    """
    folder = Path(os.path.realpath(root))
    is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "config").is_file()
    # only as the origin of another one: in a working tree, such files can have been committed
    if hops < _FOLLOWED and is_bare:
        return _find_origin(folder, hops) or f"file:{folder}"
    above = _find_top(folder)
    common = _find_common(above) if above is not None else None
    if above is None or common is None:
        return f"file:{folder}"
    name = _find_origin(common, hops) or f"file:{common}"
    below = folder.relative_to(above).as_posix()
    return name if below == "." else f"{name}//{below}"


def list_names_by_path(root: str | Path) -> tuple[str, ...]:
    """Return the names that a folder has by its path alone: before it was a repository, and before that had an origin."""
    folder = Path(os.path.realpath(root))
    names = [f"file:{folder}"]
    above = _find_top(folder)
    if above is not None and _find_common(above) == above / ".git":
        below = folder.relative_to(above).as_posix()
        names.append(f"file:{above / '.git'}" if below == "." else f"file:{above / '.git'}//{below}")
    return tuple(names)


def find_top(root: str | Path) -> str:
    """Return the real path of the folder that holds `.git`; the folder itself when there is none above it."""
    found = _find_top(Path(os.path.realpath(root)))
    return str(found) if found is not None else os.path.realpath(root)


def find_common_dir(root: str | Path) -> Path | None:
    """Return the git folder that all worktrees of a repository share; None outside one, and in any doubt."""
    above = _find_top(Path(os.path.realpath(root)))
    return _find_common(above) if above is not None else None


def read_branch(folder: str) -> str:
    """Return the branch that is checked out in a folder: `HEAD` where there is none, "" outside of a repository.

    While a branch is being rebased, it is that branch.

    Raises:
        OSError: The files of the repository cannot be read.
        ValueError: They do not tell.
    """
    above = _find_top(Path(os.path.realpath(folder)))
    if above is None:
        return ""
    own = above / ".git"
    if not own.is_dir():
        pointer = own.read_text(encoding="utf-8", errors="surrogateescape")
        if not pointer.startswith("gitdir:"):
            raise ValueError(f"{own} is no git repository")
        own = above / pointer.removeprefix("gitdir:").strip()
    head = (own / "HEAD").read_text(encoding="utf-8", errors="surrogateescape").strip()
    for name in ("rebase-merge", "rebase-apply") if not head.startswith("ref:") else ():
        head = _read_text(own / name / "head-name").strip() or head
    branch = head.removeprefix("ref:").strip().removeprefix("refs/heads/")
    # in the reftable format, the file HEAD holds nothing
    if branch in {"", ".invalid"} or len(branch) > _LARGEST:
        raise ValueError(f"{own / 'HEAD'} names no branch")
    return DETACHED if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}|detached HEAD", branch) else branch


def _find_top(folder: Path) -> Path | None:
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


def _find_common(above: Path) -> Path | None:
    """Return the folder that all worktrees share; None when this one does not belong to it."""
    marker = above / ".git"
    if marker.is_symlink():
        return None
    if marker.is_dir():
        return marker if not (marker / "commondir").exists() else None
    text = _read_text(marker)
    if not text.startswith("gitdir:"):
        return None
    own = Path(os.path.realpath(above / text.removeprefix("gitdir:").strip()))
    shared = _read_text(own / "commondir").strip()
    if shared:
        # a worktree counts only if the repository lists it: any project can hold a file that points there
        known = _read_text(own / "gitdir").strip()
        common = Path(os.path.realpath(own / shared))
        is_ours = known and os.path.realpath(own / known) == str(marker) and own.parent == common / "worktrees"
        return common if is_ours else None
    # a submodule: its repository has the path of its working tree
    worktree = _read_config(own).get(("core", "", "worktree"), "")
    return own if worktree and os.path.realpath(own / worktree) == str(above) else None


def _find_origin(common: Path, hops: int) -> str:
    url = _read_config(common).get(("remote", "origin", "url"), "")
    if not url:
        return ""
    local = url.removeprefix("file://") if url.startswith("file://") else url
    if local.startswith(("/", "./", "../")):
        # counted from the folder of the files; a bare repository has none but its own
        base = common.parent if common.name == ".git" else common
        path = os.path.realpath(base / local)
        return identify_repository(path, hops=hops - 1) if hops and Path(path).is_dir() else f"file:{path}"
    return normalise_url(url)


def normalise_url(url: str) -> str:
    """Return the address of a repository, the same for each protocol; "" when it cannot be parsed."""
    found = _URL.fullmatch(url) or (_SCP.fullmatch(url) if "://" not in url else None)
    if found is None or url.startswith("file:"):
        return ""
    parts = found.groupdict()
    port = parts.get("port")
    is_usual = not port or port == _DEFAULT_PORTS.get(parts["scheme"])
    path = found["path"].strip("/").removesuffix(".git").rstrip("/")
    name = f"{found['host'].lower()}{'' if is_usual else f':{port}'}/{path}"
    # anything else could be made to look like another address
    return name if _ADDRESS.fullmatch(name) and ".." not in path.split("/") else ""


def _read_config(folder: Path) -> dict[tuple[str, str, str], str]:
    """Read a git configuration as far as needed: the first value of each key, and nothing it would include."""
    values: dict[tuple[str, str, str], str] = {}
    section = ("", "")
    for line in _read_text(folder / "config").splitlines():
        text = line.strip()
        header = _SECTION.match(text)
        if header is not None:
            section = (header[1].lower(), header[2] or "")
            text = text[header.end() :].strip()
        entry = _ENTRY.fullmatch(text)
        if entry is not None:
            value = re.split(r"\s[#;]", entry[2], maxsplit=1)[0].strip().strip('"')
            values.setdefault((*section, entry[1].lower()), value)
    return values


def _read_text(path: Path) -> str:
    raw = read_regular_file(path, _LARGEST + 1) or b""
    # git writes no NUL, and no path can hold one
    return "" if len(raw) > _LARGEST or b"\0" in raw else raw.decode("utf-8", "surrogateescape")
