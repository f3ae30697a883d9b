"""Directories that an agent should not delete, and files that it should not write."""
# ruff: noqa: PTH118 - plain strings, as in command lines

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from hookline.builtin._boundaries import Boundaries, split_names
from hookline.config.discovery import LOCATIONS, Root
from hookline.model.workspace_paths import is_inside

PROJECT: Final = "the whole project"
HOME: Final = "your home folder"
EVERYTHING: Final = "everything on this machine"
SYSTEM: Final = "a folder of the system"
OF_HOOKS: Final = "decides which hooks run"

_SYSTEM_FOLDERS: Final = split_names(
    "/bin /boot /dev /etc /home /lib /lib32 /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var /usr/bin /usr/lib"
    " /usr/local /usr/sbin /usr/share /var/lib /var/log /Applications /Library /System /Users /Volumes /private /mnt"
    " /media /etc/ssh /etc/ssl"
)
_LONGEST: Final = 4096
# a glob for everything in a directory means the directory
_ALL_IN_IT: Final = re.compile(r"(?:(?:^|(?<=/))(?:\*\*?|\.\*|\.\?\?\*|\.\[!\.\]\*)/?)+$")
# files with agents' hooks, or with settings that disable them, besides those that Hookline reads hooks from
_OF_AGENTS: Final = (
    *(f".claude/{name}" for name in ("settings.json", "settings.local.json")),
    *(".codex/config.toml", ".copilot/settings.json", ".factory/settings.json", ".github/copilot/settings.json"),
    *(".opencode/plugin/*", ".opencode/plugins/*", ".config/opencode/plugin/*", ".config/opencode/plugins/*"),
)
_HOOK_FILES_OF_HOME: Final = (*(place.path for place in LOCATIONS if place.root is Root.HOME), *_OF_AGENTS)
_HOOK_FILES_OF_PROJECT: Final = (*(place.path for place in LOCATIONS if place.root is Root.PROJECT), *_OF_AGENTS)
_OF_HOME: Final = (
    (".ssh/known_hosts*", ""),
    (".ssh/*", "decides who may log in as you"),
    (".gnupg/*", "holds your keys"),
    (".aws/*", "holds your keys"),
    *(
        (name, "is run by every shell you start")
        for name in split_names(
            ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .kshrc"
            " .config/fish/*"
        )
    ),
    *(
        (name, "is started when you log in")
        for name in (".config/autostart/*", ".config/systemd/user/*", "Library/LaunchAgents/*")
    ),
)
_DEVICES: Final = (
    *(
        (f"/dev/{name}", "")
        for name in split_names(
            "null zero full tty* pts/* ptmx stdin stdout stderr fd/* shm/* random urandom console dsp snd/*"
        )
    ),
    ("/dev/tcp/*", "is a connection to another machine"),
    ("/dev/udp/*", "is a connection to another machine"),
    ("/dev/*", "is a device"),
)
_ANYWHERE: Final = (
    *_DEVICES,
    *(
        (f"/etc/{name}", "decides who may do what on this machine")
        for name in ("passwd*", "shadow*", "group*", "gshadow*", "sudoers*", "pam.d/*", "ssh/*", "ld.so.preload")
    ),
    *(
        (f"/etc/{name}", "is run by the system")
        for name in ("cron*", "init.d/*", "systemd/*", "rc.local", "profile*", "bash.bashrc", "zsh/*")
    ),
    ("/var/spool/cron/*", "is run by the system"),
    ("/boot/*", "starts the machine"),
    ("/proc/sys*", "steers the kernel"),
    ("/sys/*", "steers the kernel"),
    ("*/.git/hooks/*", "is run by git"),
)


def name_loss(name: str, bounds: Boundaries) -> str:
    """Return what deleting a directory would delete: everything, the home directory, the project; else empty."""
    bare = _ALL_IN_IT.sub("", name) or ("/" if name.startswith("/") else ".")
    return next(filter(None, (_name_path(path, bounds) for path in _list_paths(bare, bounds))), "")


def _name_path(path: str, bounds: Boundaries) -> str:
    if path == os.sep:
        return EVERYTHING
    if is_inside(bounds.home, (path,)):
        return HOME
    if path in _SYSTEM_FOLDERS:
        return SYSTEM
    return PROJECT if bounds.root and is_inside(bounds.root, (path,)) else ""


def find_write_objection(name: str, bounds: Boundaries) -> str:
    """Return why a file should not be written, empty where it may be."""
    return find_hook_objection(name, bounds) or _find_reason(name, bounds, _ANYWHERE, _OF_HOME)


def find_device_objection(name: str, bounds: Boundaries) -> str:
    """Return why a path is a device, empty for files."""
    return _find_reason(name, bounds, _DEVICES, ())


def _find_reason(
    name: str, bounds: Boundaries, anywhere: tuple[tuple[str, str], ...], of_home: tuple[tuple[str, str], ...]
) -> str:
    for path in _list_paths(name, bounds):
        below = os.path.relpath(path, bounds.home) if is_inside(path, (bounds.home,)) else ""
        for patterns, relative in ((of_home, below), (anywhere, path)):
            why = next((why for pattern, why in patterns if relative and fnmatchcase(relative, pattern)), "")
            if why:
                return f"{show_path(name, bounds)} {why}"
    return ""


def find_hook_objection(name: str, bounds: Boundaries, *, is_recursive: bool = False) -> str:
    """Return why a file should not be changed because hooks depend on it; with `is_recursive`, all below it count."""
    bare = _ALL_IN_IT.sub("", name) if is_recursive else name
    for path in _list_paths(bare or os.sep, bounds):
        if is_inside(path, bounds.protected) or (
            is_recursive and any(is_inside(one, (path,)) for one in bounds.protected)
        ):
            return f"{show_path(name, bounds)} {OF_HOOKS}"
        for folder, patterns in ((bounds.home, _HOOK_FILES_OF_HOME), (bounds.root, _HOOK_FILES_OF_PROJECT)):
            is_project = patterns is _HOOK_FILES_OF_PROJECT
            if folder and _is_hook_file(path, folder, patterns, is_recursive=is_recursive, must_exist=is_project):
                return f"{show_path(name, bounds)} {OF_HOOKS}"
    return ""


def _is_hook_file(path: str, folder: str, patterns: tuple[str, ...], *, is_recursive: bool, must_exist: bool) -> bool:
    """Return whether a path is a hook file of a folder, or a folder of such files.

    In a project, only existing files count: agents may write new hooks, which need an approval before they run.
    """
    if is_recursive and is_inside(folder, (path,)):
        # another rule covers a whole home or project
        return False
    below = os.path.relpath(path, folder) if is_inside(path, (folder,)) else ""
    if below and any(fnmatchcase(below, pattern) for pattern in patterns):
        return not must_exist or os.path.lexists(path)
    # deleting the folder of a hook file deletes the file
    below_it = [pattern for pattern in patterns if is_recursive and below and pattern.startswith(f"{below}/")]
    return any(os.path.lexists(os.path.join(folder, pattern.partition("*")[0])) for pattern in below_it)


def show_path(path: str, bounds: Boundaries) -> str:
    """Return a path relative to the project, or with `~` for the home directory."""
    base = bounds.bases[0] if bounds.bases else ""
    if base and path.startswith(f"{base}/"):
        return path[len(base) + 1 :]
    return f"~{path[len(bounds.home) :]}" if path.startswith(f"{bounds.home}/") else path


def _list_paths(name: str, bounds: Boundaries) -> Iterator[str]:
    """Yield the paths that a name may mean: as it is written, and with symbolic links resolved; none for an invalid name."""
    if len(name) > _LONGEST or "\0" in name:
        return
    for base in bounds.bases if not name.startswith("/") else ("/",):
        path = os.path.normpath(os.path.join(base, name))
        # normpath keeps two leading slashes, which mean one on every supported system
        yield "/" + path.lstrip("/")
        yield os.path.realpath(path)
