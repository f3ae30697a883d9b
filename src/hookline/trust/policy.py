"""Decide whether a hook may run: a hook that came with a project runs only in the exact form that the user approved."""

import asyncio
import difflib
import getpass
import hashlib
import inspect
import logging
import os
import shlex
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.errors import ConfigError, StoreError
from hookline.model.event import Event
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook, Layer, OnError, Source, describe_actions
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.settings import Unapproved
from hookline.model.workspace_paths import USER_SOURCES, is_inside_real, workspace_roots
from hookline.text import shell_quote
from hookline.trust.approval_store import Approval, ApprovalStore, Key, export_approvals, read_export
from hookline.trust.files_and_programs import Executable, ExecutableHashes, decode_text
from hookline.trust.fingerprint import FingerprintService, HookFingerprint, escape_surrogates, name_in_project
from hookline.trust.repository import identify_repository, list_names_by_path

# what changed since a hook was approved

_SHORT: Final = 12
_MOST_WORK: Final = 16_000_000
_SHOWN: Final = 20
_UNENDED: Final = "\\ no line break at the end of the file"


class ApprovalChange(Struct, frozen=True):
    """One difference: `kind` is definition, file or program; `text` a unified diff, or a sentence where none can be."""

    kind: str
    name: str
    text: str


def list_changes(
    approval: Approval,
    now: HookFingerprint,
    *,
    read_text: Callable[[str], bytes | None],
    executables: ExecutableHashes,
) -> Iterator[ApprovalChange]:
    """Compare what was approved with what is there now; `read_text` returns an approved text by its hash."""
    before, after = (
        msgspec.json.format(msgspec.json.encode(definition, order="sorted"), indent=2).decode().splitlines()
        for definition in (approval.definition, now.definition)
    )
    if approval.definition and before != after:
        yield ApprovalChange("definition", approval.hook, _make_diff(before, after, "definition"))
    contents = {hashlib.sha256(data).hexdigest(): data for data in now.files.values()}
    for name in sorted({*approval.files, *now.hashes}):
        was, has = approval.files.get(name, ""), now.hashes.get(name, "")
        if was == has:
            continue
        old, new = _split_text(read_text(was) if was else b""), _split_text(contents.get(has) if has else b"")
        if old is None or new is None:
            text = f"{name} is not what was approved: {was[:_SHORT] or 'nothing'} is now {has[:_SHORT] or 'nothing'}"
        else:
            headline = (
                f"{name} was not there when this was approved\n" if not was else "" if has else f"{name} is gone\n"
            )
            text = headline + _make_diff(old, new, name)
        yield ApprovalChange("file", name, text)
    known = {program.name: program for program in approval.programs or ()}
    for program in now.programs if approval.programs is not None else ():
        approved = known.get(program.name)
        if approved is None:
            yield ApprovalChange("program", program.name, f"{program.path} was not there when this was approved")
        elif not executables.is_same(program, approved):
            moved = approved.path != program.path
            text = f"was {approved.path}, is {program.path}" if moved else f"{program.path} has another content"
            yield ApprovalChange("program", program.name, text)


def _split_text(content: bytes | None) -> list[str] | None:
    text = decode_text(content)
    if text is None:
        return None
    *lines, last = text.split("\n")
    return [*lines, last, _UNENDED] if last else lines


def _make_diff(before: list[str], after: list[str], name: str) -> str:
    if len(before) * len(after) > _MOST_WORK:
        # a text made for that purpose would keep difflib busy for hours
        line = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        shown = slice(line, line + _SHOWN)
        lines = [f"too long to compare; the first {_SHOWN} lines from line {line + 1} on"]
        lines += [f"-{one}" for one in before[shown]] + [f"+{one}" for one in after[shown]]
        return "\n".join(lines)
    return "\n".join(difflib.unified_diff(before, after, f"approved/{name}", f"now/{name}", lineterm=""))


# whether a hook may run

logger = logging.getLogger(__name__)

_PACKAGED: Final = frozenset({Source.DOWNLOADED, Source.EXTENSION})
# kinds that start a program
_STARTING: Final = frozenset({"command", "mcp"})
_SHORTEST_DIGEST: Final = 8
_SEE_DOCTOR: Final = "`hookline doctor` says more"


ONCE: Final = "once"
"""An answer of the approval callback besides True: yes, but not for good."""

Approve = Callable[[Hook, str], bool | str | Awaitable[bool | str]]


class TrustStatus(StrEnum):
    """Whether the user trusts a hook: it may run in the first three cases only."""

    TRUSTED = "trusted"
    APPROVED = "approved"
    ONCE = "approved once"
    CHANGED = "changed"
    UNAPPROVED = "not approved"
    UNKNOWN = "unknown"


class TrustDecision(Struct, frozen=True, kw_only=True):
    """Whether a hook may run as it is now, and why.

    `fingerprint` is None for hooks that need no approval. `approval` is the one that holds, `earlier` the last one of another
    form of the hook. `reason_denied` is "" when the hook may run; `mend` says what to do about it, where that is not to
    approve the hook.
    """

    status: TrustStatus
    reason_denied: str = ""
    mend: str = ""
    fingerprint: HookFingerprint | None = None
    repository: str = ""
    approval: Approval | None = None
    earlier: Approval | None = None


_TRUSTED: Final = TrustDecision(status=TrustStatus.TRUSTED)


class TrustedHooksConfig(Struct, frozen=True, kw_only=True):
    """Where approvals are stored, who is asked, and which workspaces are trusted as a whole.

    `trust_workspace` and `trusted_workspaces` (folders) come from the user's own settings, never from the
    workspace, and so does `unapproved`: whether hooks that were never approved block. Without `approve` the user is
    not asked, and hooks without an approval do not run. `extra_books` are files
    of exported approvals that are only read, and only from outside the workspace. `shell_dialects` are those whose
    commands are shell lines; None when any could be.
    """

    storage_path: Path | None = None
    unapproved: Unapproved = Unapproved.WARN
    trust_workspace: bool = False
    trusted_workspaces: tuple[str | Path, ...] = ()
    approve: Approve | None = None
    extra_books: tuple[Path, ...] = ()
    shell_dialects: Collection[str] | None = None


class TrustedHooks:
    """Store approvals, and compare what would run with what was approved."""

    def __init__(self, config: TrustedHooksConfig | None = None) -> None:
        self._config = config or TrustedHooksConfig()
        self._store = ApprovalStore(self._config.storage_path)
        self._fingerprints = FingerprintService(self._config.shell_dialects)
        # by folder; an engine is opened for one project, whose repository does not change under it
        self._repositories: dict[str, tuple[str, ...]] = {}
        self._extra: dict[Path, Mapping[Key, Approval]] = {}
        self._denied: set[Key] = set()
        self._once: dict[Key, tuple[Executable, ...]] = {}
        self._asking: dict[tuple[asyncio.AbstractEventLoop, Key], asyncio.Future[bool]] = {}

    async def is_trusted(self, hook: Hook) -> bool:
        """Return whether the hook may run as it is now."""
        return not self.reason_denied(hook)

    async def request_approval(self, hook: Hook, *, cwd: str = "") -> bool:
        """Ask the user; a yes is stored, a "once" and a no hold as long as this object lives.

        Events that come at the same time ask one question.
        """
        if self._config.approve is None:
            return False
        key = (self.digest(hook, cwd=cwd), self._repository(hook, cwd))
        if key in self._denied:
            return False
        loop = asyncio.get_running_loop()
        while (pending := self._asking.get((loop, key))) is not None:
            with suppress(asyncio.CancelledError):
                return await asyncio.shield(pending)
            if not pending.cancelled():
                raise asyncio.CancelledError  # this task was cancelled, not the one that asks
        answer = self._asking[loop, key] = loop.create_future()
        try:
            allowed = await self._ask(hook, cwd, key, approve=self._config.approve)
            answer.set_result(allowed)
        finally:
            del self._asking[loop, key]
            # without an answer, a waiting task asks again
            answer.cancel()
        return allowed

    async def _ask(self, hook: Hook, cwd: str, key: Key, *, approve: Approve) -> bool:
        before = self.fingerprint(hook, cwd=cwd)
        try:
            answer = approve(hook, before.digest)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception:
            # the callback belongs to the embedding program; whatever it raises is no consent
            logger.exception("the user could not be asked about hook %s", hook.id)
            return False
        if answer is not True and answer != ONCE:
            self._denied.add(key)
            return False
        # a file may have changed while the user was thinking
        now = self.fingerprint(hook, cwd=cwd)
        if now.digest != key[0] or now.programs != before.programs or now.problem:
            return False
        if answer is True:
            self._add(hook, cwd, now)
        else:
            self._once[key] = now.programs
        return True

    def approve(self, hook: Hook, *, cwd: str = "", digest: str = "", note: str = "") -> Approval:
        """Store the user's approval of the hook as it is now; with a digest, only if it still is that.

        Raises:
            ConfigError: It is not, or cannot be approved at all.
            StoreError: The approvals cannot be written.
        """
        now = self.fingerprint(hook, cwd=cwd)
        if now.problem:
            raise ConfigError(now.problem, path=hook.source_path, line=hook.source_line)
        if digest and digest != now.digest:
            raise ConfigError(
                f'hook "{hook.id}" is no longer what you looked at: its digest is {now.digest}; look again',
                path=hook.source_path,
                line=hook.source_line,
            )
        return self._add(hook, cwd, now, note=note)

    async def store_approval(self, hook: Hook, digest: str) -> None:
        """Store that exactly this content of the hook was approved."""
        self._add(hook, "", self.fingerprint(hook), digest=digest)

    def _add(self, hook: Hook, cwd: str, now: HookFingerprint, *, digest: str = "", note: str = "") -> Approval:
        words = (hook.command, *hook.args) if hook.args else ()
        user = ""
        with suppress(KeyError, OSError):
            user = getpass.getuser()
        runs = (
            shlex.join(words)
            or hook.command
            or hook.module
            or hook.url
            or hook.prompt
            or hook.mcp
            or hook.judge
            or describe_actions(hook)
        )
        approval = Approval(
            hook=escape_surrogates(hook.id),
            digest=digest or now.digest,
            repository=self._repository(hook, cwd),
            source_path=escape_surrogates(name_in_project(hook.source_path, hook.root)),
            name=escape_surrogates(hook.name),
            by=escape_surrogates(user),
            at=time.time(),
            runs=escape_surrogates(runs),
            note=escape_surrogates(note),
            definition=dict(now.definition),
            files=dict(now.hashes),
            programs=tuple(self._fingerprints.executables.with_hash(program) for program in now.programs),
        )
        self._store.add([approval], now.files.values())
        self._denied.discard(approval.key)
        return approval

    async def compute_hash(self, hook: Hook) -> str:
        """Compute the SHA-256 of what would run: the definition and the content of every file it names."""
        return self.digest(hook)

    async def load(self) -> None:
        """Read the approvals again.

        Raises:
            StoreError: The file exists but cannot be read.
        """
        self._store.reload()

    async def save(self) -> None:
        """Write the approvals file if there is none; every change is written when it is made."""
        self._store.save()

    def get_approvals(self) -> list[Approval]:
        """List the approvals, oldest first."""
        return sorted(self._store.load().values(), key=lambda approval: approval.at)

    def revoke(self, *names: str) -> list[Approval]:
        """Revoke approvals by a hook's id or name, the file it came from, or the start of a digest."""
        wanted = tuple(filter(None, names))
        # "once" is not listed anywhere, so that it could be named
        self._once.clear()
        return self._store.remove(lambda item: any(_is_named(item, name) for name in wanted))

    async def remove_approval(self, source_path: str) -> bool:
        """Revoke the approvals of the hooks from one file, or of one hook by its id."""
        return bool(self.revoke(source_path))

    async def clear_approvals(self) -> None:
        """Revoke every approval."""
        self._once.clear()
        self._store.remove(lambda _item: True)

    def export(self, hooks: Iterable[str] | None = None, *, exact: bool = False) -> bytes:
        """Write approvals for another machine: of these hooks, by id, name or digest, or all.

        With `exact`, the programs there have to be the very same ones as here.
        """
        names = None if hooks is None else frozenset(hooks)
        chosen = [item for item in self.get_approvals() if names is None or names & {item.hook, item.name, item.digest}]
        return export_approvals(chosen, exact=exact)

    def import_approvals(self, path: Path, *, workspace: Path) -> list[Approval]:
        """Store approvals from an exported file outside of the workspace, and return the new ones.

        Raises:
            ConfigError: The file is inside, other users could have written it, or it is no list of approvals.
            StoreError: The approvals cannot be written.
        """
        stored = self._store.load()
        # an approval given here says more: it knows the programs of this machine
        approvals = [item for item in read_export(path, workspace=workspace) if item.key not in stored]
        self._store.add(approvals)
        return approvals

    def approved_text(self, sha256: str) -> bytes | None:
        """Return a file as it was when it was approved, by its hash; None when only the hash is known."""
        return self._store.read_text(sha256)

    async def vet(self, plan: Plan, event: Event) -> Plan:
        """Move every hook that is not approved in its present form from the stages to the skips.

        The files of the others go with the plan: exactly these bytes were compared, and have to run.
        """
        skips: dict[str, Skip] = {}
        sealed: dict[str, Sealed] = {}
        for stage in plan.stages:
            for hook in stage:
                if hook.source is Source.BUILTIN:
                    continue
                decision = await self._vet_hook(hook, event.cwd)
                if decision.reason_denied:
                    skips[hook.id] = self._make_skip(hook, decision)
                elif decision.fingerprint is not None:
                    sealed[hook.id] = decision.fingerprint.files
        if not skips:
            return Plan(plan.stages, plan.skipped, sealed) if sealed else plan
        stages = (tuple(hook for hook in stage if hook.id not in skips) for stage in plan.stages)
        return Plan(tuple(stage for stage in stages if stage), (*plan.skipped, *skips.values()), sealed)

    async def _vet_hook(self, hook: Hook, cwd: str) -> TrustDecision:
        try:
            decision = self.decide(hook, cwd=cwd, is_vetting=True)
            if decision.reason_denied and await self.request_approval(hook, cwd=cwd):
                return self.decide(hook, cwd=cwd)
        except StoreError as problem:
            # no approval counts then, and a user's own guards, which need none, have to run all the same
            return TrustDecision(status=TrustStatus.UNKNOWN, reason_denied=str(problem), mend=_SEE_DOCTOR)
        except Exception as problem:
            if hook.source in USER_SOURCES:
                raise
            # a hook of the workspace must not bring down the guards beside it, even by a bug of ours
            logger.exception("hook %s could not be looked at", hook.id)
            reason = f"error inside Hookline: {problem!r}"
            status = TrustStatus.UNKNOWN
            with suppress(Exception):
                # unless it certainly was never approved in another form
                if _find_earlier(self._store.load().values(), hook, self._list_repositories(hook, cwd)) is None:
                    status = TrustStatus.UNAPPROVED
            return TrustDecision(status=status, reason_denied=reason, mend=_SEE_DOCTOR)
        return decision

    def _make_skip(self, hook: Hook, decision: TrustDecision) -> Skip:
        """Skip a hook that may not run.

        A hook that the user or the administrator wrote, or that was approved before, should have run: its failure policy
        decides. A hook that came with a project and was never approved blocks only where the user's settings say so,
        since a clone must not be able to stop an agent.
        """
        blocks = self._config.unapproved is Unapproved.BLOCK and hook.on_error is None
        should_run = hook.source in USER_SOURCES or decision.status is not TrustStatus.UNAPPROVED
        return Skip(
            replace(hook, on_error=OnError.BLOCK) if blocks and not should_run else hook,
            Gate.TRUST,
            decision.reason_denied,
            failed=should_run or self._config.unapproved is Unapproved.BLOCK,
            mend=decision.mend or suggest_approval(hook),
        )

    def reason_denied(self, hook: Hook, *, cwd: str = "") -> str:
        """Return why the hook may not run, or "" when it may."""
        return self.decide(hook, cwd=cwd).reason_denied

    def decide(self, hook: Hook, *, cwd: str = "", is_vetting: bool = False) -> TrustDecision:
        """Decide whether the hook may run as it is now, without asking the user.

        For the vetting before a run, the files of a hook are not read where no approval can hold for it.
        """
        foreign = ""
        # only a definition in a file can be older than the folder it is used in
        if hook.source is Source.USER and hook.source_line and hook.kind in _STARTING:
            foreign = self._fingerprints.find_foreign_file(hook, cwd or caller_context.folder())
        if hook.server is not None and hook.server.needs_approval:
            foreign = name_in_project(hook.server.path, hook.server.root)
        if hook.source in USER_SOURCES and not foreign and hook.trusted is not False:
            return _TRUSTED
        if self._is_trusted_workspace(hook, cwd):
            return _TRUSTED
        approvals, repositories = self._store.load(), self._list_repositories(hook, cwd)
        if is_vetting and self._cannot_be_approved(hook, approvals.values(), repositories):
            return TrustDecision(status=TrustStatus.UNAPPROVED, reason_denied=_describe_denial(hook, "", None))
        now, repository = self.fingerprint(hook, cwd=cwd), repositories[0]
        key = (now.digest, repository)
        approval = approvals.get(key) or self._find_extra_approval(key, hook, cwd)
        if approval is None:
            # given in this very folder, before it became a repository or got an origin
            by_path = (approvals.get((now.digest, name)) for name in repositories[1:])
            approval = next(filter(None, by_path), None)
        changed = ""
        if approval is not None and approval.programs is not None:
            names = self._fingerprints.executables.list_changed(now.programs, approval.programs)
            changed = f'"{names[0]}" is not the program it was when this was approved' if names else ""
        if approval is not None and not changed and not now.problem:
            return TrustDecision(status=TrustStatus.APPROVED, fingerprint=now, repository=repository, approval=approval)
        if self._once.get(key) == now.programs:
            return TrustDecision(status=TrustStatus.ONCE, fingerprint=now, repository=repository)
        earlier = approval or _find_earlier(approvals.values(), hook, repositories)
        is_other = (item for item in approvals.values() if item.digest == now.digest and item.repository != repository)
        other = next(is_other, None)
        elsewhere = (
            f" here: it was approved in {other.repository}, and this folder belongs to {repository}" if other else ""
        )
        return TrustDecision(
            status=TrustStatus.CHANGED if earlier is not None else TrustStatus.UNAPPROVED,
            reason_denied=now.problem or changed or _describe_denial(hook, foreign, earlier) + elsewhere,
            fingerprint=now,
            repository=repository,
            earlier=earlier,
        )

    def diff(self, hook: Hook, *, cwd: str = "") -> tuple[ApprovalChange, ...]:
        """Return what changed since the hook was approved; () when nothing did, or it was never approved."""
        decision = self.decide(hook, cwd=cwd)
        if decision.fingerprint is None or decision.earlier is None:
            return ()
        changes = list_changes(
            decision.earlier,
            decision.fingerprint,
            read_text=self.approved_text,
            executables=self._fingerprints.executables,
        )
        return tuple(changes)

    def digest(self, hook: Hook, *, cwd: str = "") -> str:
        """Return the digest of what would run."""
        return self.fingerprint(hook, cwd=cwd).digest

    def fingerprint(self, hook: Hook, *, cwd: str = "") -> HookFingerprint:
        """Return what would run now: definition, files and programs."""
        return self._fingerprints.compute(hook, cwd or caller_context.folder())

    def _is_trusted_workspace(self, hook: Hook, cwd: str) -> bool:
        if hook.source in _PACKAGED or (hook.source is Source.USER and hook.trusted is False):
            return False
        if self._config.trust_workspace:
            return True
        if not self._config.trusted_workspaces:
            return False
        trusted = [os.path.realpath(caller_context.expand_home(str(one))) for one in self._config.trusted_workspaces]
        # both have to be trusted: the folder of the hook and the one it works in
        places = [os.path.realpath(cwd or caller_context.folder())]
        if hook.root and hook.source not in USER_SOURCES:
            places.append(os.path.realpath(hook.root))
        return all(is_inside_real(place, trusted) for place in places)

    def _repository(self, hook: Hook, cwd: str) -> str:
        return self._list_repositories(hook, cwd)[0]

    def _list_repositories(self, hook: Hook, cwd: str) -> tuple[str, ...]:
        """Return the name of the repository that a hook is approved in, and the names that its folder has by its path."""
        is_own = hook.source in USER_SOURCES or not hook.root
        root = (cwd or caller_context.folder()) if is_own else hook.root
        if root not in self._repositories:
            names = (identify_repository(root), *list_names_by_path(root))
            self._repositories[root] = tuple(map(escape_surrogates, names))
        return self._repositories[root]

    def _cannot_be_approved(self, hook: Hook, approvals: Iterable[Approval], repositories: Collection[str]) -> bool:
        """Return whether no approval can hold for the hook, whatever its files are."""
        if self._config.approve is not None or self._config.extra_books or self._once or hook.source in USER_SOURCES:
            return False
        # approvals of the first version have no repository
        return all(item.repository and item.repository not in repositories for item in approvals)

    def _find_extra_approval(self, key: Key, hook: Hook, cwd: str) -> Approval | None:
        for path in self._config.extra_books:
            if is_inside_real(str(path.absolute()), workspace_roots(hook, cwd)):
                logger.warning("%s is in the workspace, so the approvals in it do not count", path)
                continue
            if path not in self._extra:
                self._extra[path] = {item.key: item for item in read_export(path, workspace=None)}
            if key in self._extra[path]:
                return self._extra[path][key]
        return None


def suggest_approval(hook: Hook) -> str:
    """Return the commands that show and approve a hook."""
    name = shell_quote(hook.id)
    return f"`hookline trust show {name}` shows it, `hookline trust approve {name}` allows it"


def _find_earlier(approvals: Iterable[Approval], hook: Hook, repositories: Collection[str]) -> Approval | None:
    """Return the last approval of another form of the hook, also when its id is another one by now."""
    source = escape_surrogates(name_in_project(hook.source_path, hook.root))
    found = [
        item
        for item in approvals
        # approvals of the first version have no repository
        if (not item.repository or item.repository in repositories)
        and (item.hook == hook.id or (hook.name and (item.source_path, item.name) == (source, hook.name)))
    ]
    return max(found, key=lambda item: item.at, default=None)


def _is_named(approval: Approval, name: str) -> bool:
    if name in {approval.source_path, approval.hook, approval.name}:
        return True
    if len(name) >= _SHORTEST_DIGEST and approval.digest.startswith(name):
        return True
    # a file by its whole path, which is stored relative to its repository
    is_file = bool(approval.source_path) and name.startswith("/") and name.endswith(f"/{approval.source_path}")
    return is_file and f"{identify_repository(Path(name).parent)}/".startswith(f"{approval.repository}/")


def _describe_denial(hook: Hook, foreign: str, earlier: Approval | None) -> str:
    if earlier is not None:
        return "changed since it was approved"
    if foreign and hook.server is not None and hook.server.needs_approval:
        return f'uses the MCP server "{hook.server.name}" as "{foreign}" defines it, which is not approved'
    if foreign:
        return f'runs "{foreign}" of this workspace, which is not approved'
    if hook.source in USER_SOURCES:
        return "says of itself that it is not trusted, and it is not approved"
    if hook.layer is Layer.USER:
        return f"new in {hook.source_path}, not written by a command of Hookline, and it is not approved"
    return f"{hook.source} hook that is not approved"
