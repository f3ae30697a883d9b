"""The scripts that git runs for us. They are plain shell: theirs runs as ever even where Hookline has gone.

A hook of ours that cannot be asked blocks, and says how to go on without it.
"""

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MARK: Final = b"# Made by `hookline git install`."

# behind the name of a hook that was there before ours
ASIDE: Final = ".before-hookline"

_HEAD: Final = """\
#!/bin/sh
# Made by `hookline git install`. `hookline git uninstall` takes it away and leaves your own hooks as they were.
"""

_OURS: Final = """\
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
    "$python" -E -P -m hookline git run "$hook" "$@"
    code=$?
    case $code in
        0) return 0 ;;
        2 | 130 | 143) return 1 ;;
    esac
    lost "exit code $code" "@BLOCKED@"
    return 1
}

"""

_NOBODY: Final = """\
theirs() {
    return 0
}
"""

# A shell script may ask what it is called: it is read by its own shell under the name that git knows.
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

# A guard looks at what will really be committed, after theirs has formatted and staged. What is pushed is asked about
# first, because theirs may already send something away.
_BODIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pre-commit": 'theirs "$@" || exit $?\nours "$@" || exit 1\n',
        "commit-msg": 'theirs "$@" || exit $?\nours "$@" || exit 1\n',
        "pre-push": (
            "# both read the list of what is pushed\n"
            "refs=$(cat && echo .)\n"
            "refs=${refs%.}\n"
            'printf %s "$refs" | ours "$@" || exit 1\n'
            'printf %s "$refs" | theirs "$@"\n'
        ),
        "post-checkout": 'theirs "$@"\nanswer=$?\nours "$@"\nexit "$answer"\n',
    }
)

HOOKS: Final = tuple(_BODIES)

_SHELL: Final = re.compile(
    rb"#! *(?P<shell>(?:/usr/bin/env +|(?:/[\w.+-]+)*/)(?:sh|bash|dash|ash|ksh)(?: +-[a-z]+)*)[ \r]*"
)


# What a script asks that its name answers, and what only its file does. One that is read by our script has the name,
# but it is not the file of that name: it would find ours there, or think that it was only read by another script.
_BY_NAME: Final = re.compile(
    rb"""(?:dirname|basename)(?:[ \t]+--)?[ \t]+(["']?)\$(?:0|\{0\})\1(?![\w$])|\$\{0(?:%/\*|##\*/)\}"""
)
_BY_FILE: Final = re.compile(rb"\$(?:0|\{[#!]?0\b)|BASH_SOURCE|BASH_ARGV|\.sh\.file|\([ \t]*return\b")


def needs_its_file(text: bytes) -> bool:
    """Say whether a shell script asks for more than what it is called and which folder it is in."""
    return _BY_FILE.search(_BY_NAME.sub(b"", text)) is not None


def shell_of(first_line: bytes) -> str:
    """Give the shell that an interpreter line names, with its options; empty when it names something else."""
    found = _SHELL.fullmatch(first_line.rstrip(b"\n"))
    return found["shell"].decode() if found and not first_line.endswith(b"\r\n") else ""


def beside(hook: str, *, python: str, shell: str) -> bytes:
    """Write the script that stands where theirs was; theirs is set aside beside it if there was one."""
    theirs = _SET_ASIDE.replace("@SHELL@", shell) if shell else _NOBODY
    undo = f"mv '$0{ASIDE}' '$0'" if shell else "rm '$0'"
    return _script(hook, theirs.replace("@ASIDE@", ASIDE), python=python, undo=undo)


def instead(hook: str, *, python: str, folder: str, undo: str) -> bytes:
    """Write the script that stands in a folder of ours; `folder` is a shell line that says where theirs are."""
    return _script(hook, _elsewhere(hook, folder), python=python, undo=undo)


def passed_on(hook: str, *, folder: str) -> bytes:
    """Write the script that only runs theirs: git looks into one folder, for the hooks that are not ours as well."""
    return f'{_HEAD}{_elsewhere(hook, folder)}\ntheirs "$@"\n'.encode("utf-8", "surrogateescape")


def _elsewhere(hook: str, folder: str) -> str:
    return _ELSEWHERE.replace("@FOLDER@", folder).replace("@HOOK@", hook)


def _script(hook: str, theirs: str, *, python: str, undo: str) -> bytes:
    blocked = "" if hook == "post-checkout" else ", so this is blocked"
    ours = (
        _OURS.replace("@HOOK@", hook)
        .replace("@PYTHON@", shlex.quote(python))
        .replace("@BLOCKED@", blocked)
        # it stands between double quotes, and only $0 is to be looked up there
        .replace("@UNDO@", re.sub(r'(["`\\]|\$(?!0))', r"\\\1", undo))
    )
    return f"{_HEAD}{ours}{theirs}\n{_BODIES[hook]}".encode("utf-8", "surrogateescape")
