"""What a hook may ask for besides its event: what must be there, and what its answer depends on."""

from msgspec import Struct


class Needs(Struct, frozen=True, kw_only=True):
    """What has to be there for a hook to run.

    `tools` are programs on the search path, with a version if one is wanted (`git>=2.30`); `files` are paths,
    relative ones counted from the hook's root; `services` are `tcp://host:port` or URLs that answer; `env` are
    variables that are set and not empty. `answers` are what its answers have to be able to do (`ask`, `rewrite_args`,
    …): where an agent cannot, that is said when the hook is loaded, and the answer becomes what is declared for it.
    """

    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


class Caching(Struct, frozen=True, kw_only=True):
    """What an answer depends on, and for how many seconds it may be given again.

    `by` are paths into the event (`args.command`, `file.path`); none means everything the event says. `files` and
    `env` are what the hook reads besides.
    """

    seconds: float
    by: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
