from typing import get_type_hints

from hookline import Engine, Event, Verdict
from hookline.config.formats.native import FUNCTION_KEYS
from hookline.engine.event_decorators import HookOptions, RuleOptions
from hookline.model.hook import ACTIONS


def test_every_option_of_a_function_is_a_key_of_hookline_toml() -> None:
    assert {name.rstrip("_") for name in get_type_hints(HookOptions)} == set(FUNCTION_KEYS)
    assert {name.rstrip("_") for name in get_type_hints(RuleOptions)} == {*FUNCTION_KEYS, "on", *ACTIONS} - {
        *("id", "undo")
    }


def test_function_takes_the_options_of_any_hook() -> None:
    engine = Engine(cwd="/project")
    ran: list[str] = []

    @engine.on("before_tool", id="last", files=("*.py",), if_='args.path != "b.py"', after=("first",), once=True)
    def last(_event: Event) -> None:
        ran.append("last")

    @engine.on("before_tool", id="first", matcher="write_file")
    def first(_event: Event) -> Verdict:
        ran.append("first")
        return Verdict.allow()

    for path in ("a.py", "b.py", "c.md"):
        engine.emit_sync("before_tool", tool="write_file", args={"path": path})
    engine.close_sync()

    assert ran == ["first", "last", "first", "first"]
