"""The table of agents."""

from pathlib import Path

import pytest

from hookline.dialects import DIALECTS
from hookline.errors import HostError
from hookline.hosts import HOSTS, find
from hookline.hosts.command_line import canonical_events
from hookline.hosts.host import Host, Scope
from hookline.model.dialect import AGENTS
from hookline.model.event import EventName
from tests.hosts.settings import around


def test_every_agent_whose_language_we_speak_can_be_installed() -> None:
    assert set(HOSTS) == {name for name, dialect in DIALECTS.items() if dialect.SPEC.is_agent}


@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_an_agent_is_found_by_all_its_names(host: Host) -> None:
    assert {find(word).name for word in (host.name, host.name.upper(), *host.spec.aliases)} == {host.name}


def test_no_two_agents_share_a_name() -> None:
    words = [word for host in HOSTS.values() for word in (host.name, *host.spec.aliases)]

    assert len(words) == len(set(words))


def test_a_slip_gets_the_nearest_name() -> None:
    with pytest.raises(HostError, match=r'there is no agent "gemni" \(did you mean "gemini"\?\)'):
        find("gemni")


@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_what_is_left_out_is_an_event_of_the_agent_or_unknown_to_it(host: Host) -> None:
    left = {event for event in host.events if host.why_left_out(event)}

    assert host.usual_events
    assert left.isdisjoint(host.usual_events)
    assert not host.never & set(host.events)
    assert set(host.seconds) <= set(host.events)


@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_every_file_that_ours_go_into_is_one_the_agent_reads(host: Host, tmp_path: Path) -> None:
    where = around(tmp_path)
    for scope, name in host.files.items():
        place = host.settings_path(scope, where) / ("x" if name.endswith("/") else "")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()

        root = host.root(scope, where)
        assert place in [path for pattern in host.reads[scope] for path in root.glob(pattern)]


@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_guards_are_asked_wherever_a_tool_is_called(host: Host) -> None:
    assert [event for event in host.usual_events if EventName.BEFORE_TOOL in canonical_events(host.name, event)]


@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_no_event_is_asked_about_under_two_spellings(host: Host) -> None:
    plain = [event.lower() for event in host.usual_events]

    assert len(plain) == len(set(plain))


@pytest.mark.parametrize(
    ("name", "variable", "below"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex-cli", "CODEX_HOME", "hooks.json"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen-code", "QWEN_HOME", "settings.json"),
        ("copilot-cli", "COPILOT_HOME", "hooks/hookline.json"),
        ("opencode", "OPENCODE_CONFIG_DIR", "plugin/hookline.js"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugin/hookline.js"),
    ],
)
def test_a_folder_that_the_environment_moves_is_found(name: str, variable: str, below: str, tmp_path: Path) -> None:
    moved = around(tmp_path, **{variable: "/elsewhere"})
    odd = around(tmp_path, **{variable: "not/absolute"})

    assert HOSTS[name].settings_path(Scope.USER, moved) == Path("/elsewhere") / below
    assert HOSTS[name].settings_path(Scope.USER, odd).is_relative_to(tmp_path / "home")


@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_the_document_says_where_ours_go(host: Host) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "hosts.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if f"`{host.name}`" in line and line.startswith("|"))

    assert [name for name in (host.title, host.home, host.files[Scope.PROJECT]) if name not in row] == []
    assert [name for name, _ in host.home_variables if name not in row and not name.startswith("XDG_")] == []


def test_every_agent_has_a_row_in_the_order_of_the_list() -> None:
    assert tuple(HOSTS) == AGENTS
