"""`hookline disable`: switch hooks off in the files where they stand."""

import argparse
from typing import Final

from hookline.cli import _switch

HELP: Final = "switch hooks off; their files keep everything else"
EXAMPLE: Final = "hookline disable guard"

configure = _switch.configure


def run(args: argparse.Namespace) -> int:
    """Switch them off."""
    return _switch.switch(args, on=False)
