"""A child process to be started, and the approved files lent to it."""

from msgspec import Struct

from hookline.process.approved_files import ApprovedFileSet
from hookline.process.memfd import LentDescriptors
from hookline.process.result import Env


class ProcessSpec(Struct, frozen=True, kw_only=True):
    """One child to start; `script` holds a shell line until the shell that runs it has been found.

    `cwd` is empty where the child runs in the engine's own directory, which is `engine_cwd`. No program is taken from
    `untrusted_dirs`. The child reads `fd3_data` on descriptor 3 and keeps `pass_fds` open under their numbers. `umask` is
    the caller's, or -1 for the engine's own. With `has_templates`, values of the event are still to be filled in. A
    spec that `is_queued` runs from the queue: it must never see a truncated event.
    """

    program: str = ""
    argv: tuple[str, ...]
    env: Env
    cwd: str = ""
    engine_cwd: str = ""
    path: str = ""
    script: str = ""
    fd3_data: bytes = b""
    untrusted_dirs: tuple[str, ...] = ()
    pass_fds: tuple[int, ...] = ()
    warm: bool = False
    umask: int = -1
    has_templates: bool = False
    is_queued: bool = False

    @property
    def working_dir(self) -> str:
        """The directory the child runs in."""
        return self.cwd or self.engine_cwd


class Launch(Struct, frozen=True, kw_only=True):
    """A spec that is ready to start, the argv shown to users, and the approved files lent to the child."""

    spec: ProcessSpec
    display_argv: tuple[str, ...]
    lent: LentDescriptors | None = None
    approved: ApprovedFileSet | None = None

    def find_tampering(self) -> str:
        """Return why the child's answer does not count; empty if it does."""
        return "" if self.lent is None or self.approved is None else find_tampering(self.lent, self.approved)

    def release(self) -> None:
        """Take back everything lent to the child."""
        if self.lent is not None:
            self.lent.__exit__()


def find_tampering(lent: LentDescriptors, approved: ApprovedFileSet) -> str:
    """Return why the answer of a hook does not count; empty if it does."""
    if altered := lent.find_altered_copy():
        return f'it wrote to "{altered}", which it was given as a copy: redirect with > or >> instead'
    changed = approved.find_changed()
    return f'"{changed}" changed while the hook ran' if changed else ""
