"""Whether a hook may run: what would run is what a person approved, byte for byte."""

import asyncio
import getpass
import inspect
import logging
import os
import shlex
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline import surroundings
from hookline.core import carrying
from hookline.core.approvals import Approval, Book, Key
from hookline.core.changes import Change, changes
from hookline.core.identity import Identities, Identity, Reached, printable, shown
from hookline.core.programs import Program, changed
from hookline.core.repository import repository
from hookline.errors import ConfigError, StoreError
from hookline.model.event import Event
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.workspace import OF_THE_PERSON, grounds, lies_in

logger = logging.getLogger(__name__)

_PACKAGED: Final = frozenset({Source.DOWNLOADED, Source.EXTENSION})
_SHORTEST_DIGEST: Final = 8


ONCE: Final = "once"
"""What whoever asks the person may answer besides True: yes, but not for good."""

Approve = Callable[[Hook, str], bool | str | Awaitable[bool | str]]


class Standing(StrEnum):
    """How a hook stands with the person: it may run in the first three cases only."""

    TRUSTED = "trusted"
    APPROVED = "approved"
    ONCE = "approved once"
    CHANGED = "changed"
    UNAPPROVED = "not approved"


class Clearance(Struct, frozen=True, kw_only=True):
    """Whether a hook may run as it is now, and why.

    `identity` is what was looked at; None for hooks that nobody has to approve. `approval` is the yes that holds,
    `earlier` the last one to another form of the hook, which `objection` then speaks of.
    """

    standing: Standing
    objection: str = ""
    identity: Identity | None = None
    repository: str = ""
    approval: Approval | None = None
    earlier: Approval | None = None


class _Cleared(Struct, frozen=True):
    """A hook that was found approved, and what that was found from: both are made anew whenever they change."""

    identity: Identity
    approvals: Mapping[Key, Approval]
    clearance: Clearance


_CLEAR: Final = Clearance(standing=Standing.TRUSTED)


class TrustedHooksConfig(Struct, frozen=True, kw_only=True):
    """Where approvals are kept, who is asked, and which workspaces are trusted as a whole.

    `trust_workspace` and `trusted_workspaces` (folders) come from the person's own settings, never from the
    workspace. Without `approve` nobody is asked, and what nobody approved does not run. `extra_books` are files
    of exported approvals that are only read, and only from outside the workspace. `shell_dialects` are those whose
    commands are shell lines; None when any could be. `reached` gives what was found out about a hook before.
    """

    storage_path: Path | None = None
    trust_workspace: bool = False
    trusted_workspaces: tuple[str | Path, ...] = ()
    approve: Approve | None = None
    extra_books: tuple[Path, ...] = ()
    shell_dialects: Collection[str] | None = None
    reached: Reached | None = None


class TrustedHooks:
    """Keep approvals, and compare what would run with what was approved."""

    def __init__(self, config: TrustedHooksConfig | None = None) -> None:
        self._config = config or TrustedHooksConfig()
        self._book = Book(self._config.storage_path)
        self._identities = Identities(self._config.shell_dialects, reached=self._config.reached)
        self._repositories: dict[str, str] = {}
        self._extra: dict[Path, Mapping[Key, Approval]] = {}
        self._denied: set[Key] = set()
        self._once: dict[Key, tuple[Program, ...]] = {}
        self._cleared: dict[str, _Cleared] = {}
        self._asking: dict[tuple[asyncio.AbstractEventLoop, Key], asyncio.Future[bool]] = {}

    async def is_trusted(self, hook: Hook) -> bool:
        """Say whether the hook may run as it is now."""
        return not self.objection(hook)

    async def request_approval(self, hook: Hook, *, cwd: str = "") -> bool:
        """Ask the person; remember a yes for good, a "once" and a no for as long as this engine lives.

        Events that come at the same time ask one question.
        """
        if self._config.approve is None:
            return False
        key = (self.digest(hook, cwd=cwd), self._repository(hook, cwd))
        if key in self._denied:
            return False
        loop = asyncio.get_running_loop()
        while (asked := self._asking.get((loop, key))) is not None:
            with suppress(asyncio.CancelledError):
                return await asyncio.shield(asked)
            if not asked.cancelled():
                raise asyncio.CancelledError  # not who asked was cancelled, but who waits here
        answer = self._asking[loop, key] = loop.create_future()
        try:
            allowed = await self._decide(hook, cwd, key, approve=self._config.approve)
            answer.set_result(allowed)
        finally:
            del self._asking[loop, key]
            # without an answer, whoever waits asks again
            answer.cancel()
        return allowed

    async def _decide(self, hook: Hook, cwd: str, key: Key, *, approve: Approve) -> bool:
        before = self.identity(hook, cwd=cwd)
        try:
            said = approve(hook, before.digest)
            if inspect.isawaitable(said):
                said = await said
        except Exception:
            # The callback is the embedding program's. Whatever it raises, silence is not consent.
            logger.exception("nobody could be asked about hook %s", hook.id)
            return False
        if said is not True and said != ONCE:
            self._denied.add(key)
            return False
        # The person took their time; a file may have changed under the question.
        now = self.identity(hook, cwd=cwd)
        if now.digest != key[0] or now.programs != before.programs or now.problem:
            return False
        if said is True:
            self._store(hook, cwd, now)
        else:
            self._once[key] = now.programs
        return True

    def approve(self, hook: Hook, *, cwd: str = "", digest: str = "", note: str = "") -> Approval:
        """Remember a person's yes to the hook as it is now; with a digest, only if it still is that.

        Raises:
            ConfigError: It is not, or cannot be approved at all.
            StoreError: The approvals cannot be written.
        """
        now = self.identity(hook, cwd=cwd)
        if now.problem:
            raise ConfigError(now.problem, path=hook.source_path, line=hook.source_line)
        if digest and digest != now.digest:
            raise ConfigError(
                f'hook "{hook.id}" is no longer what you looked at: its digest is {now.digest}; look again',
                path=hook.source_path,
                line=hook.source_line,
            )
        return self._store(hook, cwd, now, note=note)

    async def store_approval(self, hook: Hook, digest: str) -> None:
        """Remember that exactly this content of the hook was approved."""
        self._store(hook, "", self.identity(hook), digest=digest)

    def _store(self, hook: Hook, cwd: str, now: Identity, *, digest: str = "", note: str = "") -> Approval:
        words = (hook.command, *hook.args) if hook.args else ()
        approval = Approval(
            hook=printable(hook.id),
            digest=digest or now.digest,
            repository=self._repository(hook, cwd),
            source_path=printable(shown(hook.source_path, hook.root)),
            name=printable(hook.name),
            by=_person(),
            at=time.time(),
            runs=printable(shlex.join(words) or hook.command or hook.module or hook.url or hook.prompt),
            note=printable(note),
            definition=dict(now.definition),
            files=dict(now.hashes),
            programs=tuple(self._identities.programs.hashed(program) for program in now.programs),
        )
        self._book.add([approval], now.files.values())
        self._denied.discard(approval.key)
        return approval

    async def compute_hash(self, hook: Hook) -> str:
        """Compute the SHA-256 of what would run: the definition and the content of every file it names."""
        return self.digest(hook)

    async def load(self) -> None:
        """Read the approvals again.

        Raises:
            StoreError: The file is there but cannot be read.
        """
        self._book.reload()

    async def save(self) -> None:
        """Write the approvals file if there is none; every change is written when it is made."""
        self._book.save()

    def get_approvals(self) -> list[Approval]:
        """List the approvals, oldest first."""
        return sorted(self._book.approvals().values(), key=lambda approval: approval.at)

    def revoke(self, *names: str) -> list[Approval]:
        """Take back approvals by a hook's id or name, the file it came from, or the start of a digest."""
        wanted = tuple(filter(None, names))
        # who takes something back does not mean a yes that nobody can see any more
        self._once.clear()
        return self._book.remove(lambda item: any(_is_meant(item, name) for name in wanted))

    async def remove_approval(self, source_path: str) -> bool:
        """Take back the approvals of the hooks from one file, or of one hook by its id."""
        return bool(self.revoke(source_path))

    async def clear_approvals(self) -> None:
        """Take back every approval."""
        self._once.clear()
        self._book.remove(lambda _item: True)

    def export(self, hooks: Iterable[str] | None = None, *, exact: bool = False) -> bytes:
        """Write approvals for another machine: of these hooks, by id, name or digest, or all.

        With `exact`, the programs there have to be the very same ones as here.
        """
        names = None if hooks is None else frozenset(hooks)
        chosen = [item for item in self.get_approvals() if names is None or names & {item.hook, item.name, item.digest}]
        return carrying.export(chosen, exact=exact)

    def import_approvals(self, path: Path, *, workspace: Path) -> list[Approval]:
        """Take over approvals from a file that lies outside of the workspace.

        Raises:
            ConfigError: The file lies inside, others could have written it, or it is no list of approvals.
            StoreError: The approvals cannot be written.
        """
        known = self._book.approvals()
        # a yes that was given here says more: it knows the programs of this machine
        approvals = [item for item in carrying.read(path, workspace=workspace) if item.key not in known]
        self._book.add(approvals)
        return approvals

    def kept(self, sha256: str) -> bytes | None:
        """Give a file as it was when it was approved, by its hash; None when only the hash is known."""
        return self._book.kept(sha256)

    async def vet(self, plan: Plan, event: Event) -> Plan:
        """Move every hook that nobody approved in its present form from the stages to the skips.

        What the others consist of goes with the plan: these bytes were compared, and have to run.
        """
        objections: dict[str, str] = {}
        sealed: dict[str, Sealed] = {}
        cwd = event.cwd
        for stage in plan.stages:
            for hook in stage:
                if hook.source is Source.BUILTIN:
                    continue
                found = self.still_cleared(hook, cwd) or await self._vetted(hook, cwd)
                if found.objection:
                    objections[hook.id] = found.objection
                elif found.identity is not None:
                    sealed[hook.id] = found.identity.files
        if not objections:
            return Plan(plan.stages, plan.skipped, sealed) if sealed else plan
        stages = (tuple(hook for hook in stage if hook.id not in objections) for stage in plan.stages)
        skips = tuple(Skip(hook, Gate.TRUST, objections[hook.id]) for hook in plan.hooks if hook.id in objections)
        return Plan(tuple(stage for stage in stages if stage), (*plan.skipped, *skips), sealed)

    def still_cleared(self, hook: Hook, cwd: str) -> Clearance | None:
        """Give the approval that was found for the last event, if neither it nor the hook has changed: most often."""
        known = self._cleared.get(hook.id)
        try:
            found = None if known is None else self._identities.unchanged(hook, cwd or surroundings.folder())
            if known is not None and found is not None and known.identity is found:
                return known.clearance if known.approvals is self._book.approvals() else None
        except Exception:  # noqa: BLE001 - whoever looks at all of it says what is wrong
            return None
        return None

    async def _vetted(self, hook: Hook, cwd: str) -> Clearance:
        try:
            if self._is_unheard_of(hook, cwd):
                return Clearance(standing=Standing.UNAPPROVED, objection=_objection(hook, "", None))
            found = self.clearance(hook, cwd=cwd)
            if found.objection and await self.request_approval(hook, cwd=cwd):
                return self.clearance(hook, cwd=cwd)
        except StoreError as problem:
            # no approval counts then, and a person's guards, which need none, have to run all the same
            return Clearance(standing=Standing.UNAPPROVED, objection=str(problem))
        except Exception as problem:
            if hook.source in OF_THE_PERSON:
                raise
            # what a workspace wrote must not bring down the guards beside it, even by a bug of ours
            logger.exception("hook %s could not be looked at", hook.id)
            return Clearance(standing=Standing.UNAPPROVED, objection=f"error inside Hookline: {problem!r}")
        return found

    def objection(self, hook: Hook, *, cwd: str = "") -> str:
        """Say why the hook may not run; empty when it may."""
        return self.clearance(hook, cwd=cwd).objection

    def clearance(self, hook: Hook, *, cwd: str = "") -> Clearance:
        """Say whether the hook may run as it is now, without asking anybody."""
        borrowed = self._borrowed(hook, cwd)
        if hook.source in OF_THE_PERSON and not borrowed and hook.trusted is not False:
            return _CLEAR
        if self._is_trusted_workspace(hook, cwd):
            return _CLEAR
        now = self.identity(hook, cwd=cwd)
        approvals = self._book.approvals()
        where = self._repository(hook, cwd)
        key = (now.digest, where)
        approval = approvals.get(key) or self._extra_approval(key, hook, cwd)
        wrong = self._changed_programs(now, approval)
        if approval is not None and not wrong and not now.problem:
            found = Clearance(standing=Standing.APPROVED, identity=now, repository=where, approval=approval)
            self._cleared[hook.id] = _Cleared(now, approvals, found)
            return found
        if self._once.get(key) == now.programs:
            return Clearance(standing=Standing.ONCE, identity=now, repository=where)
        earlier = approval or _earlier(self._book.approvals().values(), hook, where)
        return Clearance(
            standing=Standing.CHANGED if earlier is not None else Standing.UNAPPROVED,
            objection=now.problem or wrong or _objection(hook, borrowed, earlier),
            identity=now,
            repository=where,
            earlier=earlier,
        )

    def _changed_programs(self, now: Identity, approval: Approval | None) -> str:
        if approval is None or approval.programs is None:
            return ""
        names = changed(self._identities.programs, now.programs, approval.programs)
        return f'"{names[0]}" is not the program it was when this was approved' if names else ""

    def diff(self, hook: Hook, *, cwd: str = "") -> tuple[Change, ...]:
        """Show what changed since the hook was approved; empty when nothing did, or nobody ever approved it."""
        found = self.clearance(hook, cwd=cwd)
        if found.identity is None or found.earlier is None:
            return ()
        return changes(found.earlier, found.identity, kept=self.kept, programs=self._identities.programs)

    def digest(self, hook: Hook, *, cwd: str = "") -> str:
        """Compute the identity of what would run."""
        return self.identity(hook, cwd=cwd).digest

    def identity(self, hook: Hook, *, cwd: str = "") -> Identity:
        """Work out what would run now: definition, files and programs."""
        return self._identities.identity(hook, cwd or surroundings.folder())

    def _borrowed(self, hook: Hook, cwd: str) -> str:
        # only a definition in a file can be older than the folder it is used in
        if hook.source is not Source.USER or not hook.source_line or hook.kind != "command":
            return ""
        return self._identities.borrowed(hook, cwd or surroundings.folder())

    def _is_trusted_workspace(self, hook: Hook, cwd: str) -> bool:
        if hook.source in _PACKAGED or (hook.source is Source.USER and hook.trusted is False):
            return False
        if self._config.trust_workspace:
            return True
        folders = [os.path.realpath(surroundings.expanded(str(folder))) for folder in self._config.trusted_workspaces]
        # all of it has to be trusted: the folder of the hook and the one it works in
        return bool(folders) and all(lies_in(place, folders) for place in _places(hook, cwd))

    def _repository(self, hook: Hook, cwd: str) -> str:
        is_own = hook.source in OF_THE_PERSON or not hook.root
        root = (cwd or surroundings.folder()) if is_own else hook.root
        # an engine is opened for one project: what it belongs to does not change under it
        known = self._repositories.get(root)
        if known is None:
            known = self._repositories[root] = printable(repository(root))
        return known

    def _is_unheard_of(self, hook: Hook, cwd: str) -> bool:
        """Say whether nobody can have approved the hook, whatever it consists of: then none of it need be read."""
        if self._config.approve is not None or self._config.extra_books or self._once:
            return False
        if hook.source in OF_THE_PERSON or self._is_trusted_workspace(hook, cwd):
            return False
        # those of the first version do not say where they were given
        return {self._repository(hook, cwd), ""}.isdisjoint(self._book.repositories())

    def _extra_approval(self, key: Key, hook: Hook, cwd: str) -> Approval | None:
        for path in self._config.extra_books:
            if lies_in(str(path.absolute()), grounds(hook, cwd)):
                logger.warning("%s lies in the workspace, so the approvals in it do not count", path)
                continue
            if path not in self._extra:
                self._extra[path] = {item.key: item for item in carrying.read(path, workspace=None)}
            if key in self._extra[path]:
                return self._extra[path][key]
        return None


def _places(hook: Hook, cwd: str) -> tuple[str, ...]:
    here = os.path.realpath(cwd or surroundings.folder())
    return (here, os.path.realpath(hook.root)) if hook.root and hook.source not in OF_THE_PERSON else (here,)


def _earlier(approvals: Iterable[Approval], hook: Hook, where: str) -> Approval | None:
    """Find the last yes to another form of the hook, also when its id is another one by now."""
    source = printable(shown(hook.source_path, hook.root))
    found = [
        item
        for item in approvals
        # those of the first version do not say where they were given
        if item.repository in {where, ""}
        and (item.hook == hook.id or (hook.name and (item.source_path, item.name) == (source, hook.name)))
    ]
    return max(found, key=lambda item: item.at, default=None)


def _is_meant(approval: Approval, name: str) -> bool:
    if name in {approval.source_path, approval.hook, approval.name}:
        return True
    if len(name) >= _SHORTEST_DIGEST and approval.digest.startswith(name):
        return True
    # a file by its whole path, which is kept as it is called in its repository
    is_file = bool(approval.source_path) and name.startswith("/") and name.endswith(f"/{approval.source_path}")
    return is_file and f"{repository(Path(name).parent)}/".startswith(f"{approval.repository}/")


def _objection(hook: Hook, borrowed: str, earlier: Approval | None) -> str:
    if earlier is not None:
        return "changed since it was approved"
    if borrowed:
        return f'runs "{borrowed}" of this workspace, which nobody approved'
    if hook.source in OF_THE_PERSON:
        return "says of itself that it is not trusted, and nobody approved it"
    return f"{hook.source} hook that nobody approved"


def _person() -> str:
    try:
        return printable(getpass.getuser())
    except (KeyError, OSError):
        return ""


def still_vetted(trust: TrustedHooks, plan: Plan, event: Event) -> Plan | None:
    """Vet a plan where all of it is as it was for the last event, without a coroutine; None where it is not.

    Nor where somebody has a `vet` of their own, which may object to more.
    """
    if getattr(trust.vet, "__func__", None) is not TrustedHooks.vet:
        return None
    sealed: dict[str, Sealed] = {}
    cwd = event.cwd
    for stage in plan.stages:
        for hook in stage:
            found = None if hook.source is Source.BUILTIN else trust.still_cleared(hook, cwd)
            if found is None or found.objection or found.identity is None:
                return None
            sealed[hook.id] = found.identity.files
    return Plan(plan.stages, plan.skipped, sealed)
