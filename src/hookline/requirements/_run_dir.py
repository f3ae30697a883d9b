"""Where a hook would run, as far as its requirements depend on it."""

from msgspec import Struct

from hookline import caller_context
from hookline.model.hook import Hook
from hookline.model.workspace_paths import USER_SOURCES, workspace_roots


class RunDir(Struct, frozen=True, kw_only=True):
    """A folder, the folders that no program is taken from, and the variables a hook sets for itself.

    Programs are asked for their version in `version_dir`: version managers run what that folder configures.
    """

    folder: str
    version_dir: str
    foreign: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()

    def variable(self, name: str) -> str:
        """Return a variable as the hook would see it, or ""."""
        return dict(self.env).get(name, caller_context.environ().get(name, ""))


def run_dir_of(hook: Hook, cwd: str) -> RunDir:
    """Return where a hook would run."""
    try:
        here = cwd or caller_context.folder()
        foreign = workspace_roots(hook, cwd)
    except OSError:  # the current folder was removed, so nothing is in it
        here, foreign = "/", ()
    is_own = hook.source in USER_SOURCES
    folder = hook.root if hook.root and not is_own else here
    # a project's version files were approved with its own hooks only
    version_dir = "/" if is_own else folder
    return RunDir(folder=folder, version_dir=version_dir, foreign=foreign, env=tuple(sorted(hook.env.items())))
