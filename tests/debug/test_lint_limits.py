import pytest

from hookline.debug.lint import lint_hooks
from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Source
from hookline.model.requirements import Caching


def said(**fields: object) -> list[tuple[str, str]]:
    given: dict[str, object] = {"id": "one", "on": "before_tool", "command": "sh", "source": Source.USER, **fields}
    hook = Hook(**given)  # type: ignore[arg-type]
    engine = Engine()
    engine.add(hook)
    return [(finding.weight, finding.message) for finding in lint_hooks([hook], engine=engine)]


@pytest.mark.parametrize(("field", "value"), [("once", True), ("per_minute", 1), ("cooldown", 1), ("debounce", 1)])
def test_guard_with_a_limit_is_pointed_out(field: str, value: object) -> None:
    assert said(on_error="block", **{field: value}) == [
        ("warning", f'hook "one" has on_error "block", and `{field}`: what it is not asked about is not blocked')
    ]
    assert said(on_error="continue", **{field: value}) == []


def test_guard_with_a_breaker_blocks_while_it_is_paused_and_so_is_none() -> None:
    assert said(on_error="block", breaker=3) == []


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({"background": True}, "in the background"),
        ({"command": "", "raises": "custom:x"}, "by way of other hooks"),
    ],
)
def test_cache_that_means_nothing_is_pointed_out(fields: dict[str, object], how: str) -> None:
    found = [message for weight, message in said(cache=Caching(seconds=1), **fields) if weight == "warning"]

    assert found == [f'hook "one" has `cache`, which means nothing here: what it does, it does {how}, each time']


@pytest.mark.parametrize(
    ("fields", "weight", "says"),
    [
        ({"background": True, "on_error": "block"}, "warning", "by then the event is answered, so it blocks nothing"),
        (
            {"command": "", "prompt": "Look", "on": "after_tool", "cache": Caching(seconds=1)},
            "warning",
            "has `cache`, which saves nothing",
        ),
        ({"retry_after": 5}, "warning", "has `retry_after`, which means nothing without `breaker`"),
        ({"on": "scheduled"}, "warning", "waits for scheduled, and has no `schedule`"),
        ({"schedule": "@daily", "matcher": "shell"}, "warning", "is never started by its `schedule`"),
        ({"schedule": "@daily", "files": ("*.py",)}, "warning", "is never started by its `schedule`"),
        ({"schedule": "@daily", "on": "scheduled", "files": ("*.py",)}, "warning", "can never run: it has `files`"),
        ({"command": "", "raises": "custom:x"}, "note", "raises custom:x, and no hook runs at that"),
        ({"command": "", "raises": "custom:x", "on": "custom:x"}, "warning", "which it runs at itself"),
        ({"command": "", "raises": "custom:x", "on": "custom"}, "warning", "which it runs at itself"),
        ({"command": "", "raises": "custom:x", "observe": True}, "warning", "so it never raises custom:x"),
    ],
)
def test_keys_that_make_no_sense_together_are_pointed_out(fields: dict[str, object], weight: str, says: str) -> None:
    (found,) = said(**fields)

    assert found[0] == weight
    assert says in found[1]


@pytest.mark.parametrize(
    "fields",
    [
        {"background": True},
        {"retry_after": 5, "breaker": 2},
        {"schedule": "@daily"},
        {"schedule": "@daily", "on": "scheduled"},
        {"schedule": "@daily", "on": "scheduled", "condition": 'schedule == "@hourly"'},
    ],
)
def test_keys_that_belong_together_are_fine(fields: dict[str, object]) -> None:
    assert said(**fields) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"enabled": False}, [("warning", 'hook "all" does without its step "one", which is switched off')]),
        (
            {"background": True},
            [("note", 'hook "all" does not wait for its step "one", which runs in the background')],
        ),
    ],
)
def test_step_that_a_list_does_without_is_pointed_out(
    fields: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    step: dict[str, object] = {"id": "one", "on": "user_triggered", "command": "sh", "source": Source.USER, **fields}
    listed = Hook(id="all", on="before_tool", steps=("one",), source=Source.USER)
    engine = Engine()
    engine.add(Hook(**step), listed)  # type: ignore[arg-type]

    assert [(one.weight, one.message) for one in lint_hooks([listed], engine=engine)] == expected


def test_cache_of_a_plain_hook_is_fine() -> None:
    assert said(cache=Caching(seconds=1)) == []
