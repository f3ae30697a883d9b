from pathlib import Path

import pytest

from hookline.debug.lint import lint_hooks
from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Layer, Source
from hookline.model.requirements import Caching, Needs


def found(tmp_path: Path, **fields: object) -> list[tuple[str, str]]:
    given: dict[str, object] = {"id": "one", "on": "before_tool", "command": "sh", "source": Source.USER, **fields}
    hook = Hook(**given)  # type: ignore[arg-type]
    engine = Engine(cwd=str(tmp_path))
    engine.add(hook)
    return [(finding.weight, finding.message) for finding in lint_hooks([hook], engine=engine)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"matcher": "*"},
        {"matcher": "Bash|Edit", "dialect": "cli-agent"},
        {"matcher": "mcp__github__.*", "dialect": "ollama-cli"},
        {"matcher": "builtin:shell"},
        {"matcher": "write_.*|Read", "dialect": "ollm"},
        {"matcher": "shell|error", "on": ("before_tool", "notification")},
        {"matcher": "error", "on": "notification"},
        {"files": ("*.py",)},
        {"files": ("*.py",), "on": ("before_agent", "file_edited")},
        {"files": ("*.py",), "on": "git_commit"},
        {"writes": (".env",)},
        {"deletes": (".env",)},
        {"reads": (".env",)},
        {"runs": ("rm",)},
        {"urls": ("example.com",)},
        {"condition": "effects.opaque"},
        {"writes": (".env",), "on": "file_edited"},
        {"on_error": "block"},
        {"on": "custom:deploy", "matcher": "deploy"},
        {"command": "gone", "enabled": False},
        {"needs": Needs(tools=("sh",))},
        {"persistent": True},
        {"warm": True, "command": f"python3 -u {__file__} a"},
        {"warm": True, "command": f"python3 -u '{__file__}'", "dialect": "claude-code"},
    ],
)
def test_sound_hook_gets_no_finding(tmp_path: Path, fields: dict[str, object]) -> None:
    assert found(tmp_path, **fields) == []


@pytest.mark.parametrize(
    ("fields", "weight", "says"),
    [
        ({"command": "sh gone.sh"}, "error", "cannot start: script"),
        ({"command": "sh gone.sh", "layer": Layer.USER}, "note", "cannot start in this project: script"),
        ({"command": "sh /gone.sh", "layer": Layer.USER}, "error", "cannot start: script /gone.sh"),
        ({"matcher": "x", "on": "before_agent"}, "warning", "nothing that a matcher could look at"),
        ({"matcher": "shel"}, "warning", 'did you mean "shell"'),
        (
            {"matcher": "Edit|Wirte", "dialect": "cli-agent"},
            "warning",
            '"Wirte", and there is none (did you mean "Write"?)',
        ),
        ({"matcher": "shell_.+z", "dialect": "ollm"}, "note", 'a tool "shell_.+z"'),
        ({"matcher": "deploy_rocket"}, "note", 'waits for a tool "deploy_rocket"'),
        ({"files": ("*.py",), "on": "before_agent"}, "warning", "it has `files`, and before_agent names no file"),
        ({"writes": (".env",), "on": "notification"}, "warning", "nothing is written at notification"),
        ({"deletes": (".env",), "on": "file_edited"}, "warning", "nothing is deleted at file_edited"),
        ({"reads": (".env",), "on": "notification"}, "warning", "nothing is read at notification"),
        ({"runs": ("rm",), "on": "file_edited"}, "warning", "nothing is run at file_edited"),
        ({"urls": ("a.b",), "on": "before_agent"}, "warning", "nothing is fetched at before_agent"),
        ({"on_error": "block", "on": "session_end"}, "warning", "session_end cannot be blocked"),
        ({"on": "setup", "dialect": "cli-agent"}, "note", "gets setup under our name"),
        ({"source": Source.WORKSPACE}, "note", "does not run yet: "),
        ({"needs": Needs(env=("NOT_SET_ANYWHERE",))}, "warning", "cannot run now: the variable NOT_SET_ANYWHERE"),
        # nothing is looked for on behalf of a hook that is not approved
        ({"needs": Needs(env=("NOT_SET_ANYWHERE",)), "source": Source.WORKSPACE}, "note", "does not run yet: "),
        (
            {"command": "", "prompt": "?", "on": "after_tool", "persistent": True},
            "warning",
            "is persistent, which only commands can be; its kind is ask_agent",
        ),
        (
            {"command": "", "prompt": "?", "on": "after_tool", "warm": True},
            "warning",
            "only a command that runs a Python script can be",
        ),
        ({"command": "sh -c true", "warm": True}, "warning", "only a command that runs a Python script can be"),
        ({"command": "python3 -m this", "warm": True}, "warning", "only a command that runs a Python script can be"),
        ({"persistent": True, "warm": True}, "warning", "is warm and persistent"),
    ],
)
def test_hook_that_hardly_does_what_was_meant_gets_a_finding(
    tmp_path: Path, fields: dict[str, object], weight: str, says: str
) -> None:
    ((found_weight, message),) = found(tmp_path, **fields)

    assert found_weight == weight
    assert says in message
    assert message.startswith('hook "one" ')


def test_refused_command_is_not_looked_for(tmp_path: Path) -> None:
    # the loader reports the refusal, once
    assert found(tmp_path, command="gone; rm x") == []


@pytest.mark.spec("U-02")
@pytest.mark.parametrize(
    ("fields", "weight", "said"),
    [
        ({"on": "after_tool", "deny": "x"}, "error", "`deny`, which means nothing at after_tool: it is done by then"),
        ({"on": "notification", "deny": "x"}, "error", "nothing can be stopped there"),
        ({"on": "file_edited", "confirm": "x"}, "error", "`confirm`, which means nothing at file_edited"),
        ({"on": ("before_tool", "after_tool"), "deny": "x"}, "warning", "means nothing at after_tool"),
        ({"on": "session_start", "allow": True}, "error", "asked at before_tool or permission_request only"),
        ({"on": "before_tool", "deny": "{{file.pth}}"}, "warning", 'did you mean "file.path"'),
        ({"on": "before_tool", "deny": "not {{command}}"}, "warning", 'did you mean "args.command"'),
        ({"on": "before_tool", "tell": "{{effects.write}}"}, "warning", 'did you mean "effects.writes"'),
        ({"on": "file_edited", "prompt": "{{nonsense}}"}, "warning", "names {{nonsense}} in `ask`"),
        ({"on": "before_tool", "prompt": "Really?"}, "note", "to ask the person first, write `confirm`"),
        ({"on": "before_tool", "deny": "x", "cache": Caching(seconds=1)}, "warning", "saves nothing"),
    ],
)
def test_rule_that_hardly_does_what_was_meant_gets_a_finding(fields: dict[str, object], weight: str, said: str) -> None:
    hook = Hook(**{"id": "h", "source": Source.USER, **fields})  # type: ignore[arg-type]
    engine = Engine()
    engine.add(hook)
    (found,) = lint_hooks([hook], engine=engine)
    engine.close_sync()

    assert (found.weight, said in found.message) == (weight, True), found.message


@pytest.mark.spec("U-02")
@pytest.mark.parametrize(
    "text", ["{{tool}} {{args.command}} {{cwd}} {{session.id}}", "{{effects.writes}} {{file.path}} {{event.type}}"]
)
def test_texts_with_values_of_the_event_are_fine(text: str) -> None:
    hook = Hook(id="h", on="before_tool", deny=text, source=Source.USER)
    engine = Engine()
    engine.add(hook)

    assert list(lint_hooks([hook], engine=engine)) == []
    engine.close_sync()
