"""What a person should know before they say yes: a shell, the network, code that is fetched when it runs."""
# ruff: noqa: PTH113, PTH118 - words of a command are no paths until they turn out to be

import re
import shlex
from collections.abc import Collection, Iterator
from os.path import isfile, join
from typing import Final

from msgspec import Struct

from hookline.core.closure import base_of, reach
from hookline.core.identity import search_path
from hookline.core.programs import Programs
from hookline.model.hook import Hook


class Risk(Struct, frozen=True):
    """One thing to know about a hook: `kind` for programs, `text` for people."""

    kind: str
    text: str


# programs that fetch what they run, with the words that may stand between them and its name
_LAUNCHERS: Final = {
    "npx": ((),),
    "pnpx": ((),),
    "bunx": ((),),
    "uvx": ((),),
    "pnpm": (("dlx",),),
    "yarn": (("dlx",),),
    "bun": (("x",),),
    "npm": (("exec",), ("x",)),
    "pipx": (("run",),),
    "uv": (("tool", "run"),),
    "go": (("run",),),
    "deno": (("run",),),
    "docker": (("run",), ("container", "run")),
    "podman": (("run",), ("container", "run")),
}
_IMAGES: Final = frozenset({"docker", "podman"})
_TAKES_VALUE: Final = frozenset(
    {
        *("-p", "--package", "--from", "--with", "--python", "-c", "--call", "--index-url", "--spec"),
        *("-v", "--volume", "-e", "--env", "-w", "--workdir", "-u", "--user", "--name", "--network", "--mount"),
        *("--entrypoint", "--platform", "--env-file", "-m", "--memory", "--cpus", "--add-host", "-h", "--hostname"),
    }
)
# the option that names what is fetched, when that is not the first word
_PACKAGE_OPTIONS: Final = frozenset({"-p", "--package", "--from", "--spec"})
_VERSION: Final = r"v?\d+\.\d+\.\d+[\w.+-]*"
_PINNED: Final = re.compile(rf".+(?:@|==){_VERSION}")
_PINNED_IMAGE: Final = re.compile(r".+@sha256:[0-9a-f]{64}")
_REMOTE: Final = re.compile(r"(?:https?|npm|jsr|git\+\w+):")
_NETWORK: Final = frozenset(
    {
        *("curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "scp", "sftp", "rsync", "ftp"),
        *("http", "https", "xh", "aria2c", "gh", "aws", "gcloud", "kubectl"),
    }
)
_FETCHED: Final = re.compile(r"\b(?:curl|wget)\b[^;&\n]*\|\s*(?:sudo\s+)?(?:[\w/]*/)?(?:ba|da|z|k)?sh\b")
_FETCHED_INSIDE: Final = re.compile(
    r"\b(?:eval|source|\.|(?:ba|da|z|k)?sh\s+-\w*c)\s*[\"']?(?:\$\(|`|<\()\s*(?:curl|wget)\b|<\(\s*(?:curl|wget)\b"
)
_INLINE: Final = re.compile(
    r"\b(?:python[\d.]*|node|nodejs|deno|bun|ruby|perl|php|(?:ba|da|z|k)?sh)(?:\s+-[\w-]+)*?"
    r"\s+(?:-\w*[ce]|-r|-p|--eval|--print|eval)\s"
)
_DEEPEST: Final = 3
_SEPARATORS: Final = re.compile(r"&&|\|\||[;&|\n]")
_INTERPRETERS: Final = re.compile(r"(?:python[\d.]*|node|nodejs|ruby|perl|php|(?:ba|da|z|k)?sh)")


def risks(hook: Hook, *, shell_dialects: Collection[str] = (), cwd: str = "") -> tuple[Risk, ...]:
    """List what a person should know about a hook before they approve it."""
    found = [*_of_url(hook), *_of_prompt(hook)]
    if hook.command:
        is_line = hook.shell if hook.shell is not None else hook.dialect in shell_dialects and not hook.args
        line = shlex.join((hook.command, *hook.args)) if hook.args else hook.command
        if is_line:
            found.append(Risk("shell", "its command is read by a shell, which can start any program"))
        found += _of_line(line)
        names = [name.rpartition("/")[2] for name in reach(hook, cwd).programs]
        found += [Risk("network", f'it can reach the network with "{name}"') for name in names if name in _NETWORK]
        for words in _simple_commands(line, _DEEPEST):
            found += _of_launcher(words)
        for words in _simple_commands(line, 0):
            found += _missing(words, hook, cwd)
    return tuple(dict.fromkeys(found))


def _of_url(hook: Hook) -> Iterator[Risk]:
    if hook.url:
        yield Risk("network", f"the event, with all its data, is sent to {hook.url}")
        named = {name for value in hook.headers.values() for name in hook.header_env or () if name in value}
        if named:
            values = ", ".join(sorted(named))
            yield Risk("secret", f"what {values} holds in your environment is sent to {hook.url}")


def _of_prompt(hook: Hook) -> Iterator[Risk]:
    if hook.prompt:
        yield Risk("prompt", "it puts its own words before the model as if you had asked for them")


def _of_line(line: str) -> Iterator[Risk]:
    if _FETCHED.search(line) or _FETCHED_INSIDE.search(line):
        yield Risk("pipe-to-shell", "it runs what a server sends at that moment: curl or wget into a shell")
    if _INLINE.search(f"{line} "):
        yield Risk("inline-code", "its code stands in the command itself: read it to the end")


def _simple_commands(line: str, depth: int) -> Iterator[list[str]]:
    for piece in _SEPARATORS.split(line):
        try:
            words = shlex.split(piece)
        except ValueError:
            words = piece.split()
        if words:
            yield words
        if depth:
            # `sh -c "…"` and the like have a line in a word
            yield from (inner for word in words if " " in word for inner in _simple_commands(word, depth - 1))


def _of_launcher(words: list[str]) -> Iterator[Risk]:
    names = [word.rpartition("/")[2].strip("\"'`$({") for word in words]
    for place, name in enumerate(names):
        fetched = _fetched(name, words[place + 1 :])
        if fetched:
            text = (
                f'"{name}" runs "{fetched}" without a pinned version: what runs is decided by a registry when it runs'
            )
            yield Risk("launcher", text)
            return


def _fetched(name: str, rest: list[str]) -> str:
    """Name what a launcher would fetch without knowing its version; empty when there is no such thing."""
    for between in _LAUNCHERS.get(name, ()):
        if tuple(word for word in rest if not word.startswith("-"))[: len(between)] != between:
            continue
        wanted = _wanted([word for word in rest if word not in between] if between else rest)
        if name in _IMAGES:
            return "" if _PINNED_IMAGE.fullmatch(wanted) else wanted
        if name in {"deno", "go"} and not (_REMOTE.match(wanted) or (name == "go" and "@" in wanted)):
            return ""
        if wanted.startswith((".", "/")) or _PINNED.fullmatch(wanted.partition("?")[0]) or _has_version(wanted):
            return ""
        return wanted
    return ""


def _has_version(address: str) -> bool:
    """Say whether a web address has the version in the middle: https://host/x@1.2.3/mod.ts."""
    return bool(_REMOTE.match(address) and re.search(rf"@{_VERSION}(?:/|$)", address))


def _wanted(words: list[str]) -> str:
    takes = ""
    first = ""
    for word in words:
        option, has_value, value = word.partition("=")
        if takes:
            if takes in _PACKAGE_OPTIONS:
                return word
            takes = ""
        elif option in _PACKAGE_OPTIONS and has_value:
            return value
        elif word in _TAKES_VALUE:
            takes = word
        elif not word.startswith("-") and not first:
            first = word
    return first


def _missing(words: list[str], hook: Hook, cwd: str) -> Iterator[Risk]:
    program = words[0]
    if any(sign in " ".join(words) for sign in "$`{*"):
        # what this is called is known when it runs
        return
    base = base_of(hook, cwd)
    if "/" in program and not isfile(join(base, program)) and not program.startswith("~"):
        yield Risk("missing", f"{program} is not there")
    elif "/" not in program and not hook.shell and not Programs().find(program, search_path(hook)):
        yield Risk("missing", f"{program} is not on the search path")
    if _INTERPRETERS.fullmatch(program.rpartition("/")[2]) and len(words) > 1 and "/" in words[1]:
        script = words[1]
        if not script.startswith(("-", "~")) and not isfile(join(base, script)):
            yield Risk("missing", f"{script} is not there")
