"""A child process to be started, and the approved files lent to it."""

import errno
import os

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.sandbox import Sandbox
from hookline.process.approved_files import ApprovedFileSet
from hookline.process.containment import Cell, CellKey
from hookline.process.environment import add_variables
from hookline.process.memfd import LentDescriptors
from hookline.process.result import ContainmentError, Env, ProcessResult
from hookline.process.sandbox_wrappers import describe_wrapper_failure


class ProcessSpec(Struct, frozen=True, kw_only=True):
    """One child to start; `script` holds a shell line until the shell that runs it has been found.

    `cwd` is empty where the child runs in the engine's own directory, which is `engine_cwd`. No program is taken from
    `untrusted_dirs`. The child reads `fd3_data` on descriptor 3 and keeps `pass_fds` open under their numbers. `umask` is
    the caller's, or -1 for the engine's own. With `has_templates`, values of the event are still to be filled in.
    `cell_key` says what is to contain the child, and `cell` contains it.
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
    cell_key: CellKey | None = None
    cell: Cell | None = None

    @property
    def working_dir(self) -> str:
        """The directory the child runs in."""
        return self.cwd or self.engine_cwd

    @property
    def sandbox(self) -> Sandbox | None:
        """What the child may do, if it is contained."""
        return self.cell.key.sandbox if self.cell is not None else None

    def put_into(self, cell: Cell) -> "ProcessSpec":
        """Return the spec of a child that is contained; a process that was made ahead cannot be put into a wrapper."""
        return replace(
            self, cell=cell, env=add_variables(self.env, cell.variables), warm=self.warm and not cell.wrapper
        )

    def add_wrapper(self) -> "ProcessSpec":
        """Return the spec as it is started: behind the words of the program that contains it, if there is one."""
        if self.cell is None or not self.cell.wrapper:
            return self
        wrapper = self.cell.wrapper
        program = os.path.join(self.working_dir, self.program)  # noqa: PTH118 - a text, passed on
        return replace(self, program=wrapper[0], argv=(*wrapper, program, *self.argv[1:]), cwd=self.working_dir)

    def check_wrapper(self, result: ProcessResult) -> ProcessResult:
        """Return a result that is the child's own.

        Raises:
            ContainmentError: The program that was to contain the child did not start it.
        """
        if self.cell is not None and self.cell.wrapper:
            problem = describe_wrapper_failure(self.cell.layers[0], result.exit_code, result.stderr)
            if problem:
                raise ContainmentError(errno.EPERM, problem)
        return result


class Launch(Struct, frozen=True, kw_only=True):
    """A spec that is ready to start, the argv shown to users, and the approved files lent to the child."""

    spec: ProcessSpec
    display_argv: tuple[str, ...]
    lent: LentDescriptors | None = None
    approved: ApprovedFileSet | None = None

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that contain the child."""
        return self.spec.cell.layers if self.spec.cell is not None else ()

    def find_tampering(self) -> str:
        """Return why the child's answer does not count; empty if it does."""
        cell = self.spec.cell
        if cell is not None and (tampering := cell.find_tampering()):
            return tampering
        return "" if self.lent is None or self.approved is None else find_tampering(self.lent, self.approved)

    def release(self) -> None:
        """Take back everything lent to the child."""
        if self.lent is not None:
            self.lent.__exit__()
        if self.spec.cell is not None:
            self.spec.cell.release()


def find_tampering(lent: LentDescriptors, approved: ApprovedFileSet) -> str:
    """Return why the answer of a hook does not count; empty if it does."""
    if altered := lent.find_altered_copy():
        return f'it wrote to "{altered}", which it was given as a copy: redirect with > or >> instead'
    changed = approved.find_changed()
    return f'"{changed}" changed while the hook ran' if changed else ""
