"""Entries that call a URL: where a daemon answers, who may know, and which events never become one."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.errors import HostError
from hookline.hosts import HOSTS, urls
from hookline.hosts.host import Around, Host, Scope
from hookline.hosts.plans import Plan, install, uninstall
from hookline.hosts.status import found, obstacles
from hookline.hosts.urls import Address
from hookline.model.ours import entry_of

CLAUDE = HOSTS["claude-code"]
QWEN = HOSTS["qwen-code"]
PYTHON = "/usr/bin/python3"


@pytest.fixture
def around(tmp_path: Path) -> Around:
    """Give a person's empty machine."""
    made = Around(home=tmp_path / "home", data=tmp_path / "data", project=tmp_path / "project", environ={})
    for folder in (made.home, made.data, made.project):
        folder.mkdir()
    return made


def planned(around: Around, at: Address | None, *hosts: Host, everything: bool = False) -> list[Plan]:
    """Plan an installation as the command does."""
    plans = []
    for host in hosts:
        events = host.usual_events
        called = urls.called(host, events, everything=everything) if at is not None else ()
        calls = {event: at.call(host, event, policy="block") for event in called} if at is not None else {}
        plans.append(install(host, Scope.USER, around, events=events, policy="block", python=PYTHON, urls=calls))
    return urls.settled(plans, around, at)


def carry_out(plans: list[Plan]) -> None:
    """Write what was planned."""
    for plan in plans:
        for change in (*plan.changes, *plan.records):
            path = Path(change.path)
            if change.after is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(change.after)


def handlers(around: Around, name: str = ".claude/settings.json") -> dict[str, dict[str, object]]:
    """Give the one handler of each event in the settings."""
    hooks = json.loads((around.home / name).read_text())["hooks"]
    return {event: groups[0]["hooks"][0] for event, groups in hooks.items()}


def test_a_port_and_a_token_are_chosen_once_and_then_kept(around: Around) -> None:
    first = urls.chosen(around, PYTHON)
    carry_out(planned(around, first, CLAUDE))
    again = urls.chosen(around, "/another/python")

    assert (again.port, again.token) == (first.port, first.token)
    assert again.python == "/another/python"
    assert len(first.token) >= 43
    assert urls.chosen(replace_data(around), PYTHON).token != first.token


def replace_data(around: Around) -> Around:
    """Give another person's machine."""
    return replace(around, data=around.data / "of another")


def test_only_events_at_which_a_no_keeps_nothing_from_happening_are_called_by_url(around: Around) -> None:
    carry_out(planned(around, urls.chosen(around, PYTHON), CLAUDE))
    kinds = {event: str(handler["type"]) for event, handler in handlers(around).items()}

    assert {event for event, kind in kinds.items() if kind == "http"} >= {"PostToolUse", "Notification", "SessionEnd"}
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop", "PreCompact"):
        assert kinds[event] == "command", event


def test_with_everything_by_url_what_an_exit_code_says_and_what_wakes_the_daemon_stays_a_command(
    around: Around,
) -> None:
    carry_out(planned(around, urls.chosen(around, PYTHON), CLAUDE, QWEN, everything=True))
    commands = {event for event, handler in handlers(around).items() if handler["type"] == "command"}

    assert {"SessionStart", "Setup", "UserPromptSubmit", "TaskCreated", "TaskCompleted", "TeammateIdle"} <= commands
    assert not commands & {"PreToolUse", "PermissionRequest", "Stop"}
    qwen = handlers(around, ".qwen/settings.json")
    assert (qwen["SessionStart"]["type"], qwen["PreToolUse"]["type"]) == ("command", "http")


def test_an_entry_carries_the_token_and_how_deep_the_agent_is_in_others(around: Around) -> None:
    at = urls.chosen(around, PYTHON)
    carry_out(planned(around, at, CLAUDE, everything=True))
    entry = handlers(around)["PostToolUse"]

    assert entry == {
        "type": "http",
        "url": f"http://127.0.0.1:{at.port}/hookline/v1/hook/claude-code/PostToolUse?if-broken=block",
        "headers": {"Authorization": f"Bearer {at.token}", "Hookline-Nesting": "$HOOKLINE_NESTING"},
        "allowedEnvVars": ["HOOKLINE_NESTING"],
        "timeout": 600,
    }


def test_a_guard_by_url_is_a_no_when_nobody_answers_where_the_agent_can_have_it_so(around: Around) -> None:
    at = urls.chosen(around, PYTHON)

    assert at.call(CLAUDE, "PreToolUse", policy="block").strict
    assert not at.call(CLAUDE, "PreToolUse", policy="allow").strict
    assert not at.call(CLAUDE, "PostToolUse", policy="block").strict
    assert not at.call(QWEN, "PreToolUse", policy="block").strict
    carry_out(planned(around, at, CLAUDE, everything=True))
    assert handlers(around)["PreToolUse"]["onFailure"] == "block"
    assert "onFailure" not in handlers(around)["Stop"]


@pytest.mark.parametrize("host", [CLAUDE, QWEN], ids=lambda host: host.name)
def test_installing_twice_is_installing_once_and_uninstalling_gives_every_byte_back(around: Around, host: Host) -> None:
    settings = host.place(Scope.USER, around)
    settings.parent.mkdir()
    before = '{\n\t// mine\n\t"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:1/x"}]}]},\n}\n'
    settings.write_text(before)
    carry_out(planned(around, urls.chosen(around, PYTHON), host))
    assert urls.address(around.data) is not None

    again = planned(around, urls.chosen(around, PYTHON), host)
    assert not any((*plan.changes, *plan.records) for plan in again)

    carry_out(urls.settled([uninstall(host, Scope.USER, around)], around))
    assert settings.read_text() == before
    assert list(around.data.rglob("*.json")) == []


def test_commands_take_the_place_of_urls_and_urls_that_of_commands(around: Around) -> None:
    carry_out(planned(around, None, CLAUDE))
    plain = (around.home / ".claude/settings.json").read_bytes()
    at = urls.chosen(around, PYTHON)
    carry_out(planned(around, at, CLAUDE, everything=True))
    assert handlers(around)["Stop"]["type"] == "http"

    carry_out(planned(around, at, CLAUDE))
    assert (handlers(around)["Stop"]["type"], handlers(around)["PostToolUse"]["type"]) == ("command", "http")

    carry_out(planned(around, None, CLAUDE))
    assert (around.home / ".claude/settings.json").read_bytes() == plain
    assert urls.address(around.data) is None


def test_the_daemon_is_to_answer_until_the_last_settings_have_no_url_any_more(around: Around) -> None:
    at = urls.chosen(around, PYTHON)
    carry_out(planned(around, at, CLAUDE, QWEN))

    carry_out(urls.settled([uninstall(CLAUDE, Scope.USER, around)], around))
    left = urls.address(around.data)
    assert left is not None
    assert left.files == (str(around.home / ".qwen/settings.json"),)
    assert left.token == at.token

    carry_out(urls.settled([uninstall(QWEN, Scope.USER, around)], around))
    assert urls.address(around.data) is None


def test_settings_that_somebody_removed_do_not_keep_the_daemon_answering(around: Around) -> None:
    carry_out(planned(around, urls.chosen(around, PYTHON), CLAUDE, QWEN))
    (around.home / ".claude/settings.json").unlink()

    carry_out(urls.settled([uninstall(QWEN, Scope.USER, around)], around))

    assert urls.address(around.data) is None


def test_the_file_with_the_token_is_for_nobody_else(around: Around) -> None:
    (plan,) = planned(around, urls.chosen(around, PYTHON), CLAUDE)

    (record,) = [change for change in plan.records if change.path == str(urls.place(around.data))]
    assert record.mode == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "no JSON", "[]", "{}", '{"port": 0, "token": "x", "python": "p"}', '{"port": 5, "token": "", "python": "p"}'],
)
def test_what_cannot_be_read_is_nowhere(around: Around, text: str) -> None:
    urls.place(around.data).write_text(text)

    assert urls.address(around.data) is None


@pytest.mark.parametrize("scope", [Scope.PROJECT, Scope.LOCAL])
def test_a_token_never_stands_in_the_settings_of_a_project(scope: Scope) -> None:
    with pytest.raises(HostError, match="your token"):
        urls.check([CLAUDE], scope, HOSTS)


def test_agents_that_call_no_url_are_told_which_ones_do() -> None:
    with pytest.raises(HostError, match="Gemini CLI cannot call a URL; claude-code and qwen-code can"):
        urls.check([CLAUDE, HOSTS["gemini-cli"]], Scope.USER, HOSTS)


def test_urls_of_ours_are_known_as_ours_and_no_others(around: Around) -> None:
    carry_out(planned(around, urls.chosen(around, PYTHON), CLAUDE))
    (file,) = found(CLAUDE, around)

    assert file.foreign == 0
    assert {entry.event for entry in file.ours} == set(CLAUDE.usual_events)
    assert {entry.event for entry in file.ours if entry.is_url} >= {"PostToolUse"}
    ours = f"http://127.0.0.1:{urls.chosen(around, PYTHON).port}/hookline/v1/hook/claude-code/Stop?if-broken=allow"
    entry = entry_of(ours)
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
        assert entry_of(other) is None, other


@pytest.mark.parametrize(
    ("host", "pointer"), [(CLAUDE, ("allowedHttpHookUrls",)), (QWEN, ("security", "allowedHttpHookUrls"))]
)
def test_settings_that_list_the_urls_of_hooks_without_ours_are_an_obstacle(
    around: Around, host: Host, pointer: tuple[str, ...]
) -> None:
    carry_out(planned(around, urls.chosen(around, PYTHON), host))
    settings = host.place(Scope.USER, around)
    plain = json.loads(settings.read_text())

    def complaints(allowed: list[str]) -> bool:
        said: object = allowed
        for key in reversed(pointer):
            said = {key: said}
        assert isinstance(said, dict)
        settings.write_text(json.dumps({**plain, **said}))
        return any("list the URLs that hooks may call" in text for text in obstacles(host, around))

    assert complaints([])
    assert complaints(["https://example.com/*"])
    assert not complaints(["https://example.com/*", "http://127.0.0.1:*"])


def test_urls_that_nobody_answers_at_any_more_are_an_obstacle(around: Around) -> None:
    at = urls.chosen(around, PYTHON)
    carry_out(planned(around, at, CLAUDE))
    assert not [text for text in obstacles(CLAUDE, around) if "URL" in text or "token" in text]
    place = urls.place(around.data)

    place.write_text(json.dumps({"port": at.port, "token": "another", "python": PYTHON}))
    assert "the daemon has another token" in obstacles(CLAUDE, around)[-1]
    place.write_text(json.dumps({"port": at.port % 60_000 + 1, "token": at.token, "python": PYTHON}))
    assert "and not at all URLs of ours" in obstacles(CLAUDE, around)[-1]
    place.unlink()
    assert "no daemon is to answer" in obstacles(CLAUDE, around)[-1]
