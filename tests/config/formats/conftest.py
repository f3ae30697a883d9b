import json
from collections.abc import Callable

import pytest

from hookline.config.document import Problem
from hookline.config.formats import read
from hookline.config.reader import FileOrigin, KnownNames
from hookline.model.hook import Hook, Layer, Source
from hookline.wiring import native_names, native_tools, shell_dialects

Reads = Callable[..., tuple[list[Hook], list[str]]]


@pytest.fixture
def reads() -> Reads:
    """Read a file of an agent, as it would be found in a project."""

    def file(
        form: str,
        content: object,
        *,
        path: str = "/p/.agent/hooks.json",
        agent: str = "",
        layer: Layer = Layer.PROJECT,
    ) -> tuple[list[Hook], list[str]]:
        words = KnownNames(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())
        whose = agent or form
        origin = FileOrigin(
            path=path,
            dialect=whose,
            agent=whose,
            layer=layer,
            source=Source.WORKSPACE if layer is Layer.PROJECT else Source.USER,
            root="/p",
            known_names=words,
        )
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        hooks, problems = read(text, origin=origin, formats=(form,))
        return hooks, [_told(problem) for problem in problems]

    return file


def _told(problem: Problem) -> str:
    return f"{problem.line} {problem.severity}: {problem.message}"
