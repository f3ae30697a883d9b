"""`hookline disable`: switch hooks off in their files."""

import argparse
from typing import Final

from hookline.cli import _toggle

HELP: Final = "switch hooks off; their files keep everything else"
EXAMPLE: Final = "hookline disable guard"

configure = _toggle.add_hook_arguments


def run(args: argparse.Namespace) -> int:
    """Switch them off."""
    return _toggle.toggle_hooks(args, on=False)
