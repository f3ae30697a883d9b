"""`hookline enable`: switch hooks on in the files where they stand."""

import argparse
from typing import Final

from hookline.cli import _switch

HELP: Final = "switch hooks on; their files keep everything else"
EXAMPLE: Final = "hookline enable guard"

configure = _switch.configure


def run(args: argparse.Namespace) -> int:
    """Switch them on."""
    return _switch.switch(args, on=True)
