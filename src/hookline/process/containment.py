"""Contain hook processes on Linux: turn what a sandbox allows into what the kernel enforces.

A `Cell` is everything that the processes of one hook share: a landlock ruleset, the mounts, the limits, and a temporary folder.
Making one takes milliseconds, so cells are kept for the next call, as long as the folders that were listed for them stay the same.
"""
# paths are texts here: they are compared and encoded, hundreds at a time
# ruff: noqa: PTH102, PTH103, PTH110, PTH111, PTH113, PTH114, PTH116, PTH118, PTH120, PTH123, PTH208

import atexit
import errno
import functools
import logging
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.model.hook import Hook
from hookline.model.sandbox import PRIVATE, UNIX, Sandbox
from hookline.model.workspace_paths import is_inside
from hookline.process import native
from hookline.process.environment import add_variables
from hookline.process.file_access import (
    PORTS_SINCE,
    SCOPES_SINCE,
    TRUNCATES_SINCE,
    Listing,
    Ruleset,
    Secrets,
    read_mtime,
)
from hookline.process.hook_state import prepare_state
from hookline.process.result import ContainmentError, Env
from hookline.process.sandbox_wrappers import (
    BUBBLEWRAP,
    INSTALL_BUBBLEWRAP,
    FileRules,
    Wrapper,
    find_wrapper,
    list_gaps,
    make_words,
)

if TYPE_CHECKING:
    from hookline.process.connect_proxy import ConnectProxy

if sys.platform != "win32":
    import resource

logger: Final = logging.getLogger(__name__)

_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# what programs need to start at all, where a hook names what it reads
_SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/gnu", "/etc", "/proc", "/sys", "/var/lib"),
)
# In the project, these are run or obeyed by git, editors and agents outside of any sandbox.
_OBEYED: Final = (
    # git
    *(".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes", ".git/modules"),
    *(".gitmodules", ".githooks", ".husky"),
    # agents
    *(".claude", ".codex", ".gemini", ".cursor", ".qwen", ".mcp.json", ".github/copilot", ".opencode", "opencode.json"),
    *(".factory", ".kiro", ".windsurf", ".amazonq", ".roo", ".continue", ".ollm", ".ollama"),
    *("hookline.toml", ".hookline"),
    # editors and shells
    *(".vscode", ".idea", ".zed", ".devcontainer", ".envrc"),
)

# kept by root, so that files of other users in the project stay usable: CHOWN, DAC_OVERRIDE, FOWNER
_ROOT_KEEPS: Final = 1 << 0 | 1 << 1 | 1 << 3

_RESOURCES: Final = {
    "memory": "RLIMIT_DATA",
    "cpu": "RLIMIT_CPU",
    "file_size": "RLIMIT_FSIZE",
    "open_files": "RLIMIT_NOFILE",
}

_TASKS_PER_PROCESS: Final = 4
_SPARE_TASKS: Final = 1000
# nanoseconds; file times are as coarse as the clock of the kernel
_TICK: Final = 20_000_000
_MOST_CELLS: Final = 64
# how far below them folders are looked into that others obey
_DEPTH: Final = 2
# no folder of a hook has this name
_LATER: Final = "later"
_FILE_LAYERS: Final = ("landlock", "mounts", "bubblewrap", "sandbox-exec")
_UNCONTAINED: Final = "uncontained"


class CellKey(Struct, frozen=True):
    """What a cell is made for: a sandbox, in a project, for a user with this home folder."""

    sandbox: Sandbox
    project: str
    home: str
    # the folder in which the hook keeps its state
    state: str = ""

    @property
    def has_project(self) -> bool:
        """Whether the project is one, and not the home folder or one around it: writing that is having everything of the user."""
        return not is_inside(self.home, (self.project,))

    def for_long_lived(self) -> "CellKey":
        """Return the key for a process that serves many events, whose processor time adds up."""
        return replace(self, sandbox=replace(self.sandbox, cpu=0.0)) if self.sandbox.cpu else self


def make_cell_key(hook: Hook, cwd: str, *, is_long_lived: bool = False, state: str = "") -> CellKey | None:
    """Return what contains the processes of a hook, at an event in a folder; None for a hook that is not contained.

    The project is that of the hook, else where the event happens. Processor time adds up over the life of a process, so it is no
    limit for one that serves many events. It may write the folder of its `state`.
    """
    sandbox = hook.containment
    if not sandbox.is_contained:
        return None
    home = caller_context.environ().get("HOME") or caller_context.database_home() or "/"
    key = CellKey(
        sandbox, os.path.realpath(hook.project(cwd)), os.path.realpath(home), os.path.realpath(state) if state else ""
    )
    return key.for_long_lived() if is_long_lived else key


class Cell(Struct, kw_only=True):
    """What contains the processes of one hook, one call at a time.

    `layers` are those in force; `lacking` says what the machine does not have. `variables` come on top of the environment.
    `wrapper` are the words before the program, where another program contains it. `folders` are those of its own: the temporary
    one, and one in the place of shared memory, each with what tells it from another at its path. `named` is what the sandbox names to be
    written, and `obeyed` what others obey in there, which cannot.
    """

    key: CellKey
    pool: "Containment | None" = None
    layers: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    struct: native.NativeSandbox | None = None
    wrapper: tuple[str, ...] = ()
    tmp: str = ""
    folders: Mapping[str, tuple[int, int]] = {}
    variables: Mapping[str, str] = {}
    named: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    obeyed_folders: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    times: tuple[int, ...] | None = None
    states: Mapping[str, tuple[int, ...]] = {}
    listings: Mapping[str, Listing] = {}
    # the environment of the last process without the variables, and with them
    last_env: tuple[Env, Env] | None = None

    @property
    def is_guarded(self) -> bool:
        """Whether what others obey in a folder that can be written is protected, as far as it is there."""
        return bool(self.wrapper) or "mounts" in self.layers or not self.is_contained

    @property
    def is_contained(self) -> bool:
        """Whether files are out of its reach; a process that can write everything is not contained, whatever else holds."""
        return any(layer.startswith(_FILE_LAYERS) for layer in self.layers)

    def refresh(self) -> bool:
        """Return whether the cell can be used for another process: the folders that were listed have the same entries.

        A wrapper knows only what was there. What others obey is noted, for `find_tampering`.
        """
        if self.wrapper or not all(listing.is_current() for listing in self.listings.values()):
            return False
        times = self._read_times()
        if times != self.times and _list_obeyed_in(self.key, self.named) != self.obeyed:
            return False
        self.note_obeyed(times)
        return True

    def note_obeyed(self, times: tuple[int, ...] | None = None) -> None:
        """Note what others obey before a process starts: which files are not there, and all of them where no mount protects them."""
        times = self._read_times() if times is None else times
        if times != self.times:
            self.times = times
            self.absent = tuple(path for path in self.obeyed if not os.path.lexists(path))
        if not self.is_guarded:
            self.states = _read_states(self.obeyed)

    def find_tampering(self) -> str:
        """Return which file that others obey was made or changed since, in a sentence, or ""."""
        path = self._find_changed()
        text = f'"{path}" was made or changed while the hook ran, and others run or obey what it says: look at it'
        return text if path else ""

    def _find_changed(self) -> str:
        if not self.is_guarded:
            now = _read_states(self.obeyed)
            changed = (path for path in now.keys() | self.states.keys() if now.get(path) != self.states.get(path))
            return min(changed, default="")
        times = self._read_times()
        # a folder that changes twice within a tick of the clock keeps its time
        is_settled = time.time_ns() - max(times, default=0) > _TICK
        if is_settled and times == self.times:
            return ""
        return next((path for path in self.absent if os.path.lexists(path)), "")

    def add_variables_to(self, env: Env) -> Env:
        """Return an environment with the variables on top: the same object as for the last process that had this one."""
        if self.last_env is None or self.last_env[0] is not env:
            self.last_env = (env, add_variables(env, self.variables))
        return self.last_env[1]

    def _read_times(self) -> tuple[int, ...]:
        return tuple(map(read_mtime, self.obeyed_folders))

    def struct_for_terminal(self) -> native.NativeSandbox | None:
        """Return the struct for a process that uses the terminal of this one."""
        return self._copy_struct(own_session=0)

    def struct_for_groups(self) -> native.NativeSandbox | None:
        """Return the struct for a process that puts its children into groups of their own."""
        return self._copy_struct(keeps_group=0)

    def _copy_struct(self, **changes: int) -> native.NativeSandbox | None:
        if self.struct is None:
            return None
        struct = native.NativeSandbox.from_buffer_copy(self.struct)
        for field, value in changes.items():
            setattr(struct, field, value)
        return struct

    def empty(self) -> None:
        """Remove what was left in the folders of its own."""
        for path, identity in self.folders.items():
            _empty_folder(path, identity)

    def release(self) -> None:
        """Give the cell back when all its processes have ended."""
        try:
            self.empty()
        except OSError as problem:
            # the hook made its folder unreadable, or replaced it: the next one gets another
            logger.warning("%s cannot be emptied: %s", self.tmp, problem.strerror)
            self.close()
            return
        if self.pool is not None:
            self.pool.keep(self)

    def close(self) -> None:
        """Close the ruleset and remove the folders of its own."""
        if self.struct is not None and self.struct.ruleset >= 0:
            os.close(self.struct.ruleset)
            self.struct.ruleset = -1
        for path in self.folders:
            shutil.rmtree(path, ignore_errors=True)


class Containment:
    """Makes and keeps the cells of hooks, for all threads; each is used by one process at a time."""

    def __init__(self, protected: tuple[str, ...] = (), *, state_root: str = "") -> None:
        """Take the folders that no contained hook reads, beside the secrets that are known: Hookline's own.

        In `state_root`, each hook has a folder for its state; no contained hook reads that of another.
        """
        self._protected = (*protected, *([state_root] if state_root else []))
        self._state_root = state_root
        self._free: dict[CellKey, list[Cell]] = {}
        self._lock = threading.Lock()

    def acquire(self, key: CellKey) -> Cell:
        """Return a cell for one process, which the caller gives back.

        Raises:
            ContainmentError: The hook must be contained, and cannot be.
            OSError: A ruleset or a folder could not be made.
        """
        while (cell := self._take(key)) is not None:
            if cell.refresh():
                return cell
            cell.close()
        cell = make_cell(key, _list_protected(self._protected, key.state))
        cell.pool = self
        cell.note_obeyed()
        if refusal := find_refusal(key.sandbox, () if cell.is_contained else cell.lacking):
            cell.close()
            raise ContainmentError(errno.ENOSYS, refusal)
        return cell

    def prepare_state(self, hook: Hook, session: str) -> Mapping[str, str]:
        """Make the folders in which a hook keeps its state, and return the variables that name them.

        Raises:
            OSError: They cannot be made, or the hook keeps too much.
        """
        if not self._state_root:
            raise OSError(0, "this engine was made without a folder for the state of hooks; `Engine.load()` has one")
        return prepare_state(self._state_root, hook, session)

    def list_hidden(self, key: CellKey, paths: Iterable[str]) -> list[str]:
        """Return those of the paths that a contained hook may not read."""
        secrets = Secrets(key.home, _list_protected(self._protected, key.state))
        return [path for path in paths if secrets.hides(path)]

    def keep(self, cell: Cell) -> None:
        """Keep a cell for the next process."""
        if sum(map(len, tuple(self._free.values()))) >= _MOST_CELLS:
            self.close()
        with self._lock:
            self._free.setdefault(cell.key, []).append(cell)

    def close(self) -> None:
        """Close all cells that are not in use."""
        with self._lock:
            free, self._free = self._free, {}
        for cells in free.values():
            for cell in cells:
                cell.close()

    def _take(self, key: CellKey) -> Cell | None:
        with self._lock:
            free = self._free.get(key)
            return free.pop() if free else None


def _list_protected(protected: tuple[str, ...], state: str) -> tuple[str, ...]:
    """Return what a hook may not read: of the folder with its own state, everything else."""
    found: list[str] = []
    for folder in protected:
        if state and is_inside(state, (os.path.realpath(folder),)):
            with os.scandir(folder) as entries:
                found += [entry.path for entry in entries if os.path.realpath(entry.path) != state]
            # stands for the folders of hooks that come later: what lies here is allowed one by one
            found.append(f"{folder}/{_LATER}")
        else:
            found.append(folder)
    return tuple(found)


def make_cell(key: CellKey, protected: tuple[str, ...] = ()) -> Cell:
    """Make a cell with every layer that this machine has.

    Raises:
        OSError: A ruleset or a folder could not be made.
    """
    sandbox, project, machine = key.sandbox, key.project, find_layers()
    # nothing is made before all that a definition can have wrong
    named, proxy = tuple(list_writable(key)), _find_proxy(sandbox)
    secrets, obeyed = Secrets(key.home, protected), _list_obeyed_in(key, named)
    tmp = os.path.realpath(tempfile.mkdtemp(prefix="hookline-hook-"))
    shared_memory = os.path.realpath(tempfile.mkdtemp(prefix="hookline-shm-")) if machine.mounts else ""
    own = {path: _identify(path) for path in (tmp, shared_memory) if path}
    shared = [os.path.realpath(tempfile.gettempdir())] if sandbox.tmp != PRIVATE else []
    writable = [*named, tmp, *([key.state] if key.state else []), *shared]
    cell = Cell(
        key=key,
        tmp=tmp,
        folders=own,
        variables={
            **(dict.fromkeys(("TMPDIR", "TMP", "TEMP"), tmp) if sandbox.tmp == PRIVATE else {}),
            **(proxy.variables() if proxy is not None else {}),
        },
        named=named,
        obeyed=obeyed,
        obeyed_folders=tuple(dict.fromkeys(map(os.path.dirname, obeyed))),
    )
    try:
        wrapper = None if machine.landlock or machine.mounts else find_wrapper(project)
        if wrapper is not None and not wrapper.path:
            # the only one may be the project's own
            lacking = tuple(dict.fromkeys((*machine.lacking, wrapper.problem)))
            machine = replace(machine, wrapper="", lacking=lacking)
        is_own = machine.library and not machine.wrapper
        user = _find_user(sandbox.user, can_change=is_own)
        if user is not None:
            for path in own:
                os.chown(path, *user)
        cell.layers, cell.lacking = machine.layers, list_lacking(sandbox, machine)
        if wrapper is not None and machine.wrapper:
            _add_wrapper(cell, wrapper, writable, secrets=secrets.paths)
        if not is_own:
            return cell
        struct = cell.struct = native.NativeSandbox(
            sockets=_sockets(sandbox), capabilities=_ROOT_KEEPS, keeps_group=1, own_session=1
        )
        if proxy is not None and not _find_network_gap(sandbox, machine):
            network = proxy.open_network()
            struct.network, struct.user_namespace = network.namespace, network.user_namespace
            cell.layers = (*cell.layers, "network")
        if user is not None:
            struct.uid, struct.gid = user
        # in a user namespace, or as another user, the processes of a hook are counted by themselves; those of root never are
        is_counted = user is not None or (machine.mounts and os.geteuid() != 0)
        struct.set_limits(dict(_limits(sandbox, is_counted=is_counted)))
        if machine.landlock:
            ruleset = Ruleset(machine.landlock, secrets, has_network=sandbox.net is True)
            struct.ruleset = ruleset.descriptor
            # a folder in the place of shared memory is still that folder
            readable = ("/",) if sandbox.read is None else _list_readable(sandbox.read, project)
            port = 0 if proxy is None else proxy.port
            ruleset.allow(readable, [*writable, *own], devices=_DEVICES, port=port)
            cell.listings = ruleset.listings
        elif machine.mounts:
            cell.listings = {folder: Listing(folder, frozenset()) for folder in secrets.folders}
        if machine.mounts:
            hidden = None if machine.landlock else secrets.paths
            _add_mounts(struct, writable, obeyed=cell.obeyed, hidden=hidden, shared_memory=shared_memory)
    except BaseException:
        cell.close()
        raise
    return cell


class MachineLayers(Struct, frozen=True, kw_only=True):
    """Which layers the machine has; `lacking` says of each other why not.

    `wrapper` is the program that contains others where our own library cannot.
    """

    library: bool = True
    landlock: int = 0
    mounts: bool = False
    wrapper: str = ""
    lacking: tuple[str, ...] = ()

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that are in force for a contained process."""
        if self.wrapper:
            return (self.wrapper, "limits")
        own = ("seccomp", "limits") if self.library else ()
        if self.landlock:
            own = (f"landlock {self.landlock}", *own)
        if self.mounts:
            own = (*own, "mounts")
        return own if self.landlock or self.mounts else (_UNCONTAINED, *own)

    @property
    def can_contain(self) -> bool:
        """Whether files are out of the reach of a contained process."""
        return bool(self.wrapper or self.landlock or self.mounts)


@functools.cache
def find_layers() -> MachineLayers:
    """Try out which layers this machine has."""
    if native.load_library() is None:
        lacking = ["the library that contains processes was not built"]
        return MachineLayers(library=False, **_describe_wrapper(find_wrapper(), lacking))
    off = os.environ.get("HOOKLINE_WITHOUT", "").split(",")
    if problem := "it was switched off" if "seccomp" in off else native.find_filter_problem():
        lacking = [f"system calls cannot be filtered here ({problem})"]
        return MachineLayers(library=False, **_describe_wrapper(find_wrapper(), lacking))
    # "landlock>3" stands for a kernel that has version 3
    known = [int(name.removeprefix("landlock>")) for name in off if name.startswith("landlock>")]
    landlock = 0 if "landlock" in off else min([native.landlock_version(), *known])
    problem = "it was switched off" if "mounts" in off else _try_mounts()
    lacking = [] if landlock else ["the kernel has no landlock"]
    if problem:
        lacking.append(f"a process cannot have mounts of its own ({problem})")
    if landlock or not problem:
        return MachineLayers(landlock=landlock, mounts=not problem, lacking=tuple(lacking))
    return MachineLayers(**_describe_wrapper(find_wrapper(), lacking))


def _describe_wrapper(wrapper: Wrapper, lacking: list[str]) -> dict[str, Any]:
    if wrapper.path:
        return {"wrapper": wrapper.layer, "lacking": tuple(lacking)}
    return {"lacking": (*lacking, wrapper.problem)}


def list_lacking(sandbox: Sandbox, machine: MachineLayers | None = None) -> tuple[str, ...]:
    """Return what this machine lacks to contain a process as a sandbox says."""
    machine = machine or find_layers()
    gaps = list_gaps(machine.wrapper, sandbox) if machine.wrapper else _list_own_gaps(machine)
    return (*machine.lacking, *filter(None, [_find_network_gap(sandbox, machine)]), *gaps)


def _list_own_gaps(machine: MachineLayers) -> Iterator[str]:
    """Yield what our own layers do not hold, where the kernel lacks something."""
    if not machine.can_contain:
        return
    if not machine.mounts:
        yield "what git, agents and editors obey in a project is only compared afterwards"
        yield "modes, owners and times of all files of the user can be changed"
        if machine.landlock < TRUNCATES_SINCE:
            yield f"all files of the user can be truncated (landlock {TRUNCATES_SINCE} prevents that)"
    if machine.landlock < SCOPES_SINCE:
        yield f"other processes of the user can be ended (landlock {SCOPES_SINCE} prevents that)"


def list_layers(sandbox: Sandbox) -> tuple[str, ...]:
    """Return the layers of this machine that hold a process with a sandbox."""
    machine = find_layers()
    has_network = sandbox.hosts and not machine.wrapper and not _find_network_gap(sandbox, machine)
    return (*machine.layers, "network") if has_network else machine.layers


def find_refusal(sandbox: Sandbox, lacking: tuple[str, ...] | None = None) -> str:
    """Return why a process with this sandbox does not run; empty if it does.

    `lacking` is what keeps it from being contained at all; unless it is given, that depends on the machine.
    """
    if not sandbox.required:
        return ""
    machine = find_layers()
    if lacking is None:
        lacking = () if machine.can_contain else machine.lacking
    problem = describe_lacking(lacking) or _find_network_gap(sandbox, machine)
    return f"it must be contained, and {problem}" if problem else ""


def _find_network_gap(sandbox: Sandbox, machine: MachineLayers) -> str:
    """Return what a process can reach beside the hosts that its sandbox names; empty if nothing."""
    if not sandbox.hosts:
        return ""
    if not machine.mounts:
        problem = "this needs namespaces"
    elif not (problem := _try_network()):
        return ""
    if machine.landlock >= PORTS_SINCE:
        return f"other machines are in reach, at the port number of the proxy for named hosts ({problem})"
    return f"the network is in reach, not only the hosts that it names ({problem})"


@functools.cache
def _try_network() -> str:
    """Make a network of its own for a process; return why that is not possible, or ""."""
    try:
        network = native.make_network(1)
    except OSError as problem:
        return problem.strerror or "refused"
    os.close(network.listener)
    network.close()
    return ""


def describe_lacking(lacking: tuple[str, ...]) -> str:
    """Return why a process cannot be contained, and what to do about it."""
    text = " and ".join(lacking)
    return f"{text}: {INSTALL_BUBBLEWRAP}" if any(BUBBLEWRAP in one for one in lacking) else text


def _try_mounts() -> str:
    """Start a program with mounts of its own; return why that is not possible, or ""."""
    with tempfile.TemporaryDirectory(prefix="hookline-try-") as folder, open(os.devnull, "r+b") as null:
        struct = native.NativeSandbox(sockets=native.ANY_SOCKETS, capabilities=_ROOT_KEEPS)
        _add_mounts(struct, [os.path.realpath(folder)], obeyed=(), hidden=())
        try:
            pid = native.spawn(
                "/bin/sh", ("sh", "-c", ":"), env={}, cwd="/", streams=[null.fileno()] * 3, sandbox=struct
            )
        except OSError as problem:
            return problem.strerror or "refused"
        os.waitpid(pid, 0)
    return ""


def list_writable(key: CellKey) -> Iterator[str]:
    """Yield the folders and files that a sandbox names to be written, as real paths; a folder that ends with `/**` is made.

    Raises:
        ContainmentError: One that is named below the project is a link that leads out of it.
    """
    project = key.project
    for entry in key.sandbox.write:
        if entry == "." and not key.has_project:
            continue
        folder = entry.removesuffix("**")
        path = os.path.join(project, os.path.expanduser(folder))
        is_below = is_inside(os.path.normpath(path), (os.path.normpath(project),))
        # a link of the project decides nothing about what lies outside
        if is_below and not is_inside(os.path.realpath(path), (os.path.realpath(project),)):
            raise ContainmentError(
                errno.EPERM,
                f'it may write "{entry}", which is a link that leads out of the project: {os.path.realpath(path)}',
            )
        if folder.endswith("/") and not os.path.lexists(path) and is_below:
            os.makedirs(path, exist_ok=True)
        yield os.path.realpath(path)


def _limits(sandbox: Sandbox, *, is_counted: bool) -> Iterator[tuple[int, int]]:
    # with one byte there is no core dump at all: with none, the kernel still starts a program that takes them
    yield resource.RLIMIT_CORE, 1
    for name, number in _RESOURCES.items():
        if value := getattr(sandbox, name):
            yield getattr(resource, number), max(1, int(value))
    if is_counted and sandbox.processes:
        # `GroupWatch` ends a hook at its limit and says so; until then a fork bomb must not fill the machine. Threads count as well.
        yield resource.RLIMIT_NPROC, _TASKS_PER_PROCESS * sandbox.processes + _SPARE_TASKS


def _find_proxy(sandbox: Sandbox) -> "ConnectProxy | None":
    if not sandbox.hosts:
        return None
    from hookline.process.connect_proxy import ConnectProxy  # noqa: PLC0415 - few hooks name hosts

    return ConnectProxy.for_hosts(sandbox.hosts)


def _sockets(sandbox: Sandbox) -> int:
    if isinstance(sandbox.net, bool):
        return native.INTERNET_SOCKETS if sandbox.net else native.NO_SOCKETS
    tcp = native.TCP_SOCKETS if sandbox.hosts else native.NO_SOCKETS
    return tcp | (native.UNIX_SOCKETS if UNIX in sandbox.net else 0)


def _find_user(name: str, *, can_change: bool) -> tuple[int, int] | None:
    if not name:
        return None
    import pwd  # noqa: PLC0415 - hardly any hook runs as another user

    try:
        entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
    except KeyError:
        raise ContainmentError(errno.EINVAL, f'there is no user "{name}" to run it as') from None
    if os.geteuid() not in {0, entry.pw_uid}:
        raise ContainmentError(errno.EPERM, f'only root can run it as "{name}"')
    if os.geteuid() == entry.pw_uid:
        return None
    if not can_change:
        raise ContainmentError(errno.ENOSYS, f'only our own library can run it as "{name}", and cannot contain it here')
    return entry.pw_uid, entry.pw_gid


def _add_wrapper(cell: Cell, wrapper: Wrapper, writable: Iterable[str], *, secrets: tuple[str, ...]) -> None:
    """Have a process contained by another program."""
    sandbox, project = cell.key.sandbox, cell.key.project
    paths = outermost(path for path in writable if os.path.lexists(path))
    rules = FileRules(
        project=project,
        readable=None if sandbox.read is None else tuple(_list_readable(sandbox.read, project)),
        writable=tuple(paths),
        protected=tuple(path for path in cell.obeyed if os.path.lexists(path) and not os.path.islink(path)),
        hidden=secrets,
    )
    cell.wrapper, cell.layers = make_words(wrapper, sandbox, rules), (wrapper.layer, "limits")


def _add_mounts(
    struct: native.NativeSandbox,
    writable: Iterable[str],
    *,
    obeyed: Iterable[str],
    hidden: Iterable[str] | None,
    shared_memory: str = "",
) -> None:
    """Have everything read-only but the writable paths, without what others obey in there.

    Secrets and devices are `hidden` only where landlock does not keep them: then it is None.
    """
    paths = outermost(path for path in writable if os.path.lexists(path))
    entries = [f"w{path}" for path in paths]
    # what does not exist is left out in the child: it may by the time of a later call;
    # a folder above cannot be moved away, and another put into its place
    above = {str(folder) for path in obeyed for folder in PurePosixPath(path).parents}
    entries += [
        # in a worktree, `.git` is a file, which says where git finds its settings
        f"{'r' if os.path.isfile(folder) else 'p'}{folder}"
        for folder in sorted(above)
        if folder not in paths and is_inside(folder, paths)
    ]
    entries += [f"r{path}" for path in obeyed]
    entries += [f"s{shared_memory}"] if shared_memory else []
    entries += [f"d{path}" for path in (() if hidden is None else _DEVICES) if os.path.exists(path)]
    if hidden:
        entries += [f"h{path}" for path in hidden]
        struct.empty = os.fsencode(_empty_things())
    struct.has_mounts = 1
    struct.mount_count = len(entries)
    struct.mounts = b"".join(os.fsencode(entry) + b"\0" for entry in entries)


def _list_obeyed_in(key: CellKey, named: tuple[str, ...]) -> tuple[str, ...]:
    """Return what others obey in the project, and in each folder that a sandbox names to be written."""
    return tuple(list_obeyed((key.project, *filter(os.path.isdir, named)), named))


def list_obeyed(roots: Iterable[str], writable: Collection[str]) -> list[str]:
    """Return what git, editors and agents obey in some folders, there or not, inside of what can be written.

    Where one is a link, it is both the link and what it leads to. A path that is named by itself is meant.
    """
    named = [f"{root.rstrip('/')}/{name}" for root in roots for name in _OBEYED]
    links = {path for path in {*named, *map(os.path.dirname, named)} if os.path.islink(path)}
    targets = [
        os.path.realpath(path) for path in named if links and not links.isdisjoint((path, os.path.dirname(path)))
    ]
    paths = dict.fromkeys((*named, *targets))
    return [path for path in paths if path not in writable and is_inside(path, writable)]


def _list_readable(named: tuple[str, ...], project: str) -> Iterator[str]:
    """Yield what a hook reads that names it, and what programs need to start at all."""
    yield from _SYSTEM
    # Python itself, and the programs of ours that run Python hooks, wherever they are installed
    yield from {*map(os.path.realpath, (os.path.dirname(__file__), sys.prefix, sys.base_prefix))}
    for path in named:
        yield os.path.realpath(os.path.join(project, os.path.expanduser(path.removesuffix("/**"))))


def outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that lie in none of the others."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not is_inside(path, kept):
            kept.append(path)
    return kept


@functools.cache
def _empty_things() -> str:
    """Return a folder with an empty folder and an empty file, which stand for what is hidden."""
    folder, owner = tempfile.mkdtemp(prefix="hookline-empty-"), os.getpid()

    def remove() -> None:
        # a forked process that ends leaves it to the others
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    os.mkdir(f"{folder}/d")
    with open(f"{folder}/f", "wb"):
        return folder


def _read_states(paths: Iterable[str], depth: int = _DEPTH) -> dict[str, tuple[int, ...]]:
    """Return files and folders, with what tells whether they were changed or replaced."""
    found: dict[str, tuple[int, ...]] = {}
    for path in paths:
        try:
            status = os.lstat(path)
            inside = os.listdir(path) if depth and stat.S_ISDIR(status.st_mode) else []
        except OSError:
            continue
        # the time of a folder changes with files in it that come and go
        times = (status.st_mtime_ns, status.st_ctime_ns, status.st_size) if not stat.S_ISDIR(status.st_mode) else ()
        found[path] = (status.st_ino, status.st_mode, *times)
        found |= _read_states((f"{path}/{name}" for name in inside), depth - 1)
    return found


def _identify(folder: str | int) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _empty_folder(path: str, identity: tuple[int, int]) -> None:
    """Remove everything in a folder.

    Raises:
        OSError: It is another folder than it was, or cannot be read: what a link leads to is nothing of ours.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if _identify(folder) != identity:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), path)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.name, dir_fd=folder)
                else:
                    os.unlink(entry.name, dir_fd=folder)
    finally:
        os.close(folder)
