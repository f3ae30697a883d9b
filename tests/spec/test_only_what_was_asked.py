"""Files as people have them, changed and changed back: no byte moves that nobody asked for."""

import difflib
from pathlib import Path

import pytest

from tests.cli.program import hookline

# file in the project -> the hook in it, and a text in some odd layout
FILES = {
    "hookline.toml": (
        "tabs",
        (
            b"\xef\xbb\xbf# mine\r\n\r\n[[hook]]\t# one\r\n\tname = 'tabs' \t# the name\r\n\ton=[ 'before_tool' ]\r\n"
            b'\trun\t= "python3 a.py"\r\n\tpriority = 1_00\r\n\tenv = { A = \t"0x1F" }\r\n# end'
        ),
    ),
    ".ollama/settings.json": (
        "three",
        (
            b'{\n   // settings\n   "model" : "x", /* why */\n   "hooks": {\n      "PreToolUse": [\n         // guards\n'
            b'         {\n            "matcher": "Bash",   "note": "unknown",\n            "hooks": [\n'
            b'               { "type": "command", "command": "python3 b.py", "name": "three", "n": 1.50e0 }, // b\n'
            b'               // other\n               { "type": "command", "command": "python3 c.py" }, ], },\n      ],\n'
            b'   },\n   "list": [1,2,\n 3],\n}'
        ),
    ),
    ".config/agent/settings.json": (
        "one-line",
        b'{"a":[ ],"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"python3 d.py","name":"one-line"}]}]}}\n\n',
    ),
    ".ollm/hooks/many.json": (
        "listed",
        (
            b'[\r\n\t{"id": "listed", "command": "python3", "args": ["e.py"],\r\n\t "event": "before_tool", "extra": null},\r\n'
            b'\t{"id": "neighbour", "command": "python3", "args": ["f.py"], "event": "after_agent"}\r\n]\r\n'
        ),
    ),
    ".config/agent/hooks/pre-yaml.yaml": (
        "pre-yaml",
        b"# yaml\nmatcher:   Bash # tools\ncommand: >-\n  python3\n  g.py\n\n# more\n_description: 'x'\n",
    ),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    for name, (_, raw) in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    return tmp_path / "home"


def texts(home: Path) -> dict[str, bytes]:
    return {name: (home.parent / "project" / name).read_bytes() for name in FILES}


def done(home: Path, *words: str) -> dict[str, bytes]:
    result = hookline(home, *words)
    assert (result.returncode, result.stderr) == (0, ""), words
    return texts(home)


def touched(before: bytes, after: bytes) -> tuple[int, int]:
    """Count the lines that went and the lines that came."""
    lines = [
        line[:1]
        for line in difflib.ndiff(before.decode().splitlines(keepends=True), after.decode().splitlines(keepends=True))
    ]
    return lines.count("-"), lines.count("+")


@pytest.mark.spec("D-16", "D-17")
def test_every_change_touches_a_line_and_every_undo_restores_every_byte(home: Path) -> None:
    steps = [texts(home)]
    for words in (["disable"], ["edit", "timeout=7"], ["enable"]):
        for name, (hook, _) in FILES.items():
            command, *assignments = words
            after = done(home, command, hook, *assignments)
            gone, came = touched(steps[-1][name], after[name])
            assert (gone <= 1, came) == (True, 1), (words, name)
            assert {other: raw for other, raw in after.items() if other != name} == {
                other: raw for other, raw in steps[-1].items() if other != name
            }
            steps.append(after)

    for before in reversed(steps[:-1]):
        assert done(home, "undo") == before
    assert texts(home) == {name: raw for name, (_, raw) in FILES.items()}


@pytest.mark.spec("D-16", "D-17")
def test_what_is_added_is_added_and_nothing_else(home: Path) -> None:
    original = texts(home)
    for number, name in enumerate([name for name in FILES if not name.endswith("yaml")]):
        run = ["--run-args", "python3", "new.py"]
        after = done(home, "add", f"new-{number}", "--on", "before_tool", "--to", name, *run)
        gone, _ = touched(original[name], after[name])
        # a neighbour may get the comma, or the end of line, that it needs now
        assert gone <= 1, name
        for line in original[name].splitlines()[:-1]:
            assert line.rstrip(b"\r\n ,}]") in after[name]

    for number in range(4):
        done(home, "remove", f"new-{number}")
    assert {name: raw.replace(b" ", b"").rstrip() for name, raw in texts(home).items()} == {
        name: raw.replace(b" ", b"").rstrip() for name, raw in original.items()
    }
