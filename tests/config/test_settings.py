from collections.abc import Mapping

import pytest

from hookline.config import settings as module
from hookline.config import toml
from hookline.config.document import Severity
from hookline.config.settings import KEYS, SettingsResult, find_foreign_settings, resolve_settings
from hookline.model.language_models import ModelBudget, ModelSettings
from hookline.model.settings import Settings, Telemetry, Unapproved

ALL = """\
[settings]
enabled = false
timeout = 7
observe = true
trust_workspace = true
trusted_workspaces = ["~/src", "/srv/work"]
budget = "10s"
per_minute = 600
cooldown = "200ms"
builtins = ["read-only"]
disabled_builtins = ["self-guard"]
agents_files = ["claude-code"]
returns = 3
daemon = false
unapproved = "block"
composition = "unanimous"
on_conflict = "confirm"
no_hooks = "deny"
record = "all"
sandbox = "read-only"
fence = false
judge_budget = "2/day"

[settings.models."openai:small"]
url = "https://models.example/v1"
key_env = "MODELS_KEY"
input = 0.15
output = 0.6

[settings.telemetry]
endpoint = "https://collector.example"
headers = { Authorization = "$TOKEN" }
metrics = false
timeout = "2s"
"""


def read(text: str, *, path: str, home: str) -> SettingsResult:
    return module.read(toml.parse(text, path=path), path=path, home=home)


def settings(
    *,
    managed: Mapping[str, object] | None = None,
    own: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    found, problems = resolve_settings(managed=managed or {}, own=own or {}, environ=environ or {})
    assert not [problem for problem in problems if problem.severity is Severity.ERROR]
    return found


@pytest.mark.spec("A-16")
def test_every_setting_is_read() -> None:
    found = read(ALL, path="hookline.toml", home="/home/ada")

    assert found.problems == ()
    # guards_only follows from the environment, and built-in hooks read their options
    assert found.values.keys() == KEYS.keys() == set(Settings.__struct_fields__) - {"guards_only", "builtin_options"}
    assert settings(own=found.values) == Settings(
        enabled=False,
        timeout=7.0,
        observe=True,
        trust_workspace=True,
        trusted_workspaces=("/home/ada/src", "/srv/work"),
        unapproved=Unapproved.BLOCK,
        budget=10.0,
        per_minute=600,
        cooldown=0.2,
        builtins=("read-only",),
        disabled_builtins=("self-guard",),
        agents_files=("claude-code",),
        returns=3,
        daemon=False,
        composition="unanimous",
        on_conflict="confirm",
        no_hooks="deny",
        record="all",
        fence=False,
        sandbox="read-only",
        models={
            "openai:small": ModelSettings(url="https://models.example/v1", key_env="MODELS_KEY", input=0.15, output=0.6)
        },
        judge_budget=ModelBudget(2.0),
        telemetry=Telemetry(
            endpoint="https://collector.example", headers={"Authorization": "$TOKEN"}, metrics=False, timeout=2.0
        ),
    )


@pytest.mark.spec("A-16")
def test_environment_stands_above_the_person_and_below_the_administrator() -> None:
    own = {"enabled": True, "timeout": 5.0, "observe": True}
    environ = {"HOOKS_ENABLED": "false", "HOOKS_TIMEOUT": "9"}

    guarded = Settings(enabled=False, guards_only=True, timeout=9.0, observe=True)
    assert settings(own=own, environ=environ) == guarded
    assert settings(managed={"enabled": True}, own=own, environ=environ) == Settings(timeout=9.0, observe=True)


@pytest.mark.spec("O-04")
def test_environment_has_no_word_about_trust() -> None:
    environ = {"HOOKS_TRUST_WORKSPACE": "true", "TRUST_WORKSPACE": "true", "HOOKS_TRUSTED_WORKSPACES": "/"}

    assert settings(environ=environ) == Settings()


@pytest.mark.spec("A-16")
def test_variable_that_cannot_be_meant_is_reported_and_switches_nothing_off() -> None:
    found, problems = resolve_settings(managed={}, own={}, environ={"HOOKS_ENABLED": "maybe", "HOOKS_TIMEOUT": "7"})

    assert found == Settings(timeout=7.0)
    assert [str(problem) for problem in problems] == [
        "environment: error: the environment variable HOOKS_ENABLED is 'maybe', wanted true or false; it is passed over"
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("timout = 5", 'unknown setting "timout" (did you mean "timeout"?)'),
        ('enabled = "no"', "the setting enabled: wanted true or false"),
        ("timeout = 0", "the setting timeout: wanted"),
        ("trust_workspace = 1", "the setting trust_workspace: wanted true or false"),
        ('trusted_workspaces = ["src"]', "the setting trusted_workspaces: wanted whole paths"),
        ('trusted_workspaces = "/"', "the setting trusted_workspaces: wanted a list"),
        ('trusted_workspaces = ["~other/src"]', "the setting trusted_workspaces: wanted whole paths"),
    ],
)
def test_setting_that_cannot_be_read_is_reported_with_its_line_and_the_others_hold(line: str, message: str) -> None:
    found = read(f"# mine\n[settings]\nobserve = true\n{line}\n", path="hookline.toml", home="/home/ada")
    (problem,) = found.problems

    assert (problem.line, problem.path) == (4, "hookline.toml")
    assert problem.message.startswith(message)
    assert found.values == {"observe": True}


def test_table_that_is_none_is_reported() -> None:
    (problem,) = read("settings = 5\n", path="hookline.toml", home="/").problems

    assert problem.message == "wanted a table, got the number 5"


def test_settings_of_others_are_reported() -> None:
    (problem,) = find_foreign_settings("[settings]\nenabled = false\n", path="hookline.toml")

    assert problem.message == "settings have no effect here: they are read from your own configuration only"
    both = find_foreign_settings("[settings]\nenabled = false\ntrust_workspace = true\n", path="hookline.toml")
    assert [problem.line for problem in both] == [3, 1]
    assert len(find_foreign_settings("[settings]\ntrust_workspace = true\n", path="hookline.toml")) == 1
    assert find_foreign_settings('{"settings": {"theme": "dark"}}', path="settings.json") == []
    assert find_foreign_settings('{"trustworthy": 1, "hooks": {}}', path="settings.json") == []
    assert find_foreign_settings("{broken trustWorkspace", path="settings.json") == []


def test_environment_does_not_switch_hooks_off_without_a_word() -> None:
    _, told = resolve_settings(managed={}, own={}, environ={"HOOKS_ENABLED": "false"})
    _, asked_for = resolve_settings(managed={}, own={"enabled": False}, environ={"HOOKS_ENABLED": "false"})
    _, overruled = resolve_settings(managed={"enabled": True}, own={}, environ={"HOOKS_ENABLED": "false"})

    assert [str(problem) for problem in told] == [
        (
            "environment: warning: HOOKS_ENABLED switches every hook off, but managed ones and those that fail closed; "
            "unset it to have them back"
        )
    ]
    assert asked_for == overruled == []


def test_agent_that_keeps_no_hooks_is_named_and_the_default_holds() -> None:
    text = '[settings]\nagents_files = ["claude-cod"]\n'
    found = read(text, path="hookline.toml", home="/home/ada")

    assert found.values == {}
    (problem,) = found.problems
    assert problem.line == 2
    assert 'no agent "claude-cod" (did you mean "claude-code"?) keeps hooks' in problem.message


def test_sending_an_agent_back_may_have_no_limit() -> None:
    found = read("[settings]\nreturns = 0\n", path="hookline.toml", home="/home/ada")
    assert (found.problems, found.values) == ((), {"returns": 0})
    for wrong in ("-1", "false", "0.0", '"0"'):
        found = read(f"[settings]\nreturns = {wrong}\n", path="hookline.toml", home="/home/ada")
        assert (len(found.problems), found.values) == (1, {})
