"""Commands that differ by platform: `{ windows = "…", default = "…" }`."""

import sys
from collections.abc import Collection
from typing import Final

# the keys of such a table, with what `sys.platform` says there
PLATFORMS: Final = {"windows": "win32", "macos": "darwin", "linux": "linux"}
DEFAULT: Final = "default"

# the key of this platform; "" on one that has none
THIS_PLATFORM: Final = next((name for name, platform in PLATFORMS.items() if sys.platform == platform), "")


def choose_platform(keys: Collection[str]) -> str:
    """Return the key of a table whose command runs on this platform; "" where the table has none."""
    return next((name for name in (THIS_PLATFORM, DEFAULT) if name in keys), "")
