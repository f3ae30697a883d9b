"""Fixtures of the tests in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

from tests.ui.browser import explain_missing, open_browser
from tests.ui.world import World

PATIENCE_MS: Final = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser for the tests of one file: its event loop would be in the way of tests of other files."""
    if problem := explain_missing():
        pytest.skip(f"BROWSER NOT TESTED: {problem}")
    with open_browser() as started:
        yield started


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Build a home folder and a project."""
    return World.build(tmp_path)


@pytest.fixture
def address(world: World) -> Iterator[str]:
    """Run `hookline ui`."""
    with world.serve() as url:
        yield url


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Open a profile without cookies."""
    with browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce") as opened:
        opened.set_default_timeout(PATIENCE_MS)
        yield opened


@pytest.fixture
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    """Open the page, signed in; fail for any error in the console, any violation of the CSP and any request elsewhere."""
    complaints: list[str] = []
    own = urlsplit(address).netloc
    opened = context.new_page()

    def hear(message: ConsoleMessage) -> None:
        # a refused request is what some tests are about, and the page shows it
        if message.type in {"error", "warning"} and "the server responded with a status of" not in message.text:
            complaints.append(f"console: {message.text}")

    def see(request: Request) -> None:
        if urlsplit(request.url).netloc != own and not request.url.startswith("data:"):
            complaints.append(f"request: {request.url}")

    opened.on("console", hear)
    opened.on("request", see)
    opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    opened.goto(address)
    opened.get_by_role("heading", level=1, name="Live").wait_for()
    yield opened
    opened.close()
    assert complaints == []
