"""A parsed file that still knows its lines."""

from collections.abc import Callable, Mapping

KeyPath = tuple[str | int, ...]
Lines = Mapping[KeyPath, int]


class Document:
    """A value read from a file, and the line each part of it stands on.

    `lines` may be given as a function: most files have nothing wrong, and one hook that starts where the file
    does, so nobody asks for another line. `repeated` names keys that stand twice in one object: all but the
    last are lost to every JSON reader.
    """

    __slots__ = ("_lines", "repeated", "value")

    def __init__(
        self,
        value: object,
        lines: Lines | Callable[[], Lines] | None = None,
        repeated: tuple[tuple[KeyPath, int], ...] = (),
    ) -> None:
        self.value = value
        self.repeated = repeated
        self._lines = lines or {}

    @property
    def lines(self) -> Lines:
        """Give the line of every part that has one of its own."""
        if callable(self._lines):
            self._lines = self._lines()
        return self._lines

    def line_of(self, path: KeyPath) -> int:
        """Say on which line a part stands; for a part without a line of its own, where its owner stands."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return 1
