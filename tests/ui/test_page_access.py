"""Who can use the page: by keyboard alone, with a screen reader, on a narrow screen, in both colours."""

from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.ui.browser import AXE
from tests.ui.world import World

pytestmark = pytest.mark.slow

TITLES: Final = {
    "live": "Live",
    "sessions": "Sessions",
    "hooks": "Hooks",
    "matrix": "Matrix",
    "metrics": "Metrics",
    "queue": "Queue and limits",
    "doctor": "Doctor",
}
KEYS: Final = {"l": "live", "s": "sessions", "h": "hooks", "m": "matrix", "t": "metrics", "q": "queue", "d": "doctor"}
RUN_AXE: Final = (
    "() => axe.run(document, {resultTypes: ['violations']})"
    ".then(r => r.violations.map(v => `${v.id}: ${v.nodes.map(n => n.html).join(' ')}`))"
)
# the focus is on a control with this name; at the end of the page it is on the body, which has every name
HAS_FOCUS: Final = (
    "name => document.activeElement.matches('a, button, input, select, summary')"
    " && document.activeElement.textContent.includes(name)"
)


def _go(page: Page, path: str) -> None:
    page.evaluate("path => { location.hash = path }", f"#/{path}")
    expect(page.locator("main .loading")).to_have_count(0)


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the focus is on what has this name."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(HAS_FOCUS, name):
            return
    pytest.fail(f"Tab does not reach {name!r}")


@pytest.mark.spec("U-14")
@pytest.mark.parametrize("colour", ["light", "dark"])
def test_axe_finds_nothing_in_any_view(page: Page, world: World, colour: str) -> None:
    page.emulate_media(color_scheme="dark" if colour == "dark" else "light", reduced_motion="reduce")
    script = AXE.path.read_text("utf-8")
    found: dict[str, list[str]] = {}

    def check(name: str) -> None:
        page.evaluate(script)
        if violations := page.evaluate(RUN_AXE):
            found[name] = violations

    for view in TITLES:
        _go(page, view)
        check(f"{view}, empty")
    for agent, command in (
        ("claude-code", "npm install"),
        ("codex-cli", "git push --force"),
        ("gemini-cli", "git commit"),
    ):
        world.call(agent, command)
    for view in (*TITLES, "sessions/claude-code-1", "hooks/lint", "hooks/no-force-push", "hooks/unknown"):
        _go(page, view)
        if view == "doctor":
            page.get_by_role("button", name="Run checks").click()
            page.locator(".checks li").first.wait_for()
        if view == "live":
            page.get_by_role("button", name="git push --force").click()
            page.locator(".panel .run").first.wait_for()
        check(view)
        if view == "live":
            page.keyboard.press("Escape")
            expect(page.locator("#panel")).to_be_hidden()
    page.locator("#keys").click()
    check("keys")
    assert found == {}


@pytest.mark.spec("U-14")
def test_every_view_is_reached_and_used_without_a_mouse(page: Page, world: World) -> None:
    world.call("claude-code", "git push --force")
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    for key, view in KEYS.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        heading = page.get_by_role("heading", level=1, name=TITLES[view], exact=True)
        expect(heading).to_be_focused()

    # the same by the tabulator
    _tab_to(page, "Sessions")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Sessions")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Text")).to_be_focused()
    _tab_to(page, "claude-code-1")
    page.keyboard.press("Enter")
    expect(page.locator(".timeline > li")).to_have_count(1)

    page.keyboard.press("g")
    page.keyboard.press("l")
    _tab_to(page, "claude-code")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lanes .tip")).to_contain_text("git push --force")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("no-force-push")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


@pytest.mark.spec("U-14")
def test_narrow_screen_shows_every_view_without_scrolling_sideways(page: Page, world: World) -> None:
    world.call("claude-code", "git push --force origin a-branch-with-a-very-long-name-that-does-not-fit-into-one-line")
    page.set_viewport_size({"width": 390, "height": 844})

    for view in (*TITLES, "sessions/claude-code-1", "hooks/lint"):
        _go(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
    page.get_by_role("link", name="Live").click()
    page.get_by_role("button", name="git push --force").click()
    box = page.locator("#panel").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)


def test_theme_is_kept_and_wins_over_the_system(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    button = page.locator("#theme")

    button.click()
    assert page.evaluate(scheme) == "light"
    button.click()
    assert page.evaluate(scheme) == "dark"
    page.reload()
    assert page.evaluate(scheme) == "dark"
    button.click()
    assert page.evaluate(scheme) == "light dark"


@pytest.mark.spec("U-14")
def test_page_without_sign_in_says_what_to_do(context: BrowserContext, address: str) -> None:
    page = context.new_page()

    answer = page.goto(address.split("?", maxsplit=1)[0])

    assert answer is not None
    assert answer.status == 401
    expect(page.get_by_text("hookline ui", exact=True)).to_be_visible()
