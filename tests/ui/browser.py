"""The browser that tests of the page and `make pictures` use: Debian's chromium, driven by playwright, and axe-core.

`make browser` runs this file: it installs what is missing, where that is possible.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from tests.agents.programs import Program, install

AXE: Final = Program("axe-core", "axe-core", "4.14.0", "axe-core/axe.min.js")
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
APT_SECONDS: Final = 900
# a container has no user namespaces, and nothing of a browser may ask the internet
ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def find_chromium() -> str | None:
    """Return the path of a browser of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def explain_missing() -> str:
    """Return why the page cannot be tested here; empty when it can."""
    if not find_chromium():
        return "there is no chromium on this machine; `make browser` installs it for root on Debian"
    return "" if AXE.path.is_file() else "axe-core is not installed; `make browser` does that"


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a browser, and end it with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*ARGUMENTS])
        try:
            yield browser
        finally:
            browser.close()


def main() -> int:
    """Install what is missing, and say what could not be installed."""
    if not find_chromium() and shutil.which("apt-get") and os.geteuid() == 0:
        for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["apt-get", "-q", *words], env=environment, timeout=APT_SECONDS, check=False)
    if not AXE.path.is_file() and shutil.which("npm"):
        sys.stderr.write(f"installing {AXE.package} {AXE.version} into {AXE.folder}\n")
        install(AXE)
    if problem := explain_missing():
        sys.stderr.write(f"BROWSER NOT TESTED: {problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    raise SystemExit(main())
