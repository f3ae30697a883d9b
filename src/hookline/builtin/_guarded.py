"""Places that hardly anybody wants an agent to delete, and files that hardly anybody wants it to write."""
# ruff: noqa: PTH118 - texts, as lines have them

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from hookline.builtin._ground import Ground
from hookline.core.effects.readers import each
from hookline.model.workspace import inside

PROJECT: Final = "the whole project"
HOME: Final = "your home folder"
EVERYTHING: Final = "everything on this machine"
SYSTEM: Final = "a folder of the system"

_SYSTEM_FOLDERS: Final = each(
    "/bin /boot /dev /etc /home /lib /lib32 /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var /usr/bin /usr/lib"
    " /usr/local /usr/sbin /usr/share /var/lib /var/log /Applications /Library /System /Users /Volumes /private /mnt"
    " /media /etc/ssh /etc/ssl"
)
_LONGEST: Final = 4096
# everything in a folder stands for the folder
_ALL_IN_IT: Final = re.compile(r"(?:^|(?<=/))(?:\*\*?|\.\*|\.\?\?\*|\.\[!\.\]\*)/?$")
_OF_HOME: Final = (
    (".ssh/known_hosts*", ""),
    (".ssh/*", "decides who may log in as you"),
    (".gnupg/*", "holds your keys"),
    (".aws/*", "holds your keys"),
    *(
        (name, "is run by every shell you start")
        for name in each(
            ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .kshrc"
            " .config/fish/*"
        )
    ),
    *(
        (name, "is started when you log in")
        for name in (".config/autostart/*", ".config/systemd/user/*", "Library/LaunchAgents/*")
    ),
)
_ANYWHERE: Final = (
    ("/dev/null", ""),
    *(
        (f"/dev/{name}", "")
        for name in ("zero", "full", "tty*", "pts/*", "stdin", "stdout", "stderr", "fd/*", "shm/*", "random", "urandom")
    ),
    ("/dev/tcp/*", "is a connection to another machine"),
    ("/dev/udp/*", "is a connection to another machine"),
    ("/dev/*", "is a device"),
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


def place(name: str, ground: Ground) -> str:
    """Say what would be gone if a folder were: everything, the home folder, the project; nothing for all others."""
    bare = _ALL_IN_IT.sub("", name) or ("/" if name.startswith("/") else ".")
    return next(filter(None, (_place(path, ground) for path in _paths(bare, ground))), "")


def _place(path: str, ground: Ground) -> str:
    if path == os.sep:
        return EVERYTHING
    if inside(ground.home, (path,)):
        return HOME
    if path in _SYSTEM_FOLDERS:
        return SYSTEM
    return PROJECT if ground.root and inside(ground.root, (path,)) else ""


def write_objection(name: str, ground: Ground) -> str:
    """Say why a file should not be written; nothing for all others."""
    for path in _paths(name, ground):
        if inside(path, ground.protected):
            return f"{name} decides which hooks run"
        below = os.path.relpath(path, ground.home) if inside(path, (ground.home,)) else ""
        for patterns, given in ((_OF_HOME, below), (_ANYWHERE, path)):
            why = next((why for pattern, why in patterns if given and fnmatchcase(given, pattern)), "")
            if why:
                return f"{name} {why}"
    return ""


def _paths(name: str, ground: Ground) -> Iterator[str]:
    """Give what a name may mean: as it is spelled, and where links lead; nothing for what no file can be called."""
    if len(name) > _LONGEST or "\0" in name:
        return
    for base in ground.bases if not name.startswith("/") else ("/",):
        spelled = os.path.normpath(os.path.join(base, name))
        # two slashes at the start are one to everybody but POSIX
        yield "/" + spelled.lstrip("/")
        yield os.path.realpath(spelled)
