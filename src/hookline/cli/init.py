"""`hookline init`."""

import argparse
from typing import Final

from hookline.errors import ConfigError

HELP: Final = "not there yet"
EXAMPLE: Final = "hookline init"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(_args: argparse.Namespace) -> int:
    """Do nothing yet."""
    raise ConfigError("this command is not there yet")
