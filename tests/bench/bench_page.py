"""The live page in a real browser: 60 lanes and 200 calls a second, beside the same page when nothing happens."""

import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from playwright.sync_api import Page

from hookline.stores.sqlite import SqliteTraces
from tests.bench import harness
from tests.bench.rows import Row, Section
from tests.ui.browser import explain_missing, open_browser
from tests.ui.page import open_page
from tests.ui.traces import AGENTS, make_call

LANES = 60
RATE = 200  # calls a second
SECONDS = harness.number_in("BENCH_PAGE_SECONDS", 15)
LONGEST = 60_000  # milliseconds

FRAMES = """seconds => new Promise(done => {
  const end = performance.now() + seconds * 1000; let frames = 0;
  const step = now => { frames += 1; now < end ? requestAnimationFrame(step) : done(frames / seconds); };
  requestAnimationFrame(step);
})"""


class Writer(threading.Thread):
    """Stores calls of many sessions at a fixed rate, until it is stopped."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.written = 0
        self._store = SqliteTraces(path)
        self._stopped = threading.Event()

    def write(self, number: int, subject: str = "") -> None:
        """Store one call."""
        agent = AGENTS[number % len(AGENTS)]
        session = f"session-{number % LANES}"
        for record in make_call(number, agent=agent, session=session, subject=subject or f"git log -{number}"):
            self._store.write(record)
        self.written += 1

    def run(self) -> None:
        """Store a call at each beat."""
        started = time.monotonic()
        for number in count():
            if self._stopped.wait(max(0.0, started + number / RATE - time.monotonic())):
                return
            self.write(number)

    def stop(self) -> None:
        """End the thread; what it wrote is stored."""
        self._stopped.set()
        self.join()
        self._store.flush()


def watch(page: Page, traces: Path) -> tuple[float, float, float, int]:
    """Return frames a second without and with calls, how far the page is behind at the end, and how many calls it lacks."""
    idle = float(page.evaluate(FRAMES, SECONDS / 3))
    writer = Writer(traces)
    writer.start()
    busy = float(page.evaluate(FRAMES, SECONDS))
    writer.stop()
    started = time.monotonic()
    writer.write(10**6, "the last call")
    page.get_by_text("the last call").first.wait_for(timeout=LONGEST)
    behind = time.monotonic() - started
    shown = int(page.locator("dl.tiles dd").first.inner_text().replace(",", ""))
    return idle, busy, behind, writer.written - shown


async def measure() -> Sequence[Section]:
    """Measure in a browser, which wants a thread without an event loop."""
    title, about = "The live page", f"{LANES} sessions, {RATE} calls a second for {SECONDS} s, in headless Chromium."
    if missing := explain_missing():
        return [Section(title=title, about=about, rows=(Row(what="frames a second", missing=missing),))]
    found: list[tuple[float, float, float, int]] = []

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
            home = Path(folder) / "home"
            with open_page(home, enters=False) as server:
                page = browser.new_page()
                page.goto(server.url)
                page.get_by_role("heading", name="Live").wait_for()
                found.append(watch(page, home / ".local/share/hookline/traces.db"))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if not found:
        raise SystemExit("the page could not be watched")
    idle, busy, behind, lacking = found[0]
    rows = (
        Row(what="frames a second, nothing happens", value=idle, unit="frames", who="floor"),
        Row(
            what="frames a second, with calls",
            value=busy,
            floor=idle,
            against="nothing happens",
            unit="frames",
            who="ours",
        ),
        Row(what="until the page shows a call that was stored", value=behind),
        Row(what="calls that the page lacks at the end", value=float(lacking), unit="calls"),
    )
    return [Section(title=title, about=about, rows=rows)]


if __name__ == "__main__":
    harness.main(measure)
