"""What a hook could reach by what its definition says."""

from msgspec import Struct


class Reach(Struct, frozen=True, kw_only=True):
    """The files a hook may name, by absolute path, and the programs it may start, by name or by absolute path.

    `data` are those files that are only named to programs which run none, such as the words that grep looks for.
    `recipes` are those files that say what a program such as make starts, `scripts` the words behind each
    interpreter, the first of which that is a file is run. `patterns` have to be matched anew each time. `imports`
    are folders in which Python looks for modules though no script lies there, `search` those that the hook itself
    puts on its search path. `problem` says why nobody can know what this runs.
    """

    files: tuple[str, ...] = ()
    data: frozenset[str] = frozenset()
    programs: tuple[str, ...] = ()
    recipes: frozenset[str] = frozenset()
    scripts: tuple[tuple[str, ...], ...] = ()
    patterns: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    problem: str = ""
