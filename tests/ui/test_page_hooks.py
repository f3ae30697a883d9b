"""Hooks in a real browser: figures, test, enable, disable, and the approval of a changed script."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.ui.world import World

pytestmark = pytest.mark.slow


def _trust(world: World) -> str:
    listed = json.loads(world.run("list", "--json"))
    hooks = listed["hooks"] if isinstance(listed, dict) else listed
    return str(next(hook for hook in hooks if hook["id"] == "lint")["trust"])


@pytest.mark.spec("U-14")
def test_changed_script_is_approved_on_the_page(page: Page, world: World) -> None:
    world.run("trust", "approve", "lint", "--yes")
    (world.project / "lint.sh").write_text("echo checked twice\n", "utf-8")

    page.get_by_role("link", name="Hooks").click()
    row = page.locator("tbody tr", has=page.get_by_role("link", name="lint"))
    expect(row).to_contain_text("changed")
    row.get_by_role("link", name="lint").click()

    approval = page.locator(".approval")
    expect(approval.locator("del")).to_have_text("echo checked")
    expect(approval.locator("ins")).to_have_text("echo checked twice")

    # a change after the page has shown the script is not approved with it
    (world.project / "lint.sh").write_text("echo checked thrice\n", "utf-8")
    approval.get_by_role("button", name="Approve exactly this").click()
    expect(approval.get_by_role("alert")).to_contain_text("Below is what would run now")
    expect(approval.locator("ins")).to_have_text("echo checked thrice")
    assert "approved" not in _trust(world).replace("not approved", "")

    approval.get_by_role("button", name="Approve exactly this").click()
    expect(page.locator(".note.good")).to_be_visible()
    expect(page.locator(".sub")).to_contain_text("approved")
    assert "approved" in _trust(world)


@pytest.mark.spec("U-14")
def test_hook_is_disabled_enabled_and_tested(page: Page, world: World) -> None:
    page.goto(page.url.split("#", maxsplit=1)[0] + "#/hooks/no-force-push")

    page.get_by_role("button", name="Disable").click()
    expect(page.locator(".sub")).to_contain_text("disabled")
    assert "enabled = false" in (world.home / ".config/hookline/hookline.toml").read_text("utf-8")
    page.get_by_role("button", name="Enable").click()
    expect(page.locator(".sub")).to_contain_text("active")

    page.get_by_role("button", name="Test").click()
    expect(page.locator("main .box .row strong").first).to_be_visible()


def test_hooks_are_filtered_and_sorted(page: Page) -> None:
    page.get_by_role("link", name="Hooks").click()
    names = page.locator("tbody tr th a")
    expect(names.filter(has_text="lint")).to_have_count(1)

    page.get_by_role("button", name="Hook", exact=True).click()
    shown = names.all_text_contents()
    assert shown == sorted(shown)
    page.get_by_role("button", name="Hook", exact=True).click()
    assert names.all_text_contents() == sorted(shown, reverse=True)

    page.get_by_label("State").select_option("approval")
    expect(names).to_have_text(["lint"])
