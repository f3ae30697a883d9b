"""What our own parts complain about while calls are answered."""

import contextvars
import logging
from collections.abc import Iterator

import pytest

from hookline.bridge import complaints

logger = logging.getLogger("hookline.tests.complaints")


@pytest.fixture
def many() -> Iterator[None]:
    """Answer many calls, as the daemon does."""
    root = logging.getLogger()
    before = root.handlers[:]
    complaints.take_all()
    yield
    root.handlers[:] = before


@pytest.mark.usefixtures("many")
def test_each_call_has_its_own() -> None:
    one, two = contextvars.copy_context(), contextvars.copy_context()
    first, second = one.run(complaints.begun), two.run(complaints.begun)
    one.run(logger.warning, "of the first")
    two.run(logger.warning, "of the second")
    assert (first.lines, second.lines) == (["of the first"], ["of the second"])


@pytest.mark.usefixtures("many")
def test_what_nobody_was_told_is_told_to_the_next_one_and_to_nobody_else() -> None:
    logger.warning("of nobody")
    told = contextvars.copy_context().run(complaints.begun)
    assert told.lines == ["of nobody"]
    assert contextvars.copy_context().run(complaints.begun).lines == []


@pytest.mark.usefixtures("many")
def test_who_knocks_all_night_fills_no_memory() -> None:
    for number in range(10 * complaints.MOST):
        logger.warning("somebody was refused")
        logger.warning("refused for the %dth time", number)
    told = contextvars.copy_context().run(complaints.begun)
    assert len(told.lines) == complaints.MOST
    assert told.lines.count("somebody was refused") == 1


def test_one_call_leaves_the_log_as_it_found_it() -> None:
    before = logging.getLogger().handlers[:]
    with complaints.collected() as log:
        logger.warning("of this call")
    assert log.lines == ["of this call"]
    assert logging.getLogger().handlers == before
