"""Where a hook would run, as far as it matters for what is there."""

from msgspec import Struct

from hookline import surroundings


class Place(Struct, frozen=True, kw_only=True):
    """A folder, the folders no program is taken from, and the variables a hook sets for itself.

    `asked_in` is where programs are asked for their version: version managers run what the folder they are in wants.
    """

    folder: str
    asked_in: str
    foreign: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()

    def variable(self, name: str) -> str:
        """Give a variable as the hook would see it; empty when it is not set."""
        return dict(self.env).get(name, surroundings.environ().get(name, ""))
