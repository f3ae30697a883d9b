"""A parsed file that still knows its lines."""

from collections.abc import Mapping

from msgspec import Struct

KeyPath = tuple[str | int, ...]


class Document(Struct, frozen=True):
    """A value read from a file, and the line each part of it stands on.

    `repeated` names keys that stand twice in one object: all but the last are lost to every JSON reader.
    """

    value: object
    lines: Mapping[KeyPath, int] = {}
    repeated: tuple[tuple[KeyPath, int], ...] = ()

    def line_of(self, path: KeyPath) -> int:
        """Say on which line a part stands; for a part without a line of its own, where its owner stands."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return 1
