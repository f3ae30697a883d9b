"""List the risks of a hook for the approval screen: a shell, the network, code that is fetched when it runs."""
# ruff: noqa: PTH113, PTH118 - words of a command are no paths until they turn out to be

import re
from collections.abc import Collection, Iterator
from os.path import isfile, join
from typing import Final

from msgspec import Struct

from hookline.model.hook import Hook, get_process_hook, make_undo_hook
from hookline.model.workspace_paths import find_program
from hookline.shell.program import split_names
from hookline.shell.walk import ShellCommand, walk_commands
from hookline.trust.fingerprint import get_search_path
from hookline.trust.reachability import BUILTINS, analyse_reach, has_code, read_command, run_dir


class Risk(Struct, frozen=True):
    """One thing to know about a hook: `kind` for programs, `text` for people."""

    kind: str
    text: str


# programs that fetch what they run, with the words that may stand between them and its name
_LAUNCHERS: Final = {
    **dict.fromkeys(("npx", "pnpx", "bunx", "uvx"), ((),)),
    "pnpm": (("dlx",),),
    "yarn": (("dlx",),),
    "bun": (("x",),),
    "npm": (("exec",), ("x",)),
    "pipx": (("run",),),
    "uv": (("tool", "run"),),
    **dict.fromkeys(("go", "deno"), (("run",),)),
    **dict.fromkeys(("docker", "podman"), (("run",), ("container", "run"))),
}
_IMAGES: Final = frozenset({"docker", "podman"})
_TAKES_VALUE: Final = split_names(
    "-p --package --from --with --python -c --call --index-url --spec -v --volume -e --env -w --workdir -u --user --name"
    " --network --mount --entrypoint --platform --env-file -m --memory --cpus --add-host -h --hostname"
)
# the option that names what is fetched, when that is not the first word
_PACKAGE_OPTIONS: Final = frozenset({"-p", "--package", "--from", "--spec"})
_VERSION: Final = r"v?\d+\.\d+\.\d+[\w.+-]*"
_PINNED: Final = re.compile(rf".+(?:@|==){_VERSION}")
_PINNED_IMAGE: Final = re.compile(r".+@sha256:[0-9a-f]{64}")
_REMOTE: Final = re.compile(r"(?:https?|npm|jsr|git\+\w+):")
_NETWORK: Final = split_names(
    "curl wget nc ncat netcat socat telnet ssh scp sftp rsync ftp http https xh aria2c gh aws gcloud kubectl"
)
_FETCHERS: Final = frozenset({"curl", "wget"})


def list_risks(hook: Hook, *, shell_dialects: Collection[str] = (), cwd: str = "") -> tuple[Risk, ...]:
    """List what the user should know about a hook before approving it."""
    found: list[Risk] = []
    if hook.url:
        what = "the event, with all its data," if hook.body is None else "a text of its own, with values of the event,"
        found.append(Risk("network", f"{what} is sent to {hook.url}"))
        values = (hook.url, *hook.headers.values())
        named = sorted({name for value in values for name in hook.header_env or () if name in value})
        if named:
            found.append(Risk("secret", f"what {', '.join(named)} holds in your environment is sent to {hook.url}"))
    server = hook.server
    if server is not None and server.url:
        found.append(Risk("network", f"values of the event are sent to {server.url}"))
    if server is not None and (names := server.list_variables()):
        goes = f"sent to {server.url}" if server.url else "given to the server's program"
        found.append(Risk("secret", f"what {', '.join(names)} holds in your environment is {goes}"))
    if hook.judge:
        where = f"{hook.model} at {hook.model_url}" if hook.model_url else hook.model
        found.append(Risk("network", f"values of the event are sent to the language model {where}"))
        if not hook.redact:
            found.append(Risk("secret", f"secrets in these values are not masked before they are sent to {hook.model}"))
    if hook.prompt or hook.context:
        found.append(Risk("prompt", "it puts its own words before the model as if you had asked for them"))
    if hook.allow:
        found.append(Risk("allow", "it says yes for you where the agent would ask you"))
    for runs in (get_process_hook(hook), *((make_undo_hook(hook),) if hook.undo else ())):
        if runs.command:
            is_line = runs.shell if runs.shell is not None else runs.dialect in shell_dialects and not runs.args
            if is_line:
                found.append(Risk("shell", "its command is read by a shell, which can start any program"))
            found += _list_command_risks(runs, cwd)
    return tuple(dict.fromkeys(found))


def _list_command_risks(hook: Hook, cwd: str) -> Iterator[Risk]:
    # without args, some agents hand the command to a shell
    commands = walk_commands(read_command(hook, is_line=True)).commands
    if any(_FETCHERS & {one.name for one in command.code_from} for command in commands):
        yield Risk("pipe-to-shell", "it runs what a server sends at that moment: curl or wget into a shell")
    if any(has_code(command) and not command.arguments.values("-m") for command in commands):
        yield Risk("inline-code", "its code is in the command itself: read it to the end")
    for name in analyse_reach(hook, cwd).programs:
        if (program := name.rpartition("/")[2]) in _NETWORK:
            yield Risk("network", f'it can reach the network with "{program}"')
    for command in commands:
        words = [word.text for word in command.words]
        # an unknown program may start the launcher behind it
        for at, word in enumerate(words[:1] if command.row is not None else words):
            name = word.rpartition("/")[2]
            if fetched := _find_unpinned(name, words[at + 1 :]):
                what = f'"{name}" runs "{fetched}" without a pinned version'
                yield Risk("launcher", f"{what}: what runs is decided by a registry when it runs")
                break
    for command in commands:
        if not command.wrappers and command.words:
            yield from _list_missing(command, hook, cwd)


def _find_unpinned(name: str, rest: list[str]) -> str:
    """Return what a launcher would fetch without a pinned version, or ""."""
    for between in _LAUNCHERS.get(name, ()):
        if tuple(word for word in rest if not word.startswith("-"))[: len(between)] != between:
            continue
        wanted = _find_package([word for word in rest if word not in between] if between else rest)
        if name in _IMAGES:
            return "" if _PINNED_IMAGE.fullmatch(wanted) else wanted
        if name in {"deno", "go"} and not (_REMOTE.match(wanted) or (name == "go" and "@" in wanted)):
            return ""
        if wanted.startswith((".", "/")) or _PINNED.fullmatch(wanted.partition("?")[0]):
            return ""
        # a web address may have the version in the middle: https://host/x@1.2.3/mod.ts
        return "" if _REMOTE.match(wanted) and re.search(rf"@{_VERSION}(?:/|$)", wanted) else wanted
    return ""


def _find_package(words: list[str]) -> str:
    takes = first = ""
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


def _list_missing(command: ShellCommand, hook: Hook, cwd: str) -> Iterator[Risk]:
    if not all(word.is_literal and not word.is_glob and "{" not in word.text for word in command.words):
        # its name is only known at run time
        return
    first, base = command.words[0], run_dir(hook, cwd)
    program = first.text
    if "/" in program and not first.is_home and not isfile(join(base, program)):
        yield Risk("missing", f"{program} is not there")
    is_looked_up = "/" not in program and not hook.shell and program not in BUILTINS
    if is_looked_up and not find_program(program, get_search_path(hook)):
        yield Risk("missing", f"{program} is not on the search path")
    row, operands = command.row, command.arguments.operands
    if row is not None and row.interpreter and not has_code(command) and operands and not operands[0].is_home:
        script = operands[0].text
        if "/" in script and not isfile(join(base, script)):
            yield Risk("missing", f"{script} is not there")
