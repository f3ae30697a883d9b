"""Programs that contain what they start: bubblewrap on Linux, sandbox-exec on macOS.

They are used where our own library cannot contain a process: it was not built, or the kernel lacks what it needs.
"""

import functools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from hookline.model.sandbox import UNIX, Sandbox
from hookline.model.workspace_paths import find_program, is_inside

BUBBLEWRAP: Final = "bubblewrap"
SANDBOX_EXEC: Final = "sandbox-exec"

INSTALL_BUBBLEWRAP: Final = "install bubblewrap (its package is called bubblewrap)"

_SANDBOX_EXEC_PATH: Final = "/usr/bin/sandbox-exec"

# what bubblewrap puts before the message of its own failures
_BUBBLEWRAP_FAILURE: Final = b"bwrap: "
_FAILED: Final = 1

_TRIAL_SECONDS: Final = 10
_OFF: Final = "HOOKLINE_WITHOUT"

# options of `ulimit`, and the bytes in a unit of theirs
_ULIMITS: Final[Mapping[str, tuple[str, int]]] = {
    "memory": ("d", 1024),
    "cpu": ("t", 1),
    "file_size": ("f", 512),
    "open_files": ("n", 1),
}

# programs that do for others what these could not do themselves
_SOCKETS: Final = (
    *("/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock"),
    *("/run/dbus/system_bus_socket", "/run/systemd/private", "/run/snapd.socket", "/run/libvirt", "/tmp/.X11-unix"),  # noqa: S108
)
_SOCKET_VARIABLES: Final = ("SSH_AUTH_SOCK", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS")

# kept by root, so that files of other users in the project stay usable
_ROOT_KEEPS: Final = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID")

# what programs of macOS need to start at all, where a hook names what it reads
_MACOS_SYSTEM: Final = (
    *("/System", "/usr", "/bin", "/sbin", "/Library", "/opt", "/dev", "/private/etc", "/private/var/db"),
    "/private/var/select",
)
_MACOS_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/dtracehelper")


class FileRules(Struct, frozen=True, kw_only=True):
    """What a process may do with files, as real paths.

    `readable` is None for everything; `hidden` paths are out of reach, and those that are `protected` can be read
    inside a folder that is `writable`.
    """

    project: str
    readable: tuple[str, ...] | None = None
    writable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class Wrapper(Struct, frozen=True):
    """The program of this machine that contains others; without a `path`, `problem` says why there is none."""

    layer: str
    path: str = ""
    problem: str = ""


def find_wrapper(project: str = "") -> Wrapper:
    """Find the program that contains others, outside of the project, and try it."""
    if sys.platform == "darwin":
        return _try(Wrapper(SANDBOX_EXEC, _SANDBOX_EXEC_PATH))
    if not sys.platform.startswith("linux"):
        return Wrapper("", problem="this system has no way to contain a process")
    off = os.environ.get(_OFF, "").split(",")
    untrusted = (project,) if project else ()
    path = find_program("bwrap", os.environ.get("PATH", os.defpath), untrusted) if BUBBLEWRAP not in off else ""
    return _try(Wrapper(BUBBLEWRAP, path)) if path else Wrapper(BUBBLEWRAP, problem="bubblewrap is not installed")


@functools.cache
def _try(wrapper: Wrapper) -> Wrapper:
    """Start a program that does nothing; return the wrapper, or why that is not possible."""
    words = [*_contain_words(wrapper, Sandbox(), FileRules(project="/")), "/bin/sh", "-c", ":"]
    problem = _find_start_problem(words)
    return Wrapper(wrapper.layer, problem=f"{wrapper.layer} does not work here ({problem})") if problem else wrapper


def _find_start_problem(words: list[str]) -> str:
    import subprocess  # noqa: PLC0415 - most machines do without a wrapper

    try:
        done = subprocess.run(words, capture_output=True, timeout=_TRIAL_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "it does not end"
    except OSError as problem:
        return problem.strerror or "it cannot be started"
    said = done.stderr.decode("utf-8", "replace").strip()
    return (said.splitlines() or [f"exit code {done.returncode}"])[-1] if done.returncode else ""


def make_words(wrapper: Wrapper, sandbox: Sandbox, rules: FileRules) -> tuple[str, ...]:
    """Return the words before the program and its arguments that have it contained."""
    return (*_contain_words(wrapper, sandbox, rules), *_limit_words(sandbox))


def _contain_words(wrapper: Wrapper, sandbox: Sandbox, rules: FileRules) -> tuple[str, ...]:
    if wrapper.layer == SANDBOX_EXEC:
        return (wrapper.path, "-p", make_profile(sandbox, rules))
    return (wrapper.path, *_bubblewrap_options(sandbox, rules))


def list_gaps(layer: str, sandbox: Sandbox) -> Iterator[str]:
    """Yield what a wrapper does not contain, of what a sandbox asks for, beside the hosts that it names."""
    if layer == BUBBLEWRAP and not _allows_unix(sandbox):
        yield "Unix sockets stay in reach, but for those of Docker, D-Bus and the like"
    yield "limits hold for each process, not for all together, and their number has no limit"


def describe_wrapper_failure(layer: str, exit_code: int, stderr: bytes) -> str:
    """Return why a wrapper could not start its program, or "" where it did."""
    if layer != BUBBLEWRAP or exit_code != _FAILED or not stderr.startswith(_BUBBLEWRAP_FAILURE):
        return ""
    return (
        "bubblewrap: " + stderr.removeprefix(_BUBBLEWRAP_FAILURE).decode("utf-8", "replace").strip().partition("\n")[0]
    )


def _allows_unix(sandbox: Sandbox) -> bool:
    return sandbox.net is True or (not isinstance(sandbox.net, bool) and UNIX in sandbox.net)


def _bubblewrap_options(sandbox: Sandbox, rules: FileRules) -> Iterator[str]:
    # later options are applied on top of earlier ones
    if rules.readable is None:
        yield from ("--ro-bind", "/", "/")
    else:
        for path in sorted({*rules.readable} - {"/proc", "/dev"}):
            yield from ("--ro-bind-try", path, path)
        yield from ("--dir", rules.project)
    yield from ("--dev", "/dev", "--proc", "/proc")
    for path in rules.writable:
        yield from ("--bind-try", path, path)
    for path in rules.protected:
        yield from ("--ro-bind-try", path, path)
    for path in _list_hidden(sandbox, rules):
        # a device cannot be opened where it was bound as a file
        yield from (
            ("--tmpfs", path, "--remount-ro", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)  # noqa: PTH112
        )
    yield from ("--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
    if os.geteuid() == 0:
        for name in _ROOT_KEEPS:
            yield from ("--cap-add", name)
    if not _needs_network(sandbox):
        yield "--unshare-net"
    yield "--"


def _list_sockets() -> Iterator[str]:
    """Yield the sockets of powerful programs that exist: a read-only file system does not keep a program from connecting."""
    values = (os.environ.get(name, "") for name in _SOCKET_VARIABLES)
    named = (value[value.index("/") :].lstrip("/").partition(",")[0] for value in values if "/" in value)
    found = (os.path.realpath(path) for path in (*_SOCKETS, *(f"/{path}" for path in named)))
    yield from sorted({path for path in found if os.path.exists(path)})  # noqa: PTH110 - texts


def _needs_network(sandbox: Sandbox) -> bool:
    return sandbox.net is True or bool(sandbox.hosts)


def _list_hidden(sandbox: Sandbox, rules: FileRules) -> Iterator[str]:
    """Yield what is put out of sight: nothing can be hidden where nothing was bound, or inside of what is hidden."""
    seen = ("/",) if rules.readable is None else (*rules.readable, *rules.writable)
    hidden = {*rules.hidden, *(() if _allows_unix(sandbox) else _list_sockets())}
    for path in sorted(hidden):
        is_seen = is_inside(path, seen)
        if is_seen and not is_inside(path, hidden - {path}):
            yield path


def make_profile(sandbox: Sandbox, rules: FileRules) -> str:
    """Return the profile for sandbox-exec; of several rules for one thing, its last one counts."""
    lines = ["(version 1)", "(allow default)", "(deny appleevent-send)", "(deny signal (target others))"]
    if rules.readable is not None:
        readable = (*_MACOS_SYSTEM, *rules.readable, *rules.writable)
        lines += ["(deny file-read-data)", f'(allow file-read-data (literal "/") {_subpaths(readable)})']
    devices = " ".join(f"(literal {_quote(path)})" for path in _MACOS_DEVICES)
    lines += [
        "(deny file-write*)",
        f'(allow file-write* {devices} (regex #"^/dev/fd/"){_subpaths(rules.writable, before=" ")})',
    ]
    if rules.protected:
        lines.append(f"(deny file-write* {_subpaths(rules.protected)})")
    if rules.hidden:
        lines.append(f"(deny file-read* file-write* {_subpaths(rules.hidden)})")
    if not _needs_network(sandbox):
        lines.append("(deny network*)")
        if _allows_unix(sandbox):
            lines.append("(allow network-outbound (remote unix-socket))")
    return "\n".join(lines)


def _subpaths(paths: Iterable[str], *, before: str = "") -> str:
    words = " ".join(f"(subpath {_quote(path)})" for path in paths)
    return f"{before}{words}" if words else ""


def _quote(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _limit_words(sandbox: Sandbox) -> tuple[str, ...]:
    """Return a shell that sets the limits and then becomes the program."""
    # a limit that is lower already cannot be raised, and stays
    lines = ["ulimit -c 0"]
    for name, (option, unit) in _ULIMITS.items():
        if value := getattr(sandbox, name):
            lines.append(f"ulimit -{option} {max(1, int(value / unit))} 2>/dev/null")
    return ("/bin/sh", "-c", "; ".join((*lines, 'exec "$@"')), "hookline")
