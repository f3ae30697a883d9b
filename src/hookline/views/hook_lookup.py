"""Find the hook that a user names."""

from hookline.config.document import Severity
from hookline.errors import ConfigError
from hookline.model.hook import SERVER_PREFIX, Hook, make_server_hook
from hookline.project import Project
from hookline.text import escape_all, quote, suggest


def find_hook(project: Project, name: str) -> Hook:
    """Return the hook with this id, or with this name if only one hook has it; `mcp:NAME` stands for an MCP server.

    Raises:
        ConfigError: There is none, or there are several.
    """
    if name.startswith(SERVER_PREFIX) and (server := project.servers.by_name().get(name.removeprefix(SERVER_PREFIX))):
        return make_server_hook(server)
    known = {hook.id for hook in project.hooks}
    hooks = (*project.hooks, *(hook for hook in project.builtins if hook.id not in known))
    found = (
        [hook for hook in hooks if hook.id == name]
        or [hook for hook in hooks if hook.name == name]
        # an id with control characters, copied from the terminal, arrives escaped
        or [hook for hook in hooks if escape_all(hook.id) == name]
    )
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{hook.id} ({hook.source_path}:{hook.source_line})" for hook in found)
        raise ConfigError(f"several hooks are called {quote(name)}: {places}; name one by its id")
    for problem in project.loaded.problems:
        if problem.severity is Severity.ERROR and f"hook {quote(name)}" in problem.message:
            place = f"{problem.path}:{problem.line}" if problem.line else problem.path
            raise ConfigError(f"there is no hook {quote(name)} as long as {place} is wrong: {problem.message}")
    nearest = suggest(name, [hook.id for hook in hooks])
    raise ConfigError(f"there is no hook {quote(name)}{nearest}; `hookline list` shows them all")
