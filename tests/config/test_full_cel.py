import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from hookline.config.full_cel import compile_with_cel
from hookline.engine.components import Condition
from hookline.errors import ConditionError, ConfigError
from hookline.model.event import Event, EventName
from hookline.model.templates import event_context
from hookline.wiring import make_components

CALL = event_context(
    Event(name=EventName.BEFORE_TOOL, tool="shell", args=MappingProxyType({"command": "RM x", "paths": ("a", "b")}))
)


def read(text: str) -> Condition:
    conditions = make_components().conditions
    assert conditions is not None
    return conditions(text)


@pytest.mark.spec("A-21")
@pytest.mark.parametrize(
    "text",
    [
        'args.command.lowerAscii().startsWith("rm ")',
        'type(tool) == string && event.name == "before_tool"',
        "math.greatest(size(args.paths), 1) == 2",
        'args.?timeout.orValue(1) == 1 && tool == "shell"',
        'cel.bind(c, args.command, c + c == "RM xRM x")',
        "int('12') == 12",
        "size(b'abc') == 3",
        "timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')",
        'args.command.split(" ").exists(word, word == "RM")',
        '{1: "a"}[1] == "a" // tool.nonsense("',
    ],
)
def test_all_of_cel_is_there_with_the_official_library(text: str) -> None:
    assert read(text)(CALL) is True


def test_own_reader_is_asked_first_and_the_library_is_not_even_loaded() -> None:
    code = (
        "import sys; from hookline.wiring import make_components;"
        "make_components().conditions('tool == \"a\"'); print('cel_expr_python' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_without_the_library_the_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['cel_expr_python'] = None; from hookline.wiring import make_components\n"
        "try: make_components().conditions('tool.lowerAscii() == \"a\"')\n"
        "except Exception as problem: print(type(problem).__name__, problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == (
        'ConfigError if: unknown function "lowerAscii", at column 6: tool.-->lowerAscii() == "a"; '
        "all of CEL needs one more package: pip install 'hookline[cel]'\n"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tool.contians('x')", 'if: unknown function "contians" (did you mean "contains"?), at column 6'),
        ("int(tool) ==", "if: Syntax error: mismatched input '<EOF>'"),
        ("int(tool)", "if: a condition is true or false, but this is of type int"),
    ],
)
def test_what_the_library_does_not_know_either_is_told(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)

    assert caught.value.message.startswith(why)


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        ("int(args.nobody) == 1", CALL, 'CEL: NOT_FOUND: Key not found in map : "nobody"'),
        ("int(nobody) == 1", CALL, 'CEL: UNKNOWN: No value with name "nobody" found in Activation'),
        ("big.exists(x, int(x) == 1)", {"big": [0] * 20_000}, "CEL: INTERNAL: Iteration budget exceeded"),
        ("dyn(tool)", CALL, "it gives string, not true or false"),
        ("int(tool) == 1", {"tool": object()}, "CEL: "),
        ("int(tool) == 1", {"tool": 10**30}, "CEL: "),
    ],
)
def test_what_the_library_cannot_decide_is_no_crash(text: str, context: Mapping[str, object], why: str) -> None:
    condition = compile_with_cel(text, trouble="")

    with pytest.raises(ConditionError) as caught:
        condition(context)
    assert str(caught.value).startswith(why)
    assert condition.facts(context) == ""
