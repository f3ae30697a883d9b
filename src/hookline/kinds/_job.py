"""A child to be started, and what it was handed."""

from msgspec import Struct

from hookline.kinds._child import Env
from hookline.kinds._sealed import Seals
from hookline.kinds._vetted import Vetted


class Job(Struct, frozen=True, kw_only=True):
    """One child to start. `script` is what a shell would be given instead.

    `cwd` is empty where the child starts in this program's own folder, which is `here`; `foreign` are the folders no
    program is taken from, and `files` the descriptors the child keeps. `warm` asks for a child that was made ahead.
    `umask` is that of whoever asks, and -1 where it is this program's own.
    """

    program: str = ""
    argv: tuple[str, ...]
    env: Env
    cwd: str
    here: str
    path: str
    script: str = ""
    extra: bytes = b""
    foreign: tuple[str, ...] = ()
    files: tuple[int, ...] = ()
    warm: bool = False
    umask: int = -1

    @property
    def folder(self) -> str:
        """Where the child works."""
        return self.cwd or self.here


class Launch(Struct, frozen=True, kw_only=True):
    """A job that is ready, the words a person knows it by, and, where its files were vetted, what it was handed."""

    job: Job
    words: tuple[str, ...]
    seals: Seals | None = None
    vetted: Vetted | None = None

    def spoiled(self) -> str:
        """Say why what it answered does not count; empty when it does."""
        return "" if self.seals is None or self.vetted is None else spoiled(self.seals, self.vetted)

    def release(self) -> None:
        """Take back what it was handed."""
        if self.seals is not None:
            self.seals.__exit__()


def spoiled(seals: Seals, vetted: Vetted) -> str:
    """Say why what a hook did does not count; empty when it does."""
    if altered := seals.altered():
        return f'it wrote to "{altered}", which it was given as a copy: redirect with > or >> instead'
    changed = vetted.changed()
    return f'"{changed}" changed while the hook ran' if changed else ""
