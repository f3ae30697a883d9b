"""How the tables of programs, options and files are written."""


def each(names: str) -> frozenset[str]:
    """Take words apart."""
    return frozenset(names.split())
