"""Sessions in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from tests.ui.world import PROJECT, World

pytestmark = pytest.mark.slow


@pytest.mark.spec("U-14")
def test_session_is_a_timeline_with_what_was_blocked_and_rewritten(page: Page, world: World) -> None:
    for command in ("npm install", "git status", "git push --force origin main"):
        world.call("claude-code", command, session="session-of-today")

    page.get_by_role("link", name="Sessions").click()
    page.get_by_role("link", name="session-of-today").click()

    items = page.locator(".timeline > li")
    expect(items).to_have_count(3)
    rewritten, _, blocked = items.all()
    expect(rewritten.locator("figure.diff")).to_contain_text("Rewritten: args.command")
    expect(rewritten.locator("ins")).to_have_text("--ignore-scripts")
    expect(rewritten).to_contain_text("safer-install")
    expect(blocked.locator(".told")).to_contain_text("Force pushes rewrite shared history.")
    expect(page.locator(".tile", has_text="Blocked").locator("dd").first).to_have_text("1")

    page.get_by_text("Only blocked, asked, failed, rewritten").click()
    expect(page.locator(".timeline > li:visible")).to_have_count(2)
    page.reload()
    expect(page.locator(".timeline > li:visible")).to_have_count(2)

    blocked.get_by_role("link", name="no-force-push").first.click()
    expect(page.get_by_role("heading", level=1, name="no-force-push")).to_be_visible()
    page.go_back()
    expect(items).to_have_count(3)


@pytest.mark.spec("U-14")
def test_hook_of_another_project_is_found_from_its_call(page: Page, world: World) -> None:
    other = world.home.parent / "other"
    other.mkdir()
    (other / "hookline.toml").write_text(PROJECT, "utf-8")
    (other / "lint.sh").write_text("echo checked\n", "utf-8")
    world.call("claude-code", "git commit -m x", cwd=other)

    page.get_by_role("button", name="git commit -m x").click()
    page.get_by_role("complementary", name="Details of a call").get_by_role("link", name="lint").click()

    expect(page.get_by_role("heading", level=2, name="Approval")).to_be_visible()
    expect(page.locator(".screen")).to_contain_text(str(other / "lint.sh"))


@pytest.mark.spec("U-14")
def test_older_calls_of_a_long_session_are_loaded_in_pages(page: Page, world: World) -> None:
    world.record("long", 450)
    page.goto(page.url.split("#", maxsplit=1)[0] + "#/sessions/long")
    subjects = page.locator(".timeline > li code.subject")
    older = page.get_by_role("button", name="Load older calls")

    expect(subjects).to_have_count(200)
    older.click()
    expect(subjects).to_have_count(400)
    older.click()
    expect(subjects).to_have_count(450)
    expect(older).to_be_hidden()
    assert subjects.all_text_contents() == [f"make part-{number}" for number in range(450)]


@pytest.mark.spec("U-16")
def test_rule_is_tried_on_a_recorded_session(page: Page, world: World) -> None:
    for command in ("git status", "git commit --no-verify -m x"):
        world.call("claude-code", command, session="session-of-today")
    page.goto(page.url.split("#", maxsplit=1)[0] + "#/sessions/session-of-today")

    page.get_by_text("Replay this session with a changed rule").click()
    rules = page.get_by_label("Rules, as in hookline.toml")
    rules.fill(
        '[[hook]]\nname = "verify"\non = "before_tool"\nruns = ["git commit --no-verify"]\ndeny = "run the hooks"\n'
    )
    page.get_by_role("button", name="Replay").click()

    changes = page.get_by_role("table", name="Answers that would change")
    expect(changes.get_by_role("row")).to_have_count(2)
    expect(changes).to_contain_text("git commit --no-verify -m x")
    expect(changes).to_contain_text("run the hooks")

    rules.fill("[[hook]\n")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("the rules:1")).to_be_visible()
