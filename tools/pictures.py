"""Make the pictures of the documents: the real page in a headless browser, and the output of real commands.

    python -m tools.pictures

The sessions are made up and always the same; only the clock differs from run to run. They are written with the store that the
engine writes with, into a home folder of their own.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Page
from rich.console import Console
from rich.text import Text

from hookline.model.record import Record, Step
from hookline.model.verdict import Effect, EffectKind
from hookline.stores.sqlite import SqliteTraces
from tests.ui.browser import explain_missing, open_browser
from tests.ui.world import World

OUT: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures"
LARGEST: Final = 200_000
SEED: Final = 17
MINUTE: Final = 60.0

USER_HOOKS: Final = """
[[hook]]
name = "no-force-push"
on = "before_tool"
runs = ["git push --force"]
deny = "Force pushes rewrite shared history. Push normally, or ask."

[[hook]]
name = "protect-secrets"
on = "before_tool"
files = [".env"]
deny = "{{file.path}} holds secrets. Read .env.example instead."

[[hook]]
name = "safer-install"
on = "before_tool"
runs = ["npm install"]
run = ["sh", "-c", "cat safer-install.json"]
"""
PROJECT_HOOKS: Final = """
[[hook]]
name = "tests-before-commit"
on = "before_tool"
runs = ["git commit"]
run = ["sh", "scripts/precommit.sh"]

[[hook]]
name = "format-json"
on = "after_tool"
writes = ["*.json"]
run = ["python3", "-m", "json.tool", "{{file.path}}", "{{file.path}}"]
"""
SCRIPT: Final = "#!/bin/sh\nset -eu\nnpm test\n"
CHANGED_SCRIPT: Final = "#!/bin/sh\nset -eu\nnpm test -- --bail\nnpm run lint\n"


class Answer(NamedTuple):
    """What one hook said to a call."""

    hook: str
    decision: str = "pass"
    reason: str = ""
    seconds: float = 0.004
    failure: str = ""


class Said(NamedTuple):
    """One call of a session."""

    event: str
    tool: str
    subject: str
    answers: tuple[Answer, ...] = ()
    after: str = ""


FORCE: Final = Answer("no-force-push", "deny", "Force pushes rewrite shared history. Push normally, or ask.", 0.003)
SECRET: Final = Answer("protect-secrets", "deny", ".env holds secrets. Read .env.example instead.", 0.003)
INSTALL: Final = Answer("safer-install", "allow", "", 0.011)
QUIET: Final = (Answer("no-force-push"), Answer("protect-secrets", seconds=0.002))
TESTED: Final = (*QUIET, Answer("tests-before-commit", "ask", "2 tests fail. Commit anyway?", 1.8))
TIMEOUT: Final = (*QUIET, Answer("tests-before-commit", "deny", "ended after 2 s", 2.0, "timeout"))
FORMATTED: Final = (Answer("format-json", seconds=0.046),)

WORK: Final = (
    Said("before_tool", "shell", "git status", QUIET),
    Said("before_tool", "read", "src/routes/orders.ts", QUIET),
    Said("before_tool", "grep", "listOrders"),
    Said("before_tool", "edit", "src/routes/orders.ts", QUIET),
    Said("after_tool", "write", "config/pagination.json", FORMATTED),
    Said("before_tool", "shell", "npm test -- orders", QUIET),
    Said(
        "before_tool", "shell", "npm install fast-check", (*QUIET, INSTALL), "npm install --ignore-scripts fast-check"
    ),
    Said("before_tool", "read", ".env", (SECRET,)),
    Said("before_tool", "shell", "git commit -am 'Paginate'", TESTED),
    Said("before_tool", "shell", "git commit -am 'Index'", TIMEOUT),
    Said("before_tool", "shell", "git push --force origin main", (FORCE,)),
    Said("before_tool", "shell", "git push origin paginate", QUIET),
)
# the last call of each session: the newest ones show what hooks do
ENDINGS: Final = (WORK[10], WORK[6], WORK[7], WORK[8])
WEIGHTS: Final = (9, 10, 7, 10, 4, 9, 2, 1, 1, 1, 1, 2)
PROMPTS: Final = (
    "Make the list of orders paginated, and add an index for it",
    "The checkout test is flaky. Find out why",
    "Upgrade the linter and fix what it finds",
)
SESSIONS: Final = (
    ("claude-code", "7c1e9a52-shop", 0.0),
    ("codex-cli", "019f3c77-flaky", 0.3),
    ("gemini-cli", "b42d10ce-linter", 0.5),
    ("claude-code", "51aa0d3e-docs", 1.3),
)


def tell(world: World, now: float) -> Iterator[Record]:
    """Yield the records of all sessions, oldest first."""
    chance = random.Random(SEED)  # noqa: S311 - no secret
    found: list[tuple[float, list[Record]]] = []
    for number, (agent, session, shift) in enumerate(SESSIONS):
        at = now - 55 * MINUTE + shift * 6 * MINUTE
        found.append((at, trace(world, agent, session, Said("before_agent", "", PROMPTS[number % 3], QUIET[:1]), at)))
        ending = now - 3.0 * (number + 1)
        found.append((ending, trace(world, agent, session, ENDINGS[number], ending)))
        while (at := at + chance.expovariate(1 / 14.0)) < now - 4:
            said = chance.choices(WORK, WEIGHTS)[0]
            found.append((at, trace(world, agent, session, said, at, chance.uniform(0.7, 1.6))))
    for _, records in sorted(found, key=lambda pair: pair[0]):
        yield from records


def trace(world: World, agent: str, session: str, said: Said, at: float, slow: float = 1.0) -> list[Record]:
    """Return the records of one call, as the engine writes them."""
    name = f"{int(at * 1000):x}-{session[:4]}"
    argument = "command" if said.tool == "shell" else "path"

    def record(step: Step, detail: Mapping[str, object], hook: str = "") -> Record:
        return Record(
            name,
            step,
            at,
            said.event,
            session,
            hook,
            detail,
            host=agent,
            project=str(world.project),
            tool=said.tool,
            subject=said.subject,
        )

    records = []
    total = 0.0
    if said.answers:
        detail = {"tool": said.tool, "args": {argument: said.subject}, "data": {}} if said.tool else {"data": {}}
        records.append(record(Step.EVENT, detail))
    for answer in said.answers:
        seconds = answer.seconds * slow
        total += seconds
        verdict: dict[str, object] = {"decision": answer.decision, "duration": seconds}
        if answer.failure:
            verdict |= {"failure": answer.failure, "message": answer.reason, "blocked_by_failure": True}
        elif answer.reason:
            verdict["reason"] = answer.reason
        if said.after and answer is said.answers[-1]:
            verdict["effects"] = (Effect(EffectKind.REWRITE, said.after, ("args", argument)),)
        records.append(record(Step.STARTED, {"dialect": "hookline"}, answer.hook))
        records.append(record(Step.FAILED if answer.failure else Step.COMPLETED, verdict, answer.hook))
    last = said.answers[-1] if said.answers else Answer("")
    outcome = {
        "decision": last.decision,
        "decided_by": (last.hook,) if last.decision != "pass" else (),
        "reasons": (last.reason,) if last.reason else (),
        "duration": total,
        "ran": len(said.answers),
        "failed": int(bool(last.failure)),
        "skipped": 0,
        "rewrote": bool(said.after),
    }
    return [*records, record(Step.OUTCOME, outcome)]


def build_world(folder: Path) -> World:
    """Write hooks, an approval that no longer fits its script, and the sessions."""
    world = World(folder / "home")
    config = world.home / ".config" / "hookline"
    for path in (config, world.project / "scripts"):
        path.mkdir(parents=True)
    (config / "hookline.toml").write_text(USER_HOOKS, "utf-8")
    (world.project / "hookline.toml").write_text(PROJECT_HOOKS, "utf-8")
    (world.project / "scripts" / "precommit.sh").write_text(SCRIPT, "utf-8")
    world.run("trust", "approve", "--all", "--yes")
    (world.project / "scripts" / "precommit.sh").write_text(CHANGED_SCRIPT, "utf-8")
    store = SqliteTraces(world.home / ".local/share/hookline/traces.db")
    for record in tell(world, time.time()):
        store.write(record)
    store.close()
    return world


def shoot_page(page: Page, address: str) -> None:
    """Take a picture of each view that the documents show."""
    page.goto(address)
    base = address.split("?", maxsplit=1)[0]

    def shoot(name: str, path: str, ready: str) -> None:
        page.goto(f"{base}#/{path}")
        page.locator(ready).first.wait_for()
        page.wait_for_timeout(500)  # plots and lanes are drawn with the next frames
        page.screenshot(path=OUT / f"{name}.png")

    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
        shoot(f"live-{scheme}", "live?range=900", ".calls tbody tr")
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    shoot("session", f"sessions/{SESSIONS[0][1]}", ".timeline li")
    shoot("hooks", "hooks", "tbody tr")
    shoot("approval", "hooks/tests-before-commit", ".approval ins")
    shoot("metrics", "metrics?range=1h", ".plot svg")
    page.set_viewport_size({"width": 390, "height": 844})
    shoot("live-narrow", "live?range=900", ".calls tbody tr")


def print_command(world: World, name: str, *words: str) -> None:
    """Write what a command prints in a terminal as a picture."""
    environment = {
        **{
            key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "HOOKLINE_")) and key != "CI"
        },
        "HOME": str(world.home),
        "HOOKLINE_DAEMON": "off",
        "FORCE_COLOR": "1",
        "COLUMNS": "120",
        "TZ": "UTC",
    }
    done = subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        cwd=world.project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    text = Text.from_ansi(done.stdout.replace(str(world.home.parent), "~"))
    width = min(150, max((len(line) for line in text.plain.splitlines()), default=80) + 2)
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ hookline {' '.join(words)}", style="bold"))
    console.print(text, soft_wrap=False)
    svg = console.export_svg(title="hookline", unique_id=f"hookline-{name}")
    # a picture loads nothing from elsewhere: the font is the reader's own
    (OUT / f"{name}.svg").write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL), "utf-8")


def main() -> int:
    """Make all pictures; say which is too large."""
    if problem := explain_missing():
        print(f"no pictures: {problem}", file=sys.stderr)
        return 1
    folder = Path(tempfile.gettempdir()) / "hookline-pictures"
    shutil.rmtree(folder, ignore_errors=True)
    OUT.mkdir(parents=True, exist_ok=True)
    world = build_world(folder)
    for name, words in (
        ("list", ("list",)),
        ("why", ("why", "tests-before-commit")),
        ("stats", ("stats",)),
        ("trace-list", ("trace", "list", "--limit", "12")),
    ):
        print_command(world, name, *words)
    with world.serve() as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800}, timezone_id="UTC", locale="en-GB")
        shoot_page(page, address)
    shutil.rmtree(folder)
    large = [path.name for path in sorted(OUT.iterdir()) if path.stat().st_size > LARGEST]
    for name in large:
        print(f"{name} is larger than {LARGEST} bytes", file=sys.stderr)
    return 1 if large else 0


if __name__ == "__main__":
    raise SystemExit(main())
