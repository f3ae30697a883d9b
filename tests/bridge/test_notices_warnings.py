"""Log warnings, by the call they are about."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from hookline.bridge import notices

logger = logging.getLogger("hookline.tests.complaints")


@pytest.fixture
def many() -> Iterator[None]:
    """Answer many calls, as the daemon does."""
    root = logging.getLogger()
    before = root.handlers[:]
    notices.install_warning_log()
    yield
    root.handlers[:] = before


@pytest.mark.usefixtures("many")
def test_each_call_has_its_own() -> None:
    async def call(text: str) -> list[str]:
        with notices.capture_warnings() as lines:
            await asyncio.sleep(0)
            logger.warning(text)
            await asyncio.sleep(0)
            return lines

    async def both() -> list[list[str]]:
        return list(await asyncio.gather(call("of the first"), call("of the second")))

    assert asyncio.run(both()) == [["of the first"], ["of the second"]]


@pytest.mark.usefixtures("many")
def test_what_nobody_was_told_is_told_to_the_next_one_and_to_nobody_else() -> None:
    logger.warning("of nobody")
    with notices.capture_warnings() as lines:
        assert lines == ["of nobody"]
    with notices.capture_warnings() as lines:
        assert lines == []


@pytest.mark.usefixtures("many")
def test_who_knocks_all_night_fills_no_memory() -> None:
    for number in range(10 * notices.MOST_WARNINGS):
        logger.warning("somebody was refused")
        logger.warning("refused for the %dth time", number)
    with notices.capture_warnings() as lines:
        assert len(lines) == notices.MOST_WARNINGS
        assert lines.count("somebody was refused") == 1


def test_one_call_leaves_the_log_as_it_found_it() -> None:
    before = logging.getLogger().handlers[:]
    with notices.capture_warnings() as lines:
        logger.warning("of this call")
    assert lines == ["of this call"]
    assert logging.getLogger().handlers == before
