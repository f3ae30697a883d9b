"""A project as it was opened last, so that the next call need not read every configuration file again.

It holds as long as nothing it was made from has changed: the files, the folders that were searched, the variables
that were looked at, the interpreter and our own code. What is not certain is opened anew, by the ordinary way.
"""

import marshal
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, cast

from msgspec.structs import replace

from hookline import surroundings
from hookline.bridge import place
from hookline.bridge.canary import MARK
from hookline.bridge.cold import bundle
from hookline.bridge.cold.packing import packed, unpacked
from hookline.config.loader import Search, find_again
from hookline.config.locations import chosen
from hookline.config.problem import Severity
from hookline.config.stamps import Stamps
from hookline.config.vocabulary import Vocabulary
from hookline.core.closure import reach
from hookline.core.engine import Engine
from hookline.core.trust import TrustedHooks, TrustedHooksConfig
from hookline.folders import Folders, between, here, person_folders
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.hook import Hook, Layer
from hookline.model.reach import Reach
from hookline.ports import JobQueue, StateStore
from hookline.stores.spool import Spool
from hookline.version import __version__
from hookline.wiring import make_parts, shell_dialects
from hookline.workspace import Opened, open_project, open_queue, open_state

FOLDER: Final = "snapshots"
_FORM: Final = 3
_MOST: Final = 128  # files
_MOST_FILES: Final = 256  # that a hook may name
_RULES: Final = ("cases", "closure", "lines")
_LARGEST: Final = 16 * 1024 * 1024  # bytes
_OTHERS: Final = 0o077

# Where more than hooks are asked: what waits for the agent is brought to it, how often it was sent back is counted, and
# what it did is compared with what it asked about.
_MORE: Final[Mapping[str, str]] = {
    EventName.SESSION_START: "mail may wait",
    EventName.BEFORE_AGENT: "mail may wait, and a turn begins",
    EventName.AFTER_AGENT: "mail may wait, and a turn ends",
    EventName.SUBAGENT_STOP: "a turn ends",
    EventName.SESSION_END: "a session is compared with its ledger",
}


def project_of(event: Event | None, *, host: str, environ: Mapping[str, str]) -> Path:
    """Find the project of a call, and remember what the call is about.

    Raises:
        HandOver: Nobody could read what the agent said, or somebody tries us out.
    """
    if event is None or MARK in environ:
        raise bundle.HandOver("the call is not one of every day")
    _asked.append(event)
    return place.project_of(event, host=host, environ=environ)


_asked: Final[list[Event]] = []


def reopened(project: Path | None = None) -> Opened:
    """Open a project from what was written down about it.

    Raises:
        HandOver: That is not there, holds no longer, or is not enough for this call.
    """
    root = (project or here()).absolute()
    folders = person_folders(root)
    try:
        kept = _read(_file(folders.data, root))
        _check(kept, folders, root)
        return _opened(kept, folders, root)
    except bundle.NotForUs:
        # it would say the same if it were written down again
        raise
    except bundle.HandOver as reason:
        raise bundle.HandOver(str(reason), str(root)) from None
    except (KeyError, TypeError, ValueError, AttributeError, ImportError, OSError) as problem:
        raise bundle.HandOver(f"the snapshot is broken: {problem!r}", str(root)) from None


def _check(kept: Mapping[str, object], folders: Folders, root: Path) -> None:
    """Compare what a snapshot was made from with what is there now."""
    if kept["made by"] != _maker():
        raise bundle.HandOver("the snapshot was made by another version")
    # two names may have the same digest
    if kept["project"] != os.fsencode(root):
        raise bundle.HandOver("the snapshot is of another project")
    if kept["folder"] != os.fsencode(here()):
        raise bundle.HandOver("the snapshot was made in another folder")
    variables = cast("dict[str, str | None]", kept["variables"])
    environ = surroundings.whole_environ()
    if any(environ.get(name) != value for name, value in variables.items()):
        raise bundle.HandOver("a variable has changed")
    if unpacked(kept["folders"]) != folders:
        raise bundle.HandOver("the person's folders are others")
    stamps = unpacked(kept["stamps"])
    places = cast("tuple[str, ...] | bool", unpacked(kept["agents' files"]))
    if not isinstance(stamps, Stamps) or not stamps.hold(lambda _looked: _found_again(folders, root, places)):
        raise bundle.HandOver("the configuration has changed")
    complicated = cast("dict[str, str]", kept["complicated"])
    for event in _asked:
        if event.name in _MORE or event.name in complicated:
            raise bundle.NotForUs(complicated.get(event.name) or _MORE[event.name])


def _found_again(folders: Folders, root: Path, places: tuple[str, ...] | bool) -> list[str]:  # noqa: FBT001 - a setting
    """Search for files of hooks, where folders have changed: most often something else in them has."""
    search = Search(
        project=root,
        above=between(root, home=folders.home),
        home=folders.home,
        config=folders.config,
        managed=folders.managed,
        places=chosen(places),
        # nothing is read
        vocabulary=Vocabulary(names={}, tools={}, shell_dialects=frozenset()),
    )
    return find_again(search, set())


def _opened(kept: Mapping[str, object], folders: Folders, root: Path) -> Opened:
    told = cast("Opened", unpacked(kept["opened"]))
    settings, loaded = told.settings, told.loaded
    engine = Engine(
        parts=make_parts(only={"command"}),
        settings=replace(settings, enabled=settings.enabled or folders.managed is not None),
        trust=TrustedHooks(
            TrustedHooksConfig(
                storage_path=folders.data / "approvals.json",
                trust_workspace=settings.trust_workspace,
                trusted_workspaces=settings.trusted_workspaces,
                shell_dialects=shell_dialects(),
                reached=partial(_reached, cast("dict[str, object]", kept["reached"]), str(root)),
            )
        ),
        store=Spool(folders.data / "traces.db"),
        # few calls need them
        state=cast("StateStore", _Later(partial(open_state, folders))),
        queue=cast("JobQueue", _Later(partial(open_queue, folders, root))),
        cwd=str(root),
    )
    for hook in loaded.hooks:
        if settings.enabled or hook.layer is Layer.MANAGED:
            engine.registry.add(hook)
    engine.problems = tuple(str(problem) for problem in told.problems if problem.severity is not Severity.NOTE)
    return replace(told, engine=engine, folders=folders, root=root)


def _reached(kept: Mapping[str, object], root: str, hook: Hook, cwd: str) -> Reach | None:
    """Give what a hook was found to reach in its project; to find it out takes some milliseconds of a call."""
    if cwd != root or hook.id not in kept:
        return None
    try:
        found = unpacked(kept[hook.id])
    except (TypeError, ValueError, AttributeError):
        # it is too late to begin anew, and early enough to find it out
        return None
    return found if isinstance(found, Reach) else None


class _Later:
    """A store that is opened when somebody looks into it."""

    def __init__(self, make: Callable[[], StateStore | JobQueue]) -> None:
        self._make = make
        self._made: StateStore | JobQueue | None = None

    def __getattr__(self, name: str) -> object:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)

    def close(self) -> None:
        """Close what was opened."""
        if self._made is not None:
            self._made.close()


def remember(root: Path) -> bool:
    """Open a project in the ordinary way and write down what came of it; False where that cannot be done."""
    around = surroundings.Surroundings(dict(os.environ), str(here()))
    with surroundings.entered(around):
        opened = open_project(root, traced=False)
        try:
            reached = dict(_reaching(opened, around))
            variables = {name: os.environ.get(name) for name in sorted(around.seen)}
            raw = marshal.dumps({**_written(opened), "variables": variables, "reached": reached})
        except TypeError:
            return False
        finally:
            opened.engine.close_sync()
    return _keep(_file(opened.folders.data, opened.root), raw)


def _reaching(opened: Opened, around: surroundings.Surroundings) -> Iterator[tuple[str, object]]:
    """Say what each hook reaches in this project: that depends on its words and on variables, and on no file.

    A variable may be a secret, or another one at each call. So what depends on one that has a value is worked out
    by each call, and neither is written down.
    """
    for hook in opened.loaded.hooks:
        if hook.kind != "command":
            continue
        before = set(around.seen)
        found = reach(hook, str(opened.root))
        new = around.seen - before
        if len(found.files) > _MOST_FILES or any(around.whole.get(name) and not _is_place(name) for name in new):
            around.seen.difference_update(new)
        else:
            yield hook.id, packed(found)


def _is_place(variable: str) -> bool:
    """Say whether a variable names folders, which are the same from call to call."""
    return variable in {"HOME", "PYTHONPATH"} or variable.endswith("_PROJECT_DIR")


def _written(opened: Opened) -> dict[str, object]:
    # a function cannot be written down, and events that have one are not answered from here
    loaded = replace(opened.loaded, hooks=tuple(replace(hook, call=None) for hook in opened.loaded.hooks))
    plain = Opened(
        engine=cast("Engine", None),
        loaded=loaded,
        folders=opened.folders,
        root=opened.root,
        settings=opened.settings,
        problems=opened.problems,
    )
    return {
        "made by": _maker(),
        "project": os.fsencode(opened.root),
        "folder": os.fsencode(here()),
        "folders": packed(opened.folders),
        "stamps": packed(opened.stamps),
        "agents' files": packed(opened.settings.agents_files),
        "complicated": _complicated(opened),
        "opened": packed(plain),
    }


def _complicated(opened: Opened) -> dict[str, str]:
    """Name the events that need more than one command after another, and what they need."""
    found = dict(_needy(opened))
    raised = next((why for name, why in found.items() if EVENTS[EventName(name.partition(":")[0])].raisable), "")
    # whatever a command is asked about, it may answer with such an event
    return {name: raised for hook in opened.loaded.hooks for name in hook.on if raised} | found


def _needy(opened: Opened) -> Iterator[tuple[str, str]]:
    side_by_side: dict[str, int] = {}
    for hook in opened.loaded.hooks:
        for name in hook.on if hook.enabled else ():
            side_by_side[name] = side_by_side.get(name, 0) + hook.parallel
            why = _objection(hook, opened.engine) or ("hooks run at once" if side_by_side[name] > 1 else "")
            if why:
                yield name, f"{hook.id}: {why}"


def _objection(hook: Hook, engine: Engine) -> str:
    """Say what a hook needs that only an event loop, a database or a worker can do."""
    if hook.kind != "command":
        return f"it is no command but {hook.kind}"
    if hook.persistent or getattr(hook, "warm", None):
        return "its process stays"
    if hook.background:
        return "it runs in the background"
    return "its limits, needs or answers are kept" if engine.doorkeeper.concerns(hook) else ""


def _maker() -> tuple[object, ...]:
    """Say who makes snapshots: each module's source is compared with its code in the bundle when that is loaded.

    What a hook reaches is kept, so the rules by which it was found belong to it.
    """
    rules = [os.stat(f"{bundle.PACKAGE}/core/{name}.py") for name in _RULES]  # noqa: PTH116 - see place.py
    stamps = tuple((found.st_mtime_ns, found.st_size) for found in rules)
    return (_FORM, __version__, sys.executable, *bundle.TAG, stamps)


def _file(data: Path, root: Path) -> Path:
    digest = 0xCBF29CE484222325
    for byte in os.fsencode(root):
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return data / FOLDER / f"{digest:016x}"


def _read(path: Path) -> dict[str, object]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        raise bundle.HandOver("there is no snapshot") from None
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or found.st_mode & _OTHERS or found.st_size > _LARGEST:
            raise bundle.HandOver("the snapshot may be somebody else's")
        raw = os.read(handle, found.st_size)
    finally:
        os.close(handle)
    try:
        kept = marshal.loads(raw)  # noqa: S302 - nobody but the person could have written it
    except EOFError:
        raise ValueError("it is cut off") from None
    if not isinstance(kept, dict):
        raise ValueError("it is no snapshot")  # noqa: TRY004 - of the file, not of an argument
    return kept


def _keep(path: Path, raw: bytes) -> bool:
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        beside.replace(path)
        others = sorted(path.parent.iterdir(), key=lambda file: file.stat().st_mtime)
        for old in others[:-_MOST]:
            old.unlink(missing_ok=True)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        return False
    return True
