"""The live view in a real browser, fed by real calls of agents."""

import time

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from hookline.model.record import Record, Step
from hookline.stores.sqlite import SqliteTraces
from tests.ui.world import World

pytestmark = pytest.mark.slow


def _rows(page: Page) -> list[str]:
    return page.get_by_role("table", name="Newest calls").locator("tbody code").all_text_contents()


@pytest.mark.spec("U-14")
def test_calls_of_two_agents_appear_as_they_come(page: Page, world: World) -> None:
    expect(page.get_by_role("heading", name="No agent calls Hookline yet")).to_be_visible()
    expect(page.locator(".state")).to_have_text("Live")

    world.call("claude-code", "git push --force origin main")
    world.call("gemini-cli", "make test")

    rows = page.get_by_role("table", name="Newest calls").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("make test")
    expect(rows.nth(0)).to_contain_text("gemini-cli")
    expect(rows.nth(1)).to_contain_text("git push --force origin main")
    expect(rows.nth(1)).to_contain_text("deny")
    expect(rows.nth(1).locator(".why")).to_have_text("no-force-pushForce pushes rewrite shared history.")
    expect(page.get_by_role("list", name="Agents and sessions").get_by_role("listitem")).to_have_count(2)
    expect(page.locator(".tile", has_text="Calls").locator("dd").first).to_have_text("2")
    expect(page.locator(".tile", has_text="Blocked").locator("dd").first).to_have_text("1")


@pytest.mark.spec("U-14")
def test_call_opens_with_every_hook_and_its_reason(page: Page, world: World) -> None:
    world.call("claude-code", "git push --force origin main")

    page.get_by_role("button", name="git push --force origin main").click()

    panel = page.get_by_role("complementary", name="Details of a call")
    expect(panel.locator(".told")).to_contain_text("Force pushes rewrite shared history.")
    expect(panel.locator(".run", has_text="no-force-push")).to_contain_text("deny")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="git push --force origin main")).to_be_focused()


@pytest.mark.spec("U-14")
def test_hook_that_was_left_out_is_shown_with_the_reason(page: Page, world: World) -> None:
    world.call("claude-code", "git commit -m more")

    page.get_by_role("button", name="git commit -m more").click()

    run = page.get_by_role("complementary", name="Details of a call").locator(".run", has_text="lint")
    expect(run).to_contain_text("skipped")
    expect(run).to_contain_text("approve")


@pytest.mark.spec("U-14")
def test_filters_choose_calls_and_stay_in_the_address(page: Page, world: World) -> None:
    for agent, command in (
        ("claude-code", "git push --force"),
        ("claude-code", "make test"),
        ("codex-cli", "make build"),
    ):
        world.call(agent, command)
    rows = page.get_by_role("table", name="Newest calls").locator("tbody tr")
    expect(rows).to_have_count(3)

    page.reload()
    page.get_by_role("combobox", name="Agent").select_option("claude-code")
    expect(rows).to_have_count(2)
    page.locator("label.chip", has_text="deny").click()
    expect(rows).to_have_count(1)
    assert "agent=claude-code" in page.url
    assert "decision=deny" in page.url
    page.reload()
    expect(rows).to_have_count(1)
    assert _rows(page) == ["git push --force"]

    page.get_by_role("button", name="Clear").click()
    expect(rows).to_have_count(3)
    page.get_by_label("Text").fill("build")
    expect(rows).to_have_count(1)
    assert _rows(page) == ["make build"]
    # the stream obeys the filter as well
    world.call("claude-code", "make test")
    world.call("claude-code", "make build-all")
    expect(rows).to_have_count(2)
    assert _rows(page) == ["make build-all", "make build"]


def test_call_that_was_read_before_its_end_stays_one_row(page: Page, world: World) -> None:
    store = SqliteTraces(world.home / ".local/share/hookline/traces.db")
    began = Record(
        *("trace-1", Step.EVENT, time.time(), "before_tool", "long"), host="codex-cli", tool="shell", subject="make all"
    )
    store.write(began)
    store.flush()
    page.reload()
    rows = page.get_by_role("table", name="Newest calls").locator("tbody tr")
    expect(rows).to_contain_text(["unfinished"])

    detail = {"decision": "deny", "reasons": ("too late",), "duration": 1.0}
    store.write(replace(began, step=Step.OUTCOME, detail=detail, at=began.at + 1))
    store.close()

    expect(rows).to_contain_text(["deny"])
    expect(rows).to_have_count(1)
    expect(page.locator(".tile", has_text="Calls").locator("dd").first).to_have_text("1")
    expect(page.locator(".tile", has_text="Blocked").locator("dd").first).to_have_text("1")


def test_pause_holds_calls_back_until_resume(page: Page, world: World) -> None:
    world.call("claude-code", "make one")
    rows = page.get_by_role("table", name="Newest calls").locator("tbody tr")
    expect(rows).to_have_count(1)

    page.get_by_role("button", name="Pause").click()
    world.call("claude-code", "make two")

    resume = page.get_by_role("button", name="Resume (1 new)")
    expect(resume).to_be_visible()
    expect(rows).to_have_count(1)
    resume.click()
    expect(rows).to_have_count(2)


def test_text_of_an_agent_is_never_markup(page: Page, world: World) -> None:
    world.call("claude-code", "echo '<img src=x onerror=alert(1)>'")

    expect(page.get_by_role("table", name="Newest calls").locator("tbody code")).to_have_text(
        "echo '<img src=x onerror=alert(1)>'"
    )
    expect(page.locator("main img")).to_have_count(0)
