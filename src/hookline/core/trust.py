"""Whether a hook may run: what would run is what a person approved, byte for byte."""

import asyncio
import getpass
import logging
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hookline.core.identity import Identities
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate, Plan, Skip

logger = logging.getLogger(__name__)

_TRUSTED: Final = frozenset({Source.BUILTIN, Source.USER})
_PACKAGED: Final = frozenset({Source.DOWNLOADED, Source.EXTENSION})

Approve = Callable[[Hook, str], bool | Awaitable[bool]]


class Approval(Struct, frozen=True, kw_only=True):
    """A person's yes to exactly these bytes."""

    hook: str
    digest: str
    source_path: str = ""
    name: str = ""
    by: str = ""
    at: float = 0.0


class _Book(Struct, frozen=True, kw_only=True):
    version: int = 1
    approvals: tuple[Approval, ...] = ()


class TrustedHooksConfig(Struct, frozen=True, kw_only=True):
    """Where approvals are kept, who is asked, and whether the whole workspace is trusted.

    `trust_workspace` comes from the person's own settings, never from the workspace. Without `approve`
    nobody is asked, and what nobody approved does not run.
    """

    storage_path: Path | None = None
    trust_workspace: bool = False
    approve: Approve | None = None


class TrustedHooks:
    """Keep approvals, and compare what would run with what was approved."""

    def __init__(self, config: TrustedHooksConfig | None = None) -> None:
        self._config = config or TrustedHooksConfig()
        self._approvals: dict[str, Approval] | None = None
        self._seen: tuple[int, ...] = ()
        self._denied: set[str] = set()
        self._asking: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[bool]] = {}
        self._identities = Identities()

    async def is_trusted(self, hook: Hook) -> bool:
        """Say whether the hook may run as it is now."""
        return not self.objection(hook)

    async def request_approval(self, hook: Hook, *, cwd: str = "") -> bool:
        """Ask the person; remember a yes for good and a no for as long as this engine lives.

        Events that come at the same time ask one question.
        """
        if self._config.approve is None:
            return False
        digest = self.digest(hook, cwd=cwd)
        if digest in self._denied:
            return False
        loop = asyncio.get_running_loop()
        while (asked := self._asking.get((loop, digest))) is not None:
            with suppress(asyncio.CancelledError):
                return await asyncio.shield(asked)
            if not asked.cancelled():
                raise asyncio.CancelledError  # not who asked was cancelled, but who waits here
        answer = self._asking[loop, digest] = loop.create_future()
        try:
            allowed = await self._ask(hook, digest, approve=self._config.approve)
            # The person took their time; the file may have changed under the question.
            allowed = allowed and self.digest(hook, cwd=cwd) == digest
            if allowed:
                await self.store_approval(hook, digest)
            answer.set_result(allowed)
        finally:
            del self._asking[loop, digest]
            # without an answer, whoever waits asks again
            answer.cancel()
        return allowed

    async def _ask(self, hook: Hook, digest: str, *, approve: Approve) -> bool:
        try:
            said = approve(hook, digest)
            allowed = said if isinstance(said, bool) else await said
        except Exception:
            # The callback is the embedding program's. Whatever it raises, silence is not consent.
            logger.exception("nobody could be asked about hook %s", hook.id)
            return False
        if allowed is not True:
            self._denied.add(digest)
        return allowed is True

    async def store_approval(self, hook: Hook, digest: str) -> None:
        """Remember that exactly this content of the hook was approved."""
        approval = Approval(
            hook=hook.id,
            digest=digest,
            source_path=hook.source_path,
            name=hook.name,
            by=_person(),
            at=time.time(),
        )
        self._change(lambda book: book.__setitem__(digest, approval))

    async def compute_hash(self, hook: Hook) -> str:
        """Compute the SHA-256 of what would run: the definition and the content of every file it names."""
        return self.digest(hook)

    async def load(self) -> None:
        """Read the approvals again.

        Raises:
            StoreError: The file is there but cannot be read.
        """
        self._approvals = self._read()

    async def save(self) -> None:
        """Write the approvals file if there is none; every change is written when it is made."""
        mine = self._book()
        self._change(lambda book: book.update({} if self._stamp() else mine))

    def get_approvals(self) -> list[Approval]:
        """List the approvals, oldest first."""
        return sorted(self._book().values(), key=lambda approval: approval.at)

    async def remove_approval(self, source_path: str) -> bool:
        """Take back the approvals of the hooks from one file, or of one hook by its id."""
        gone: list[str] = []

        def remove(book: dict[str, Approval]) -> None:
            gone.extend(key for key, item in book.items() if source_path in {item.source_path, item.hook})
            for key in gone:
                del book[key]

        self._change(remove)
        return bool(gone)

    async def clear_approvals(self) -> None:
        """Take back every approval."""
        self._change(lambda book: book.clear())

    async def vet(self, plan: Plan, event: Event) -> Plan:
        """Move every hook that nobody approved in its present form from the stages to the skips."""
        objections: dict[str, str] = {}
        for stage in plan.stages:
            for hook in stage:
                if hook.source is not Source.BUILTIN:
                    objection = self.objection(hook, cwd=event.cwd)
                    if objection and not await self.request_approval(hook, cwd=event.cwd):
                        objections[hook.id] = objection
        if not objections:
            return plan
        stages = (tuple(hook for hook in stage if hook.id not in objections) for stage in plan.stages)
        skips = tuple(Skip(hook, Gate.TRUST, objections[hook.id]) for hook in plan.hooks if hook.id in objections)
        return Plan(tuple(stage for stage in stages if stage), (*plan.skipped, *skips))

    def objection(self, hook: Hook, *, cwd: str = "") -> str:
        """Say why the hook may not run; empty when it may."""
        borrowed = self._borrowed(hook, cwd)
        if hook.source in _TRUSTED and not borrowed:
            return ""
        if hook.source not in _PACKAGED and self._config.trust_workspace:
            return ""
        book = self._book()
        if self.digest(hook, cwd=cwd) in book:
            return ""
        if any(approval.hook == hook.id for approval in book.values()):
            return "changed since it was approved"
        if borrowed:
            return f'runs "{borrowed}" of this workspace, which nobody approved'
        return f"{hook.source} hook that nobody approved"

    def _borrowed(self, hook: Hook, cwd: str) -> str:
        # only a definition in a file can be older than the folder it is used in
        if hook.source is not Source.USER or not hook.source_line or hook.kind != "command":
            return ""
        return self._identities.borrowed(hook, cwd or str(Path.cwd()))

    def digest(self, hook: Hook, *, cwd: str = "") -> str:
        """Compute the identity of what would run."""
        return self._identities.digest(hook, cwd or str(Path.cwd()))

    def _book(self) -> dict[str, Approval]:
        """Give the approvals as they are now: another process may have taken one back."""
        seen = self._stamp()
        if self._approvals is None or seen != self._seen:
            self._approvals = self._read()
            self._seen = seen
        return self._approvals

    def _stamp(self) -> tuple[int, ...]:
        try:
            found = self._config.storage_path.stat() if self._config.storage_path is not None else None
        except OSError:
            return ()
        return (found.st_ino, found.st_size, found.st_mtime_ns) if found is not None else (0,)

    def _read(self) -> dict[str, Approval]:
        path = self._config.storage_path
        if path is None:
            return dict(self._approvals or {})
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise StoreError(f"cannot read the approvals in {path}: {problem.strerror}") from problem
        try:
            book = msgspec.json.decode(raw, type=_Book)
        except msgspec.MsgspecError as problem:
            raise StoreError(f"{path} is no list of approvals ({problem}); move it away to start anew") from None
        return {approval.digest: approval for approval in book.approvals}

    def _change(self, change: Callable[[dict[str, Approval]], object]) -> None:
        """Change the book under a lock, on top of what other processes wrote, and replace the file at once."""
        path = self._config.storage_path
        if path is None:
            book = self._book()
            change(book)
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(path):
                book = self._read()
                change(book)
                ordered = sorted(book.values(), key=lambda approval: approval.at)
                raw = msgspec.json.format(msgspec.json.encode(_Book(approvals=tuple(ordered))))
                _replace(path, raw)
        except OSError as problem:
            raise StoreError(f"cannot write the approvals to {path}: {problem.strerror}") from problem
        self._approvals = book
        self._seen = self._stamp()


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


class _locked:  # noqa: N801 - reads as a word: with _locked(path)
    """Hold the lock beside a file; where the system has none, the atomic replace has to do."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}.lock")
        self._handle = -1

    def __enter__(self) -> None:
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            import fcntl  # noqa: PLC0415 - not on Windows
        except ImportError:
            return
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __exit__(self, *_exc: object) -> None:
        os.close(self._handle)


def _replace(path: Path, raw: bytes) -> None:
    """Write a file whole or not at all, readable by its owner only."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
