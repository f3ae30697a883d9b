"""Say whether patterns mean a command."""

import fnmatch
import re
from collections.abc import Callable, Iterable

from hookline.errors import ConfigError

CommandMatch = Callable[[str], bool]


def command_patterns(patterns: Iterable[str]) -> CommandMatch:
    """Compile patterns of commands: `git push` means any push, `git * --force` what has any word between.

    A command is compared from its first word on, with one blank between its words and without quotes; more words may
    follow than the pattern has. `*` stands for anything.

    Raises:
        ConfigError: A pattern says nothing.
    """
    asked: list[re.Pattern[str]] = []
    for pattern in patterns:
        words = " ".join(pattern.split())
        if not words:
            raise ConfigError('a pattern of commands is empty; write a beginning such as "git push"')
        asked += [re.compile(fnmatch.translate(one)) for one in (words, f"{words} *")]
    return lambda command: any(one.match(command) for one in asked)
