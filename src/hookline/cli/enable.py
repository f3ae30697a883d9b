"""`hookline enable`: switch hooks on in their files."""

import argparse
from typing import Final

from hookline.cli import _toggle

HELP: Final = "switch hooks on; their files keep everything else"
EXAMPLE: Final = "hookline enable guard"

configure = _toggle.add_hook_arguments


def run(args: argparse.Namespace) -> int:
    """Switch them on."""
    return _toggle.toggle_hooks(args, on=True)
