import pytest

from hookline.core.engine import Engine
from hookline.debug.review import review
from hookline.dialects import DIALECTS
from hookline.model.hook import Hook, Source
from hookline.model.policy import Caching

SPECS = {name: dialect.SPEC for name, dialect in DIALECTS.items()}


def said(**fields: object) -> list[tuple[str, str]]:
    given: dict[str, object] = {"id": "one", "on": "before_tool", "command": "sh", "source": Source.USER, **fields}
    hook = Hook(**given)  # type: ignore[arg-type]
    engine = Engine()
    engine.add(hook)
    return [(finding.weight, finding.message) for finding in review([hook], engine=engine, specs=SPECS)]


@pytest.mark.parametrize("field", ["once", "per_minute", "cooldown", "debounce"])
def test_guard_with_a_limit_is_pointed_out(field: str) -> None:
    assert said(on_error="block", **{field: 1}) == [
        ("warning", f'hook "one" has on_error "block", and `{field}`: what it is not asked about is not blocked')
    ]
    assert said(on_error="continue", **{field: 1}) == []


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


def test_cache_of_a_plain_hook_is_fine() -> None:
    assert said(cache=Caching(seconds=1)) == []
