"""Where MCP servers are found, and whose they are."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.config.discovery import select_locations
from hookline.config.loader import SearchPaths
from hookline.config.mcp_servers import FoundServers, find_servers
from hookline.config.reader import KnownNames
from hookline.errors import ConfigError
from hookline.model.mcp_server import McpServer


@pytest.fixture
def search(tmp_path: Path) -> SearchPaths:
    project, home, config = (tmp_path / name for name in ("project", "home", "config"))
    for folder in (project, home, config):
        folder.mkdir()
    return SearchPaths(known_names=KnownNames(), project=project, home=home, config=config)


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def summary(found: FoundServers) -> list[tuple[str, str, bool, bool]]:
    return [(one.name, one.describe(), one.is_own, one.needs_approval) for one in found.servers]


@pytest.mark.spec("D-18")
def test_servers_of_every_agent_are_found_with_their_owner(search: SearchPaths) -> None:
    write(search.config, "hookline.toml", '[mcp.mine]\ncommand = "a"\nargs = ["b"]\n')
    project = str(search.project)
    claude = {
        "mcpServers": {"user": {"command": "u"}},
        "projects": {project: {"mcpServers": {"local": {"type": "http", "url": "https://l/mcp"}}}},
    }
    write(search.home, ".claude.json", claude)
    write(search.home, ".codex/config.toml", '[mcp_servers.cod]\nurl = "https://c"\nbearer_token_env_var = "T"\n')
    gemini = '{"mcpServers": {"gem": {"httpUrl": "https://g", "headers": {"X": "$KEY"}}}} // mine\n'
    write(search.home, ".gemini/settings.json", gemini)
    write(search.project, ".mcp.json", {"mcpServers": {"shared": {"command": "./run", "args": ["x"]}}})
    write(search.project, ".vscode/mcp.json", {"servers": {"code": {"type": "sse", "url": "https://s"}}})

    found = find_servers(search)

    assert found.problems == ()
    assert summary(found) == [
        ("mine", "a b", True, False),
        ("local", "https://l/mcp", True, True),
        ("user", "u", True, True),
        ("cod", "https://c", True, True),
        ("gem", "https://g", True, True),
        ("shared", f"{project}/run x", False, True),
        ("code", "https://s", False, True),
    ]
    by_name = found.by_name()
    assert by_name["cod"].headers == {"Authorization": "Bearer ${T}"}
    assert by_name["gem"].headers == {"X": "${KEY}"}
    assert by_name["shared"].cwd == project
    assert by_name["shared"].location == f"{project}/.mcp.json:1"
    assert "SSE" in by_name["code"].problem


@pytest.mark.spec("D-18")
def test_each_side_means_its_own_server(search: SearchPaths) -> None:
    write(search.config, "hookline.toml", '[mcp.x]\ncommand = "mine"\n')
    write(search.project, ".mcp.json", {"mcpServers": {"x": {"command": "theirs"}}})
    found = find_servers(search)

    own, theirs = found.find("x", is_own=True), found.find("x", is_own=False)

    assert own is not None
    assert theirs is not None
    assert (own.command, theirs.command) == ("mine", "theirs")
    assert found.by_name()["x"] is own
    assert found.find("y", is_own=True) is None


def test_files_of_agents_are_left_alone_where_the_user_wants_that(search: SearchPaths) -> None:
    write(search.home, ".claude.json", {"mcpServers": {"user": {"command": "u"}}})

    assert find_servers(replace(search, locations=select_locations(False))).servers == ()  # noqa: FBT003


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[mcp.x]\ncomand = "a"\n', 'unknown key "comand" in the MCP server "x" (did you mean "command"?)'),
        ('[mcp.x]\ncommand = "a"\nurl = "https://b"\n', "it needs either a command or a url; it has both"),
        ('[mcp.x]\nurl = "ftp://b"\n', "its url must begin with http:// or https://"),
        ('[mcp.x]\ncommand = "a"\nargs = "b"\n', "args of the MCP server"),
        ('[mcp]\nx = "a"\n', 'wanted a table for the MCP server "x"'),
        ("mcp = 3\n", "wanted a table for each MCP server"),
        ('[mcp.x]\ncommand = "a"\nargs = ["{{args.path}}"]\n', "a server is started once for many events"),
        ('[mcp."a/b"]\ncommand = "a"\n', 'has a "/" in its name'),
        ("[mcp.x\n", "hookline.toml"),
    ],
)
def test_mistake_in_a_definition_is_told_with_its_line(search: SearchPaths, text: str, message: str) -> None:
    path = write(search.config, "hookline.toml", text)

    problems = [str(one) for one in find_servers(search).problems]

    assert any(message in one and one.startswith(f"{path}:") for one in problems), problems


def test_broken_file_of_an_agent_takes_no_other_server_with_it(search: SearchPaths) -> None:
    write(search.config, "hookline.toml", '[mcp.mine]\ncommand = "a"\n')
    write(search.project, ".mcp.json", "{")
    write(search.project, ".cursor/mcp.json", {"mcpServers": ["x"]})

    found = find_servers(search)

    assert [one.name for one in found.servers] == ["mine"]
    assert len(found.problems) == 2


def test_variables_are_filled_in_and_a_missing_one_is_an_error() -> None:
    server = McpServer(name="x", url="https://${HOST:-h}/mcp", headers={"Authorization": "Bearer ${env:TOKEN}"})

    filled = server.expand({"TOKEN": "t"})

    assert (filled.url, filled.headers) == ("https://h/mcp", {"Authorization": "Bearer t"})
    with pytest.raises(ConfigError, match="the variable TOKEN"):
        server.expand({})


def test_place_of_a_definition_is_not_a_part_of_it() -> None:
    server = McpServer(name="x", command="a", path="/p/.mcp.json", line=3, root="/p")

    assert server.definition() == {"name": "x", "command": "a"}
