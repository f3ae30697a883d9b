"""What the built-in hook `self-guard` guards besides Hookline's own folders: agents' settings, the daemon, hooks of git.

The modules that know are slow to import, so that this waits until a call would change a file.
"""

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hookline import caller_context
from hookline.bridge.daemon_socket import find_socket_dir
from hookline.builtin.catalogue import GuardedPath
from hookline.errors import ConfigError
from hookline.trust.repository import find_common_dir
from hookline.user_dirs import UserDirs, find_user_dirs, working_folder

if TYPE_CHECKING:
    from hookline.hosts.host import Host, HostEnvironment
    from hookline.project import ListGuarded

_BY_HAND: Final = "change it yourself, in a terminal or an editor"
# files in which git finds another folder with hooks, and the key
_GIT_SETTINGS: Final = ("config", "config.worktree")
_HOOKS_PATH: Final = (("hooksPath",), ("hookspath",))
_PROGRAMS: Final = ("hookline", "hookline-hook")


def list_guarded_paths(folders: UserDirs, root: Path) -> Iterator[GuardedPath]:
    """List the files by which agents, git and the daemon come to ask the hooks."""
    from hookline.hosts import HOSTS  # noqa: PLC0415 - see above
    from hookline.hosts.host import HostEnvironment  # noqa: PLC0415

    environ = caller_context.full_environ()
    around = HostEnvironment(home=folders.home, data=folders.data, project=root, environ=environ)
    for host in HOSTS.values():
        yield from _list_settings(host, around)
    if os.name != "nt":
        socket_dir = str(find_socket_dir(environ).folder)
        mend = "`hookline daemon stop` in a terminal of your own stops the daemon"
        yield GuardedPath(
            path=socket_dir,
            about="is where the daemon of Hookline listens",
            mend=mend,
            is_in_use=partial(os.path.lexists, socket_dir),
        )
    yield from _list_git_hooks(root)
    yield from _list_programs(root)


def find_guarded_if_installed(root: Path | None) -> "ListGuarded | None":
    """Return what lists the guarded files where Hookline is installed in an agent; None where no agent calls it."""
    from hookline.hosts.backup import has_backups  # noqa: PLC0415 - see above

    data = find_user_dirs(root or working_folder()).data
    return list_guarded_paths if has_backups(data) else None


def _list_settings(host: "Host", around: "HostEnvironment") -> Iterator[GuardedPath]:
    """List the settings files of an agent: those that ours may be in, and those in which hooks can be switched off."""
    from hookline.hosts.host import Scope  # noqa: PLC0415 - see above

    switches = tuple(keys for keys in (*(keys for keys, _ in host.switches), host.disabled_names) if keys)
    listed: set[str] = set()
    for scope in host.files:
        words = "" if scope is Scope.USER else f" --scope {scope}"
        mend = f"{_BY_HAND}, and `hookline uninstall {host.name}{words}` takes the entries out"
        for path in host.settings_paths(scope, around):
            listed.add(path)
            yield GuardedPath(
                path=path,
                about=f"has the entries by which {host.title} asks the hooks",
                mend=mend,
                is_in_use=partial(_has_entries, host, path, around),
                switches=switches,
                of_project=scope is not Scope.USER,
            )
    if host.approval is not None:
        path = str(host.approval(host.root(Scope.USER, around), host.settings_path(Scope.USER, around), "")[0])
        listed.add(path)
        yield GuardedPath(
            path=path,
            about=f"has the approvals without which {host.title} does not ask the hooks",
            mend=f"{_BY_HAND}, and `hookline uninstall {host.name}` takes the approvals out",
            is_in_use=partial(_has_record, path, around),
            switches=switches,
        )
    if not switches:
        return
    for scope, names in host.reads.items():
        for name in names:
            path = os.path.normpath(host.root(scope, around) / name)
            if "*" not in name and path not in listed:
                yield GuardedPath(path=path, about="", mend="", is_in_use=lambda: False, switches=switches)


def _list_programs(root: Path) -> Iterator[GuardedPath]:
    """List Hookline itself: an agent takes a program that is gone for no answer. One in a project's environment goes with it."""
    package, programs = Path(__file__).parents[1], Path(sys.executable).parent
    for path in (package, *(programs / name for name in _PROGRAMS)):
        if not path.resolve().is_relative_to(root.resolve()):
            yield GuardedPath(path=str(path), about="is Hookline itself", mend="uninstall it yourself, in a terminal")


def _has_record(path: str, around: "HostEnvironment") -> bool:
    from hookline.hosts.backup import load_backup  # noqa: PLC0415 - see above

    return load_backup(around.data, path) is not None


def _has_entries(host: "Host", path: str, around: "HostEnvironment") -> bool:
    from hookline.config.undo_log import read_bytes  # noqa: PLC0415 - see above

    if _has_record(path, around):
        return True
    try:
        text = (read_bytes(path) or b"").decode("utf-8", "replace")
        return bool(host.shape.find_entries(text, path=path)[0])
    except ConfigError:
        # what cannot be read holds no entry that the agent would run
        return False


def _list_git_hooks(root: Path) -> Iterator[GuardedPath]:
    from hookline.sources.git_install import list_our_paths  # noqa: PLC0415 - see above

    common = find_common_dir(root)
    if common is None:
        return
    ours = list(list_our_paths(common))
    for path in ours:
        yield GuardedPath(
            path=str(path),
            about="decides whether git asks the hooks",
            mend="`hookline git uninstall` in a terminal of your own takes Hookline out of git",
            of_project=True,
            of_git=True,
        )
    for name in _GIT_SETTINGS if ours else ():
        yield GuardedPath(
            path=str(common / name),
            about="",
            mend="",
            is_in_use=lambda: False,
            switches=_HOOKS_PATH,
            of_project=True,
        )
