"""Entries that call a URL: where a daemon answers, who may know, and which events never become one."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.errors import HostError
from hookline.hosts import HOSTS, http_endpoint
from hookline.hosts.host import Host, HostEnvironment, Scope
from hookline.hosts.http_endpoint import HttpEndpoint
from hookline.hosts.installer import InstallPlan, install, uninstall
from hookline.hosts.status import find_obstacles, find_settings
from hookline.model.installed_entry import parse_entry

CLAUDE = HOSTS["claude-code"]
QWEN = HOSTS["qwen-code"]
PYTHON = "/usr/bin/python3"


@pytest.fixture
def around(tmp_path: Path) -> HostEnvironment:
    """Give a person's empty machine."""
    made = HostEnvironment(home=tmp_path / "home", data=tmp_path / "data", project=tmp_path / "project", environ={})
    for folder in (made.home, made.data, made.project):
        folder.mkdir()
    return made


def planned(
    around: HostEnvironment, at: HttpEndpoint | None, *hosts: Host, everything: bool = False
) -> list[InstallPlan]:
    """Plan an installation as the command does."""
    plans = []
    for host in hosts:
        events = host.usual_events
        called = http_endpoint.select_url_events(host, events, everything=everything) if at is not None else ()
        calls = {event: at.call(host, event, policy="block") for event in called} if at is not None else {}
        plans.append(install(host, Scope.USER, around, events=events, policy="block", python=PYTHON, urls=calls))
    return http_endpoint.plan_endpoint_file(plans, around, at)


def carry_out(plans: list[InstallPlan]) -> None:
    """Write what was planned."""
    for plan in plans:
        for change in (*plan.changes, *plan.records):
            path = Path(change.path)
            if change.after is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(change.after)


def handlers(around: HostEnvironment, name: str = ".claude/settings.json") -> dict[str, dict[str, object]]:
    """Give the one handler of each event in the settings."""
    hooks = json.loads((around.home / name).read_text())["hooks"]
    return {event: groups[0]["hooks"][0] for event, groups in hooks.items()}


def test_a_port_and_a_token_are_chosen_once_and_then_kept(around: HostEnvironment) -> None:
    first = http_endpoint.choose_endpoint(around, PYTHON)
    carry_out(planned(around, first, CLAUDE))
    again = http_endpoint.choose_endpoint(around, "/another/python")

    assert (again.port, again.token) == (first.port, first.token)
    assert again.python == "/another/python"
    assert len(first.token) >= 43
    assert http_endpoint.choose_endpoint(replace_data(around), PYTHON).token != first.token


def replace_data(around: HostEnvironment) -> HostEnvironment:
    """Give another person's machine."""
    return replace(around, data=around.data / "of another")


def test_only_events_at_which_a_no_keeps_nothing_from_happening_are_called_by_url(around: HostEnvironment) -> None:
    carry_out(planned(around, http_endpoint.choose_endpoint(around, PYTHON), CLAUDE))
    kinds = {event: str(handler["type"]) for event, handler in handlers(around).items()}

    assert {event for event, kind in kinds.items() if kind == "http"} >= {"PostToolUse", "Notification", "SessionEnd"}
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop", "PreCompact"):
        assert kinds[event] == "command", event


def test_with_everything_by_url_what_an_exit_code_says_and_what_wakes_the_daemon_stays_a_command(
    around: HostEnvironment,
) -> None:
    carry_out(planned(around, http_endpoint.choose_endpoint(around, PYTHON), CLAUDE, QWEN, everything=True))
    commands = {event for event, handler in handlers(around).items() if handler["type"] == "command"}

    assert {"SessionStart", "Setup", "UserPromptSubmit", "TaskCreated", "TaskCompleted", "TeammateIdle"} <= commands
    assert not commands & {"PreToolUse", "PermissionRequest", "Stop"}
    qwen = handlers(around, ".qwen/settings.json")
    assert (qwen["SessionStart"]["type"], qwen["PreToolUse"]["type"]) == ("command", "http")


def test_an_entry_carries_the_token_and_how_deep_the_agent_is_in_others(around: HostEnvironment) -> None:
    at = http_endpoint.choose_endpoint(around, PYTHON)
    carry_out(planned(around, at, CLAUDE, everything=True))
    entry = handlers(around)["PostToolUse"]

    assert entry == {
        "type": "http",
        "url": f"http://127.0.0.1:{at.port}/hookline/v1/hook/claude-code/PostToolUse?if-broken=block",
        "headers": {"Authorization": f"Bearer {at.token}", "Hookline-Nesting": "$HOOKLINE_NESTING"},
        "allowedEnvVars": ["HOOKLINE_NESTING"],
        "timeout": 600,
    }


def test_a_guard_by_url_is_a_no_when_nobody_answers_where_the_agent_can_have_it_so(around: HostEnvironment) -> None:
    at = http_endpoint.choose_endpoint(around, PYTHON)

    assert at.call(CLAUDE, "PreToolUse", policy="block").strict
    assert not at.call(CLAUDE, "PreToolUse", policy="allow").strict
    assert not at.call(CLAUDE, "PostToolUse", policy="block").strict
    assert not at.call(QWEN, "PreToolUse", policy="block").strict
    carry_out(planned(around, at, CLAUDE, everything=True))
    assert handlers(around)["PreToolUse"]["onFailure"] == "block"
    assert "onFailure" not in handlers(around)["Stop"]


@pytest.mark.parametrize("host", [CLAUDE, QWEN], ids=lambda host: host.name)
def test_installing_twice_is_installing_once_and_uninstalling_gives_every_byte_back(
    around: HostEnvironment, host: Host
) -> None:
    settings = host.settings_path(Scope.USER, around)
    settings.parent.mkdir()
    before = '{\n\n\t"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:1/x"}]}]}\n}\n'
    settings.write_text(before)
    carry_out(planned(around, http_endpoint.choose_endpoint(around, PYTHON), host))
    assert http_endpoint.read_endpoint(around.data) is not None

    again = planned(around, http_endpoint.choose_endpoint(around, PYTHON), host)
    assert not any((*plan.changes, *plan.records) for plan in again)

    carry_out(http_endpoint.plan_endpoint_file([uninstall(host, Scope.USER, around)], around))
    assert settings.read_text() == before
    assert list(around.data.rglob("*.json")) == []


def test_commands_take_the_place_of_urls_and_urls_that_of_commands(around: HostEnvironment) -> None:
    carry_out(planned(around, None, CLAUDE))
    plain = (around.home / ".claude/settings.json").read_bytes()
    at = http_endpoint.choose_endpoint(around, PYTHON)
    carry_out(planned(around, at, CLAUDE, everything=True))
    assert handlers(around)["Stop"]["type"] == "http"

    carry_out(planned(around, at, CLAUDE))
    assert (handlers(around)["Stop"]["type"], handlers(around)["PostToolUse"]["type"]) == ("command", "http")

    carry_out(planned(around, None, CLAUDE))
    assert (around.home / ".claude/settings.json").read_bytes() == plain
    assert http_endpoint.read_endpoint(around.data) is None


def test_the_daemon_is_to_answer_until_the_last_settings_have_no_url_any_more(around: HostEnvironment) -> None:
    at = http_endpoint.choose_endpoint(around, PYTHON)
    carry_out(planned(around, at, CLAUDE, QWEN))

    carry_out(http_endpoint.plan_endpoint_file([uninstall(CLAUDE, Scope.USER, around)], around))
    left = http_endpoint.read_endpoint(around.data)
    assert left is not None
    assert left.files == (str(around.home / ".qwen/settings.json"),)
    assert left.token == at.token

    carry_out(http_endpoint.plan_endpoint_file([uninstall(QWEN, Scope.USER, around)], around))
    assert http_endpoint.read_endpoint(around.data) is None


def test_settings_that_somebody_removed_do_not_keep_the_daemon_answering(around: HostEnvironment) -> None:
    carry_out(planned(around, http_endpoint.choose_endpoint(around, PYTHON), CLAUDE, QWEN))
    (around.home / ".claude/settings.json").unlink()

    carry_out(http_endpoint.plan_endpoint_file([uninstall(QWEN, Scope.USER, around)], around))

    assert http_endpoint.read_endpoint(around.data) is None


def test_the_file_with_the_token_is_for_nobody_else(around: HostEnvironment) -> None:
    (plan,) = planned(around, http_endpoint.choose_endpoint(around, PYTHON), CLAUDE)

    (record,) = [change for change in plan.records if change.path == str(http_endpoint.endpoint_path(around.data))]
    assert record.mode == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "no JSON", "[]", "{}", '{"port": 0, "token": "x", "python": "p"}', '{"port": 5, "token": "", "python": "p"}'],
)
def test_what_cannot_be_read_is_nowhere(around: HostEnvironment, text: str) -> None:
    http_endpoint.endpoint_path(around.data).write_text(text)

    assert http_endpoint.read_endpoint(around.data) is None


@pytest.mark.parametrize("scope", [Scope.PROJECT, Scope.LOCAL])
def test_a_token_never_stands_in_the_settings_of_a_project(scope: Scope) -> None:
    with pytest.raises(HostError, match="your token"):
        http_endpoint.check_hosts([CLAUDE], scope, HOSTS)


def test_agents_that_call_no_url_are_told_which_ones_do() -> None:
    with pytest.raises(HostError, match="Gemini CLI cannot call a URL; claude-code and qwen-code can"):
        http_endpoint.check_hosts([CLAUDE, HOSTS["gemini-cli"]], Scope.USER, HOSTS)


def test_urls_of_ours_are_known_as_ours_and_no_others(around: HostEnvironment) -> None:
    carry_out(planned(around, http_endpoint.choose_endpoint(around, PYTHON), CLAUDE))
    (file,) = find_settings(CLAUDE, around)

    assert file.foreign == 0
    assert {entry.event for entry in file.ours} == set(CLAUDE.usual_events)
    assert {entry.event for entry in file.ours if entry.is_url} >= {"PostToolUse"}
    ours = f"http://127.0.0.1:{http_endpoint.choose_endpoint(around, PYTHON).port}/hookline/v1/hook/claude-code/Stop?if-broken=allow"
    entry = parse_entry(ours)
    assert entry is not None
    assert (entry.host, entry.event, entry.policy, entry.python) == ("claude-code", "Stop", "allow", "")
    for other in (
        ours.replace("127.0.0.1", "example.com"),
        ours.replace("http:", "https:"),
        f"{ours}&more=1",
        f"{ours} ",
        ours.replace("/hookline/", "/other/"),
        f"curl {ours}",
    ):
        assert parse_entry(other) is None, other


@pytest.mark.parametrize(
    ("host", "pointer"), [(CLAUDE, ("allowedHttpHookUrls",)), (QWEN, ("security", "allowedHttpHookUrls"))]
)
def test_settings_that_list_the_urls_of_hooks_without_ours_are_an_obstacle(
    around: HostEnvironment, host: Host, pointer: tuple[str, ...]
) -> None:
    carry_out(planned(around, http_endpoint.choose_endpoint(around, PYTHON), host))
    settings = host.settings_path(Scope.USER, around)
    plain = json.loads(settings.read_text())

    def complaints(allowed: list[str]) -> bool:
        said: object = allowed
        for key in reversed(pointer):
            said = {key: said}
        assert isinstance(said, dict)
        settings.write_text(json.dumps({**plain, **said}))
        return any("list the URLs that hooks may call" in text.text for text in find_obstacles(host, around))

    assert complaints([])
    assert complaints(["https://example.com/*"])
    assert not complaints(["https://example.com/*", "http://127.0.0.1:*"])


def test_urls_that_nobody_answers_at_any_more_are_an_obstacle(around: HostEnvironment) -> None:
    at = http_endpoint.choose_endpoint(around, PYTHON)
    carry_out(planned(around, at, CLAUDE))
    assert not [
        one for one in find_obstacles(CLAUDE, around) if one.is_error and ("URL" in one.text or "token" in one.text)
    ]
    place = http_endpoint.endpoint_path(around.data)

    place.write_text(json.dumps({"port": at.port, "token": "another", "python": PYTHON}))
    assert "the daemon has another token" in [one.text for one in find_obstacles(CLAUDE, around) if one.is_error][-1]
    place.write_text(json.dumps({"port": at.port % 60_000 + 1, "token": at.token, "python": PYTHON}))
    assert "and not at all URLs of ours" in [one.text for one in find_obstacles(CLAUDE, around) if one.is_error][-1]
    place.unlink()
    assert "no daemon is to answer" in [one.text for one in find_obstacles(CLAUDE, around) if one.is_error][-1]
