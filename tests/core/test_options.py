from typing import get_type_hints

import msgspec

from hookline import Engine, Event, Verdict
from hookline.core.options import HookOptions
from hookline.model.hook import Hook


def test_every_option_is_a_field_of_a_hook_with_the_same_type() -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(Hook)}

    for name, said in get_type_hints(HookOptions).items():
        assert fields[name] == said, name


def test_function_takes_the_options_of_any_hook() -> None:
    engine = Engine(cwd="/project")
    ran: list[str] = []

    @engine.on("before_tool", id="last", files=("*.py",), condition='args.path != "b.py"', after=("first",), once=True)
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
