"""The scripts that git runs. They are plain shell: the user's own hooks run even where Hookline was removed.

In this package, "ours" are the scripts of Hookline and "theirs" the hooks that the repository had before. A script of
ours that cannot ask the hooks blocks, and prints how to go on without it.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Final

MARK: Final = b"# Made by `hookline git install`."

# the suffix of a hook that was there before ours
ASIDE: Final = ".before-hookline"

_HEAD: Final = """\
#!/bin/sh
# Made by `hookline git install`. `hookline git uninstall` takes it away and leaves your own hooks as they were.
"""

_OURS: Final = """\
# a script that a full disk or a power cut has cut off ends here, and is no yes
asked=
trap 'code=$?; [ "$asked" ] || [ "$code" -ne 0 ] || code=1; exit "$code"' EXIT

hook=@HOOK@
python=@PYTHON@

lost() {
    echo "hookline: the hooks could not be asked for $hook ($1)$2" >&2
    echo "hookline: this once without them: --no-verify; for good: hookline git uninstall, or by hand: @UNDO@" >&2
}

ours() {
    if [ ! -x "$python" ]; then
        lost "$python is gone" "@BLOCKED@"
        return 1
    fi
    "$python" -E -P -m hookline git run --prove "$hook" "$@"
    code=$?
    # a damaged program may end with 0 by accident, and an answer ends with 100 or 102
    case $code in
        100) return 0 ;;
        102 | 130 | 143) return 1 ;;
    esac
    lost "exit code $code" "@BLOCKED@"
    return 1
}

"""

_NO_THEIRS: Final = """\
theirs() {
    return 0
}
"""

# A shell script may read $0: its own shell sources it under the name that git uses.
_SET_ASIDE: Final = """\
theirs() {
    [ -f "$0@ASIDE@" ] && [ -x "$0@ASIDE@" ] || return 0
    @SHELL@ -c 'hookline_theirs=$1; shift; . "$hookline_theirs"' "$0" "$0@ASIDE@" "$@"
}
"""

_ELSEWHERE: Final = """\
theirs() {
    @FOLDER@
    [ -f "$folder/@HOOK@" ] && [ -x "$folder/@HOOK@" ] || return 0
    "$folder/@HOOK@" "$@"
}
"""

# A guard sees what will really be committed, after theirs has formatted and staged. Before a push ours runs first,
# because theirs may already send something away.
_BODIES: Final[Mapping[str, str]] = {
    "pre-commit": 'theirs "$@" || exit $?\nours "$@" || exit 1\nasked=yes\n',
    "commit-msg": 'theirs "$@" || exit $?\nours "$@" || exit 1\nasked=yes\n',
    "pre-push": (
        "# both read the list of what is pushed\n"
        "refs=$(cat && echo .)\n"
        "refs=${refs%.}\n"
        'printf %s "$refs" | ours "$@" || exit 1\n'
        "asked=yes\n"
        'printf %s "$refs" | theirs "$@"\n'
    ),
    "post-checkout": 'theirs "$@"\nanswer=$?\nours "$@"\nasked=yes\nexit "$answer"\n',
}

HOOKS: Final = tuple(_BODIES)

_SHELL: Final = re.compile(
    rb"#! *(?P<shell>(?:/usr/bin/env +|(?:/[\w.+-]+)*/)(?:sh|bash|dash|ash|ksh)(?: +-[a-z]+)*)[ \r]*"
)


# What a script learns from its name, and what only from its file. A script that ours sources has the name, but is not the
# file of that name: it would find ours there, or conclude that it was sourced.
_BY_NAME: Final = re.compile(
    rb"""(?:dirname|basename)(?:[ \t]+--)?[ \t]+(["']?)\$(?:0|\{0\})\1(?![\w$])|\$\{0(?:%/\*|##\*/)\}"""
)
_BY_FILE: Final = re.compile(rb"\$(?:0|\{[#!]?0\b)|BASH_SOURCE|BASH_ARGV|\.sh\.file|\([ \t]*return\b")


def needs_own_file(text: bytes) -> bool:
    """Return whether a shell script needs more than its name and its folder."""
    return _BY_FILE.search(_BY_NAME.sub(b"", text)) is not None


def parse_shell(first_line: bytes) -> str:
    """Return the shell that a `#!` line names, with its options, or ""."""
    match = _SHELL.fullmatch(first_line.rstrip(b"\n"))
    return match["shell"].decode() if match and not first_line.endswith(b"\r\n") else ""


def script_beside(hook: str, *, python: str, shell: str) -> bytes:
    """Return the script that takes the place of theirs, which is set aside beside it if there was one."""
    theirs = _SET_ASIDE.replace("@SHELL@", shell) if shell else _NO_THEIRS
    undo = f"mv '$0{ASIDE}' '$0'" if shell else "rm '$0'"
    return _script(hook, theirs.replace("@ASIDE@", ASIDE), python=python, undo=undo)


def script_redirected(hook: str, *, python: str, folder: str, undo: str) -> bytes:
    """Return the script in a folder of ours; `folder` is a shell line that sets the folder of theirs."""
    return _script(hook, _run_from_folder(hook, folder), python=python, undo=undo)


def script_forwarding(hook: str, *, folder: str) -> bytes:
    """Return the script that only runs theirs: git looks into one folder, also for hooks that are not ours."""
    return f'{_HEAD}{_run_from_folder(hook, folder)}\ntheirs "$@"\n'.encode("utf-8", "surrogateescape")


def _run_from_folder(hook: str, folder: str) -> str:
    return _ELSEWHERE.replace("@FOLDER@", folder).replace("@HOOK@", hook)


def _script(hook: str, theirs: str, *, python: str, undo: str) -> bytes:
    blocked = "" if hook == "post-checkout" else ", so this is blocked"
    ours = (
        _OURS.replace("@HOOK@", hook)
        .replace("@PYTHON@", shlex.quote(python))
        .replace("@BLOCKED@", blocked)
        # it stands between double quotes, where only $0 may be expanded
        .replace("@UNDO@", re.sub(r'(["`\\]|\$(?!0))', r"\\\1", undo))
    )
    return f"{_HEAD}{ours}{theirs}\n{_BODIES[hook]}".encode("utf-8", "surrogateescape")
