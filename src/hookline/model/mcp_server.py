"""One server of the Model Context Protocol as a file defines it."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import ConfigError

# `${NAME}` and `${NAME:-default}`, as in .mcp.json; Cursor and VS Code write `${env:NAME}`
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")
# where a definition stands is not what it does
_LOCATION: Final = frozenset({"is_own", "agent", "path", "line", "root"})


class McpServer(Struct, frozen=True, kw_only=True):
    """A program that is spoken to through its stdin and stdout, or a URL.

    Values may name variables of the environment: `${NAME}`, or `${NAME:-default}`. A server `is_own` if it stands in one of
    the user's own files, and not in one of a project. `agent` is the agent whose file it stands in, `root` the project that it came with. `problem` says why it cannot be used.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = {}
    problem: str = ""
    is_own: bool = False
    agent: str = ""
    path: str = ""
    line: int = 0
    root: str = ""

    @property
    def needs_approval(self) -> bool:
        """Whether others than the user may have written it: a project, or an agent that writes to its own files."""
        return not self.is_own or bool(self.agent)

    @property
    def location(self) -> str:
        """Where it is defined, as `file:line`."""
        return f"{self.path}:{self.line}" if self.line else self.path or "this program"

    @property
    def origin(self) -> str:
        """Its URL without user, path and query, which may hold secrets."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0].partition('?')[0].rpartition('@')[2]}"

    def definition(self) -> dict[str, object]:
        """Return what the server is, wherever it is defined; an approval covers this."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name not in _LOCATION}
        return {name: value for name, value in fields.items() if value}

    def describe(self) -> str:
        """Return its URL or its command line, variables as they are written."""
        return self.url or " ".join((self.command, *self.args))

    def list_variables(self) -> list[str]:
        """Return the variables of the environment that its values name."""
        texts = (self.command, *self.args, *self.env.values(), self.cwd, self.url, *self.headers.values())
        return sorted({found[1] for text in texts for found in _VARIABLE.finditer(text)})

    def expand(self, environ: Mapping[str, str]) -> "McpServer":
        """Return the server with the values of its variables.

        Raises:
            ConfigError: One of them is not set.
        """

        def fill(text: str) -> str:
            return _VARIABLE.sub(look_up, text)

        def look_up(found: re.Match[str]) -> str:
            value = environ.get(found[1]) or found[2]
            if value is None:
                raise ConfigError(f'the variable {found[1]}, which the MCP server "{self.name}" names, is not set')
            return value

        return replace(
            self,
            command=fill(self.command),
            args=tuple(map(fill, self.args)),
            env={name: fill(value) for name, value in self.env.items()},
            cwd=fill(self.cwd),
            url=fill(self.url),
            headers={name: fill(value) for name, value in self.headers.items()},
        )


def find_server_problem(server: McpServer) -> str:
    """Return why a server cannot be used as it is defined, or ""."""
    if server.problem:
        return server.problem
    if bool(server.command) == bool(server.url):
        return "it needs either a command or a url" + ("; it has both" if server.url else "")
    if server.url and not server.url.startswith(("http://", "https://", "${")):
        return "its url must begin with http:// or https://"
    if any("{{" in word for word in (server.command, *server.args)):
        return "its command holds {{…}}: a server is started once for many events, so give the value in `arguments`"
    return ""
