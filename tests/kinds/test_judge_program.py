"""Judges through the real program: configured, checked, approved, asked by an agent, counted and shown."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from hookline.telemetry.prometheus import render_metrics
from tests.cli.program import configure, hookline
from tests.daemon.living import WORDS, lived, payload
from tests.llm.model_server import JUDGEMENT, TOKENS_IN, TOKENS_OUT, Answer, Asked, Raw, serve_model

pytestmark = pytest.mark.slow

JUDGE: Final = """\
[[hook]]
name = "safe-shell"
on = "before_tool"
tools = ["Bash"]
judge = "Is this command safe to run in a developer's project? {{args.command}}"
model = "MODEL"
"""
PRICES: Final = """
[settings.models."openai:small"]
input = 1000
output = 2000
"""
CLAUDE: Final = ("hook", "claude-code", "PreToolUse")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def decide(asked: Asked) -> Answer:
    """Deny what deletes, and allow the rest."""
    return JUDGEMENT if "rm -rf" in asked.text else {"decision": "allow", "reason": "it is harmless"}


def call(home: Path, command: str, env: Mapping[str, str]) -> str:
    """Return what Claude Code is answered."""
    done = hookline(home, *CLAUDE, stdin=payload(home.parent / "project", command).decode(), **env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.spec("U-21")
@pytest.mark.parametrize("model", ["ollama:llama3.2", "openai:small", "anthropic:small"])
def test_agent_is_answered_by_the_judge(home: Path, model: str) -> None:
    configure(home, JUDGE.replace("MODEL", model))
    with serve_model(decide) as server:
        denied, passed = (call(home, command, server.environ) for command in ("rm -rf ~", "ls"))

    output = json.loads(denied)["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"] == 'judge "safe-shell": it deletes everything'
    assert passed == ""
    assert len(server.asked) == 2


@pytest.mark.slow
@pytest.mark.spec("U-21")
def test_daemon_answers_as_a_program_of_its_own_does(tmp_path: Path) -> None:
    with lived(tmp_path) as living, serve_model(decide) as server:
        living.configure(JUDGE.replace("MODEL", "openai:small"))
        living.start()
        for command in ("rm -rf ~", "ls"):
            said = payload(living.project, command)
            assert living.ask(said, WORDS, **server.environ) == living.directly(said, WORDS, **server.environ)
        # each caller's environment says where the model is
        with serve_model(Raw(500, b"tired")) as broken:
            refused = living.ask(payload(living.project, "ls"), WORDS, **broken.environ)

    assert len(server.asked) == 4
    assert b"answered 500" in refused.stdout + refused.stderr
    assert b'"deny"' in refused.stdout


@pytest.mark.spec("U-21")
def test_tokens_and_cost_are_counted_by_hook(home: Path) -> None:
    configure(home, JUDGE.replace("MODEL", "openai:small") + 'budget = "5/day"\n' + PRICES)
    with serve_model(decide) as server:
        call(home, "ls", server.environ)
        call(home, "rm -rf ~", server.environ)
    cost = (TOKENS_IN * 1000 + TOKENS_OUT * 2000) / 1_000_000

    (stats,) = [
        one for one in json.loads(hookline(home, "stats", "--json").stdout)["hooks"] if one["id"] == "safe-shell"
    ]
    assert (stats["tokens"], stats["cost"]) == (2 * (TOKENS_IN + TOKENS_OUT), pytest.approx(2 * cost))
    table = hookline(home, "stats").stdout
    assert "tokens" in table
    assert "240" in table
    assert "0.28" in table
    shown = hookline(home, "trace", "show", "last").stdout
    assert f"usage: openai:small, {TOKENS_IN} tokens read, {TOKENS_OUT} written, 0.14" in shown
    limits = json.loads(hookline(home, "limits", "--json").stdout)["limits"]
    assert limits == [
        {"hook": "safe-shell", "limit": "budget", "passed": True, "reason": "0.28 of 5.00 spent today"},
    ]
    metrics = render_metrics(home / ".local" / "share" / "hookline")
    assert f'hookline_model_tokens_total{{hook="safe-shell",direction="input"}} {2 * TOKENS_IN}' in metrics
    assert 'hookline_model_cost_total{hook="safe-shell"} 0.28' in metrics


def test_budget_below_one_request_is_explained(home: Path) -> None:
    configure(home, JUDGE.replace("MODEL", "openai:small") + 'budget = "100 tokens/day"\n')
    with serve_model(decide) as server:
        answer = call(home, "ls", server.environ)
    assert "too small for a single one, so set a larger budget" in answer
    assert server.asked == []


def test_model_that_is_not_there_spends_no_budget(home: Path) -> None:
    configure(home, JUDGE.replace("MODEL", "openai:small") + 'budget = "900 tokens/day"\n')
    gone = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k"}
    assert all("127.0.0.1:9" in call(home, "ls", gone) for _ in range(3))
    [limit] = json.loads(hookline(home, "limits", "--json").stdout)["limits"]
    assert limit["reason"].startswith("0 tokens of")


@pytest.mark.spec("U-21")
def test_budget_that_is_spent_blocks_until_it_is_reset(home: Path) -> None:
    configure(home, JUDGE.replace("MODEL", "openai:small") + 'budget = "900 tokens/day"\n')
    with serve_model(decide) as server:
        answers = [call(home, "ls", server.environ) for _ in range(5)]
        spent = json.loads(hookline(home, "limits", "--json").stdout)["limits"][0]
        why = hookline(home, "why", "safe-shell", **server.environ).stdout
        reset = hookline(home, "limits", "--reset", "safe-shell")
        after = call(home, "ls", server.environ)

    assert answers[0] == ""
    assert "the hook's budget of 900 tokens/day does not allow another request" in answers[-1]
    assert "spent today" in spent["reason"]
    assert "budget" in why
    assert reset.returncode == 0
    assert after == ""


@pytest.mark.spec("U-21")
@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ("", 1, 'has `judge` and no model: write model = "ollama:NAME"'),
        ('model = "llama3.2"\n', 5, "wanted a model as one of ollama:NAME, openai:NAME, anthropic:NAME"),
        ('model = "olama:x"\n', 5, "wanted a model as one of"),
        ('model = "ollama:x"\nbudget = "lots"\n', 6, 'such as "0.50/day" or "100k tokens/day"'),
        ('model = "ollama:x"\nredact = "no"\n', 6, "wanted true or false"),
        ('model = "ollama:x"\nurl = "http://x"\n', 6, 'unknown key "url"'),
        ('model = "ollama:x"\nmodle = "y"\n', 6, 'unknown key "modle"'),
        ('model = "ollama:x"\nrun = "true"\n', 1, "needs exactly one of"),
    ],
)
def test_mistakes_are_reported_with_file_and_line_and_the_guard_blocks(
    home: Path, lines: str, line: int, message: str
) -> None:
    folder = configure(home, f'[[hook]]\nname = "j"\non = "before_tool"\njudge = "safe? {{{{args.command}}}}"\n{lines}')
    found = hookline(home, "check", "--json")
    answer = call(home, "ls", {})

    problems = json.loads(found.stdout)["problems"]
    assert found.returncode != 0
    told = [one for one in problems if message in one["message"]]
    assert [(one["path"], one["line"]) for one in told] == [(str(folder / "hookline.toml"), line)]
    assert '"deny"' in answer


@pytest.mark.parametrize("key", ['model = "ollama:x"', 'budget = "1/day"', "redact = false"])
def test_keys_of_judges_mean_nothing_elsewhere(home: Path, key: str) -> None:
    configure(home, f'[[hook]]\nname = "h"\non = "before_tool"\nrun = "true"\n{key}\n')

    assert "which only a hook with `judge` can have" in hookline(home, "check").stdout


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('"gpt"\n', "wanted a table for each model"),
        ("{ gpt = { url = 'http://x' } }\n", "wanted a model as one of"),
        ("{ openai = { url = 'x' } }\n", "wanted a URL such as"),
        ("{ openai = { price = 1 } }\n", 'unknown key "price"'),
        ("{ openai = { input = -1 } }\n", "wanted the price of a million tokens"),
        ("{ openai = { key_env = 'sk-123' } }\n", "wanted a variable's name"),
    ],
)
def test_mistakes_in_settings_are_reported(home: Path, table: str, message: str) -> None:
    configure(home, f"[settings]\nmodels = {table}")

    assert message in hookline(home, "check").stdout


@pytest.mark.spec("U-21")
def test_add_writes_the_judge_that_runs(home: Path) -> None:
    configure(home, "")
    question = "Is this command safe? {{args.command}}"
    options = ["--tools", "Bash", "--judge", question, "--model", "ollama:llama3.2", "--budget", "100k tokens/day"]
    added = hookline(home, "add", "safe-shell", *options)
    with serve_model(decide) as server:
        tried = hookline(home, "test", "safe-shell", "--args", '{"command": "rm -rf ~"}', "--json", **server.environ)
        listed = hookline(home, "list").stdout
        shown = hookline(home, "show", "safe-shell", **server.environ).stdout

    assert added.returncode == 0, added.stderr
    result = json.loads(tried.stdout)
    assert (result["verdict"], result["reason"]) == ("deny", 'judge "safe-shell": it deletes everything')
    assert result["usage"]["input"] == TOKENS_IN
    assert "judge, ollama:llama3.2" in listed
    assert f"ollama:llama3.2 at {server.url}" in shown
    assert "100000 tokens/day" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--judge", "safe?"], "--model says which"),
        (["--run", "true", "--model", "ollama:x"], "--model says which"),
        (["--judge", "safe?", "--model", "x"], "--model: wanted a model"),
        (["--judge", "safe?", "--model", "ollama:x", "--budget", "1"], "--budget: wanted an amount"),
    ],
)
def test_add_refuses_what_cannot_be_meant(home: Path, options: list[str], message: str) -> None:
    configure(home, "")
    done = hookline(home, "add", "j", "--on", "before_tool", *options)

    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.spec("U-21")
def test_project_is_approved_with_model_and_url_in_sight_and_cannot_move_the_model(home: Path) -> None:
    configure(home, "")
    project = home.parent / "project"
    with serve_model(decide) as server, serve_model(decide) as evil:
        theirs = f'\n[settings.models.openai]\nurl = "{evil.url}/v1"\n\n[settings]\njudge_budget = "99999/day"\n'
        (project / "hookline.toml").write_text(
            JUDGE.replace("MODEL", "openai:small") + 'budget = "10k tokens/day"\nredact = false\n' + theirs
        )
        before = call(home, "rm -rf ~", server.environ)
        seen = hookline(home, "trust", "show", "safe-shell", **server.environ).stdout
        checked = hookline(home, "check", **server.environ).stdout
        approved = hookline(home, "trust", "approve", "safe-shell", "--yes", **server.environ)
        after = call(home, "rm -rf ~", server.environ)

    assert "it deletes everything" not in before
    assert "a language model is asked:" in seen
    assert f"openai:small at {server.url}/v1" in seen
    assert "it spends at most 10000 tokens/day" in seen
    assert "secrets in these values are not masked" in seen
    assert "settings have no effect here" in checked
    assert approved.returncode == 0, approved.stderr
    assert "it deletes everything" in after
    assert (len(server.asked), len(evil.asked)) == (1, 0)


def test_no_key_is_in_traces_or_state(home: Path) -> None:
    configure(home, JUDGE.replace("MODEL", "openai:small"))
    key = "sk-live-do-not-store-0123456789"
    with serve_model(Raw(401, f"bad key {key}".encode())) as server:
        call(home, "ls", {**server.environ, "OPENAI_API_KEY": key})

    assert server.asked[0].headers["authorization"] == f"Bearer {key}"
    for path in home.rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


def test_budget_in_money_without_a_price_is_pointed_out(home: Path) -> None:
    configure(home, JUDGE.replace("MODEL", "ollama:x") + 'budget = "1/day"\n')

    assert "has no price, so it never ends" in hookline(home, "check").stdout


def test_judge_where_nothing_can_be_stopped_is_pointed_out(home: Path) -> None:
    configure(
        home, JUDGE.replace("MODEL", "ollama:x").replace("before_tool", "session_end").replace('tools = ["Bash"]\n', "")
    )

    assert "has `judge`, which means nothing at session_end" in hookline(home, "check").stdout


def test_replay_asks_no_model(home: Path) -> None:
    configure(home, JUDGE.replace("MODEL", "ollama:x"))
    with serve_model(decide) as server:
        call(home, "ls", server.environ)
        replayed = hookline(home, "replay", **server.environ)

    assert len(server.asked) == 1
    assert "it would ask the language model ollama:x" in replayed.stdout + replayed.stderr
