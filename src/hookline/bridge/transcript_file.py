"""Read a part of a transcript; a payload names the file, so it may be anything."""

from hookline.trust.file_cache import read_regular_file


def read_part(path: str, most: int, *, from_end: bool = False) -> bytes | None:
    """Return the beginning or the end of a regular file; None where it cannot be read, as a pipe, which could block."""
    return read_regular_file(path, most, from_end=from_end)
